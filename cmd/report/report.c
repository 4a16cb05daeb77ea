// SPDX-License-Identifier: MIT
// commlab report: draws what lies in results/, and puts it on one page, build/report/index.html.
//
// - Files of the bench, of `sim sweep` and of `sim train` get the figures of plots/, labs' files (results/NN-*.csv)
//   that of labs/NN-name/plot.gp.
// - A figure is build/plots/NAME-WHAT or build/plots/NAME, after its CSV file NAME.
// - Without gnuplot the page has the data alone, and one line says which package draws.

#include "cmd/report/report.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/output.h"
#include "core/base/units.h"
#include "core/base/vector.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"
#include "cmd/lab/lab.h"

struct request {
    const char *results, *output; // folders; NULL: the kit's
};

struct session {
    char *root, *build, *results, *output, *plots; // folders
    struct report_section *sections;
    int nsections, section_room;
    struct report_claims claims;
    bool cannot_draw; // there is no gnuplot: it has been said
};

static const struct clab_option options[] = {
    {"results", 0, "DIR", "where the CSV files are (results/)", CLAB_TEXT_AT(struct request, results)},
    {"output", 0, "DIR", "where the page goes (build/report/)", CLAB_TEXT_AT(struct request, output)},
    {0},
};

// ---- figures -------------------------------------------------------------------------------------------------

static int add_figure(struct report_section *s, char *figure)
{
    return CLAB_PUSH(s->figures, s->nfigures, s->figure_room, figure);
}

// Draw one figure; where that can not be, go on without it, and without those of the same file that would follow.
static int draw(struct session *session, struct report_section *s, const char *script, const char *what)
{
    char *figure;
    if (session->cannot_draw || s->is_refused)
        return CLAB_OK;
    if (asprintf(&figure, "%s/%s%s%s", session->plots, s->name, *what ? "-" : "", what) < 0)
        return CLAB_ENOMEM;
    int err = kit_plot(session->root, script, s->csv, figure);
    session->cannot_draw = err == CLAB_EUNSUPPORTED;
    s->is_refused = err != CLAB_OK;
    if (err == CLAB_OK)
        return add_figure(s, figure);
    free(figure);
    return err == CLAB_ENOMEM ? err : CLAB_OK; // it has been said what failed
}

static int draw_bench(struct session *session, struct report_section *s)
{
    bool allreduce = false, predicted = false, several = false, backends = false;
    for (int row = 0; row < s->data.nrows; row++) {
        const bool same = !strcmp(clab_csv_cell(&s->data, row, "collective"), "allreduce");
        allreduce |= same;
        several |= !same;
        predicted |= *clab_csv_cell(&s->data, row, "predicted_usec") != 0;
        backends |= strcmp(clab_csv_cell(&s->data, row, "backend"), clab_csv_cell(&s->data, 0, "backend")) != 0;
    }
    if (backends) // those below are of one
        return draw(session, s, "plots/backends.gp", "backends");
    if (allreduce)
        CLAB_TRY(draw(session, s, "plots/allreduce.gp", "allreduce"));
    if (several)
        CLAB_TRY(draw(session, s, "plots/collectives.gp", "collectives"));
    return predicted ? draw(session, s, "plots/prediction.gp", "prediction") : CLAB_OK;
}

// The folder of the lab that a file says it is of: by its number, since "all" is none.
static int find_lab(const struct session *session, const struct report_section *s, struct lab_words *folders_p)
{
    struct clab_log_held held;
    const char *lab = clab_csv_cell(&s->data, 0, "lab");
    int number;
    if (clab_parse_int(lab, 0, 99, &number) != CLAB_OK) {
        clab_error("%s: '%.20s' is not the number of a lab, as 07 is; measure it again with `commlab lab`", s->csv,
                   lab);
        return CLAB_EPARSE;
    }
    clab_log_hold(&held);
    const int err = lab_select(session->root, lab, folders_p);
    clab_log_release(&held);
    if (err)
        clab_error("%s: %s", s->csv, held.text);
    return err;
}

static int draw_lab(struct session *session, struct report_section *s)
{
    struct lab_words folders;
    char script[256];
    CLAB_TRY(find_lab(session, s, &folders));
    snprintf(script, sizeof script, "labs/%s/plot.gp", folders.words[0]);
    lab_words_free(&folders);
    return draw(session, s, script, "");
}

// ---- sections ------------------------------------------------------------------------------------------------

static void section_free(struct report_section *s)
{
    for (int i = 0; i < s->nfigures; i++)
        free(s->figures[i]);
    free(s->figures);
    free(s->csv);
    free(s->name);
    clab_csv_free(&s->data);
}

// A terminal or our own input, which a link may lead to, would be waited for.
static bool is_plain_file(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return true; // clab_csv_load says why it can not be read
    clab_error("%s: it is not a plain file: copy what it holds into one, or take it out of its folder", path);
    return false;
}

static int add_section(struct session *session, const char *file)
{
    struct report_section s = {0};
    if (asprintf(&s.csv, "%s/%s", session->results, file) < 0)
        return CLAB_ENOMEM;
    s.name = strndup(file, strlen(file) - strlen(".csv"));
    int err = !s.name ? CLAB_ENOMEM : is_plain_file(s.csv) ? clab_csv_load(s.csv, &s.data) : CLAB_ENOENT;
    if (!err && *clab_csv_cell(&s.data, 0, "best"))
        err = draw(session, &s, "plots/sweep.gp", "");
    else if (!err && *clab_csv_cell(&s.data, 0, "overlap"))
        err = draw(session, &s, "plots/train.gp", "");
    else if (!err && *clab_csv_cell(&s.data, 0, "collective"))
        err = draw_bench(session, &s);
    else if (!err && *clab_csv_cell(&s.data, 0, "lab"))
        err = draw_lab(session, &s);
    if (!err)
        err = CLAB_PUSH(session->sections, session->nsections, session->section_room, s);
    if (err)
        section_free(&s);
    return err == CLAB_ENOMEM ? err : CLAB_OK; // what can not be read has been named, and is left out
}

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), n = strlen(end);
    return length > n && !strcmp(name + length - n, end);
}

// A student's predictions are drawn with the data that they lie beside.
static int is_csv(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ends_in(entry->d_name, ".csv") && !ends_in(entry->d_name, ".yours.csv");
}

// The bench comes first, then labs by number.
static int by_kind(const struct dirent **a, const struct dirent **b)
{
    const bool lab_a = (*a)->d_name[0] <= '9', lab_b = (*b)->d_name[0] <= '9';
    return lab_a != lab_b ? lab_a - lab_b : strcmp((*a)->d_name, (*b)->d_name);
}

static int add_sections(struct session *session)
{
    struct dirent **files;
    int err = CLAB_OK;
    const int n = scandir(session->results, &files, is_csv, by_kind);
    for (int i = 0; i < n; i++) {
        if (!err)
            err = add_section(session, files[i]->d_name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    if (err || session->nsections)
        return err;
    clab_error("report: no CSV files in %s: measure something first, with `make plot`", session->results);
    return CLAB_ENOENT;
}

// ---- the page ------------------------------------------------------------------------------------------------

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

// As CSV, beside the page, and in a line each.
static int write_claims(const struct session *session)
{
    char *path;
    int measured = 0;
    for (int row = 0; row < session->claims.data.nrows; row++) {
        const struct report_verdict *v = &session->claims.verdicts[row];
        measured += strncmp(v->measured, "not ", 4) != 0;
        printf("claim %-2s %12s  %s\n", clab_csv_cell(&session->claims.data, row, "id"), v->claimed, v->verdict);
    }
    if (asprintf(&path, "%s/claims.csv", session->output) < 0)
        return CLAB_ENOMEM;
    const int err = report_claims_write(&session->claims, path);
    if (!err)
        printf("claims: %d, of which %d were measured here: %s\n", session->claims.data.nrows, measured,
               kit_relative(path));
    free(path);
    return err;
}

static int write_page(const struct session *session)
{
    char *path;
    struct clab_output output;
    if (asprintf(&path, "%s/index.html", session->output) < 0)
        return CLAB_ENOMEM;
    int err = clab_output_open(path, &output);
    if (!err) {
        report_html_page(output.file, session->output, session->sections, session->nsections, &session->claims);
        err = clab_output_close(&output);
    }
    if (!err)
        printf("report: %s\n", kit_relative(path));
    free(path);
    return err;
}

static int make_report(const struct request *request, struct session *session)
{
    CLAB_TRY(kit_root(&session->root));
    char home[PATH_MAX];
    CLAB_TRY(kit_home(session->root, home));
    CLAB_TRY(kit_made(&session->build));
    CLAB_TRY(find_results(request->results, home, &session->results));
    CLAB_TRY(make_folder(request->output, session->build, "report", &session->output));
    CLAB_TRY(make_folder(NULL, session->build, "plots", &session->plots));
    CLAB_TRY(add_sections(session));
    CLAB_TRY(report_claims_load(session->root, session->sections, session->nsections, &session->claims));
    CLAB_TRY(write_claims(session));
    CLAB_TRY(report_steppers_write(session->output));
    return write_page(session);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .about = "Draw what was measured, and put it on one page: build/report/index.html."};
    struct request request = {0};
    struct session session = {0};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    const int err = make_report(&request, &session);
    for (int i = 0; i < session.nsections; i++)
        section_free(&session.sections[i]);
    free(session.sections);
    report_claims_free(&session.claims);
    free(session.root);
    free(session.build);
    free(session.results);
    free(session.output);
    free(session.plots);
    return err == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct clab_command cmd_report = {"report", "draw all measurements on one page", run};
