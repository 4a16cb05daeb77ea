// SPDX-License-Identifier: MIT
// The results of a lab run: before and after side by side, their ratio, and the predictions.
//
// - A ratio is the time of before divided by the time of after: above 1, after is faster. It is the median over pairs
//   that ran one after the other, with its interval.
// - residual_pct is 100 (measured - predicted) / measured, as in the bench: above 0, the measured value is larger.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

// ---- pairs ---------------------------------------------------------------------------------------------------

static bool is_counterpart(const struct lab_series *before, const struct lab_series *after)
{
    const size_t first = strcspn(after->quantity, "/");
    const char *last = strrchr(after->quantity, '/'), *before_last = strrchr(before->quantity, '/');
    return last && before_last && last != after->quantity + first && !strcmp(last, before_last) &&
           first == strcspn(before->quantity, "/") && !strncmp(before->quantity, after->quantity, first);
}

const struct lab_series *lab_counterpart(const struct lab_results *results, const struct lab_series *after)
{
    const struct lab_series *same = lab_results_find(results, LAB_BEFORE, after->ranks, after->quantity);
    if (same)
        return same;
    for (const struct lab_series *s = results->series; s < results->series + results->count; s++)
        if (s->program == LAB_BEFORE && s->ranks == after->ranks && is_counterpart(s, after))
            return s;
    return NULL;
}

int lab_check_equal(const struct lab_conf *conf, const struct lab_results *results)
{
    for (const struct lab_series *after = results->series; after < results->series + results->count; after++) {
        const struct lab_quantity *q = lab_conf_quantity(conf, after->quantity);
        const struct lab_series *before = lab_counterpart(results, after);
        if (after->program != LAB_AFTER || !q || !q->equal || !before)
            continue;
        for (int i = 0; i < after->n + before->n; i++) {
            const double sample = i < after->n ? after->samples[i] : before->samples[i - after->n];
            if (fabs(sample - before->samples[0]) <= q->apart / 100 * fabs(before->samples[0]))
                continue;
            clab_error("lab %s: %s differs: before has %.17g, %s has %.17g", conf->id, after->quantity,
                       before->samples[0], i < after->n ? "after" : "a later before", sample);
            return CLAB_EWRONG;
        }
    }
    return CLAB_OK;
}

// ---- a finding: one row ---------------------------------------------------------------------------------------

struct finding {
    const char *program, *unit;
    char quantity[80];
    int ranks;
    struct clab_summary measured;
    double predicted; // NAN: not
};

static double residual_pct(const struct finding *f)
{
    if (f->measured.median == f->predicted)
        return 0;
    return f->measured.median > 0 ? 100 * (f->measured.median - f->predicted) / f->measured.median : NAN;
}

static double predict(const struct lab_context *context, const struct lab_series *s)
{
    const struct lab_quantity *q = lab_conf_quantity(context->conf, s->quantity);
    return q && !isnan(q->tolerance) ? context->conf->model->predict(context, s->program, s->ranks, s->quantity) : NAN;
}

static int find_value(const struct lab_context *context, const struct lab_series *s, struct finding *f_p)
{
    struct finding f = {.program = lab_program_names[s->program], .unit = s->unit, .ranks = s->ranks};
    snprintf(f.quantity, sizeof f.quantity, "%s", s->quantity);
    CLAB_TRY(clab_summarize(s->samples, s->n, &f.measured));
    f.predicted = predict(context, s);
    *f_p = f;
    return CLAB_OK;
}

// Whether `after` is a time that before has, too.
static bool has_ratio(const struct lab_series *before, const struct lab_series *after)
{
    if (!before || strcmp(after->unit, "s") || before->n != after->n)
        return false;
    for (int i = 0; i < after->n; i++)
        if (!(before->samples[i] > 0 && after->samples[i] > 0))
            return false;
    return true;
}

static int find_ratio(const struct lab_context *context, const struct lab_series *before,
                      const struct lab_series *after, struct finding *f_p)
{
    struct finding f = {.program = "after/before", .unit = "1", .ranks = after->ranks};
    snprintf(f.quantity, sizeof f.quantity, "ratio/%s", after->quantity);
    CLAB_TRY(clab_summarize_ratios(before->samples, after->samples, after->n, &f.measured));
    f.predicted = predict(context, before) / predict(context, after);
    *f_p = f;
    return CLAB_OK;
}

// ---- the file ------------------------------------------------------------------------------------------------

static const struct clab_column file_columns[] = {
    CLAB_COLUMN(TEXT, "lab"), CLAB_COLUMN(TEXT, "program"), CLAB_COLUMN(TEXT, "backend"), CLAB_COLUMN(TEXT, "net"),
    CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(TEXT, "quantity"), CLAB_COLUMN(TEXT, "unit"), CLAB_COLUMN(REAL, "value"),
    CLAB_COLUMN(REAL, "low"), CLAB_COLUMN(REAL, "high"), CLAB_COLUMN(REAL, "predicted"),
    CLAB_COLUMN(REAL, "residual_pct"),
};
enum { NCOLUMNS = sizeof file_columns / sizeof *file_columns };

struct writer {
    const struct lab_context *context;
    const char *backend, *net;
    struct clab_table table;
};

static int write_row(struct writer *w, const struct finding *f)
{
    const bool is_before = f->program == lab_program_names[LAB_BEFORE];
    const struct clab_cell cells[NCOLUMNS] = {
        clab_cell_text(w->context->conf->id),
        clab_cell_text(f->program),
        clab_cell_text(is_before ? w->context->before_backend : w->backend),
        clab_cell_text(is_before && w->context->conf->before_net ? w->context->conf->before_net : w->net),
        clab_cell_integer(f->ranks),
        clab_cell_text(f->quantity),
        clab_cell_text(f->unit),
        clab_cell_real(f->measured.median),
        clab_cell_real(f->measured.low),
        clab_cell_real(f->measured.high),
        clab_cell_real(f->predicted),
        clab_cell_real(residual_pct(f)),
    };
    return clab_table_add_row(&w->table, cells);
}

// The series that `headline` names: the last one of the run's own number of ranks whose name begins so.
static const struct lab_series *find_headline(const struct lab_context *context, const struct lab_results *results)
{
    const char *headline = context->conf->headline;
    for (const struct lab_series *s = results->series + results->count; s-- > results->series;)
        if (s->program == LAB_AFTER && s->ranks == context->ranks && !strncmp(s->quantity, headline, strlen(headline)))
            return s;
    return NULL;
}

// A headline that is no time is after's value as it is: a ratio of its own.
static int write_series(struct writer *w, const struct lab_results *results, const struct lab_series *s)
{
    struct finding f;
    CLAB_TRY(find_value(w->context, s, &f));
    CLAB_TRY(write_row(w, &f));
    if (s->program != LAB_AFTER)
        return CLAB_OK;
    if (has_ratio(lab_counterpart(results, s), s)) {
        CLAB_TRY(find_ratio(w->context, lab_counterpart(results, s), s, &f));
        CLAB_TRY(write_row(w, &f));
    } else if (strcmp(s->unit, "1")) {
        return CLAB_OK;
    }
    if (s != find_headline(w->context, results))
        return CLAB_OK;
    snprintf(f.quantity, sizeof f.quantity, "ratio");
    return write_row(w, &f);
}

int lab_table_write(const struct lab_context *context, const struct lab_results *results, const char *backend,
                    const char *net, const struct clab_manifest *manifest, const char *path)
{
    struct writer writer = {.context = context, .backend = backend, .net = net};
    int err = CLAB_OK;
    clab_table_init(&writer.table, file_columns, NCOLUMNS);
    for (int i = 0; !err && i < results->count; i++)
        err = write_series(&writer, results, &results->series[i]);
    if (!err)
        err = clab_table_write_csv(&writer.table, manifest, path);
    clab_table_free(&writer.table);
    return err;
}

// ---- the screen ----------------------------------------------------------------------------------------------

enum screen {
    QUANTITY,
    B_TIME,
    B_FORESEEN,
    B_RESIDUAL,
    A_TIME,
    A_SPREAD,
    A_FORESEEN,
    A_RESIDUAL,
    RATIO,
    R_SPREAD,
    R_FORESEEN,
    NSCREEN
};

static const struct clab_column screen_columns[NSCREEN] = {
    [QUANTITY] = {.name = "quantity", .kind = CLAB_KIND_TEXT, .width = -29},
    [B_TIME] = {.name = "measured", .kind = CLAB_KIND_TEXT, .width = 8, .group = "before"},
    [B_FORESEEN] = {.name = "predicted", .kind = CLAB_KIND_TEXT, .width = 9, .group = "before"},
    [B_RESIDUAL] = {.name = "off", .unit = "%", .kind = CLAB_KIND_REAL, .width = 5, .group = "before"},
    [A_TIME] = {.name = "measured", .kind = CLAB_KIND_TEXT, .width = 8, .group = "after"},
    [A_SPREAD] = {.name = "interval", .unit = "%", .kind = CLAB_KIND_TEXT, .width = 10, .group = "after"},
    [A_FORESEEN] = {.name = "predicted", .kind = CLAB_KIND_TEXT, .width = 9, .group = "after"},
    [A_RESIDUAL] = {.name = "off", .unit = "%", .kind = CLAB_KIND_REAL, .width = 5, .group = "after"},
    [RATIO] = {.name = "median", .kind = CLAB_KIND_TEXT, .width = 6, .group = "before / after"},
    [R_SPREAD] = {.name = "interval", .kind = CLAB_KIND_TEXT, .width = 10, .group = "before / after"},
    [R_FORESEEN] = {.name = "predicted", .kind = CLAB_KIND_TEXT, .width = 9, .group = "before / after"},
};

// At most eight characters, as all cells of value_cell: "2.05 MiB", and not "2.055 MiB".
static const char *size_text(double bytes, char text[CLAB_TEXT])
{
    double unit = 1;
    while (bytes >= 1024 * unit)
        unit *= 1024;
    const double step = unit / (bytes < 10 * unit ? 100 : bytes < 100 * unit ? 10 : 1);
    return clab_size_text((size_t)(unit > 1 ? round(bytes / step) * step : bytes), text);
}

static struct clab_cell value_cell(double value, const char *unit, char text[CLAB_TEXT])
{
    if (isnan(value))
        return clab_cell_none();
    if (!strcmp(unit, "s"))
        return clab_cell_text(clab_seconds_text(value, text));
    if (!strcmp(unit, "B") && value >= 0)
        return clab_cell_text(size_text(value, text));
    if (!strcmp(unit, "%"))
        snprintf(text, CLAB_TEXT, fabs(value) < 0.01 ? "%.1g %%" : fabs(value) < 999.5 ? "%.3g %%" : "%.0f %%", value);
    else
        snprintf(text, CLAB_TEXT, "%.4g", value);
    return clab_cell_text(text);
}

// `value` with so many digits: 312.8 with two is 310.
static double round_to(double value, int digits)
{
    char text[CLAB_TEXT];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return atof(text);
}

// With the digits that the interval supports, two at least: 312.8 in 290 .. 350 is 310, since it may as well be 320.
static double supported(const struct clab_summary *s)
{
    const double half = (s->high - s->low) / 2;
    if (!(half > 0 && s->median > 0))
        return s->median;
    const int digits = (int)(floor(log10(s->median)) - floor(log10(half))) + 1;
    return digits < 4 ? round_to(s->median, digits < 2 ? 2 : digits) : s->median;
}

// A time of 0 is a phase that the program does not have. A unit without a cell of its own follows the quantity's name.
static struct clab_cell measured_cell(const struct finding *f, char text[CLAB_TEXT])
{
    return strcmp(f->unit, "s") || f->measured.median > 0 ? value_cell(supported(&f->measured), f->unit, text)
                                                          : clab_cell_none();
}

static void name_line(const struct lab_series *s, char name[], size_t room)
{
    static const char *const in_cells[] = {"s", "B", "%", "1"}; // value_cell
    bool plain = false;
    for (size_t i = 0; i < sizeof in_cells / sizeof *in_cells; i++)
        plain |= !strcmp(s->unit, in_cells[i]);
    snprintf(name, room, plain ? "%s" : "%s (%s)", s->quantity, s->unit);
}

// In whole percent, and never -0.
static struct clab_cell residual_cell(const struct finding *f)
{
    return clab_cell_real(round(residual_pct(f)) + 0.0);
}

// At most four characters below 1e7: an interval has two of them in a column of ten.
static const char *ratio_text(double ratio, char text[CLAB_TEXT])
{
    const bool thousands = ratio >= 9999.5;
    const int digits = thousands || ratio >= 99.95 ? 0 : ratio < 9.995 ? 2 : 1;
    snprintf(text, CLAB_TEXT, "%.*f%s", digits, thousands ? ratio / 1000 : ratio, thousands ? "k" : "");
    return text;
}

static struct clab_cell ratio_cell(double ratio, char text[CLAB_TEXT])
{
    return isfinite(ratio) ? clab_cell_text(ratio_text(ratio, text)) : clab_cell_none();
}

// The ends of the interval, as percent of the median, in at most ten characters: "-100..+892".
static struct clab_cell spread_cell(const struct clab_summary *s, char text[CLAB_TEXT])
{
    if (!(s->median > 0) || s->n < 2)
        return clab_cell_none();
    const double above = 100 * (s->high / s->median - 1);
    const int n = snprintf(text, CLAB_TEXT, "%+.0f..", 100 * (s->low / s->median - 1));
    snprintf(text + n, CLAB_TEXT - (size_t)n, above < 999.5 ? "%+.0f" : ">999", above);
    return clab_cell_text(text);
}

// One line for a quantity of both programs, or of one (the other is NULL). Times have a ratio.
static int add_line(struct clab_table *table, const struct lab_context *context, const struct lab_series *before,
                    const struct lab_series *after)
{
    struct finding b, a, r;
    char texts[NSCREEN][CLAB_TEXT], name[2 * CLAB_TEXT + 32];
    name_line(after ? after : before, name, sizeof name);
    struct clab_cell cells[NSCREEN] = {[QUANTITY] = clab_cell_text(name)};
    if (before) {
        CLAB_TRY(find_value(context, before, &b));
        cells[B_TIME] = measured_cell(&b, texts[B_TIME]);
        cells[B_FORESEEN] = value_cell(b.predicted, b.unit, texts[B_FORESEEN]);
        cells[B_RESIDUAL] = residual_cell(&b);
    }
    if (!after)
        return clab_table_add_row(table, cells);
    CLAB_TRY(find_value(context, after, &a));
    cells[A_TIME] = measured_cell(&a, texts[A_TIME]);
    cells[A_SPREAD] = spread_cell(&a.measured, texts[A_SPREAD]);
    cells[A_FORESEEN] = value_cell(a.predicted, a.unit, texts[A_FORESEEN]);
    cells[A_RESIDUAL] = residual_cell(&a);
    if (has_ratio(before, after)) {
        CLAB_TRY(find_ratio(context, before, after, &r));
        char low[CLAB_TEXT], high[CLAB_TEXT];
        snprintf(texts[R_SPREAD], CLAB_TEXT, "%.8s..%.8s", ratio_text(r.measured.low, low),
                 ratio_text(r.measured.high, high));
        cells[RATIO] = ratio_cell(r.measured.median, texts[RATIO]);
        cells[R_SPREAD] = r.measured.n > 1 ? clab_cell_text(texts[R_SPREAD]) : clab_cell_none();
        cells[R_FORESEEN] = ratio_cell(r.predicted, texts[R_FORESEEN]);
    }
    return clab_table_add_row(table, cells);
}

// Prints how many values of `q` were predicted, and how many predictions are within its tolerance.
static int print_verdict(const struct lab_context *context, const struct lab_results *results,
                         const struct lab_quantity *q)
{
    int predicted = 0, within = 0;
    for (const struct lab_series *s = results->series; s < results->series + results->count; s++) {
        struct finding f;
        if (lab_conf_quantity(context->conf, s->quantity) != q)
            continue;
        CLAB_TRY(find_value(context, s, &f));
        predicted += !isnan(residual_pct(&f));
        within += fabs(residual_pct(&f)) <= q->tolerance;
    }
    if (predicted && q->tolerance == 0)
        printf("# %s: %d of %d predictions are exact\n", q->name, within, predicted);
    else if (predicted)
        printf("# %s: %d of %d predictions are off by at most %g %%\n", q->name, within, predicted, q->tolerance);
    return CLAB_OK;
}

// Whether `before` is the counterpart of a series of after: then both are on one line.
static bool has_after(const struct lab_results *results, const struct lab_series *before)
{
    for (const struct lab_series *s = results->series; s < results->series + results->count; s++)
        if (s->program == LAB_AFTER && lab_counterpart(results, s) == before)
            return true;
    return false;
}

// Counts and checksums have no rows: they are exact or equal, else another schedule ran.
static bool is_shown(const struct lab_quantity *q)
{
    return q && !q->equal && q->tolerance != 0;
}

// The rows of one number of ranks, below a line with that number.
static int print_rows(const struct lab_context *context, const struct lab_results *results, int ranks,
                      struct clab_table *table)
{
    int row = clab_table_rows(table);
    for (const struct lab_series *s = results->series; s < results->series + results->count; s++) {
        if (s->ranks != ranks || !is_shown(lab_conf_quantity(context->conf, s->quantity)))
            continue;
        if (s->program == LAB_AFTER)
            CLAB_TRY(add_line(table, context, lab_counterpart(results, s), s));
        else if (!has_after(results, s))
            CLAB_TRY(add_line(table, context, s, NULL));
    }
    printf("# %d ranks\n", ranks);
    for (; row < clab_table_rows(table); row++)
        clab_table_print_row(table, row, stdout);
    return CLAB_OK;
}

static const char legend[] =
    "# off: (measured - predicted) / measured. 50 %: twice the predicted value; below 0: less than predicted\n"
    "# interval: where the true median is, with 95 % certainty; -3..+5: 3 % below to 5 % above the measured median\n"
    "# before / after: the time of before divided by the time of after; above 1, after is faster\n"
    "# how to read this table: labs/table.md\n";

int lab_table_print(const struct lab_context *context, const struct lab_results *results)
{
    const struct lab_conf *conf = context->conf;
    struct clab_table table;
    int err = CLAB_OK, ranks = 0; // series come by number of ranks
    clab_table_init(&table, screen_columns, NSCREEN);
    clab_table_print_header(&table, stdout);
    for (const struct lab_series *s = results->series; !err && s < results->series + results->count; s++)
        if (s->ranks != ranks)
            err = print_rows(context, results, ranks = s->ranks, &table);
    clab_table_free(&table);
    if (!err)
        fputs(legend, stdout);
    for (int i = 0; !err && i < conf->nquantities; i++)
        if (!isnan(conf->quantities[i].tolerance))
            err = print_verdict(context, results, &conf->quantities[i]);
    return err;
}
