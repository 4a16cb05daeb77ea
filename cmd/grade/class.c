// SPDX-License-Identifier: MIT
// commlab class DIR: grades what every student of a class handed in, and puts the points into one table.
//
// - DIR has a folder per student, named by the ID, with what was handed in. Each is graded by a `commlab grade` of its own
//   (grade.c), which writes DIR/HW.results/ID.csv: what one submission does harms no other.
// - A submission that was graded since it was last changed is not graded again, so a run that was ended goes on.

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "cmd/grade/homeworks.h"
#include "cmd/grade/seed.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "core/base/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/table.h"

struct request {
    const char *folder, *id, *salt;
};

static int take_folder(const char *text, void *into)
{
    struct request *request = into;
    if (request->folder) {
        clab_error("class: '%s' is one folder too many: it takes one", text);
        return CLAB_EINVAL;
    }
    request->folder = text;
    return CLAB_OK;
}

static int read_line(int argc, char **argv, struct request *request)
{
    static const struct clab_option options[] = {
        {"homework", 0, "HW", "which homework: h2", CLAB_TEXT_AT(struct request, id)},
        {"salt", 0, "FILE", "the class's secret, for hidden tests; without it, it is practice", CLAB_TEXT_AT(struct request, salt)},
        {0},
    };
    static const struct clab_command_line line = {
        .options = options,
        .arguments = "DIR",
        .about = "Grade a homework of a whole class. DIR has a folder per student, named by the ID, with what was handed in. "
                 "Writes DIR/HW.results/ID.csv for each, and DIR/HW.csv with a row per student. What was graded since it changed is "
                 "not graded again.",
        .argument = take_folder,
    };
    CLAB_TRY(clab_options_parse(&line, argc, argv, request));
    if (!request->folder || !request->id) {
        clab_error("class: %s: type, for example: ./commlab class class --homework h2 --salt salt",
                   request->folder ? "--homework HW is missing" : "a folder is missing");
        return CLAB_EINVAL;
    }
    if (homework_find(request->id))
        return CLAB_OK;
    clab_error("class: there is no homework '%s' here; labs/homework/README.md lists them", request->id);
    return CLAB_EINVAL;
}

// ---- one student -----------------------------------------------------------------------------------------------

static double changed(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 ? (double)there.st_mtim.tv_sec + 1e-9 * (double)there.st_mtim.tv_nsec : -1;
}

static bool is_graded(const struct request *request, const char *folder, const char *result)
{
    const char *file = homework_find(request->id)->file;
    char handed_in[PATH_MAX];
    snprintf(handed_in, sizeof handed_in, "%.*s/%s", PATH_MAX - 64, folder, file);
    return changed(result) > changed(file[strlen(file) - 1] == '/' ? folder : handed_in);
}

static int grade_one(const struct request *request, const char *student, char *folder, char *result)
{
    char commlab[] = "commlab", grade[] = "grade", by[] = "--student", csv[] = "--csv", salt[] = "--salt";
    char *const words[] = {commlab, grade, (char *)request->id, folder, by, (char *)student, csv, result,
                           request->salt ? salt : NULL, (char *)request->salt, NULL};
    int status;
    CLAB_TRY(child_run(words, NULL, &status));
    if (status && child_ended_by())
        return CLAB_EPEER;
    if (status)
        clab_warn("class: %s has no result (see above), and no points in the table", student);
    return CLAB_OK;
}

// The sum of its tests; NAN: not graded.
static double points_in(const char *result, bool *is_rejected_p)
{
    struct clab_csv csv;
    double sum = 0;
    *is_rejected_p = false;
    if (changed(result) < 0 || clab_csv_load(result, &csv))
        return NAN;
    for (int row = 0; row < csv.nrows; row++) {
        sum += clab_csv_real(&csv, row, "score");
        *is_rejected_p |= !strcmp(clab_csv_cell(&csv, row, "status"), "rejected");
    }
    clab_csv_free(&csv);
    return sum;
}

// ---- the class -------------------------------------------------------------------------------------------------

static int is_student(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && (!end || (strcmp(end, ".csv") && strcmp(end, ".results")));
}

static int add_student(const struct request *request, const char *student, struct clab_table *table)
{
    char folder[PATH_MAX], result[PATH_MAX];
    bool is_rejected;
    struct stat there;
    // Results lie apart from what students hand in: a forged one in their folder is no result.
    if (snprintf(folder, sizeof folder, "%s/%s", request->folder, student) >= PATH_MAX ||
        snprintf(result, sizeof result, "%s/%s.results/%s.csv", request->folder, request->id, student) >= PATH_MAX)
        return CLAB_EINVAL;
    if (lstat(folder, &there) != 0 || !S_ISDIR(there.st_mode))
        return CLAB_OK;
    CLAB_TRY(homework_check_student("class", student));
    if (!is_graded(request, folder, result)) {
        remove(result);
        CLAB_TRY(grade_one(request, student, folder, result));
    }
    const double points = points_in(result, &is_rejected);
    const struct clab_cell cells[] = {clab_cell_text(student), clab_cell_text(request->id), clab_cell_real(points),
                                      clab_cell_text(isnan(points) ? "not graded" : is_rejected ? "rejected" : "graded")};
    CLAB_TRY(clab_table_add_row(table, cells));
    clab_table_print_row(table, clab_table_rows(table) - 1, stdout);
    fflush(stdout);
    return CLAB_OK;
}

static int grade_all(const struct request *request, struct clab_table *table)
{
    struct dirent **entries;
    const int n = scandir(request->folder, &entries, is_student, alphasort);
    int err = CLAB_OK;
    if (n < 0) {
        clab_error("class: %s: there is no such folder; it has a folder per student, named by the ID", request->folder);
        return CLAB_ENOENT;
    }
    clab_table_print_header(table, stdout);
    for (int i = 0; i < n; i++) {
        err = err ? err : add_student(request, entries[i]->d_name, table);
        free(entries[i]);
    }
    free(entries);
    return err;
}

static int grade_class(const struct request *request)
{
    static const struct clab_column columns[] = {
        {.name = "student", .kind = CLAB_KIND_TEXT, .width = -24},
        {.name = "homework", .kind = CLAB_KIND_TEXT, .width = -8},
        {.name = "points", .kind = CLAB_KIND_REAL, .width = 8, .digits = 2},
        {.name = "status", .kind = CLAB_KIND_TEXT, .width = -12},
    };
    struct clab_table table;
    struct clab_manifest manifest = {0};
    char path[PATH_MAX], results[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s.csv", request->folder, request->id) >= PATH_MAX ||
        snprintf(results, sizeof results, "%s/%s.results", request->folder, request->id) >= PATH_MAX)
        return CLAB_EINVAL;
    CLAB_TRY(kit_make_folder(results));
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    child_watch();
    int err = grade_all(request, &table);
    const int signo = child_unwatch();
    if (!err && !signo)
        err = clab_table_write_csv(&table, &manifest, path);
    if (!err && !signo)
        printf("\n%d students, %s; each one's tests: %s/\n", clab_table_rows(&table), path, results);
    clab_table_free(&table);
    if (signo)
        raise(signo);
    return err;
}

static int run_class(int argc, char **argv)
{
    struct request request = {0};
    int err = read_line(argc, argv, &request);
    if (!err)
        err = grade_class(&request);
    return command_status(err);
}

const struct clab_command cmd_class = {"class", "grade a homework of a whole class", run_class};
