// SPDX-License-Identifier: MIT
// The user's table of choices: the first row that fits, -1 for any, and the library's own choice where none fits.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/comm/comm.h"

static const char *file_of(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/table.csv", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct clab_choice_table table_of(const char *text)
{
    struct clab_choice_table table;
    assert_int_equal(clab_choice_table_read(file_of(text), &table), CLAB_OK);
    return table;
}

// The algorithm of an allreduce of `bytes`.
static const char *chosen(const struct clab_choice_table *table, int nranks, int nodes, size_t bytes, int *lanes_p)
{
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = 1, .count = bytes / 4};
    const struct clab_placement placement = {.cores = nranks, .nodes = nodes, .table = table};
    const struct clab_algorithm *algorithm = clab_select(&problem, 4, placement);
    *lanes_p = problem.lanes;
    return algorithm->name;
}

struct expected {
    int nranks, nodes;
    size_t bytes;
    const char *algorithm;
};

static void assert_choices(const char *text, const struct expected *expected, int n)
{
    struct clab_choice_table table = table_of(text);
    int lanes;
    for (int i = 0; i < n; i++)
        assert_string_equal(chosen(&table, expected[i].nranks, expected[i].nodes, expected[i].bytes, &lanes),
                            expected[i].algorithm);
    clab_choice_table_free(&table);
}

static void test_the_first_row_that_fits_is_taken(void **state)
{
    static const struct expected expected[] = {
        {8, 1, 64, "tree"}, {8, 1, 1024, "tree"}, {8, 1, 1028, "star"}, {8, 1, 1 << 20, "star"}};
    assert_choices("allreduce,64,1024,tree,-1,-1,-1,-1\nallreduce,0,-1,star,-1,-1,-1,-1\n"
                   "allreduce,0,-1,naive,-1,-1,-1,-1\n",
                   expected, 4);
}

static void test_minus_one_is_any_and_a_number_is_that(void **state)
{
    static const struct expected expected[] = {
        {8, 1, 64, "tree"}, {16, 2, 64, "star"}, {16, 1, 64, "ring"}, {4, 4, 64, "ring"}};
    assert_choices("allreduce,0,-1,tree,-1,-1,-1,8\nallreduce,0,-1,star,-1,-1,2,-1\nallreduce,0,-1,ring,-1,-1,-1,-1\n",
                   expected, 4);
}

static void test_where_no_row_fits_the_default_stays(void **state)
{
    static const struct expected expected[] = {{8, 1, 64, "doubling"}, {8, 1, 1 << 20, "ring"}, {8, 1, 4096, "tree"}};
    assert_choices("allreduce,4096,8191,tree,-1,-1,-1,-1\nbroadcast,0,-1,flat,-1,-1,-1,-1\n", expected, 3);
    int lanes;
    assert_string_equal(chosen(NULL, 8, 1, 64, &lanes), "doubling");
}

static void test_channels_are_lanes(void **state)
{
    struct clab_choice_table table = table_of("allreduce,0,64,tree,-1,4,-1,-1\nallreduce,65,-1,tree,-1,-1,-1,-1\n");
    int lanes;
    chosen(&table, 8, 1, 64, &lanes);
    assert_int_equal(lanes, 4);
    chosen(&table, 8, 1, 128, &lanes);
    assert_int_equal(lanes, clab_algorithm_find(CLAB_ALLREDUCE, "tree")->default_lanes);
    clab_choice_table_free(&table);
}

static void test_rows_with_a_protocol_are_nccls(void **state)
{
    static const struct expected expected[] = {{8, 1, 64, "star"}};
    assert_choices("allreduce,0,-1,tree,ll,-1,-1,-1\nallreduce,0,-1,nvls,simple,-1\nallreduce,0,-1,star,-1,-1,-1,-1\n",
                   expected, 1);
}

static void test_a_bad_row_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *says;
    } files[] = {
        {"allreduce,0,8,tree,-1,-1\n", "table.csv:1: 6 fields: it does not say for how many nodes and ranks"},
        {"# a\nallreduce,0,8,trees,-1,-1,-1,-1\n", "table.csv:2: allreduce has no algorithm 'trees'; it has: naive"},
        {"gathers,0,8,flat,-1,-1,-1,-1\n", "table.csv:1: there is no collective 'gathers'"},
        {"allreduce,0,8,tree,-1,17,-1,-1\n", "table.csv:1: channels '17': an algorithm has at most 16 lanes"},
        {"allreduce,0,8,tree,-1\n", "table.csv:1: 5 fields, not 6, 8, 9 or 10"},
        {"", "table.csv: there is no row; `commlab tune` writes some"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct clab_choice_table table;
        const char *path = file_of(files[i].text);
        const struct capture capture = capture_begin(STDERR_FILENO);
        const int err = clab_choice_table_read(path, &table);
        assert_one_line_with(capture_end(capture), files[i].says);
        assert_int_equal(err, CLAB_EPARSE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_row_that_fits_is_taken),
        cmocka_unit_test(test_minus_one_is_any_and_a_number_is_that),
        cmocka_unit_test(test_where_no_row_fits_the_default_stays),
        cmocka_unit_test(test_channels_are_lanes),
        cmocka_unit_test(test_rows_with_a_protocol_are_nccls),
        cmocka_unit_test(test_a_bad_row_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
