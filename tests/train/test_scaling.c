// SPDX-License-Identifier: MIT
// Loss scaling: gradients that binary16 would lose arrive; what overflows is skipped. Clipping by norm.

#include "tests/fixtures/trainee.h"

#include <math.h>

enum { NRANKS = 2 };
static const float tiny = 0x1p-16f; // by which gradients are made smaller here, as a small loss makes them
static struct clab_loss_scale scaling;

// A backward pass of gradients that are tiny, averaged in binary16; left: the averages, scale and all.
static int average(int rank)
{
    static const struct clab_compression fp16 = {.method = "fp16"};
    const struct clab_ddp_options options = {.compress = &fp16};
    const struct clab_loss_scale smaller = {.scale = tiny};
    const float *outputs;
    struct clab_ddp *ddp;
    double loss, norm;
    if (open_job(BATCH / NRANKS, &me) ||
        clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &options, &ddp))
        return 1;
    clab_data_share(&data, 0, BATCH / NRANKS, rank, NRANKS, me.x, me.targets);
    if (clab_mlp_forward(me.mlp, me.x, &outputs) || clab_mlp_loss(me.mlp, outputs, me.targets, me.gradient, &loss) ||
        clab_loss_scale_apply(me.job, &smaller, me.gradient, (size_t)(BATCH / NRANKS) * OUTPUTS) ||
        clab_loss_scale_apply(me.job, &scaling, me.gradient, (size_t)(BATCH / NRANKS) * OUTPUTS))
        return 2;
    if (clab_ddp_begin(ddp, true) || clab_mlp_backward(me.mlp, me.gradient, false, clab_ddp_ready, ddp) ||
        clab_ddp_finish(ddp))
        return 3;
    if (clab_gradients_norm(me.job, clab_mlp_parameters(me.mlp), 2 * LAYERS, &norm))
        return 4;
    left->others[rank] = clab_loss_scale_take(&scaling, norm);
    if (left->others[rank] &&
        clab_gradients_multiply(me.job, clab_mlp_parameters(me.mlp), 2 * LAYERS, 1 / scaling.last))
        return 5;
    left->moved = norm;
    keep(&me);
    clab_ddp_destroy(ddp);
    close_job(&me);
    return 0;
}

static int zeros_with(float scale)
{
    int zeros = 0;
    scaling = (struct clab_loss_scale){.scale = scale};
    assert_int_equal(run_job(ranks(NRANKS), average), 0);
    for (int i = 0; i < COUNT; i++)
        zeros += left->gradients[i] == 0;
    return zeros;
}

static void test_a_scale_saves_gradients_that_halves_can_not_hold(void **state)
{
    static float saved[COUNT];
    const int zeros = zeros_with(0x1p+16f);
    memcpy(saved, left->gradients, sizeof saved);
    assert_true(left->others[0] && left->others[1]);
    const int lost = zeros_with(1);
    assert_true(lost > zeros + COUNT / 20); // without it, many of them are 0
    int nearer = 0;
    for (int i = 0; i < COUNT; i++)
        nearer += saved[i] != 0 && left->gradients[i] == 0;
    assert_int_equal(nearer, lost - zeros);
}

static void test_a_scale_that_overflows_is_seen_by_all_ranks(void **state)
{
    zeros_with(0x1p+50f);
    assert_false(left->others[0] || left->others[1]);
    assert_false(isfinite(left->moved));
}

static void test_a_scale_halves_at_once_and_doubles_with_patience(void **state)
{
    struct clab_loss_scale s = {.scale = 1024, .patience = 3};
    assert_false(clab_loss_scale_take(&s, INFINITY));
    assert_true(s.scale == 512 && s.last == 1024);
    assert_false(clab_loss_scale_take(&s, NAN));
    assert_true(s.scale == 256);
    for (int i = 0; i < 3; i++)
        assert_true(clab_loss_scale_take(&s, 1) && s.last == 256);
    assert_true(s.scale == 512);
    s = (struct clab_loss_scale){.scale = 1};
    assert_false(clab_loss_scale_take(&s, NAN));
    assert_true(s.scale == 1); // no less
}

static int clip(int rank)
{
    double before, after;
    double loss;
    if (open_job(BATCH, &me) || pass(&me, 0, BATCH, 0, 1, false, NULL, &loss))
        return 1;
    struct clab_parameter *p = clab_mlp_parameters(me.mlp);
    double sum = 0;
    for (int n = 0; n < 2 * LAYERS; n++)
        for (size_t i = 0; i < p[n].count; i++)
            sum += (double)p[n].gradient[i] * p[n].gradient[i];
    if (clab_gradients_norm(me.job, p, 2 * LAYERS, &before) || fabs(before - sqrt(sum)) > 1e-9 * before)
        return 2;
    const float first = p[0].gradient[0];
    if (clab_clip(before, 2 * before) != 1 ||
        clab_gradients_multiply(me.job, p, 2 * LAYERS, clab_clip(before, before / 4)) ||
        clab_gradients_norm(me.job, p, 2 * LAYERS, &after) || fabs(after - before / 4) > 1e-6 * before)
        return 3;
    const bool same_direction = p[0].gradient[0] == first / 4;
    close_job(&me);
    return same_direction ? 0 : 4;
}

static void test_clipping_shortens_to_the_norm_and_keeps_the_direction(void **state)
{
    assert_int_equal(run_job(ranks(1), clip), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scale_saves_gradients_that_halves_can_not_hold),
        cmocka_unit_test(test_a_scale_that_overflows_is_seen_by_all_ranks),
        cmocka_unit_test(test_a_scale_halves_at_once_and_doubles_with_patience),
        cmocka_unit_test(test_clipping_shortens_to_the_norm_and_keeps_the_direction),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
