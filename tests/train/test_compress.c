// SPDX-License-Identifier: MIT
// Compressed gradients against a reference in float64 that all ranks compute by themselves, and training with them.
// (PowerSGD's own arithmetic: test_powersgd.c.)

#include "tests/fixtures/compress_bench.h"

#include "core/base/numbers/half.h"
#include "tests/fixtures/needs.h"
#include "tests/fixtures/trainee.h"

static const char *const keeping[] = {"int8", "powersgd", "topk"}; // the methods with a residual

// ---- int8 ----------------------------------------------------------------------------------------------------

static int int8_is_as_counted_by_hand(struct bench *b)
{
    float most = 0;
    if (step_with(b, 0))
        return 1;
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < ALL; i++)
            most = fmaxf(most, fabsf(given(r, 0, i)));
    const float scale = most / 127;
    int beyond = 0;
    for (int i = 0; i < ALL; i++) {
        long sum = 0;
        for (int r = 0; r < nranks; r++)
            sum += lrintf(given(r, 0, i) / scale);
        beyond += labs(sum) > 127;
        if (b->gradients[i] != rintf((float)sum / (float)nranks) * scale)
            return 2;
    }
    return beyond ? 0 : 3; // some sums would not fit eight bits
}

static void test_int8_adds_codes_of_one_scale_exactly(void **state)
{
    assert_ranks(2, 4, (struct clab_compression){.method = "int8", .forgets = true}, int8_is_as_counted_by_hand);
}

static int infinite_once(struct bench *b)
{
    const int rank = clab_comm_rank(b->comm);
    if (step_with(b, 0))
        return 1;
    for (int i = 0; i < ALL; i++)
        b->gradients[i] = given(rank, 1, i);
    if (rank == 1)
        b->gradients[5] = INFINITY;
    if (average(b) || isfinite(b->gradients[5]))
        return 2;
    if (step_with(b, 2))
        return 3;
    for (int i = 0; i < ALL; i++)
        if (!isfinite(b->gradients[i]) || !isfinite(b->residual[i]))
            return 4;
    return 0;
}

static void test_an_infinite_gradient_is_seen_once_and_does_not_stay(void **state)
{
    for (int m = 0; m < 3; m++)
        assert_ranks(2, 2, (struct clab_compression){.method = keeping[m], .first = -1, .part = 20}, infinite_once);
}

// ---- 16 bits -------------------------------------------------------------------------------------------------

static int halves_are_near(struct bench *b)
{
    // Each of P values is rounded once, and P - 1 sums: unit roundoff 2^-11, or 2^-8 of bf16.
    const bool is_fp16 = !strcmp(how.method, "fp16");
    const double u = is_fp16 ? 0x1p-11 : 0x1p-8, least = nranks * 0x1p-25;
    if (step_with(b, 0))
        return 1;
    for (int i = 0; i < ALL; i++) {
        const float x = b->gradients[i];
        double sizes = 0;
        for (int r = 0; r < nranks; r++)
            sizes += fabs(given(r, 0, i) / (double)nranks);
        if (!(fabs(x - given_by_all(0, i) / nranks) <= 1.01 * nranks * u * sizes + least))
            return 2;
        if ((is_fp16 ? f16_widen(f16_narrow(x)) : bf16_widen(bf16_narrow(x))) != x)
            return 3; // it is a number of 16 bits
    }
    return 0;
}

static void test_halves_are_rounded_averages(void **state)
{
    assert_ranks(2, 4, (struct clab_compression){.method = "fp16"}, halves_are_near);
    assert_ranks(2, 4, (struct clab_compression){.method = "bf16"}, halves_are_near);
}

// ---- error feedback ------------------------------------------------------------------------------------------

// sums: (ALL), over all ranks
static int sum_of_all(struct bench *b, const float *values, double *sums)
{
    for (int i = 0; i < ALL; i++)
        sums[i] = values ? values[i] : 0;
    return clab_allreduce(b->comm, sums, sums, ALL, CLAB_F64, CLAB_SUM);
}

static int nothing_is_lost(struct bench *b)
{
    static double before[ALL], after[ALL];
    double kept = 0;
    for (int s = 0; s < NSTEPS; s++) {
        if (sum_of_all(b, b->residual, before) || step_with(b, s) || sum_of_all(b, b->residual, after))
            return 2;
        for (int i = 0; i < ALL; i++) {
            kept = fmax(kept, fabs(after[i]));
            if (fabs(nranks * (double)b->gradients[i] + after[i] - before[i] - given_by_all(s, i)) > 2e-5)
                return 3;
        }
    }
    return kept > 1e-3 ? 0 : 4; // there was something to keep
}

static void test_what_is_sent_and_what_is_kept_are_the_gradients(void **state)
{
    for (int m = 0; m < 3; m++)
        assert_ranks(2, 4, (struct clab_compression){.method = keeping[m], .first = -1, .rank = THIN, .part = 20},
                     nothing_is_lost);
}

static int first_steps_are_whole(struct bench *b)
{
    for (int s = 0; s < 3; s++) {
        double most = 0;
        if (step_with(b, s))
            return 2;
        for (int i = 0; i < ALL; i++)
            most = fmax(most, fabs(b->gradients[i] - given_by_all(s, i) / 2));
        if ((s < 2) != (most < 1e-6))
            return 3 + s;
    }
    return 0;
}

static void test_the_first_steps_travel_whole(void **state)
{
    assert_ranks(2, 2, (struct clab_compression){.method = "powersgd", .first = 2}, first_steps_are_whole);
    assert_ranks(2, 2, (struct clab_compression){.method = "topk", .first = 2}, first_steps_are_whole);
}

// ---- top-k ---------------------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

static int the_largest_are_sent(struct bench *b)
{
    static float sorted[MOST_RANKS][ALL];
    const int k = (ALL + how.part - 1) / how.part;
    if (step_with(b, 0))
        return 1;
    for (int r = 0; r < nranks; r++) {
        for (int i = 0; i < ALL; i++)
            sorted[r][i] = given(r, 0, i);
        qsort(sorted[r], ALL, sizeof(float), by_size);
    }
    for (int i = 0; i < ALL; i++) {
        float sum = 0;
        for (int r = 0; r < nranks; r++)
            sum += fabsf(given(r, 0, i)) >= fabsf(sorted[r][k - 1]) ? given(r, 0, i) / (float)nranks : 0;
        if (b->gradients[i] != sum)
            return 2;
    }
    return 0;
}

static void test_topk_sends_the_largest(void **state)
{
    assert_ranks(2, 4, (struct clab_compression){.method = "topk", .first = -1, .part = 20, .forgets = true},
                 the_largest_are_sent);
}

static int equal_ones(struct bench *b)
{
    int sent = 0;
    for (int i = 0; i < ALL; i++)
        b->gradients[i] = i % 2 ? 1 : -1;
    if (average(b))
        return 2;
    for (int i = 0; i < ALL; i++)
        sent += b->gradients[i] != 0;
    return sent == (ALL + how.part - 1) / how.part ? 0 : 3;
}

static void test_of_equal_ones_as_many_are_sent(void **state)
{
    assert_ranks(2, 2, (struct clab_compression){.method = "topk", .first = -1, .part = 20}, equal_ones);
}

// ---- training ------------------------------------------------------------------------------------------------

static const float rate = 0.05f;
enum { TRAINED = 30 };

// The loss of the last step is left in losses[0].
static int train(int rank)
{
    struct clab_ddp *ddp;
    const struct clab_ddp_options options = {.cap = 600, .first_cap = 100, .compress = &how};
    double loss = 0;
    int other;
    if (open_job(BATCH / nranks, &me) ||
        clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &options, &ddp))
        return 1;
    for (int s = 0; s < TRAINED; s++)
        if (clab_ddp_begin(ddp, true) || pass(&me, 0, BATCH / nranks, rank, nranks, false, ddp, &loss) ||
            clab_ddp_finish(ddp) || clab_mlp_step(me.mlp, rate))
            return 2;
    if (clab_parameters_compare(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &other) || other != -1)
        return 3;
    if (clab_allreduce(me.comm, &loss, &loss, 1, CLAB_F64, CLAB_AVG))
        return 4;
    if (rank == 0)
        left->losses[0] = loss;
    keep(&me);
    clab_ddp_destroy(ddp);
    close_job(&me);
    return 0;
}

static double loss_of(int n, struct clab_compression compression)
{
    how = compression;
    nranks = n;
    assert_int_equal(run_job(ranks(n), train), 0);
    return left->losses[0];
}

static void test_all_methods_train_and_ranks_stay_equal_to_the_bit(void **state)
{
    for (int n = 2; n <= 4; n++) {
        const double whole = loss_of(n, (struct clab_compression){.method = "none"});
        for (int m = 1; m < CLAB_COMPRESSIONS; m++) {
            const struct clab_compression c = {.method = clab_compression_name(m), .rank = 1, .part = 10};
            const double loss = loss_of(n, c);
            if (!(fabs(loss - whole) < (m < 4 ? 0.01 : 0.1) * whole))
                fail_msg("%s, %d ranks: the loss is %g, of whole gradients %g", c.method, n, loss, whole);
        }
    }
}

static void test_what_is_forgotten_is_missing(void **state)
{
    const struct clab_compression c = {.method = "topk", .first = -1, .part = 50};
    struct clab_compression forgets = c;
    forgets.forgets = true;
    const double whole = loss_of(2, (struct clab_compression){0}), kept = loss_of(2, c), lost = loss_of(2, forgets);
    assert_true(whole < kept && kept < 0.9 * lost);
}

static void test_virtual_ranks_train_the_same_to_the_bit_twice(void **state)
{
    needs_inih();
    static float values[COUNT];
    setenv("CLAB_BACKEND", "sim", 1);
    setenv("CLAB_NET", "dgx-h100", 1);
    loss_of(4, (struct clab_compression){.method = "powersgd", .rank = 2});
    memcpy(values, left->values, sizeof values);
    loss_of(4, (struct clab_compression){.method = "powersgd", .rank = 2});
    unsetenv("CLAB_BACKEND");
    unsetenv("CLAB_NET");
    assert_memory_equal(values, left->values, sizeof values);
}

static int create_unknown(struct clab_comm *comm, int rank)
{
    struct bench b;
    const int err = open_bench(comm, &b);
    close_bench(&b);
    return err == CLAB_EINVAL ? 0 : 1;
}

static void test_an_unknown_method_is_refused_with_those_there_are(void **state)
{
    how = (struct clab_compression){.method = "int4"};
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_work(1, create_unknown);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "there is no compression 'int4'; there are: none fp16 bf16 int8 powersgd topk"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int8_adds_codes_of_one_scale_exactly),
        cmocka_unit_test(test_an_infinite_gradient_is_seen_once_and_does_not_stay),
        cmocka_unit_test(test_halves_are_rounded_averages),
        cmocka_unit_test(test_what_is_sent_and_what_is_kept_are_the_gradients),
        cmocka_unit_test(test_the_first_steps_travel_whole),
        cmocka_unit_test(test_topk_sends_the_largest),
        cmocka_unit_test(test_of_equal_ones_as_many_are_sent),
        cmocka_unit_test(test_all_methods_train_and_ranks_stay_equal_to_the_bit),
        cmocka_unit_test(test_what_is_forgotten_is_missing),
        cmocka_unit_test(test_virtual_ranks_train_the_same_to_the_bit_twice),
        cmocka_unit_test(test_an_unknown_method_is_refused_with_those_there_are),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
