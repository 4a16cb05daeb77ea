// SPDX-License-Identifier: MIT
// What the bench is going to do before it does it: rows and sizes, what is skipped or refused, bytes, factors, floors.

#include "tests/fixtures/capture.h"

#include "cmd/bench/call.h"
#include "cmd/bench/errors.h"
#include "cmd/bench/limits.h"
#include "cmd/bench/options.h"
#include "cmd/bench/plan.h"
#include "core/base/values.h"
#include "core/comm/comm.h"

static struct bench_options options_for(enum clab_collective collective, const char *algorithms, int nranks)
{
    return (struct bench_options){.collectives = {collective},
                                  .ncollectives = 1,
                                  .algorithms = algorithms,
                                  .types[CLAB_F32] = true,
                                  .ops[CLAB_SUM] = true,
                                  .nranks = nranks,
                                  .backend = clab_backend_find("shm"),
                                  .cores = 2,
                                  .first = 8,
                                  .last = 2048,
                                  .factor = 4,
                                  .placements = {true, true}};
}

// The bytes of all rows, in order.
static void assert_sizes(const struct bench_options *options, const size_t expected[], int n)
{
    struct bench_plan plan;
    assert_int_equal(bench_plan_make(options, &plan), CLAB_OK);
    assert_int_equal(plan.nrows, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(bench_bytes(&plan.rows[i]), expected[i]);
    assert_int_equal(plan.buffer_bytes, expected[n - 1]);
    bench_plan_free(&plan);
}

static void test_sizes_grow_by_a_factor_or_by_bytes(void **state)
{
    struct bench_options options = options_for(CLAB_ALLREDUCE, "auto", 2);
    assert_sizes(&options, (const size_t[]){8, 32, 128, 512, 2048}, 5);
    options.last = 2047;
    assert_sizes(&options, (const size_t[]){8, 32, 128, 512}, 4);
    options.step = 1000;
    assert_sizes(&options, (const size_t[]){8, 1008, 2008}, 3);
    options.first = options.last = SIZE_MAX / 8; // no overflow on the way, and no such memory
    struct bench_plan plan;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_EINVAL);
}

// Many ranks in virtual time share this machine: together they get 2 GiB, unless more is asked for.
static void test_many_virtual_ranks_get_the_sizes_that_fit(void **state)
{
    static const struct {
        char *words[8];
        size_t last;
        int crowd; // at most: ranks, on one core
    } cases[] = {{{"bench", "-n", "256", "--backend", "sim"}, 8 << 20, 256},
                 {{"bench", "-n", "256", "--backend", "sim", "-e", "64M"}, 64 << 20, 256},
                 {{"bench", "-n", "2", "--backend", "sim"}, 64 << 20, 2},
                 {{"bench", "-n", "2", "--backend", "shm"}, 64 << 20, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_options options;
        int n = 0;
        while (cases[i].words[n])
            n++;
        assert_int_equal(bench_options_parse(n, (char **)(uintptr_t)cases[i].words, &options), CLAB_OK);
        assert_int_equal(options.last, cases[i].last);
        assert_int_equal(options.is_short, i == 0);
        assert_in_range(bench_crowd(&options), 1, cases[i].crowd);
        free(options.command);
    }
}

static void test_sizes_count_all_blocks_and_hold_an_element_a_block(void **state)
{
    const struct bench_options options = options_for(CLAB_ALLGATHER, "ring", 3);
    assert_sizes(&options, (const size_t[]){12, 24, 120, 504, 2040}, 5); // multiples of three floats
    const struct bench_options many = options_for(CLAB_ALLTOALL, "pairwise", 32);
    assert_sizes(&many, (const size_t[]){128, 512, 2048}, 3); // 8, 32 and 128 become the same
}

static void test_a_barrier_is_one_row_without_data(void **state)
{
    struct bench_options options = options_for(CLAB_BARRIER, "dissemination", 4);
    options.types[CLAB_I8] = true;
    assert_sizes(&options, (const size_t[]){0}, 1);
}

static void test_all_means_types_ops_roots_and_algorithms(void **state)
{
    struct bench_options options = options_for(CLAB_REDUCE, "flat,binomial", 3);
    struct bench_plan plan;
    options.root = BENCH_ALL_ROOTS;
    options.last = 8;
    for (int i = 0; i < CLAB_TYPE_COUNT; i++)
        options.types[i] = true;
    for (int i = 0; i < CLAB_OP_COUNT; i++)
        options.ops[i] = true;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    assert_int_equal(plan.nrows, 2 * 3 * CLAB_TYPE_COUNT * CLAB_OP_COUNT);
    bench_plan_free(&plan);
}

static void test_what_a_collective_lacks_is_skipped_with_a_reason(void **state)
{
    struct bench_options options = options_for(CLAB_ALLREDUCE, "ring,chain", 2);
    struct bench_plan plan;
    options.collectives[options.ncollectives++] = CLAB_BROADCAST;
    options.last = 8;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    assert_int_equal(plan.nrows, 2);
    assert_int_equal(plan.nskips, 2);
    assert_string_equal(plan.skips[0].algorithm, "chain");
    assert_int_equal(plan.skips[0].collective, CLAB_ALLREDUCE);
    assert_non_null(plan.skips[0].reason);
    bench_plan_free(&plan);
    options.algorithms = "ring,chains";
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_ENOENT);
}

static void test_the_automatic_choice_is_known_before(void **state)
{
    const struct bench_options options = options_for(CLAB_ALLREDUCE, "auto", 4);
    struct bench_plan plan;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    for (int i = 0; i < plan.nrows; i++) {
        assert_true(plan.rows[i].automatic);
        assert_true(plan.rows[i].algorithm && plan.rows[i].problem.lanes >= 1);
    }
    bench_plan_free(&plan);
}

// A library with an allreduce of its own.
static bool has_sums(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    return collective == CLAB_ALLREDUCE;
}

static void test_a_native_is_the_automatic_choice_and_one_of_all(void **state)
{
    const struct clab_collectives natives = {.has = has_sums};
    const struct clab_backend library = {.collectives = &natives, .time = &clab_wall_time};
    struct bench_options options = options_for(CLAB_ALLREDUCE, "auto", 4);
    struct bench_plan plan;
    options.backend = &library;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    for (int i = 0; i < plan.nrows; i++)
        assert_string_equal(plan.rows[i].algorithm->name, "native");
    bench_plan_free(&plan);
    options.algorithms = "all";
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    assert_string_equal(plan.rows[0].algorithm->name, "native");
    assert_string_not_equal(plan.rows[plan.nrows - 1].algorithm->name, "native");
    bench_plan_free(&plan);
}

static void test_a_native_that_can_not_be_is_skipped(void **state)
{
    const struct clab_collectives natives = {.has = has_sums};
    const struct clab_backend library = {.collectives = &natives, .time = &clab_wall_time};
    struct bench_options options = options_for(CLAB_ALLREDUCE, "native,ring", 4);
    struct bench_plan plan;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK); // of shm, which has none
    assert_int_equal(plan.nskips, 1);
    assert_string_equal(plan.skips[0].algorithm, "native");
    bench_plan_free(&plan);
    options.backend = &library;
    options.lanes = 2;
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    assert_int_equal(plan.nskips, 1);
    assert_string_equal(plan.skips[0].reason, "it has no lanes");
    bench_plan_free(&plan);
    options.algorithms = "auto"; // lanes ask for a schedule
    assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
    assert_string_not_equal(plan.rows[0].algorithm->name, "native");
    bench_plan_free(&plan);
}

static void test_bus_factors_are_those_of_nccl_tests(void **state)
{
    assert_true(bench_bus_factor(CLAB_ALLREDUCE, 4) == 1.5);
    assert_true(bench_bus_factor(CLAB_ALLGATHER, 4) == 0.75);
    assert_true(bench_bus_factor(CLAB_REDUCE_SCATTER, 4) == 0.75);
    assert_true(bench_bus_factor(CLAB_ALLTOALL, 4) == 0.75);
    assert_true(bench_bus_factor(CLAB_BROADCAST, 4) == 1);
    assert_true(bench_bus_factor(CLAB_REDUCE, 4) == 1);
    assert_true(bench_bus_factor(CLAB_SENDRECV, 4) == 1);
}

static void test_a_block_lies_in_place_where_it_belongs(void **state)
{
    char in[256], out[256];
    const struct bench_buffers whole = {in, out};
    struct bench_row row = {.problem = {.collective = CLAB_ALLGATHER, .nranks = 4, .count = 2}, .type = CLAB_F64};
    assert_ptr_equal(bench_place(&row, 3, BENCH_IN_PLACE, whole).in, out + 48);
    row.problem.collective = CLAB_REDUCE_SCATTER;
    assert_ptr_equal(bench_place(&row, 3, BENCH_IN_PLACE, whole).out, in + 48);
    row.problem.collective = CLAB_ALLREDUCE;
    assert_ptr_equal(bench_place(&row, 3, BENCH_IN_PLACE, whole).in, out);
    assert_ptr_equal(bench_place(&row, 3, BENCH_OUT_OF_PLACE, whole).in, in);
}

static void test_no_time_is_under_what_must_be_written_and_heard(void **state)
{
    const struct bench_limits limits = {.copy_peak = 1e11, .line = 200e-9};
    const char *why;
    struct bench_row row = {.problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .count = 250000}, .type = CLAB_F32};
    const double floor = bench_limits_floor(&limits, &row, BENCH_OUT_OF_PLACE, 2, &why);
    assert_true(fabs(floor - 8e-6) < 1e-12); // 1 MB at 1.25 times 100 GB/s
    row.problem.count = 2;
    assert_true(bench_limits_floor(&limits, &row, BENCH_OUT_OF_PLACE, 2, &why) == 50e-9);
    assert_true(bench_limits_floor(&limits, &row, BENCH_OUT_OF_PLACE, 1, &why) < 1e-9); // ranks share a core
    row.problem.collective = CLAB_BROADCAST;                                            // the root need not wait
    assert_true(bench_limits_floor(&limits, &row, BENCH_OUT_OF_PLACE, 2, &why) < 1e-9);
    row.problem.collective = CLAB_ALLGATHER;
    row.problem.count = 250000;
    const double in_place = bench_limits_floor(&limits, &row, BENCH_IN_PLACE, 2, &why);
    assert_true(fabs(in_place - 8e-6) < 1e-12); // one of two blocks is there
}

static void test_seconds_are_taken_whole(void **state)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char cut[96]; // a time up to its 63rd character
    double seconds = 12345;
    snprintf(cut, sizeof cut, "%.61s5s or so", zeros);
    assert_int_equal(clab_take_bare_seconds("--seconds", "5m", BENCH_MOST_SECONDS, &seconds),
                     CLAB_EINVAL); // minutes, perhaps, but not 5 ms
    assert_int_equal(clab_take_bare_seconds("--seconds", cut, BENCH_MOST_SECONDS, &seconds), CLAB_EINVAL);
    assert_true(seconds == 12345);
    assert_int_equal(clab_take_bare_seconds("--seconds", "0.3", BENCH_MOST_SECONDS, &seconds), CLAB_OK);
    assert_true(seconds == 0.3);
    assert_int_equal(clab_take_bare_seconds("--seconds", "50ms", BENCH_MOST_SECONDS, &seconds), CLAB_OK);
    assert_true(seconds == 50e-3);
}

// Forced or chosen, an algorithm of two levels has the same schedule.
static void test_a_forced_algorithm_groups_by_core_as_the_choice_does(void **state)
{
    static const struct {
        int cores, group; // of 6 ranks
    } cases[] = {{2, 3}, {3, 2}, {4, 0}, {6, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_options options = options_for(CLAB_ALLREDUCE, "leaders,hierarchical", 6);
        struct bench_plan plan;
        options.cores = cases[i].cores;
        assert_int_equal(bench_plan_make(&options, &plan), CLAB_OK);
        assert_true(plan.nrows >= 2);
        for (int row = 0; row < plan.nrows; row++)
            assert_int_equal(plan.rows[row].problem.group, cases[i].group);
        bench_plan_free(&plan);
    }
}

static const char *chosen(int nranks, struct clab_placement ground, int *group_p)
{
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = 1, .count = 2};
    const struct clab_algorithm *algorithm = clab_select(&problem, 4, ground);
    *group_p = problem.group;
    return algorithm->name;
}

static void test_crowded_ranks_meet_at_a_leader_a_core_where_messages_are_calls(void **state)
{
    const struct clab_placement sockets = {.crowded = true, .cores = 2, .sockets = true};
    const struct clab_placement memory = {.crowded = true, .cores = 2}, roomy = {.cores = 8, .sockets = true};
    int group;
    assert_string_equal(chosen(6, sockets, &group), "leaders");
    assert_int_equal(group, 3);
    assert_string_equal(chosen(5, sockets, &group), "star"); // no equal blocks, so they are not pinned
    assert_string_equal(chosen(6, memory, &group), "star");
    assert_string_equal(chosen(6, roomy, &group), "doubling");
    assert_int_equal(group, 0);
}

// A row that is measured again where its cores are far is not one row twice.
static void test_noise_is_of_rows_that_were_measured_in_one_place(void **state)
{
    enum { NEAR, FAR, LOOKS };
    static const struct clab_placement_sample all_probed[LOOKS] = {{60e-9, 20e-12, 0}, {170e-9, 65e-12, 0}};
    struct bench_time first[5], again[5];
    static const double seconds[5] = {1.02e-6, 2.8e-6, 0.96e-6, 2.6e-6, 1.01e-6};
    for (int i = 0; i < 5; i++) {
        first[i] = (struct bench_time){.seconds = 1e-6, .probed = all_probed[NEAR]};
        again[i] = (struct bench_time){.seconds = seconds[i], .probed = all_probed[seconds[i] > 2e-6 ? FAR : NEAR]};
    }
    assert_true(fabs(bench_repeat_noise(first, again, 5) - 0.02) < 1e-9); // the middle of 1, 2 and 4 %
    assert_true(isnan(bench_repeat_noise(first, again, 4)));              // of two it is not known
    const struct bench_time unseen[3] = {{.seconds = 1e-6}, {.seconds = 1.5e-6}, {.seconds = 1.1e-6}};
    assert_true(fabs(bench_repeat_noise(first, unseen, 3) - 0.1) < 1e-9); // where nobody looks, all of them tell
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_grow_by_a_factor_or_by_bytes),
        cmocka_unit_test(test_many_virtual_ranks_get_the_sizes_that_fit),
        cmocka_unit_test(test_sizes_count_all_blocks_and_hold_an_element_a_block),
        cmocka_unit_test(test_a_barrier_is_one_row_without_data),
        cmocka_unit_test(test_all_means_types_ops_roots_and_algorithms),
        cmocka_unit_test(test_what_a_collective_lacks_is_skipped_with_a_reason),
        cmocka_unit_test(test_the_automatic_choice_is_known_before),
        cmocka_unit_test(test_a_native_is_the_automatic_choice_and_one_of_all),
        cmocka_unit_test(test_a_native_that_can_not_be_is_skipped),
        cmocka_unit_test(test_bus_factors_are_those_of_nccl_tests),
        cmocka_unit_test(test_a_block_lies_in_place_where_it_belongs),
        cmocka_unit_test(test_no_time_is_under_what_must_be_written_and_heard),
        cmocka_unit_test(test_crowded_ranks_meet_at_a_leader_a_core_where_messages_are_calls),
        cmocka_unit_test(test_a_forced_algorithm_groups_by_core_as_the_choice_does),
        cmocka_unit_test(test_seconds_are_taken_whole),
        cmocka_unit_test(test_noise_is_of_rows_that_were_measured_in_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
