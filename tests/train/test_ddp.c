// SPDX-License-Identifier: MIT
// The training job on several ranks: buckets against arithmetic by hand, ranks against one rank with the whole batch.

#include "tests/fixtures/trainee.h"

#include <math.h>

#include "tests/fixtures/needs.h"

static const float rate = 0.05f;

// ---- buckets -------------------------------------------------------------------------------------------------

static void assert_plan(size_t cap, size_t first_cap, int n, const int expected[])
{
    static const size_t counts[] = {100, 10, 200, 20, 300, 30}; // 400, 40, 800, 80, 1200, 120 bytes
    int first[6];
    assert_int_equal(clab_buckets_plan(counts, 6, cap, first_cap, first), n);
    for (int b = 0; b < n; b++)
        assert_int_equal(first[b], expected[b]);
}

static void test_buckets_are_full_when_they_hold_their_cap(void **state)
{
    assert_plan(1, 1, 6, (int[]){5, 4, 3, 2, 1, 0}); // one a parameter
    assert_plan(SIZE_MAX, SIZE_MAX, 1, (int[]){0});  // one in all
    assert_plan(1280, 1320, 2, (int[]){4, 0});       // 120 + 1200; 80 + 800 + 40 + 400 = 1320
    assert_plan(880, 120, 4, (int[]){5, 4, 2, 0});   // 120; 1200; 80 + 800; 40 + 400
    assert_plan(1000000, 1, 2, (int[]){5, 0});       // the first has its own
    assert_plan(2640, 2640, 1, (int[]){0});          // exactly all of it
    assert_plan(2641, 2641, 1, (int[]){0});
    assert_plan(2639, 2639, 1, (int[]){0});
}

static struct clab_ddp_options options;

static int print_buckets(int rank)
{
    struct clab_ddp *ddp;
    if (open_job(BATCH, &me) ||
        clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), clab_mlp_nparameters(me.mlp), &options, &ddp))
        return 1;
    if (rank == 0)
        clab_ddp_print(ddp, stdout);
    fflush(stdout);
    for (int b = 0, end = clab_mlp_nparameters(me.mlp); b < clab_ddp_nbuckets(ddp); b++) {
        const struct clab_bucket *bucket = clab_ddp_bucket(ddp, b);
        const float *at = bucket->gradients;
        if (bucket->last != end - 1)
            return 2;
        for (int p = bucket->last; p >= bucket->first; at += clab_mlp_parameters(me.mlp)[p--].count)
            if (clab_mlp_parameters(me.mlp)[p].gradient != at)
                return 3; // it is a view
        end = bucket->first;
    }
    clab_ddp_destroy(ddp);
    if (clab_mlp_parameters(me.mlp)->gradient)
        return 4;
    close_job(&me);
    return 0;
}

static void test_buckets_are_printed_with_parameters_and_sizes(void **state)
{
    options = (struct clab_ddp_options){.cap = 600, .first_cap = 100};
    const struct capture out = capture_begin(STDOUT_FILENO);
    assert_int_equal(run_job(ranks(2), print_buckets), 0);
    const char *text = capture_end(out);
    // (11 * 3) floats; then 10 + 100 + 10 + ... by hand: bias3, weight3 | bias2 weight2 (440), bias1 (480), weight1
    // (880) | ...
    assert_non_null(strstr(text, "bias3"));
    int rows = 0;
    for (const char *at = text; (at = strstr(at, "weight")); at++)
        rows++;
    assert_int_equal(rows, 3); // ends: weight3, weight1, weight0
    assert_non_null(strstr(text, "0.000880"));
}

// ---- ranks against one rank ----------------------------------------------------------------------------------

static int nranks = 1, accumulate = 1;

// How far this step moves an element were all gradients of one sign: from passes of one sample each.
static int note_moved(const struct trainee *t, struct trainee *one, int step)
{
    static double magnitudes[COUNT];
    double loss;
    memset(magnitudes, 0, sizeof magnitudes);
    const struct clab_parameter *from = clab_mlp_parameters(t->mlp), *p = clab_mlp_parameters(one->mlp);
    for (int n = 0; n < 2 * LAYERS; n++)
        memcpy(p[n].value, from[n].value, p[n].count * sizeof(float));
    for (int i = 0; i < BATCH; i++) {
        CLAB_TRY(pass(one, (uint64_t)step, 1, i, BATCH, false, NULL, &loss));
        for (size_t n = 0, at = 0; n < 2 * LAYERS; at += p[n++].count)
            for (size_t e = 0; e < p[n].count; e++)
                magnitudes[at + e] += fabs(p[n].gradient[e]) / BATCH;
    }
    for (int i = 0; i < COUNT; i++)
        left->moved = fmax(left->moved, rate * magnitudes[i]);
    return CLAB_OK;
}

static int train_alone(int rank)
{
    static struct trainee one;
    const struct clab_mlp_shape shape = clab_mlp_even(LAYERS, INPUTS, WIDTH, OUTPUTS, 1, widths);
    if (open_job(BATCH, &me))
        return 1;
    one.job = me.job;
    if (clab_mlp_create(me.job, &shape, SEED, &one.mlp))
        return 2;
    for (int s = 0; s < STEPS; s++)
        if (note_moved(&me, &one, s) || pass(&me, (uint64_t)s, BATCH, 0, 1, false, NULL, &left->losses[s]) ||
            clab_mlp_step(me.mlp, rate))
            return 3;
    keep(&me);
    clab_mlp_destroy(one.mlp);
    close_job(&me);
    return 0;
}

// One step of `accumulate` passes; the last one reduces. The loss is that of all.
static int step_of(struct trainee *t, struct clab_ddp *ddp, int s)
{
    const int rank = clab_job_rank(t->job), rows = BATCH / nranks / accumulate;
    double loss, sum = 0;
    for (int a = 0; a < accumulate; a++) {
        CLAB_TRY(clab_ddp_begin(ddp, a == accumulate - 1));
        CLAB_TRY(pass(t, (uint64_t)s, rows, a * nranks + rank, nranks * accumulate, a > 0, ddp, &loss));
        CLAB_TRY(clab_ddp_finish(ddp));
        sum += loss / accumulate;
    }
    CLAB_TRY(clab_allreduce(t->comm, &sum, &sum, 1, CLAB_F64, CLAB_AVG));
    if (rank == 0)
        left->losses[s] = sum;
    return clab_mlp_step(t->mlp, rate / (float)accumulate);
}

static int train_together(int rank)
{
    struct clab_ddp *ddp;
    int other;
    if (open_job(BATCH / nranks / accumulate, &me))
        return 1;
    if (rank != 0) // the others' parameters are rank 0's from the start
        clab_mlp_parameters(me.mlp)[0].value[0] += 1;
    if (clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &options, &ddp))
        return 2;
    for (int s = 0; s < STEPS; s++)
        if (step_of(&me, ddp, s))
            return 3;
    keep(&me);
    if (clab_parameters_compare(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &other) || other != -1)
        return 4;
    clab_ddp_destroy(ddp);
    close_job(&me);
    return 0;
}

static void assert_trains_as_one_rank(int n, int passes, struct clab_ddp_options how)
{
    static float alone[COUNT];
    static double losses[STEPS];
    double largest = 0;
    nranks = 1;
    left->moved = 0;
    assert_int_equal(run_job(ranks(1), train_alone), 0);
    memcpy(alone, left->values, sizeof alone);
    memcpy(losses, left->losses, sizeof losses);
    for (int i = 0; i < COUNT; i++)
        largest = fmax(largest, fabsf(alone[i]));
    assert_true(losses[STEPS - 1] < losses[0]);
    nranks = n;
    accumulate = passes;
    options = how;
    assert_int_equal(run_job(ranks(n), train_together), 0);
    const double bound = clab_parameters_bound(STEPS, BATCH + n, left->moved, largest);
    for (int i = 0; i < COUNT; i++)
        if (!(fabs(left->values[i] - alone[i]) <= bound))
            fail_msg("parameter %d is %.9g, and %.9g of one rank (bound %g)", i, left->values[i], alone[i], bound);
    for (int s = 0; s < STEPS; s++)
        assert_true(fabs(left->losses[s] - losses[s]) < 1e-4 * losses[s]);
    assert_true(bound < 1e-3 * largest); // or it would bound nothing
}

static void test_ranks_train_as_one_rank_with_the_whole_batch(void **state)
{
    assert_trains_as_one_rank(2, 1, (struct clab_ddp_options){.cap = 600, .first_cap = 100});
    assert_trains_as_one_rank(3, 1, (struct clab_ddp_options){.cap = 1});
    assert_trains_as_one_rank(4, 1, (struct clab_ddp_options){.cap = SIZE_MAX});
}

static void test_neither_copies_nor_missing_overlap_change_what_is_learnt(void **state)
{
    assert_trains_as_one_rank(2, 1, (struct clab_ddp_options){.cap = 600, .copies = true});
    assert_trains_as_one_rank(3, 1, (struct clab_ddp_options){.cap = 600, .no_overlap = true, .copies = true});
}

// Alone, with buckets in between, and alone again: rank 0 tells whether its gradients are where they were.
static int train_alone_again(int rank)
{
    struct clab_ddp *ddp;
    double loss;
    if (open_job(BATCH, &me) || pass(&me, 0, BATCH, 0, 1, false, NULL, &loss))
        return 1;
    const struct clab_parameter *p = clab_mlp_parameters(me.mlp);
    const float *before = p[0].gradient, value = before[0];
    if (clab_ddp_create(me.comm, clab_mlp_parameters(me.mlp), 2 * LAYERS, &options, &ddp))
        return 2;
    clab_ddp_destroy(ddp);
    if (p[0].gradient)
        return 3;
    if (pass(&me, 0, BATCH, 0, 1, false, NULL, &loss))
        return 4;
    left->others[rank] = p[0].gradient == before && before[0] == value;
    close_job(&me);
    return 0;
}

static void test_who_trains_alone_again_has_the_same_memory(void **state)
{
    nranks = 1;
    options = (struct clab_ddp_options){.cap = 600};
    left->others[0] = 0;
    assert_int_equal(run_job(ranks(1), train_alone_again), 0);
    assert_int_equal(left->others[0], 1);
}

static void test_accumulated_passes_are_one_pass_of_the_larger_batch(void **state)
{
    assert_trains_as_one_rank(2, 3, (struct clab_ddp_options){.cap = 600});
    assert_trains_as_one_rank(2, 3, (struct clab_ddp_options){.cap = 600, .copies = true});
}

// ---- unused parameters ---------------------------------------------------------------------------------------

// Rank 1 alone skips layer 1; the average of the others' gradients and its zero is what arrives.
static int skip_on_one_rank(int rank)
{
    struct clab_ddp *ddp;
    static float own[(WIDTH + 1) * WIDTH];
    double loss;
    if (open_job(BATCH / nranks, &me))
        return 1;
    if (rank == 1 && clab_mlp_skip(me.mlp, 1, true))
        return 2;
    struct clab_parameter *p = clab_mlp_parameters(me.mlp);
    if (pass(&me, 0, BATCH / nranks, rank, nranks, false, NULL, &loss))
        return 3;
    memcpy(own, p[2].gradient, p[2].count * sizeof(float));
    if (clab_ddp_create(me.comm, p, 2 * LAYERS, &options, &ddp))
        return 4;
    const float *outputs;
    for (size_t i = 0; i < p[2].count; i++)
        p[2].gradient[i] = NAN; // of the step before: nothing of it may travel
    if (clab_mlp_forward(me.mlp, me.x, &outputs) || clab_ddp_begin(ddp, true) ||
        clab_mlp_backward(me.mlp, me.gradient, false, clab_ddp_ready, ddp))
        return 5;
    const int err = clab_ddp_finish(ddp);
    if (err)
        return err == CLAB_EINVAL ? 6 : 7;
    for (size_t i = 0; i < p[2].count; i++) // of two ranks: half of rank 0's
        if (rank == 0 && p[2].gradient[i] != own[i] / 2)
            return 8;
    clab_ddp_destroy(ddp);
    close_job(&me);
    return 0;
}

static void test_a_parameter_that_one_rank_does_not_use_counts_as_zero_there(void **state)
{
    nranks = 2;
    options = (struct clab_ddp_options){.cap = 880, .first_cap = 100, .find_unused = true}; // layers 2 and 1 together
    assert_int_equal(run_job(ranks(2), skip_on_one_rank), 0);
}

static void test_an_unused_parameter_is_named_where_nobody_looks_for_such(void **state)
{
    nranks = 2;
    options = (struct clab_ddp_options){.cap = SIZE_MAX};
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(2), skip_on_one_rank);
    const char *text = capture_end(err);
    assert_int_not_equal(status, 0);
    assert_non_null(strstr(text, "weight1 got no gradient in this backward pass"));
    assert_non_null(strstr(text, "find_unused"));
}

// ---- hashes --------------------------------------------------------------------------------------------------

static int flip_one_bit(int rank)
{
    int other;
    if (open_job(BATCH, &me))
        return 1;
    const int n = clab_mlp_nparameters(me.mlp);
    struct clab_parameter *p = clab_mlp_parameters(me.mlp);
    if (clab_parameters_compare(me.comm, p, n, &other) || other != -1)
        return 2;
    uint32_t bits;
    memcpy(&bits, &p[n - 2].value[5], sizeof bits);
    bits ^= rank == 2;
    memcpy(&p[n - 2].value[5], &bits, sizeof bits);
    if (clab_parameters_compare(me.comm, p, n, &left->others[rank]))
        return 3;
    close_job(&me);
    return 0;
}

static void test_one_flipped_bit_is_found_by_all_ranks(void **state)
{
    assert_int_equal(run_job(ranks(4), flip_one_bit), 0);
    for (int r = 0; r < 4; r++)
        assert_int_equal(left->others[r], 2);
}

// ---- virtual time --------------------------------------------------------------------------------------------

static void test_virtual_ranks_train_the_same_to_the_bit_twice(void **state)
{
    needs_inih();
    static float values[COUNT];
    setenv("CLAB_BACKEND", "sim", 1);
    setenv("CLAB_NET", "dgx-h100", 1);
    nranks = 4;
    accumulate = 1;
    options = (struct clab_ddp_options){.cap = 600};
    assert_int_equal(run_job(ranks(4), train_together), 0);
    memcpy(values, left->values, sizeof values);
    assert_int_equal(run_job(ranks(4), train_together), 0);
    unsetenv("CLAB_BACKEND");
    unsetenv("CLAB_NET");
    assert_memory_equal(values, left->values, sizeof values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_are_full_when_they_hold_their_cap),
        cmocka_unit_test(test_buckets_are_printed_with_parameters_and_sizes),
        cmocka_unit_test(test_ranks_train_as_one_rank_with_the_whole_batch),
        cmocka_unit_test(test_neither_copies_nor_missing_overlap_change_what_is_learnt),
        cmocka_unit_test(test_who_trains_alone_again_has_the_same_memory),
        cmocka_unit_test(test_accumulated_passes_are_one_pass_of_the_larger_batch),
        cmocka_unit_test(test_a_parameter_that_one_rank_does_not_use_counts_as_zero_there),
        cmocka_unit_test(test_an_unused_parameter_is_named_where_nobody_looks_for_such),
        cmocka_unit_test(test_one_flipped_bit_is_found_by_all_ranks),
        cmocka_unit_test(test_virtual_ranks_train_the_same_to_the_bit_twice),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
