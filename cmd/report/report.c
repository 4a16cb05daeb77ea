// SPDX-License-Identifier: MIT
// commlab report: draws what lies in results/, says what it means, and puts it on one page, build/report/index.html; with
// --training runs a small training job first, and reports on that.

#include "cmd/report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/schedule/schedule.h"
#include "core/transport/bootstrap.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"
#include "cmd/report/training/training.h"

struct request {
    const char *results, *output; // folders; NULL: the kit's
    struct training_request training;
    struct report_missing missing;
    bool is_training;
};

struct session {
    char *build, *output; // folders
    struct report_results results;
    struct report_picks picks;
    struct report_findings findings;
    struct report_charts charts;
    struct report_claims claims;
};

static int take_collective(const char *flag, const char *text, void *into)
{
    const int i = clab_names_find(&clab_collective_names, flag, text, strlen(text));
    if (i >= 0)
        ((struct request *)into)->missing.collective = clab_collective_name((enum clab_collective)i);
    return i < 0 ? CLAB_EINVAL : CLAB_OK;
}

static const struct clab_option options[] = {
    {"output", 0, "DIR", "where the page and the files go (build/report/)", CLAB_TEXT_AT(struct request, output)},
    {"log-ranks", 0, "N", "of logs of nccl-tests that do not name their ranks",
     CLAB_INT(struct request, missing.ranks, 1, 1 << 20)},
    {"log-collective", 0, "NAME", "of logs of nccl-tests of which neither text nor name says it", CLAB_CALL(take_collective)},
    CLAB_HEADING("A training run, measured, predicted and written to DIR first:"),
    {"training", 0, NULL, "train a small network for a few seconds, by 1 rank and by N",
     CLAB_ON(struct request, is_training)},
    {"ranks", 'n', "N", "ranks (2)", CLAB_INT(struct request, training.ranks, 2, CLAB_MAX_RANKS)},
    {"backend", 0, "NAME", "what moves their bytes (shm)", CLAB_TEXT_AT(struct request, training.backend)},
    {"emulate", 0, "NAME|FILE", "delay messages as this network would", CLAB_TEXT_AT(struct request, training.emulate)},
    {"net", 0, "NAME|FILE", "sim: the network whose time it is", CLAB_TEXT_AT(struct request, training.net)},
    {"pairs", 0, "N", "pairs of runs, by 1 rank and by N; six have 95 % intervals (6)",
     CLAB_INT(struct request, training.pairs, 1, 1000)},
    {0},
};

// ---- folders -------------------------------------------------------------------------------------------------

// The folder `told`, or if that is NULL `name` below `parent`. Freed by the caller.
static int name_folder(const char *told, const char *parent, const char *name, char **path_p)
{
    return asprintf(path_p, "%s%s%s", told ? told : parent, told ? "" : "/", told ? "" : name) < 0 ? CLAB_ENOMEM
                                                                                                   : CLAB_OK;
}

// Likewise; its whole path, and made where it is missing.
static int make_folder(const char *told, const char *parent, const char *name, char **path_p)
{
    char *path;
    CLAB_TRY(name_folder(told, parent, name, &path));
    int err = kit_make_folder(path);
    if (!err && !(*path_p = realpath(path, NULL)))
        err = CLAB_EIO;
    free(path);
    return err;
}

// Results that are not there are said to be missing, not made.
static int find_results(const char *told, const char *root, char **path_p)
{
    char *path;
    CLAB_TRY(name_folder(told, root, "results", &path));
    *path_p = realpath(path, NULL);
    if (*path_p)
        free(path);
    else
        *path_p = path;
    return CLAB_OK;
}

// ---- files ---------------------------------------------------------------------------------------------------

// Say where a file went, and whether it took the place of an older one, which is still there.
static void tell_file(const char *what, const char *path, bool is_new)
{
    printf("%s: %s%s\n", what, kit_relative(path), is_new ? "" : " (replaced)");
}

static bool is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

enum file { COMBINED, FULL, SUMMARY, ANALYSIS, FILES };

static int write_one(const struct session *s, enum file file, const char *path)
{
    switch (file) {
    case COMBINED: return report_rows_write(&s->results.rows, path);
    case FULL: return report_full_write(&s->results.rows, path);
    case SUMMARY: return report_summary_write(&s->picks, path);
    default: return report_analysis_write(&s->results.rows, &s->findings, path);
    }
}

// What the benchmarks come to, beside the page.
static int write_files(const struct session *s)
{
    static const char *const names[FILES][2] = {{"all benchmarks", "combined_benchmark.csv"},
                                                {"all results", "full_results.md"},
                                                {"by setting", "summary_by_config.md"},
                                                {"findings", "analysis.txt"}};
    for (int i = 0; i < FILES && s->results.rows.n; i++) {
        char *path;
        if (asprintf(&path, "%s/%s", s->output, names[i][1]) < 0)
            return CLAB_ENOMEM;
        const bool is_new = !is_there(path);
        const int err = write_one(s, (enum file)i, path);
        if (!err)
            tell_file(names[i][0], path, is_new);
        free(path);
        CLAB_TRY(err);
    }
    return CLAB_OK;
}

// As CSV, beside the page, and in a line each.
static int write_claims(const struct session *s)
{
    char *path;
    int measured = 0;
    for (int row = 0; row < s->claims.data.nrows; row++) {
        const struct report_verdict *v = &s->claims.verdicts[row];
        measured += strncmp(v->measured, "not ", 4) != 0;
        printf("claim %-2s %12s  %s\n", clab_csv_cell(&s->claims.data, row, "id"), v->claimed, v->verdict);
    }
    if (asprintf(&path, "%s/claims.csv", s->output) < 0)
        return CLAB_ENOMEM;
    const int err = report_claims_write(&s->claims, path);
    if (!err)
        printf("claims: %d, of which %d were measured here: %s\n", s->claims.data.nrows, measured, kit_relative(path));
    free(path);
    return err;
}

// The commands on it are those that can be typed here.
static void write_named(FILE *out, const struct report_page *page)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    report_page_write(memory ? memory : out, page);
    if (memory && fclose(memory) == 0)
        clab_called_write(out, text);
    free(text);
}

static int write_page(const struct session *s)
{
    const struct report_page page = {.folder = s->output,
                                     .results = &s->results,
                                     .picks = &s->picks,
                                     .findings = &s->findings,
                                     .charts = &s->charts,
                                     .claims = &s->claims};
    char *path;
    struct clab_output output;
    if (asprintf(&path, "%s/index.html", s->output) < 0)
        return CLAB_ENOMEM;
    const bool is_new = !is_there(path);
    int err = clab_output_open(path, &output);
    if (!err) {
        write_named(output.file, &page);
        err = clab_output_close(&output);
    }
    if (!err)
        tell_file("report", path, is_new);
    free(path);
    return err;
}

// ---- the order of events -------------------------------------------------------------------------------------

static int train(const struct request *request, const char *home, struct session *s)
{
    struct report_results *r = &s->results;
    free(r->folder);
    r->folder = NULL;
    CLAB_TRY(make_folder(request->results, home, "results", &r->folder));
    return training_report(&request->training, r->folder);
}

static int make_report(const struct request *request, struct session *s)
{
    struct report_results *r = &s->results;
    CLAB_TRY(kit_root(&r->root));
    char home[PATH_MAX];
    CLAB_TRY(kit_home(r->root, home));
    CLAB_TRY(kit_made(&s->build));
    CLAB_TRY(find_results(request->results, home, &r->folder));
    r->missing = request->missing;
    if (request->is_training)
        CLAB_TRY(train(request, home, s));
    CLAB_TRY(make_folder(request->output, s->build, "report", &s->output));
    CLAB_TRY(make_folder(NULL, s->build, "plots", &r->plots));
    CLAB_TRY(report_results_load(r));
    CLAB_TRY(report_picks_make(&r->rows, &s->picks));
    CLAB_TRY(report_compare(&s->picks, &s->findings));
    CLAB_TRY(report_diagnose(&s->picks, &s->findings));
    CLAB_TRY(report_charts_draw(r, &s->picks, s->output, &s->charts));
    CLAB_TRY(write_files(s));
    CLAB_TRY(report_claims_load(r->root, r->sections, r->nsections, &s->claims));
    CLAB_TRY(write_claims(s));
    CLAB_TRY(report_steppers_write(s->output));
    return write_page(s);
}

static int check(struct request *request)
{
    const struct training_request *t = &request->training;
    if (!request->is_training && (t->ranks || t->backend || t->emulate || t->net || t->pairs)) {
        clab_error("report: -n, --backend, --emulate, --net and --pairs are of a training run: add --training");
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options,
        .arguments = "[DIR]",
        .about = "Draw what was measured, say what it means, and put it on one page: build/report/index.html.\v"
                 "DIR has the results (results/): CSV files of bench, bench --matrix, lab and sim, of this machine or of "
                 "others, what nccl-tests has printed (*.txt, *.log), and traces (*.json). Beside the page go "
                 "combined_benchmark.csv, full_results.md, summary_by_config.md and analysis.txt.",
        CLAB_ONE(struct request, results, "name one folder")};
    struct request request = {0};
    struct session session = {0};
    if (training_is_rank(argc, argv))
        return training_rank(argc, argv);
    if (clab_options_parse(&line, argc, argv, &request) || check(&request))
        return STATUS_USAGE;
    request.training.command = kit_command_line(argc, argv);
    const int err = make_report(&request, &session);
    report_findings_free(&session.findings);
    report_charts_free(&session.charts);
    report_picks_free(&session.picks);
    report_claims_free(&session.claims);
    report_results_free(&session.results);
    free(request.training.command);
    free(session.build);
    free(session.output);
    return err == CLAB_OK ? EXIT_SUCCESS : err == CLAB_EINVAL ? STATUS_USAGE : EXIT_FAILURE;
}

const struct clab_command cmd_report = {"report", "draw all measurements on one page, and say what they mean", run};
