// SPDX-License-Identifier: MIT
// How bench --matrix divides its budget among cells.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "cmd/bench/matrix/matrix.h"
#include "core/base/clock.h"

enum { CELLS = 4, WARMUP = 5, TIMED = 50, CHECKS = 2 };
static const double call = 1e-3, overhead = 0.5; // of the trial's cell, s

// Cells of 1, 10, 100 and 1000 MB on 2 ranks by shared memory, after a trial with 1 MB.
struct setting {
    struct matrix matrix;
    struct matrix_cell cells[CELLS];
};

static void set_up(struct setting *s, double budget)
{
    *s = (struct setting){.matrix = {
        .options = {.warmup = WARMUP, .iterations = TIMED, .budget = budget},
        .hardware = {.cores = 2},
        .ncells = CELLS,
        .start = clab_now(),
    }};
    size_t count = 250000;
    for (int i = 0; i < CELLS; i++, count *= 10)
        s->cells[i] = (struct matrix_cell){
            .row = {.problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = count}, .type = CLAB_F32},
            .placement = BENCH_IN_PLACE,
            .backend = MATRIX_SHM,
            .simulated = NAN,
        };
    s->matrix.cells = s->cells;
    s->matrix.trials[MATRIX_SHM] = (struct matrix_trial){s->cells[0], call, overhead, 1};
}

static void test_enough_time_gives_each_cell_all_its_calls(void **state)
{
    struct setting s;
    set_up(&s, 3600);
    const double seconds = matrix_estimate_divide(&s.matrix);
    for (int i = 0; i < CELLS; i++) {
        assert_int_equal(s.cells[i].warmup, WARMUP);
        assert_int_equal(s.cells[i].iterations, TIMED);
        assert_false(s.cells[i].is_late);
    }
    // 1111 ms for one call of each, and at least a start each.
    assert_true(seconds > 1.111 * (WARMUP + TIMED + CHECKS) + CELLS * overhead);
}

static void test_short_time_takes_calls_from_the_longest_cells(void **state)
{
    struct setting s;
    set_up(&s, 40);
    const double seconds = matrix_estimate_divide(&s.matrix);
    assert_true(seconds <= 40);
    assert_int_equal(s.cells[0].iterations, TIMED);
    assert_int_equal(s.cells[1].iterations, TIMED);
    assert_in_range(s.cells[3].iterations, MATRIX_FEWEST, TIMED - 1);
    assert_false(s.cells[3].is_late);
}

static void test_shorter_time_leaves_the_longest_cells_out(void **state)
{
    struct setting s;
    set_up(&s, 6);
    const double seconds = matrix_estimate_divide(&s.matrix);
    assert_true(seconds <= 6);
    assert_true(s.cells[3].is_late);
    assert_false(s.cells[0].is_late);
    assert_true(matrix_estimate_least(&s.matrix, &s.cells[3]) > 6 - seconds);
}

static void test_no_time_leaves_all_out(void **state)
{
    struct setting s;
    set_up(&s, 1e-9);
    assert_true(matrix_estimate_divide(&s.matrix) == 0);
    for (int i = 0; i < CELLS; i++)
        assert_true(s.cells[i].is_late);
}

static void test_fewer_calls_than_the_fewest_can_be_asked_for(void **state)
{
    struct setting s;
    set_up(&s, 3600);
    s.matrix.options.warmup = 0;
    s.matrix.options.iterations = 2;
    matrix_estimate_divide(&s.matrix);
    assert_int_equal(s.cells[3].warmup, 0);
    assert_int_equal(s.cells[3].iterations, 2);
}

static void test_ranks_that_share_cores_take_as_many_times_as_long(void **state)
{
    struct setting s;
    set_up(&s, 3600);
    s.cells[1] = s.cells[0];
    s.cells[1].row.problem.nranks = 6;
    s.cells[1].oversubscribed = true;
    matrix_estimate_divide(&s.matrix);
    // Six ranks on two cores, and each sends 2 * 5/6 of the buffer instead of 2 * 1/2.
    assert_true(fabs(s.cells[1].call / s.cells[0].call - 3.0 * 5 / 3) < 1e-9);
}

static void test_cells_that_end_correct_the_others(void **state)
{
    struct setting s;
    set_up(&s, 3600);
    matrix_estimate_divide(&s.matrix);
    const double before = s.cells[1].call;
    matrix_estimate_learn(&s.matrix, &s.cells[0], 3 * matrix_estimate_cell(&s.cells[0]));
    matrix_estimate_divide(&s.matrix);
    assert_true(fabs(s.cells[1].call / before - 2) < 1e-9); // half way
}

static void test_predictions_replace_bytes(void **state)
{
    struct setting s;
    set_up(&s, 3600);
    s.matrix.trials[MATRIX_SHM].cell.simulated = 1e-6;
    s.cells[1].simulated = 7e-6;
    matrix_estimate_divide(&s.matrix);
    assert_true(fabs(s.cells[1].call / call - 7) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough_time_gives_each_cell_all_its_calls),
        cmocka_unit_test(test_short_time_takes_calls_from_the_longest_cells),
        cmocka_unit_test(test_shorter_time_leaves_the_longest_cells_out),
        cmocka_unit_test(test_no_time_leaves_all_out),
        cmocka_unit_test(test_fewer_calls_than_the_fewest_can_be_asked_for),
        cmocka_unit_test(test_ranks_that_share_cores_take_as_many_times_as_long),
        cmocka_unit_test(test_cells_that_end_correct_the_others),
        cmocka_unit_test(test_predictions_replace_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
