// SPDX-License-Identifier: MIT
// The bench's own judge: it accepts what is right in any order of reducing, and finds a single flipped bit.
// Expected layouts and sums are built here, by hand, from what each rank gives.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/numbers/reduce.h"
#include "cmd/bench/data.h"
#include "core/base/numbers/pattern.h"
#include "core/transport/backend.h"

enum { P = 3, COUNT = 1200, ELEMENT = 8, ROOT = 1 }; // more than two windows of 512
static const uint64_t seed = 42;
static const struct clab_device *const device = &clab_device_cpu;

static struct bench_row row_of(enum clab_collective collective, enum clab_type type, enum clab_op op, int nranks)
{
    return (struct bench_row){
        .problem = {.collective = collective, .nranks = nranks, .lanes = 1, .count = COUNT}, .type = type, .op = op};
}

// The whole input of `rank`, P blocks of it.
static void give(const struct bench_row *row, int rank, char *out)
{
    bench_data_fill(device, seed, row, rank, 0, (size_t)P * COUNT, out);
}

// ---- what is right is accepted -------------------------------------------------------------------------------

// Ranks first, first + step, ... reduced one after another, as no algorithm has to.
static void reduce_all(const struct bench_row *row, int first, int step, size_t block, char *out)
{
    const int nranks = row->problem.nranks;
    static char given[COUNT * ELEMENT];
    bench_data_fill(device, seed, row, first, block * COUNT, COUNT, out);
    for (int i = 1; i < nranks; i++) {
        bench_data_fill(device, seed, row, (first + i * step) % nranks, block * COUNT, COUNT, given);
        clab_elements_reduce(row->type, row->op, out, given, out, COUNT);
    }
    if (row->op == CLAB_AVG)
        clab_elements_scale(row->type, out, COUNT, nranks);
}

static void test_sums_in_any_order_are_right(void **state)
{
    static char out[COUNT * ELEMENT];
    for (int nranks = 1; nranks <= 64; nranks = nranks * 2 + 1)
        for (int type = 0; type < CLAB_TYPE_COUNT; type++)
            for (int op = 0; op < CLAB_OP_COUNT; op++) {
                const struct bench_row row = row_of(CLAB_ALLREDUCE, (enum clab_type)type, (enum clab_op)op, nranks);
                reduce_all(&row, 0, 1, 0, out);
                assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), 0);
                reduce_all(&row, nranks - 1, nranks - 1, 0, out); // downwards
                assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), 0);
            }
}

// What `rank` must have in the end, block by block, from what the ranks give: (P, P, COUNT).
static int expect(const struct bench_row *row, int rank, const char *given, char *out)
{
    const size_t block = COUNT * clab_type_bytes(row->type);
#define GIVEN(r, b) (given + ((size_t)(r)*P + (size_t)(b)) * block)
    switch (row->problem.collective) {
    case CLAB_BROADCAST: memcpy(out, GIVEN(ROOT, 0), block); return 1;
    case CLAB_SCATTER: memcpy(out, GIVEN(ROOT, rank), block); return 1;
    case CLAB_SENDRECV: memcpy(out, GIVEN(rank == 0 ? P - 1 : rank - 1, 0), block); return 1;
    case CLAB_REDUCE_SCATTER: reduce_all(row, 0, 1, (size_t)rank, out); return 1;
    case CLAB_REDUCE:
        if (rank != ROOT)
            return 0;
        reduce_all(row, 0, 1, 0, out);
        return 1;
    case CLAB_GATHER:
        if (rank != ROOT)
            return 0;
        // fall through
    case CLAB_ALLGATHER:
    case CLAB_ALLTOALL:
        for (int r = 0; r < P; r++)
            memcpy(out + (size_t)r * block, GIVEN(r, row->problem.collective == CLAB_ALLTOALL ? rank : 0), block);
        return P;
    default: reduce_all(row, 0, 1, 0, out); return 1;
    }
#undef GIVEN
}

static char given[P * P * COUNT * ELEMENT], out[P * COUNT * ELEMENT];

static struct bench_row prepare(int collective, enum clab_type type, int rank, int *blocks_p)
{
    struct bench_row row = row_of((enum clab_collective)collective, type, CLAB_SUM, P);
    row.problem.root = clab_collective_rooted(row.problem.collective) ? ROOT : 0;
    for (int r = 0; r < P; r++)
        give(&row, r, given + (size_t)r * P * COUNT * clab_type_bytes(type));
    *blocks_p = expect(&row, rank, given, out);
    return row;
}

static void test_every_collective_ends_where_clab_h_says(void **state)
{
    for (int collective = 0; collective < CLAB_COLLECTIVE_COUNT; collective++)
        for (int rank = 0; rank < P; rank++) {
            int blocks;
            if (collective == CLAB_BARRIER)
                continue;
            const struct bench_row row = prepare(collective, CLAB_I32, rank, &blocks);
            assert_int_equal(clab_problem_out_blocks(&row.problem, rank), blocks);
            assert_int_equal(bench_data_check(device, seed, &row, rank, out, 1), 0);
            if (blocks) // another rank's result is not ours, but where all have the same
                assert_true(collective == CLAB_ALLREDUCE || collective == CLAB_BROADCAST ||
                            collective == CLAB_ALLGATHER ||
                            blocks != clab_problem_out_blocks(&row.problem, (rank + 1) % P) ||
                            bench_data_check(device, seed, &row, (rank + 1) % P, out, 1) > (size_t)blocks * COUNT / 2);
        }
}

// ---- what is wrong is found ----------------------------------------------------------------------------------

static void flip(char *data, enum clab_type type, size_t element, size_t bit)
{
    data[element * clab_type_bytes(type) + bit / 8] ^= (char)(1 << bit % 8);
}

static void test_one_flipped_bit_of_moved_data_is_found(void **state)
{
    static const int moves[] = {CLAB_BROADCAST, CLAB_ALLGATHER, CLAB_ALLTOALL,
                                CLAB_GATHER,    CLAB_SCATTER,   CLAB_SENDRECV};
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
        for (int type = 0; type < CLAB_TYPE_COUNT; type++) {
            int blocks;
            const struct bench_row row = prepare(moves[m], (enum clab_type)type, ROOT, &blocks);
            const size_t last = (size_t)blocks * COUNT - 1;
            for (size_t bit = 0; bit < 8 * clab_type_bytes(row.type); bit++) {
                flip(out, row.type, bit % 2 ? last : 0, bit);
                assert_int_equal(bench_data_check(device, seed, &row, ROOT, out, 1), 1);
                flip(out, row.type, bit % 2 ? last : 0, bit);
            }
        }
}

static void test_one_flipped_bit_of_reduced_integers_is_found(void **state)
{
    for (int type = CLAB_I8; type < CLAB_TYPE_COUNT; type++)
        for (int op = 0; op < CLAB_OP_COUNT; op++) {
            const struct bench_row row = row_of(CLAB_ALLREDUCE, (enum clab_type)type, (enum clab_op)op, P);
            reduce_all(&row, 0, 1, 0, out);
            for (size_t bit = 0; bit < 8 * clab_type_bytes(row.type); bit++) {
                flip(out, row.type, 700, bit);
                assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), 1);
                flip(out, row.type, 700, bit);
            }
        }
}

// The first element whose size is above 1: where the bits of a mantissa are worth most.
static size_t first_large(enum clab_type type, const char *elements)
{
    size_t i = 0;
    while (fabs(clab_pattern_double(clab_pattern_at(elements, i, clab_format_of(type).bytes), type)) <= 1)
        i++;
    return i;
}

// Of a float sum, the bits above the bound: here all but the lowest six.
static void test_one_flipped_bit_of_a_float_sum_is_found(void **state)
{
    for (int type = CLAB_F32; type <= CLAB_BF16; type++) {
        const struct bench_row row = row_of(CLAB_ALLREDUCE, (enum clab_type)type, CLAB_SUM, P);
        reduce_all(&row, 0, 1, 0, out);
        const size_t element = first_large(row.type, out);
        for (size_t bit = 6; bit < 8 * clab_type_bytes(row.type); bit++) {
            flip(out, row.type, element, bit);
            assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), 1);
            flip(out, row.type, element, bit);
        }
    }
}

static void test_minimum_and_maximum_of_floats_are_exact(void **state)
{
    for (int op = CLAB_MIN; op <= CLAB_MAX; op++) {
        const struct bench_row row = row_of(CLAB_ALLREDUCE, CLAB_F32, (enum clab_op)op, P);
        reduce_all(&row, 0, 1, 0, out);
        flip(out, CLAB_F32, COUNT - 1, 0);
        assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), 1);
    }
}

// The bound of P = 2 is u (|a| + |b|): half of the unit in the last place at most, if a and b have one sign.
static void test_a_float_sum_is_held_to_its_bound(void **state)
{
    const struct bench_row row = row_of(CLAB_ALLREDUCE, CLAB_F32, CLAB_SUM, 2);
    static float a[COUNT], b[COUNT], sum[COUNT];
    bench_data_fill(device, seed, &row, 0, 0, COUNT, a);
    bench_data_fill(device, seed, &row, 1, 0, COUNT, b);
    size_t same = 0;
    for (size_t i = 0; i < COUNT; i++) {
        sum[i] = a[i] + b[i];
        if (a[i] * b[i] > 0 && same++ % 2) // two units away: over the bound
            sum[i] = nextafterf(nextafterf(sum[i], INFINITY), INFINITY);
    }
    assert_true(same > COUNT / 4);
    assert_int_equal(bench_data_check(device, seed, &row, 0, sum, 1), same / 2);
}

static void test_an_untouched_output_is_wrong(void **state)
{
    for (int type = CLAB_F32; type <= CLAB_BF16; type++) {
        const struct bench_row row = row_of(CLAB_ALLREDUCE, (enum clab_type)type, CLAB_SUM, P);
        memset(out, 0xff, sizeof out);
        assert_int_equal(bench_data_check(device, seed, &row, 0, out, 1), COUNT);
    }
}

static void test_a_written_input_is_found(void **state)
{
    const struct bench_row row = row_of(CLAB_REDUCE_SCATTER, CLAB_F64, CLAB_SUM, P);
    give(&row, 2, given);
    assert_int_equal(bench_data_check_input(device, seed, &row, 2, given, 1), 0);
    flip(given, CLAB_F64, P * COUNT - 1, 0);
    assert_int_equal(bench_data_check_input(device, seed, &row, 2, given, 1), 1);
}

static void test_data_differs_by_seed_rank_and_index(void **state)
{
    const struct bench_row row = row_of(CLAB_ALLGATHER, CLAB_I64, CLAB_SUM, P);
    static int64_t a[COUNT], b[COUNT];
    bench_data_fill(device, seed, &row, 0, 0, COUNT, a);
    bench_data_fill(device, seed + 1, &row, 0, 0, COUNT, b);
    assert_memory_not_equal(a, b, sizeof a);
    bench_data_fill(device, seed, &row, 1, 0, COUNT, b);
    assert_memory_not_equal(a, b, sizeof a);
    bench_data_fill(device, seed, &row, 0, 7, COUNT - 7, b); // the same elements, from another place on
    assert_memory_equal(a + 7, b, (COUNT - 7) * sizeof *a);
}

// ---- samples of large results --------------------------------------------------------------------------------

static void test_large_results_are_checked_in_windows_and_at_both_ends(void **state)
{
    enum { LARGE = 512 * 40 };
    struct bench_row row = row_of(CLAB_BROADCAST, CLAB_I8, CLAB_SUM, 2);
    row.problem.count = LARGE;
    char *large = malloc(LARGE);
    assert_non_null(large);
    bench_data_fill(device, seed, &row, 0, 0, LARGE, large);
    for (size_t i = 0; i < LARGE; i++)
        large[i] ^= 1;
    const size_t found = bench_data_check(device, seed, &row, 1, large, 10);
    assert_in_range(found, 4 * 512, 6 * 512); // four of forty windows, the first and the last
    large[0] ^= 1;
    large[LARGE - 1] ^= 1;
    assert_int_equal(bench_data_check(device, seed, &row, 1, large, 10), found - 2);
    free(large);
    row.problem.count = (size_t)1 << 40;
    assert_in_range(bench_data_stride(&row, 1, 1), 1 << 14, 1 << 16);
    row.problem.count = 1 << 20;
    assert_int_equal(bench_data_stride(&row, 1, 1), 1);
}

static void test_ranks_look_at_different_windows_and_together_at_all(void **state)
{
    enum { LARGE = 512 * 40, STRIDE = 4 };
    struct bench_row row = row_of(CLAB_BROADCAST, CLAB_I8, CLAB_SUM, STRIDE);
    row.problem.count = LARGE;
    char *large = malloc(LARGE);
    assert_non_null(large);
    bench_data_fill(device, seed, &row, 0, 0, LARGE, large);
    for (int window = 1; window < 39; window++) {
        size_t found = 0;
        large[window * 512 + 7] ^= 1;
        for (int rank = 0; rank < STRIDE; rank++)
            found += bench_data_check(device, seed, &row, rank, large, STRIDE);
        assert_int_equal(found, 1);
        large[window * 512 + 7] ^= 1;
    }
    free(large);
    row.problem.count = 1 << 20;
    assert_int_equal(bench_data_stride(&row, 1, 32), 1); // 32 ranks of a core share 2^25 elements
    assert_int_equal(bench_data_stride(&row, 1, 128), 4);
}

// ---- numbers -------------------------------------------------------------------------------------------------

static void test_halves_mean_what_ieee_754_says(void **state)
{
    static const uint64_t bits[] = {0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x3555, 0x7bff, 0xc000, 0x7c00, 0xfc00};
    static const double expected[] = {0,      0x1p-24, 0x1.ff8p-15, 0x1p-14,  1, 0.333251953125,
                                      65504., -2,      INFINITY,    -INFINITY};
    enum { N = sizeof bits / sizeof *bits };
    for (int i = 0; i < N; i++)
        assert_true(clab_pattern_double(bits[i], CLAB_F16) == expected[i]);
    assert_true(isnan(clab_pattern_double(0x7c01, CLAB_F16)));
}

// Whatever the order, no partial product of many ranks leaves the normal numbers of an f16.
static void test_products_of_many_ranks_stay_in_range(void **state)
{
    enum { RANKS = 1000, N = 64 };
    const struct bench_row row = row_of(CLAB_ALLREDUCE, CLAB_F64, CLAB_PROD, RANKS);
    double largest[N], smallest[N], values[N];
    for (int i = 0; i < N; i++)
        largest[i] = smallest[i] = 1;
    for (int rank = 0; rank < RANKS; rank++) {
        bench_data_fill(device, seed, &row, rank, 0, N, values);
        for (int i = 0; i < N; i++) {
            largest[i] *= fmax(1, fabs(values[i]));
            smallest[i] *= fmin(1, fabs(values[i]));
        }
    }
    for (int i = 0; i < N; i++) {
        assert_true(largest[i] < 65504 && smallest[i] > 0x1p-14);
        assert_true(largest[i] > 1 || smallest[i] < 1); // and are not all ones
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_in_any_order_are_right),
        cmocka_unit_test(test_every_collective_ends_where_clab_h_says),
        cmocka_unit_test(test_one_flipped_bit_of_moved_data_is_found),
        cmocka_unit_test(test_one_flipped_bit_of_reduced_integers_is_found),
        cmocka_unit_test(test_one_flipped_bit_of_a_float_sum_is_found),
        cmocka_unit_test(test_minimum_and_maximum_of_floats_are_exact),
        cmocka_unit_test(test_a_float_sum_is_held_to_its_bound),
        cmocka_unit_test(test_an_untouched_output_is_wrong),
        cmocka_unit_test(test_a_written_input_is_found),
        cmocka_unit_test(test_data_differs_by_seed_rank_and_index),
        cmocka_unit_test(test_ranks_look_at_different_windows_and_together_at_all),
        cmocka_unit_test(test_large_results_are_checked_in_windows_and_at_both_ends),
        cmocka_unit_test(test_halves_mean_what_ieee_754_says),
        cmocka_unit_test(test_products_of_many_ranks_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
