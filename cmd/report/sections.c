// SPDX-License-Identifier: MIT
// The results: each file becomes a section of the page, with its figures; benchmarks also become rows that are compared.
//
// - Files of the bench, of `sim sweep` and of `sim train` get the figures of plots/, labs' files (NN-*.csv) that of
//   labs/NN-name/plot.gp.
// - A figure is build/plots/NAME-WHAT or build/plots/NAME, after its CSV file NAME.
// - What can not be read is named in one line, and left out: here, in the sections and in the rows.
// - Without gnuplot the page has the data alone, and one line says which package draws.

#include "cmd/report/report.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/vector.h"
#include "cmd/kit/kit.h"
#include "cmd/lab/lab.h"

enum { MOST_LINES = 3 };                                 // about rows of one file
static const char combined[] = "combined_benchmark.csv"; // ours: its rows are those of other files

// ---- what is left out ----------------------------------------------------------------------------------------

// Log a line, and keep it for the page.
__attribute__((format(printf, 2, 3))) static int leave_out(struct report_results *r, const char *format, ...)
{
    struct report_left_out left_out;
    va_list values;
    va_start(values, format);
    const int n = vasprintf(&left_out.why, format, values);
    va_end(values);
    if (n < 0)
        return CLAB_ENOMEM;
    clab_error("%s", left_out.why);
    if (!CLAB_PUSH(r->left_out, r->nleft_out, r->left_out_room, left_out))
        return CLAB_OK;
    free(left_out.why);
    return CLAB_ENOMEM;
}

// A line for each row of the file at `path`, from `first` on, whose rates contradict it. Of many the first few.
static int tell_contradictions(struct report_results *r, int first, const char *path)
{
    struct report_contradiction c;
    char size[CLAB_TEXT], time[CLAB_TEXT];
    int n = 0;
    for (int i = first; i < r->rows.n; i++) {
        const struct report_row *row = &r->rows.rows[i];
        if (report_row_contradicts(&r->rows, row, &c) && n++ < MOST_LINES)
            CLAB_TRY(leave_out(r,
                               "%s:%d: %s is %.4g GB/s, but %s in %s between %d ranks come to %.4g GB/s: this row is "
                               "compared with none; correct it, or measure it again",
                               path, row->line, c.name, c.stated, clab_size_text((size_t)row->bytes, size),
                               clab_seconds_text(1e-6 * row->usec, time), row->ranks, c.computed));
    }
    return n <= MOST_LINES ? CLAB_OK
                           : leave_out(r, "%s: %d more rows contradict themselves: full_results.md names them", path,
                                       n - MOST_LINES);
}

// ---- figures -------------------------------------------------------------------------------------------------

int report_draw(struct report_results *r, const char *script, const char *csv, const char *name, char **figure_p)
{
    char *figure;
    *figure_p = NULL;
    if (r->cannot_draw)
        return CLAB_OK;
    if (asprintf(&figure, "%s/%s", r->plots, name) < 0)
        return CLAB_ENOMEM;
    const int err = kit_plot(r->root, script, csv, figure);
    r->cannot_draw = err == CLAB_EUNSUPPORTED;
    if (err == CLAB_OK)
        *figure_p = figure;
    else
        free(figure);
    return err == CLAB_ENOMEM ? err : CLAB_OK; // it has been said what failed
}

// One of a section's; where it can not be drawn, go on without it, and without those of the same file that would follow.
static int draw(struct report_results *r, struct report_section *s, const char *script, const char *what,
                struct report_figure figure)
{
    char *name;
    if (s->is_refused)
        return CLAB_OK;
    if (asprintf(&name, "%s%s%s", s->name, *what ? "-" : "", what) < 0)
        return CLAB_ENOMEM;
    const int err = report_draw(r, script, s->csv, name, &figure.path);
    free(name);
    s->is_refused = !figure.path && !r->cannot_draw;
    if (err || !figure.path)
        return err;
    return CLAB_PUSH(s->figures, s->nfigures, s->figure_room, figure);
}

static int draw_bench(struct report_results *r, struct report_section *s)
{
    static const struct report_figure backends = {.columns = "collective,backend,algorithm,bytes,usec,usec_low,usec_high"},
                                      allreduce = {.columns = "algorithm,bytes,usec,usec_low,usec_high,busbw_GBps,predicted_usec",
                                                   .collective = "allreduce"},
                                      all = {.columns = "collective,algorithm,bytes,usec,usec_low,usec_high,predicted_usec"},
                                      foreseen = {.columns = "collective,algorithm,bytes,usec,predicted_usec,residual_pct",
                                                  .collective = "*"};
    bool has_allreduce = false, is_predicted = false, has_others = false, has_backends = false;
    for (int row = 0; row < s->data.nrows; row++) {
        const bool same = !strcmp(clab_csv_cell(&s->data, row, "collective"), "allreduce");
        has_allreduce |= same;
        has_others |= !same;
        is_predicted |= *clab_csv_cell(&s->data, row, "predicted_usec") != 0;
        has_backends |= strcmp(clab_csv_cell(&s->data, row, "backend"), clab_csv_cell(&s->data, 0, "backend")) != 0;
    }
    if (has_backends) // those below are of one
        return draw(r, s, "plots/backends.gp", "backends", backends);
    if (has_allreduce)
        CLAB_TRY(draw(r, s, "plots/allreduce.gp", "allreduce", allreduce));
    if (has_others)
        CLAB_TRY(draw(r, s, "plots/collectives.gp", "collectives", all));
    return is_predicted ? draw(r, s, "plots/prediction.gp", "prediction", foreseen) : CLAB_OK;
}

// The folder of the lab that a file says it is of: by its number, since "all" is none.
static int find_lab(const struct report_results *r, const struct report_section *s, struct lab_words *folders_p)
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
    const int err = lab_select(r->root, lab, folders_p);
    clab_log_release(&held);
    if (err)
        clab_error("%s: %s", s->csv, held.text);
    return err;
}

static int draw_lab(struct report_results *r, struct report_section *s)
{
    struct lab_words folders;
    struct clab_log_held held;
    char script[256];
    clab_log_hold(&held);
    const int err = find_lab(r, s, &folders);
    clab_log_release(&held);
    if (err)
        return leave_out(r, "%s", held.text) ? CLAB_ENOMEM : err;
    snprintf(script, sizeof script, "labs/%s/plot.gp", folders.words[0]);
    lab_words_free(&folders);
    return draw(r, s, script, "", (struct report_figure){0});
}

// ---- sections ------------------------------------------------------------------------------------------------

static void section_free(struct report_section *s)
{
    for (int i = 0; i < s->nfigures; i++)
        free(s->figures[i].path);
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

static bool has(const struct report_section *s, const char *column)
{
    return *clab_csv_cell(&s->data, 0, column) != 0;
}

// A matrix holds several numbers of ranks, which the figures of a bench do not know; its rows are in those of all.
static bool is_matrix(const struct report_section *s)
{
    for (int i = 0; i < s->data.ncolumns; i++)
        if (!strcmp(s->data.cells[i], "status"))
            return true;
    return false;
}

// Of a bench, a row per call and rank (--samples).
static bool is_samples(const struct report_section *s)
{
    return has(s, "batch") && has(s, "kept");
}

static int read_section(struct report_results *r, struct report_section *s, const char *file)
{
    CLAB_TRY(is_plain_file(s->csv) ? clab_csv_load(s->csv, &s->data) : CLAB_ENOENT);
    if (!has(s, "collective") || has(s, "best") || is_samples(s))
        return CLAB_OK;
    s->kind = REPORT_BENCH;
    return report_rows_add_csv(&r->rows, &s->data, file);
}

static int draw_section(struct report_results *r, struct report_section *s)
{
    if (has(s, "best"))
        return draw(r, s, "plots/sweep.gp", "", (struct report_figure){0});
    if (has(s, "overlap"))
        return draw(r, s, "plots/train.gp", "", (struct report_figure){0});
    if (s->kind == REPORT_BENCH)
        return (s->is_compared = is_matrix(s)) ? CLAB_OK : draw_bench(r, s);
    s->kind = has(s, "lab") ? REPORT_LAB : has(s, "field") && has(s, "how") ? REPORT_TRAINING : REPORT_OTHER;
    return s->kind == REPORT_LAB ? draw_lab(r, s) : CLAB_OK;
}

static int add_section(struct report_results *r, const char *file)
{
    const int first = r->rows.n, said = r->nleft_out;
    struct report_section s = {0};
    struct clab_log_held held;
    if (asprintf(&s.csv, "%s/%s", r->folder, file) < 0)
        return CLAB_ENOMEM;
    s.name = strndup(file, strlen(file) - strlen(".csv"));
    clab_log_hold(&held);
    int err = !s.name ? CLAB_ENOMEM : read_section(r, &s, file);
    clab_log_release(&held);
    if (err && err != CLAB_ENOMEM) {
        section_free(&s);
        return leave_out(r, "%s", held.text);
    }
    if (!err)
        err = tell_contradictions(r, first, s.csv);
    s.is_refused = r->nleft_out > said; // its own figures would show such rows
    if (!err)
        err = draw_section(r, &s);
    if (!err)
        err = CLAB_PUSH(r->sections, r->nsections, r->section_room, s);
    if (err)
        section_free(&s);
    return err == CLAB_ENOMEM ? err : CLAB_OK; // what can not be drawn has been named, and is left out
}

// ---- files that are no CSV -----------------------------------------------------------------------------------

// A text without a sign of nccl-tests: part of its output, or something else.
static int refuse_text(const char *path)
{
    clab_error("%s: no line of it is one of nccl-tests: neither its first, '# nThread ...', nor the one above its table, "
               "'#  size  count  type  redop ...': give all that nccl-tests has printed, or take the file out of its "
               "folder",
               path);
    return CLAB_EPARSE;
}

// What somebody's run of nccl-tests has printed.
static int add_text(struct report_results *r, const char *file)
{
    struct clab_input input;
    struct clab_log_held held;
    const int first = r->rows.n;
    char *path;
    if (asprintf(&path, "%s/%s", r->folder, file) < 0)
        return CLAB_ENOMEM;
    clab_log_hold(&held);
    int err = is_plain_file(path) ? clab_input_open(path, CLAB_INPUT_TABLE, &input) : CLAB_ENOENT;
    if (!err) {
        err = report_is_nccl_tests(input.text) ? report_rows_add_nccl_tests(&r->rows, input.text, path, file, r->missing)
                                               : refuse_text(path);
        clab_input_close(&input);
    }
    clab_log_release(&held);
    err = !err ? tell_contradictions(r, first, path) : err != CLAB_ENOMEM ? leave_out(r, "%s", held.text) : err;
    free(path);
    return err;
}

// Whether a file is a time line for Perfetto: it says so in its first bytes.
static bool is_trace(const char *path)
{
    char head[512] = "";
    FILE *in = fopen(path, "re");
    const bool is = in && fread(head, 1, sizeof head - 1, in) > 0 && strstr(head, "traceEvents");
    if (in)
        fclose(in);
    return is;
}

static int add_trace(struct report_results *r, const char *file)
{
    struct stat status;
    char *path;
    if (asprintf(&path, "%s/%s", r->folder, file) < 0)
        return CLAB_ENOMEM;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && is_trace(path)) {
        if (!CLAB_PUSH(r->traces, r->ntraces, r->trace_room, path))
            return CLAB_OK;
        free(path);
        return CLAB_ENOMEM;
    }
    const int err = leave_out(r, "%s: it is no trace, since its first 511 bytes have no 'traceEvents'. Of JSON files only "
                                 "traces are read: write a benchmark's results by --csv, too",
                              path);
    free(path);
    return err;
}

// ---- the folder ----------------------------------------------------------------------------------------------

static bool ends_in(const char *name, const char *end)
{
    const size_t length = strlen(name), n = strlen(end);
    return length > n && !strcmp(name + length - n, end);
}

// A student's predictions are drawn with the data that they lie beside. Raw samples of a matrix are behind its rows.
static int is_result(const struct dirent *entry)
{
    const char *name = entry->d_name;
    if (name[0] == '.' || ends_in(name, ".yours.csv") || ends_in(name, "_samples.csv") || !strcmp(name, combined))
        return 0;
    return ends_in(name, ".csv") || ends_in(name, ".txt") || ends_in(name, ".log") || ends_in(name, ".json");
}

// The bench comes first, then labs by number.
static int by_kind(const struct dirent **a, const struct dirent **b)
{
    const bool lab_a = (*a)->d_name[0] <= '9', lab_b = (*b)->d_name[0] <= '9';
    return lab_a != lab_b ? lab_a - lab_b : strcmp((*a)->d_name, (*b)->d_name);
}

static int add_file(struct report_results *r, const char *file)
{
    if (ends_in(file, ".csv"))
        return add_section(r, file);
    return ends_in(file, ".json") ? add_trace(r, file) : add_text(r, file);
}

int report_results_load(struct report_results *r)
{
    struct dirent **files;
    int err = CLAB_OK;
    const int n = scandir(r->folder, &files, is_result, by_kind);
    for (int i = 0; i < n; i++) {
        if (!err)
            err = add_file(r, files[i]->d_name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    if (err || r->nsections || r->rows.n)
        return err;
    if (r->nleft_out)
        clab_error("report: nothing in %s could be read: the lines above say why", r->folder);
    else
        clab_error("report: no results in %s: measure something first, as with `./commlab lab 07`", r->folder);
    return CLAB_ENOENT;
}

void report_results_free(struct report_results *r)
{
    for (int i = 0; i < r->nsections; i++)
        section_free(&r->sections[i]);
    for (int i = 0; i < r->nleft_out; i++)
        free(r->left_out[i].why);
    for (int i = 0; i < r->ntraces; i++)
        free(r->traces[i]);
    free(r->sections);
    free(r->left_out);
    free(r->traces);
    report_rows_free(&r->rows);
    free(r->root);
    free(r->folder);
    free(r->plots);
    *r = (struct report_results){0};
}
