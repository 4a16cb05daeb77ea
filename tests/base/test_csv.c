// SPDX-License-Identifier: MIT
// Comma-separated values: what is written is read as the same, and what would be read in part is refused, with its
// line.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/files/table.h"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_results_are_read_as_they_were_written(void **state)
{
    struct clab_csv data;
    write_text(folder_path("a.csv"), "# machine: a, b: c\n# a remark\nx,y\n1,\"two, \"\"2\"\"\"\n,last\n");
    assert_int_equal(clab_csv_load(folder_path("a.csv"), &data), CLAB_OK);
    assert_string_equal(clab_manifest_get(&data.manifest, "machine"), "a, b: c");
    assert_int_equal(data.nrows, 2);
    assert_string_equal(clab_csv_cell(&data, 0, "y"), "two, \"2\"");
    assert_string_equal(clab_csv_cell(&data, 1, "x"), "");
    assert_string_equal(clab_csv_cell(&data, 1, "y"), "last");
    assert_string_equal(clab_csv_cell(&data, 2, "y"), "");
    assert_string_equal(clab_csv_cell(&data, 0, "z"), "");
    clab_csv_free(&data);
}

static void test_a_row_of_another_length_is_named(void **state)
{
    struct clab_csv data;
    write_text(folder_path("b.csv"), "x,y\n1,2\n3\n");
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = clab_csv_load(folder_path("b.csv"), &data);
    assert_one_line_with(capture_end(capture), "b.csv:3: 1 cell, but line 1 names 2 columns");
    assert_int_equal(err, CLAB_EPARSE);
}

static void assert_file_refused(const char *text, const char *expected)
{
    struct clab_csv data;
    write_text(folder_path("c.csv"), text);
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = clab_csv_load(folder_path("c.csv"), &data);
    assert_one_line_with(capture_end(capture), expected);
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_what_would_be_read_in_part_is_refused(void **state)
{
    char wide[256] = "";
    for (int i = 0; i < 64; i++)
        strcat(wide, "c,");
    assert_file_refused(wide, "c.csv:1: more than 64 cells");
    assert_file_refused("x,y\n1,\"two\n", "c.csv:2: column 2: the quotes of this cell do not end on its line");
    assert_file_refused("", "c.csv: no column names");
    assert_file_refused("# a: b\n\n", "c.csv: no column names");
}

static void test_other_separators_are_named(void **state)
{
    assert_file_refused("# a: b\nx;y\n1,5;2\n", "c.csv:2: semicolons separate its columns, but commas are expected");
    assert_file_refused("x\ty\n1\t2\n", "c.csv:1: tabs separate its columns, but commas are expected");
}

static void test_a_zero_byte_is_named_with_its_line(void **state)
{
    char text[] = "x,y\n1,2\n3,\0\n";
    struct clab_csv data;
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = clab_csv_parse(text, sizeof text - 1, "d.csv", &data);
    assert_one_line_with(capture_end(capture), "d.csv:3: a zero byte");
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_numbers_are_whole_cells(void **state)
{
    char text[] = "\xef\xbb\xbf# a: b\r\nx,y\r\n1.5e3,2 us\r\n\r\n,-4\r\n";
    struct clab_csv data;
    assert_int_equal(clab_csv_parse(text, strlen(text), "d.csv", &data), CLAB_OK);
    assert_string_equal(clab_manifest_get(&data.manifest, "a"), "b");
    assert_true(clab_csv_real(&data, 0, "x") == 1500 && isnan(clab_csv_real(&data, 0, "y")));
    assert_true(isnan(clab_csv_real(&data, 1, "x")) && clab_csv_real(&data, 1, "y") == -4);
    assert_true(isnan(clab_csv_real(&data, 2, "y")) && isnan(clab_csv_real(&data, 0, "z")));
    const struct capture capture = capture_begin(STDERR_FILENO);
    assert_int_equal(clab_csv_refuse(&data, 1, "y", "not '%s'", clab_csv_cell(&data, 1, "y")), CLAB_EPARSE);
    assert_one_line_with(capture_end(capture), "d.csv:5: column `y`: not '-4'");
    clab_csv_free(&data);
}

static void test_any_text_is_read_as_it_was_written(void **state)
{
    static const struct clab_column columns[] = {CLAB_COLUMN(TEXT, "x"), CLAB_COLUMN(TEXT, "y")};
    struct clab_table table;
    struct clab_csv data;
    clab_table_init(&table, columns, 2);
    const struct clab_cell cells[] = {clab_cell_text("# no remark"), clab_cell_text("two\r\nlines")};
    assert_int_equal(clab_table_add_row(&table, cells), CLAB_OK);
    assert_int_equal(clab_table_write_csv(&table, NULL, folder_path("d.csv")), CLAB_OK);
    assert_int_equal(clab_csv_load(folder_path("d.csv"), &data), CLAB_OK);
    assert_int_equal(data.nrows, 1);
    assert_string_equal(clab_csv_cell(&data, 0, "x"), "# no remark");
    assert_string_equal(clab_csv_cell(&data, 0, "y"), "two  lines");
    clab_csv_free(&data);
    clab_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_read_as_they_were_written),
        cmocka_unit_test(test_a_row_of_another_length_is_named),
        cmocka_unit_test(test_what_would_be_read_in_part_is_refused),
        cmocka_unit_test(test_other_separators_are_named),
        cmocka_unit_test(test_a_zero_byte_is_named_with_its_line),
        cmocka_unit_test(test_numbers_are_whole_cells),
        cmocka_unit_test(test_any_text_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
