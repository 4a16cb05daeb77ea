// SPDX-License-Identifier: MIT
// A table on the screen, as CSV and as JSON, and what it refuses.

#include "tests/fixtures/capture.h"

#include <float.h>
#include <math.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/files/table.h"

static const struct clab_column columns[] = {
    {.name = "bytes", .heading = "size", .unit = "B", .kind = CLAB_KIND_INTEGER, .width = 8},
    {.name = "algorithm", .kind = CLAB_KIND_TEXT, .width = -9},
    {.name = "usec", .heading = "time", .unit = "us", .kind = CLAB_KIND_REAL, .width = 7, .digits = 2,
     .group = "out-of-place"},
    {.name = "wrong", .heading = "#wrong", .kind = CLAB_KIND_INTEGER, .width = 6, .group = "out-of-place"},
    CLAB_COLUMN(TEXT, "note"),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static struct clab_table three_rows(void)
{
    struct clab_table table;
    clab_table_init(&table, columns, COLUMNS);
    const struct clab_cell rows[3][COLUMNS] = {
        {clab_cell_integer(8), clab_cell_text("ring"), clab_cell_real(0.125), clab_cell_integer(0),
         clab_cell_text("plain")},
        {clab_cell_integer(1048576), clab_cell_none(), clab_cell_real(NAN), clab_cell_none(), clab_cell_text(NULL)},
        {clab_cell_integer(-1), clab_cell_text("a,b"), clab_cell_real(1e6 / 3), clab_cell_integer(2),
         clab_cell_text("say \"hi\"\nagain")},
    };
    for (int i = 0; i < 3; i++)
        assert_int_equal(clab_table_add_row(&table, rows[i]), CLAB_OK);
    return table;
}

static void test_the_screen_shows_groups_names_units_and_aligned_rows(void **state)
{
    struct clab_table table = three_rows();
    const struct capture screen = capture_begin(STDOUT_FILENO);
    clab_table_print(&table, stdout);
    const char *text = capture_end(screen);
    clab_table_free(&table);
    assert_string_equal(text, "#                     out-of-place \n"
                              "#     size algorithm    time #wrong\n"
                              "#      (B)              (us)       \n"
                              "         8 ring         0.12      0\n"
                              "   1048576 -               -      -\n"
                              "        -1 a,b       333333.33      2\n");
}

static void test_rows_print_one_by_one_as_they_come(void **state)
{
    static const struct clab_column one[] = {{.name = "n", .kind = CLAB_KIND_INTEGER, .width = 3}};
    struct clab_table table;
    clab_table_init(&table, one, 1);
    const struct capture screen = capture_begin(STDOUT_FILENO);
    clab_table_print_header(&table, stdout);
    for (int i = 0; i < 3; i++) {
        clab_table_add(&table, clab_cell_integer(i));
        clab_table_print_row(&table, clab_table_rows(&table) - 1, stdout);
    }
    assert_string_equal(capture_end(screen), "#   n\n    0\n    1\n    2\n");
    clab_table_free(&table);
}

static void test_the_largest_real_is_printed_whole(void **state)
{
    static const struct clab_column one[] = {{.name = "x", .kind = CLAB_KIND_REAL, .width = 1, .digits = 2}};
    struct clab_table table;
    clab_table_init(&table, one, 1);
    clab_table_add(&table, clab_cell_real(-DBL_MAX));
    const struct capture screen = capture_begin(STDOUT_FILENO);
    clab_table_print_row(&table, 0, stdout);
    assert_int_equal(strlen(capture_end(screen)), strlen("  -.00\n") + 309);
    clab_table_free(&table);
}

static void test_cells_of_the_wrong_kind_are_refused_and_leave_the_table(void **state)
{
    struct clab_table table = three_rows();
    const struct clab_cell row[COLUMNS] = {clab_cell_integer(1), clab_cell_text("ring"), clab_cell_integer(5)};
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_table_add_row(&table, row);
    assert_one_line_with(capture_end(log), "`usec`");
    assert_int_equal(err, CLAB_EINVAL);
    assert_int_equal(clab_table_rows(&table), 3);
    assert_int_equal(table.ncells, 3 * COLUMNS);
    clab_table_free(&table);
}

static void test_a_row_after_an_incomplete_one_is_refused(void **state)
{
    struct clab_table table = three_rows();
    const struct clab_cell row[COLUMNS] = {clab_cell_none()};
    assert_int_equal(clab_table_add(&table, clab_cell_integer(5)), CLAB_OK);
    assert_int_equal(clab_table_rows(&table), 3);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_table_add_row(&table, row);
    assert_one_line_with(capture_end(log), "`algorithm`");
    assert_int_equal(err, CLAB_EINVAL);
    clab_table_free(&table);
}

static void test_many_rows_are_kept_and_their_text_is_copied(void **state)
{
    static const struct clab_column two[] = {CLAB_COLUMN(INTEGER, "n"), CLAB_COLUMN(TEXT, "t")};
    struct clab_table table;
    char text[16];
    clab_table_init(&table, two, 2);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "row %d", i);
        clab_table_add(&table, clab_cell_integer(i));
        clab_table_add(&table, clab_cell_text(text));
    }
    assert_int_equal(clab_table_rows(&table), 5000);
    assert_int_equal(clab_table_cell(&table, 4321, 0).integer, 4321);
    assert_string_equal(clab_table_cell(&table, 4321, 1).text, "row 4321");
    clab_table_free(&table);
    assert_int_equal(clab_table_rows(&table), 0);
}

static struct clab_manifest two_facts(void)
{
    struct clab_manifest manifest = {0};
    assert_int_equal(clab_manifest_add(&manifest, "machine", "%d cores", 2), CLAB_OK);
    assert_int_equal(clab_manifest_add(&manifest, "warning", "one\ntwo"), CLAB_OK);
    assert_int_equal(clab_manifest_add(&manifest, "warning", "three"), CLAB_OK);
    return manifest;
}

static void test_a_manifest_keeps_one_line_a_key(void **state)
{
    struct clab_manifest manifest = two_facts();
    assert_int_equal(manifest.count, 2);
    assert_string_equal(clab_manifest_get(&manifest, "machine"), "2 cores");
    assert_string_equal(clab_manifest_get(&manifest, "warning"), "one two; three");
    assert_null(clab_manifest_get(&manifest, "warn"));
    clab_manifest_free(&manifest);
    assert_int_equal(manifest.count, 0);
}

// A spreadsheet runs what begins so, quotes or not; and a line of the manifest is cells to it, too.
static void test_csv_has_no_formulas_of_others(void **state)
{
    static const struct clab_column texts[] = {CLAB_COLUMN(TEXT, "a"), CLAB_COLUMN(REAL, "b")};
    struct clab_manifest manifest = {0};
    struct clab_table table;
    clab_table_init(&table, texts, 2);
    static const char *const cells[] = {"=cmd|'/c calc'!A0", "+1", "-1+cmd", "@SUM(1)", "=a,\"b\"", "a=b"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const struct clab_cell row[] = {clab_cell_text(cells[i]), clab_cell_real(-1.5)};
        assert_int_equal(clab_table_add_row(&table, row), CLAB_OK);
    }
    clab_manifest_add(&manifest, "net", "x,=cmd,a=b,@x");
    const char *path = folder_path("f.csv");
    assert_int_equal(clab_table_write_csv(&table, &manifest, path), CLAB_OK);
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    assert_string_equal(file_text(path),
                        "# net: x,'=cmd,a=b,'@x\na,b\n'=cmd|'/c calc'!A0,-1.5\n'+1,-1.5\n'-1+cmd,-1.5\n'@SUM(1),-1.5\n"
                        "\"'=a,\"\"b\"\"\",-1.5\na=b,-1.5\n");
    folder_entries(1);
}

static void test_csv_has_the_manifest_the_names_and_quoted_cells(void **state)
{
    struct clab_table table = three_rows();
    struct clab_manifest manifest = two_facts();
    const char *path = folder_path("t.csv");
    assert_int_equal(clab_table_write_csv(&table, &manifest, path), CLAB_OK);
    assert_string_equal(file_text(path), "# machine: 2 cores\n"
                                         "# warning: one two; three\n"
                                         "bytes,algorithm,usec,wrong,note\n"
                                         "8,ring,0.125,0,plain\n"
                                         "1048576,,,,\n"
                                         "-1,\"a,b\",333333.333333,2,\"say \"\"hi\"\" again\"\n");
    assert_int_equal(folder_entries(1), 1);
    clab_manifest_free(&manifest);
    clab_table_free(&table);
}

static void test_an_empty_table_without_manifest_is_its_names(void **state)
{
    struct clab_table table;
    clab_table_init(&table, columns, COLUMNS);
    const char *path = folder_path("t.csv");
    assert_int_equal(clab_table_write_csv(&table, NULL, path), CLAB_OK);
    assert_string_equal(file_text(path), "bytes,algorithm,usec,wrong,note\n");
    folder_entries(1);
}

#ifdef HAVE_JANSSON

#include <jansson.h>

static void test_json_says_the_same(void **state)
{
    struct clab_table table = three_rows();
    struct clab_manifest manifest = two_facts();
    const char *path = folder_path("t.json");
    assert_int_equal(clab_json_check(), CLAB_OK);
    assert_int_equal(clab_table_write_json(&table, &manifest, path), CLAB_OK);
    clab_manifest_free(&manifest);
    clab_table_free(&table);

    json_t *read = json_load_file(path, 0, NULL);
    json_t *about = json_object_get(read, "manifest"), *rows = json_object_get(read, "rows");
    assert_string_equal(json_string_value(json_object_get(about, "warning")), "one two; three");
    assert_int_equal(json_array_size(rows), 3);
    json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1), *third = json_array_get(rows, 2);
    assert_int_equal(json_object_size(first), COLUMNS);
    assert_int_equal(json_integer_value(json_object_get(first, "bytes")), 8);
    assert_true(json_real_value(json_object_get(first, "usec")) == 0.125);
    assert_true(json_is_null(json_object_get(second, "algorithm")));
    assert_true(json_is_null(json_object_get(second, "usec")));
    assert_true(json_is_null(json_object_get(second, "wrong")));
    assert_string_equal(json_string_value(json_object_get(third, "note")), "say \"hi\"\nagain");
    json_decref(read);
    assert_int_equal(folder_entries(1), 1);
}

static void test_json_nests_objects_and_lists(void **state)
{
    struct clab_json *json;
    assert_int_equal(clab_json_create(&json), CLAB_OK);
    clab_json_add(json, "seconds", clab_cell_real(1.5));
    struct clab_json *list = clab_json_add_list(json, "parts");
    clab_json_add(list, NULL, clab_cell_integer(7));
    clab_json_add(clab_json_add_object(list, NULL), "name", clab_cell_text("wire"));
    clab_json_add(NULL, "nothing", clab_cell_none());
    assert_null(clab_json_add_list(NULL, "nothing"));
    const struct capture screen = capture_begin(STDOUT_FILENO);
    const int err = clab_json_write(json, stdout);
    const char *text = capture_end(screen);
    clab_json_destroy(json);
    assert_int_equal(err, CLAB_OK);
    json_t *read = json_loads(text, 0, NULL);
    json_t *expected = json_pack("{s:f, s:[i, {s:s}]}", "seconds", 1.5, "parts", 7, "name", "wire");
    assert_true(json_equal(read, expected));
    json_decref(read);
    json_decref(expected);
}

static void test_json_that_is_incomplete_is_not_written(void **state)
{
    struct clab_table table;
    clab_table_init(&table, columns, COLUMNS);
    const struct clab_cell row[COLUMNS] = {clab_cell_none(), clab_cell_text("\xff\xfe")}; // no UTF-8
    clab_table_add_row(&table, row);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_table_write_json(&table, NULL, folder_path("t.json"));
    assert_one_line_with(capture_end(log), "UTF-8");
    assert_int_equal(err, CLAB_EIO);
    assert_int_equal(folder_entries(1), 0);
    clab_table_free(&table);
}

#define JSON_TESTS                                    \
    cmocka_unit_test(test_json_says_the_same),        \
        cmocka_unit_test(test_json_nests_objects_and_lists), \
        cmocka_unit_test(test_json_that_is_incomplete_is_not_written)

#else

static void test_json_without_its_library_names_the_package(void **state)
{
    struct clab_table table = three_rows();
    struct clab_json *json = NULL;
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_table_write_json(&table, NULL, folder_path("t.json"));
    assert_one_line_with(capture_end(log), "libjansson-dev");
    assert_int_equal(err, CLAB_EUNSUPPORTED);
    assert_int_equal(clab_json_create(&json), CLAB_EUNSUPPORTED);
    assert_null(json);
    assert_int_equal(folder_entries(1), 0);
    clab_table_free(&table);
}

#define JSON_TESTS cmocka_unit_test(test_json_without_its_library_names_the_package)

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_screen_shows_groups_names_units_and_aligned_rows),
        cmocka_unit_test(test_rows_print_one_by_one_as_they_come),
        cmocka_unit_test(test_the_largest_real_is_printed_whole),
        cmocka_unit_test(test_cells_of_the_wrong_kind_are_refused_and_leave_the_table),
        cmocka_unit_test(test_a_row_after_an_incomplete_one_is_refused),
        cmocka_unit_test(test_many_rows_are_kept_and_their_text_is_copied),
        cmocka_unit_test(test_a_manifest_keeps_one_line_a_key),
        cmocka_unit_test(test_csv_has_the_manifest_the_names_and_quoted_cells),
        cmocka_unit_test(test_csv_has_no_formulas_of_others),
        cmocka_unit_test(test_an_empty_table_without_manifest_is_its_names),
        JSON_TESTS,
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
