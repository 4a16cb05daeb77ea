// SPDX-License-Identifier: MIT
// What comes of a grading: a table, and files for instructors and platforms (inside.h).
// Source of the names in results.json: Gradescope's autograder specifications.

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/grade/inside.h"
#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/text.h"

static double points_of(const struct grading *g, int i)
{
    return *g->rejected ? 0 : g->results[i].points;
}

static const char *text_of(const struct grading *g, int i)
{
    return *g->rejected ? g->rejected : g->results[i].text;
}

static bool is_full(const struct grading *g, int i)
{
    return points_of(g, i) >= g->homework->tests[i].points;
}

// With each further line of a message below the first.
static void print_text(const char *text)
{
    for (const char *line = text; *line;) {
        const int length = (int)strcspn(line, "\n");
        printf("      %.*s\n", length, line);
        line += length + (line[length] != 0);
    }
}

// A compiler's message, say, is why no test passes: it is said once.
static bool is_as_above(const struct grading *g, int i)
{
    enum { LONG = 60 };
    return i > 0 && strlen(text_of(g, i)) > LONG && !strcmp(text_of(g, i), text_of(g, i - 1));
}

void grade_print(const struct grading *g)
{
    printf("%s · %s · %s\n\n", g->id, g->homework->title, g->student);
    for (int i = 0; i < grading_tests(g); i++) {
        printf("%s %6.2f of %3.0f  %s\n", is_full(g, i) ? "✓" : "✗", points_of(g, i), g->homework->tests[i].points,
               g->homework->tests[i].title);
        print_text(is_as_above(g, i) ? GRADE_AS_ABOVE : text_of(g, i));
    }
    printf("\n%.2f of %.0f points by the machine", grading_score(g), grading_most(g));
    if (grading_most(g) < 100)
        printf("; a person gives the other %.0f (labs/homework/%s/rubric.md)", 100 - grading_most(g), g->id);
    printf("\n%s", g->salt ? "" : "Practice: with the class's salt, hidden tests are other ones (--salt FILE).\n");
    if (g->is_ranked && !*g->rejected && g->homework->leaderboard)
        printf("%s: %.6g\n", g->homework->leaderboard, g->rank);
}

// ---- tables ----------------------------------------------------------------------------------------------------

static int write_table(const struct grading *g, const char *csv, const char *json)
{
    static const struct clab_column columns[] = {
        CLAB_COLUMN(TEXT, "student"), CLAB_COLUMN(TEXT, "homework"), CLAB_COLUMN(TEXT, "test"),
        CLAB_COLUMN(TEXT, "title"), CLAB_COLUMN(REAL, "score"), CLAB_COLUMN(REAL, "max_score"),
        CLAB_COLUMN(TEXT, "status"), CLAB_COLUMN(TEXT, "message"),
    };
    struct clab_table table;
    struct clab_manifest manifest = {0};
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; !err && i < grading_tests(g); i++) {
        const struct homework_test *test = &g->homework->tests[i];
        const struct clab_cell cells[] = {
            clab_cell_text(g->student),       clab_cell_text(g->id),
            clab_cell_text(test->key),        clab_cell_text(test->title),
            clab_cell_real(points_of(g, i)),  clab_cell_real(test->points),
            clab_cell_text(*g->rejected ? "rejected" : is_full(g, i) ? "passed" : "failed"),
            clab_cell_text(text_of(g, i)),
        };
        err = clab_table_add_row(&table, cells);
    }
    if (!err)
        err = clab_table_write(&table, &manifest, csv, json);
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    return err;
}

// ---- JUnit -----------------------------------------------------------------------------------------------------

static void put_case(FILE *out, const struct grading *g, int i)
{
    fprintf(out, "  <testcase classname=\"%s\" name=\"", g->id);
    clab_put_escaped(out, g->homework->tests[i].title, SIZE_MAX);
    fputs("\">", out);
    if (!is_full(g, i)) {
        fprintf(out, "<failure message=\"%.2f of %.0f points\">", points_of(g, i), g->homework->tests[i].points);
        clab_put_escaped(out, text_of(g, i), SIZE_MAX);
        fputs("</failure>", out);
    }
    fputs("</testcase>\n", out);
}

static int write_junit(const struct grading *g, const char *path)
{
    struct clab_output output;
    int failed = 0;
    CLAB_TRY(clab_output_open(path, &output));
    for (int i = 0; i < grading_tests(g); i++)
        failed += !is_full(g, i);
    fprintf(output.file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s %s\" tests=\"%d\" failures=\"%d\">\n",
            g->id, g->student, grading_tests(g), failed);
    for (int i = 0; i < grading_tests(g); i++)
        put_case(output.file, g, i);
    fputs("</testsuite>\n", output.file);
    return clab_output_close(&output);
}

// ---- Gradescope --------------------------------------------------------------------------------------------------

static void add_test(struct clab_json *tests, const struct grading *g, int i)
{
    const struct homework_test *from = &g->homework->tests[i];
    struct clab_json *test = clab_json_add_object(tests, NULL);
    clab_json_add(test, "name", clab_cell_text(from->title));
    clab_json_add(test, "score", clab_cell_real(points_of(g, i)));
    clab_json_add(test, "max_score", clab_cell_real(from->points));
    clab_json_add(test, "status", clab_cell_text(is_full(g, i) ? "passed" : "failed"));
    clab_json_add(test, "output", clab_cell_text(text_of(g, i)));
    clab_json_add(test, "visibility", clab_cell_text(from->hidden ? "after_published" : "visible"));
}

static int write_gradescope(const struct grading *g, const char *path)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    clab_json_add(json, "score", clab_cell_real(grading_score(g)));
    clab_json_add(json, "output", clab_cell_text(*g->rejected ? g->rejected : g->homework->title));
    clab_json_add(json, "visibility", clab_cell_text("visible"));
    clab_json_add(json, "stdout_visibility", clab_cell_text("hidden"));
    struct clab_json *tests = clab_json_add_list(json, "tests");
    for (int i = 0; i < grading_tests(g); i++)
        add_test(tests, g, i);
    if (g->is_ranked && !*g->rejected && g->homework->leaderboard) {
        struct clab_json *row = clab_json_add_object(clab_json_add_list(json, "leaderboard"), NULL);
        clab_json_add(row, "name", clab_cell_text(g->homework->leaderboard));
        clab_json_add(row, "value", clab_cell_real(g->rank));
        clab_json_add(row, "order", clab_cell_text("asc"));
    }
    const int err = clab_json_write_file(json, path);
    clab_json_destroy(json);
    return err;
}

int grade_write(const struct grading *g, const struct grade_files *files)
{
    if (files->csv || files->json)
        CLAB_TRY(write_table(g, files->csv, files->json));
    if (files->junit)
        CLAB_TRY(write_junit(g, files->junit));
    return files->gradescope ? write_gradescope(g, files->gradescope) : CLAB_OK;
}
