// SPDX-License-Identifier: MIT
// Published claims, each beside our measurement, and beside the simulator's answer for the hardware that was meant.
//
// - labs/claims.csv lists the claims. For each it names the rows of a lab that measure it, and the commands that
//   simulate it. This file knows no claim.
// - These commands run each time. You can also run them by hand.
// - A verdict compares numbers: as claimed, more, or less. "Perhaps" means that the measured interval allows another
//   verdict. If a lab has run in several settings, the verdict covers the smallest and the largest value.

#include "cmd/report/report.h"

#include <dirent.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "cmd/kit/child.h"
#include "cmd/lab/lab.h"

enum { MOST_SETTINGS = 6 }; // that are named; more are counted

static const char *cell(const struct report_claims *claims, int row, const char *name)
{
    return clab_csv_cell(&claims->data, row, name);
}

static void put_value(FILE *out, double value, const char *unit)
{
    char text[CLAB_TEXT];
    if (!strcmp(unit, "s"))
        fputs(clab_seconds_text(value, text), out);
    else
        fprintf(out, strcmp(unit, "1") ? "%.3g %s" : "%.3g", value, unit);
}

// ---- rows ----------------------------------------------------------------------------------------------------

// The last row of `program` with that quantity, or that begins with it if it ends with '/'; -1: there is none.
static int find_row(const struct clab_csv *data, const char *program, const char *quantity)
{
    const size_t length = strlen(quantity);
    const bool begins = length && quantity[length - 1] == '/';
    const char *ranks = clab_csv_cell(data, 0, "ranks"); // of the run; those of a sweep come later
    for (int row = data->nrows - 1; row >= 0; row--) {
        const char *name = clab_csv_cell(data, row, "quantity");
        if (!strcmp(clab_csv_cell(data, row, "program"), program) &&
            !strcmp(clab_csv_cell(data, row, "ranks"), ranks) &&
            (begins ? !strncmp(name, quantity, length) : !strcmp(name, quantity)))
            return row;
    }
    return -1;
}

// A value, and its interval: the value itself where there is none.
struct span {
    double value, low, high;
};

// What a lab's file says of claim `row`; NAN: nothing. Of two values one over the other has no interval.
static struct span value_in(const struct report_claims *claims, int row, const struct clab_csv *data)
{
    const char *program = cell(claims, row, "program"), *over = cell(claims, row, "over");
    const int above = find_row(data, program, cell(claims, row, "quantity"));
    const bool of_before = !strncmp(over, "before:", strlen("before:"));
    const int below = of_before ? find_row(data, "before", over + strlen("before:"))
                      : *over   ? find_row(data, program, over)
                                : -1;
    if (above < 0 || (*over && below < 0))
        return (struct span){NAN, NAN, NAN};
    double value = clab_csv_real(data, above, "value");
    const double low = clab_csv_real(data, above, "low");
    const double high = clab_csv_real(data, above, "high");
    if (*over)
        value /= clab_csv_real(data, below, "value");
    const bool has_interval = !*over && low <= high;
    return (struct span){value, has_interval ? low : value, has_interval ? high : value};
}

// ---- the verdict ---------------------------------------------------------------------------------------------

// A claim may have no upper end. Values that differ by rounding are equal.
static const char *judge(const struct report_claims *claims, int row, double value)
{
    const double low = clab_csv_real(&claims->data, row, "low"), high = clab_csv_real(&claims->data, row, "high");
    return value < low * (1 - 0.005) ? "less than claimed" : value > high * 1.005 ? "more than claimed" : "as claimed";
}

static void put_verdict(FILE *out, const struct report_claims *claims, int row, double least, double most)
{
    const char *a = judge(claims, row, least), *b = judge(claims, row, most);
    fputs(a, out);
    if (strcmp(a, b))
        fprintf(out, " to %s", b);
}

// ---- what was measured here ----------------------------------------------------------------------------------

static bool has_lab(const char *root, const char *id)
{
    char pattern[4096];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/labs/%s-*", root, id);
    const bool is_there = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

static void put_why_not(FILE *out, const struct report_claims *claims, int row, const char *root)
{
    const char *lab = cell(claims, row, "lab"), *why = cell(claims, row, "why");
    fputs("not measured, because ", out);
    if (!*lab)
        fputs(why, out);
    else if (has_lab(root, lab))
        fprintf(out, "no run of lab %s has this in results/ (%s lab %s)", lab, clab_called(), lab);
    else
        fprintf(out, "lab %s is not there yet", lab);
}

// The backend that `program` ran on; "": it has no row.
static const char *backend_of(const struct clab_csv *data, const char *program)
{
    for (int row = 0; row < data->nrows; row++)
        if (!strcmp(clab_csv_cell(data, row, "program"), program))
            return clab_csv_cell(data, row, "backend");
    return "";
}

static void put_setting(FILE *out, const struct clab_csv *data)
{
    const char *wire = clab_manifest_get(&data->manifest, "emulate");
    const char *before = backend_of(data, "before"), *after = backend_of(data, "after");
    const bool differ = *before && *after && strcmp(before, after) != 0; // lab 04: that is what it compares
    fprintf(out, " (%s ranks, %s%s%s%s%s)", clab_csv_cell(data, 0, "ranks"),
            differ ? before : clab_csv_cell(data, 0, "backend"), differ ? " against " : "", differ ? after : "",
            wire ? ", wire " : "", wire ? wire : "");
}

static void put_span(FILE *out, const struct span *span, const char *unit)
{
    put_value(out, span->value, unit);
    if (span->low == span->high)
        return;
    fputs(", ", out);
    put_value(out, span->low, unit);
    fputs(" to ", out);
    put_value(out, span->high, unit);
}

// What was measured in all settings that a lab has been run in; NAN: in none.
struct measured {
    double least, most;
    bool is_sure; // each interval is on one side
};

static void put_measured(FILE *out, const struct report_claims *claims, int row, const struct report_section *sections,
                         int n, struct measured *measured_p)
{
    int found = 0;
    *measured_p = (struct measured){NAN, NAN, true};
    for (const struct report_section *s = sections; s < sections + n; s++) {
        const char *lab = clab_csv_cell(&s->data, 0, "lab");
        if (!*lab || strcmp(lab, cell(claims, row, "lab")) || !strcmp(clab_csv_cell(&s->data, 0, "backend"), "sim"))
            continue;
        const struct span span = value_in(claims, row, &s->data);
        if (isnan(span.value))
            continue;
        measured_p->least = fmin(measured_p->least, span.value);
        measured_p->most = fmax(measured_p->most, span.value);
        measured_p->is_sure &= !strcmp(judge(claims, row, span.low), judge(claims, row, span.high));
        if (found++ >= MOST_SETTINGS)
            continue;
        fputs(found > 1 ? "; " : "", out);
        put_span(out, &span, cell(claims, row, "unit"));
        put_setting(out, &s->data);
    }
    if (found > MOST_SETTINGS)
        fprintf(out, "; and %d more", found - MOST_SETTINGS);
}

// ---- what the model says -------------------------------------------------------------------------------------

// The one CSV file in `folder`, which is then empty.
static int take_csv(const char *folder, struct clab_csv *data_p)
{
    char path[4096] = "";
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (dir)
        closedir(dir);
    if (!*path)
        return CLAB_ENOENT;
    const int err = clab_csv_load(path, data_p);
    unlink(path);
    return err;
}

// Run `command` of commlab, whose CSV goes to `folder`; NAN: it failed, and has said why.
static double price(const struct report_claims *claims, int row, const char *command, const char *folder)
{
    const bool is_lab = !strncmp(command, "lab ", 4);
    struct lab_words words = {0};
    struct clab_csv data;
    char file[PATH_MAX + 16], *argv[LAB_MAX_WORDS + 5] = {"commlab"};
    int n = 1, status = 0;
    double value = NAN;
    snprintf(file, sizeof file, "%s%s", folder, is_lab ? "" : "/priced.csv");
    if (lab_words_split(command, " ", &words) != CLAB_OK)
        return NAN;
    for (int i = 0; i < words.count; i++)
        argv[n++] = words.words[i];
    argv[n++] = is_lab ? "--results" : "--csv";
    argv[n++] = file;
    argv[n++] = is_lab ? "--no-plot" : NULL;
    argv[n] = NULL;
    if (child_run(argv, NULL, &status) == CLAB_OK && status == 0 && take_csv(folder, &data) == CLAB_OK) {
        value = is_lab ? value_in(claims, row, &data).value
                       : clab_csv_real(&data, data.nrows - 1, cell(claims, row, "column"));
        clab_csv_free(&data);
    }
    lab_words_free(&words);
    return value;
}

static double model_value(const struct report_claims *claims, int row)
{
    const char *before = cell(claims, row, "before"), *after = cell(claims, row, "after");
    char folder[PATH_MAX];
    if (!*before || child_folder_make(folder) != CLAB_OK)
        return NAN;
    double value = price(claims, row, before, folder);
    if (*after)
        value /= price(claims, row, after, folder);
    child_folder_remove(folder);
    return value;
}

static void put_model(FILE *out, const struct report_claims *claims, int row, double value)
{
    if (isnan(value)) {
        fprintf(out, "not modelled: %s",
                *cell(claims, row, "before") ? "the simulator failed" : cell(claims, row, "why"));
        return;
    }
    put_value(out, value, cell(claims, row, "unit"));
    fprintf(out, ": %s", cell(claims, row, "hardware"));
}

// ---- all of them ---------------------------------------------------------------------------------------------

static void put_claimed(FILE *out, const struct report_claims *claims, int row)
{
    const char *unit = cell(claims, row, "unit"), *low = cell(claims, row, "low"), *high = cell(claims, row, "high");
    if (!*high)
        fputs("at least ", out);
    put_value(out, clab_csv_real(&claims->data, row, "low"), unit);
    if (*high && strcmp(low, high)) {
        fputs(" to ", out);
        put_value(out, clab_csv_real(&claims->data, row, "high"), unit);
    }
}

static int judge_claim(struct report_claims *claims, int row, const char *root, const struct report_section *sections,
                       int n)
{
    char *texts[4] = {0};
    size_t sizes[4];
    FILE *out[4] = {0};
    struct measured here;
    int err = CLAB_OK;
    for (int i = 0; i < 4; i++)
        if (!(out[i] = open_memstream(&texts[i], &sizes[i])))
            err = CLAB_ENOMEM;
    if (!err) {
        const double model = model_value(claims, row);
        put_claimed(out[0], claims, row);
        put_measured(out[1], claims, row, sections, n, &here);
        if (isnan(here.least))
            put_why_not(out[1], claims, row, root);
        put_model(out[2], claims, row, model);
        fputs("here ", out[3]);
        fputs(here.is_sure ? "" : "perhaps ", out[3]);
        if (isnan(here.least))
            fputs("not measured", out[3]);
        else
            put_verdict(out[3], claims, row, here.least, here.most);
        fputs("; by the model ", out[3]);
        if (isnan(model))
            fputs("not said", out[3]);
        else
            put_verdict(out[3], claims, row, model, model);
    }
    for (int i = 0; i < 4; i++)
        if (out[i])
            fclose(out[i]);
    claims->verdicts[row] = (struct report_verdict){texts[0], texts[1], texts[2], texts[3]};
    return err;
}

int report_claims_load(const char *root, const struct report_section *sections, int n, struct report_claims *claims_p)
{
    struct report_claims claims = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/labs/claims.csv", root);
    CLAB_TRY(clab_csv_load(path, &claims.data));
    claims.verdicts = calloc((size_t)claims.data.nrows, sizeof *claims.verdicts);
    int err = claims.verdicts ? CLAB_OK : CLAB_ENOMEM;
    child_watch();
    for (int row = 0; !err && row < claims.data.nrows && !child_ended_by(); row++)
        err = judge_claim(&claims, row, root, sections, n);
    const int ended_by = child_unwatch();
    if (ended_by)
        raise(ended_by);
    if (err)
        report_claims_free(&claims);
    else
        *claims_p = claims;
    return err;
}

int report_claims_write(const struct report_claims *claims, const char *path)
{
    static const struct clab_column columns[] = {
        CLAB_COLUMN(TEXT, "id"), CLAB_COLUMN(TEXT, "claim"), CLAB_COLUMN(TEXT, "source"), CLAB_COLUMN(TEXT, "claimed"),
        CLAB_COLUMN(TEXT, "measured"), CLAB_COLUMN(TEXT, "model"), CLAB_COLUMN(TEXT, "verdict"),
    };
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int row = 0; !err && row < claims->data.nrows; row++) {
        const struct report_verdict *v = &claims->verdicts[row];
        const struct clab_cell cells[] = {clab_cell_text(cell(claims, row, "id")),
                                          clab_cell_text(cell(claims, row, "claim")),
                                          clab_cell_text(cell(claims, row, "source")),
                                          clab_cell_text(v->claimed),
                                          clab_cell_text(v->measured),
                                          clab_cell_text(v->model),
                                          clab_cell_text(v->verdict)};
        err = clab_table_add_row(&table, cells);
    }
    if (!err)
        err = clab_table_write_csv(&table, NULL, path);
    clab_table_free(&table);
    return err;
}

void report_claims_free(struct report_claims *claims)
{
    for (int row = 0; claims->verdicts && row < claims->data.nrows; row++) {
        free(claims->verdicts[row].claimed);
        free(claims->verdicts[row].measured);
        free(claims->verdicts[row].model);
        free(claims->verdicts[row].verdict);
    }
    free(claims->verdicts);
    clab_csv_free(&claims->data);
    *claims = (struct report_claims){0};
}
