// SPDX-License-Identifier: MIT
// The sweep: crossovers against the formulas of two algorithms, and against the sizes around them; what is left out.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "tests/fixtures/needs.h"
#include "cmd/sim/sweep.h"

enum { ROOM = 64 };

static struct sweep_line line_of(const struct clab_net *net, int nranks, const char *const names[], size_t low,
                                 size_t high)
{
    struct sweep_line line = {.collective = CLAB_ALLREDUCE, .net = net, .nranks = nranks, .room = ROOM};
    for (; names[line.nentries]; line.nentries++)
        line.entries[line.nentries] =
            (struct sweep_entry){names[line.nentries], clab_algorithm_find(CLAB_ALLREDUCE, names[line.nentries])};
    line.cells = calloc(ROOM, sizeof *line.cells);
    assert_non_null(line.cells);
    line.cells[line.ncells++].count = low;
    line.cells[line.ncells++].count = high;
    return line;
}

static double seconds_of(const struct sweep_line *line, const char *name, size_t count)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(line->collective, name);
    const struct clab_problem problem = {line->collective, line->nranks, 0, algorithm->default_lanes, 0, count, NULL};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 4};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(&problem, algorithm, line->net, &options, &result), CLAB_OK);
    return result.seconds;
}

static struct clab_net *flat(void)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 0, &net), CLAB_OK);
    return net;
}

static void test_sweep_finds_where_ring_overtakes_doubling(void **state)
{
    static const char *const names[] = {"ring", "doubling", NULL};
    struct clab_net *net = flat();
    struct sweep_line line = line_of(net, 8, names, 2, 1 << 20);
    struct sweep sweep = {.type = CLAB_F32, .messages_at_most = 1e6, .lines = &line, .nlines = 1};
    assert_int_equal(sweep_price(&sweep), CLAB_OK);
    assert_int_equal(line.ncells, 3);
    const struct sweep_cell *cell = &line.cells[1];
    assert_string_equal(line.entries[line.cells[0].best].name, "doubling");
    assert_string_equal(line.entries[cell->best].name, "ring");
    // 3 alpha + 3 n beta = 14 alpha + 14/8 n beta at n = 8800 B, but the ring's chunks are whole elements.
    assert_true(fabs((double)sweep_bytes(&sweep, &line, cell->count) - 8800) <= 8 * 4);
    assert_true(seconds_of(&line, "ring", cell->count) < seconds_of(&line, "doubling", cell->count));
    assert_true(seconds_of(&line, "ring", cell->count - 1) >= seconds_of(&line, "doubling", cell->count - 1));
    free(line.cells);
    clab_net_free(net);
}

static void test_sweep_finds_a_winner_between_two_others(void **state)
{
    needs_inih();
    static const char *const names[] = {"hierarchical", "doubling", "halving_doubling", NULL};
    struct clab_net *net;
    assert_int_equal(clab_net_load("dgx-h100", &net), CLAB_OK);
    struct sweep_line line = line_of(net, 1024, names, 2, (size_t)1 << 30);
    struct sweep sweep = {.type = CLAB_F32, .messages_at_most = 1e6, .lines = &line, .nlines = 1};
    assert_int_equal(sweep_price(&sweep), CLAB_OK);
    static const char *const expected[] = {"doubling", "halving_doubling", "hierarchical"};
    int n = 0;
    for (int i = 0; i < line.ncells; i++)
        if (i == 0 || line.cells[i].best != line.cells[i - 1].best) {
            assert_true(n < 3);
            assert_string_equal(line.entries[line.cells[i].best].name, expected[n++]);
        }
    assert_int_equal(n, 3);
    free(line.cells);
    clab_net_free(net);
}

static void test_sweep_leaves_out_what_takes_too_many_messages(void **state)
{
    static const char *const names[] = {"ring", "doubling", NULL};
    struct clab_net *net = flat();
    struct sweep_line line = line_of(net, 33, names, 1, 33); // the first size is not shared equally: 33 * 64 messages
    struct sweep sweep = {.type = CLAB_F32, .messages_at_most = 2000, .lines = &line, .nlines = 1};
    assert_int_equal(sweep_price(&sweep), CLAB_OK);
    assert_true(isnan(line.cells[0].results[0].seconds));
    assert_true(line.cells[0].messages[0] == 33 * 64);
    assert_int_equal(line.cells[0].best, 1);
    assert_false(isnan(line.cells[1].results[0].seconds));
    free(line.cells);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep_finds_where_ring_overtakes_doubling),
        cmocka_unit_test(test_sweep_finds_a_winner_between_two_others),
        cmocka_unit_test(test_sweep_leaves_out_what_takes_too_many_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
