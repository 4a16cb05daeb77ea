// SPDX-License-Identifier: MIT
// The student's predictions beside the model and the measurement (yours.h): in words, and as NAME.yours.csv.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "cmd/kit/kit.h"
#include "cmd/lab/yours.h"

enum { WORDS = 256 };

// ---- values in words -----------------------------------------------------------------------------------------

static const char *value_text(double value, const char *unit, char text[WORDS])
{
    char number[CLAB_TEXT];
    if (isnan(value))
        return "-";
    if (!strcmp(unit, "s"))
        snprintf(text, WORDS, "%s", clab_seconds_text(value, number));
    else if (!strcmp(unit, "B") && value < 0x1p60)
        snprintf(text, WORDS, "%s", clab_size_text((size_t)value, number));
    else
        snprintf(text, WORDS, "%.4g%s%s", value, *unit && strcmp(unit, "1") != 0 ? " " : "",
                 strcmp(unit, "1") ? unit : "");
    return text;
}

// "200 us to 400 us", and of units that are not scaled "1 to 2 pairs".
static const char *range_text(double low, double high, const char *unit, char text[WORDS])
{
    char first[WORDS], second[WORDS];
    const bool is_scaled = !strcmp(unit, "s") || !strcmp(unit, "B");
    if (low == high)
        return value_text(low, unit, text);
    snprintf(text, WORDS, "%.100s to %.100s", value_text(low, is_scaled ? unit : "", first),
             value_text(high, unit, second));
    return text;
}

static const char *places_text(const struct prediction *asked, const int places[], bool has, char text[WORDS])
{
    struct clab_text out = clab_text_begin(text, WORDS);
    for (int i = 0; has && i < asked->nwords; i++)
        clab_text_add(&out, "%s%s", i ? " < " : "", asked->words[places[i]]);
    return has ? text : "-";
}

static const char *yes_no_text(double value)
{
    return isnan(value) ? "-" : value > 0 ? "yes" : "no";
}

// ---- errors in words -----------------------------------------------------------------------------------------

// Of a number against the measured median: "right", "12 % too high", "3.1 times too high", "5 points too low".
static const char *error_text(double guess, double measured, const char *unit, char text[WORDS])
{
    const char *side = guess > measured ? "high" : "low";
    const double factor = guess > measured ? guess / measured : measured / guess;
    if (isnan(guess) || isnan(measured))
        return "-";
    if (guess == measured || fabs(guess - measured) < 0.005 * fabs(measured))
        return "right";
    if (!strcmp(unit, "%"))
        snprintf(text, WORDS, fabs(guess - measured) < 10 ? "%.2g points too %s" : "%.0f points too %s",
                 fabs(guess - measured), side);
    else if (!isfinite(factor))
        snprintf(text, WORDS, "too %s", side);
    else if (factor >= 2)
        snprintf(text, WORDS, "%.*f times too %s", factor < 10, factor, side);
    else
        snprintf(text, WORDS, "%.0f %% too %s", fmax(1, 100 * fabs(guess / measured - 1)), side);
    return text;
}

// The measured interval may reach into a range whose ends exclude the median.
static const char *range_error(const struct lab_compared *c, char text[WORDS])
{
    if (!c->measured.n)
        return "-";
    if (c->low == c->high)
        return error_text(c->low, c->measured.median, c->unit, text);
    if (c->measured.median >= c->low && c->measured.median <= c->high)
        return "inside";
    const bool is_low = c->measured.median > c->high;
    if (is_low ? c->measured.low < c->high : c->measured.high > c->low)
        return "nearly inside";
    snprintf(text, WORDS, "outside: too %s", is_low ? "low" : "high");
    return text;
}

// The first place that differs from the measured order.
static const char *order_error(const struct prediction *asked, const int places[], bool has,
                               const struct lab_compared *c, char text[WORDS])
{
    if (!has || !c->has_measured_places)
        return "-";
    for (int i = 0; i < asked->nwords; i++)
        if (places[i] != c->measured_places[i]) {
            snprintf(text, WORDS, "wrong: number %d is %s", i + 1, asked->words[c->measured_places[i]]);
            return text;
        }
    return "right";
}

static const char *yes_no_error(double guess, const struct lab_compared *c)
{
    if (isnan(guess) || !c->measured.n)
        return "-";
    if (c->measured.low != c->measured.high)
        return "too noisy to tell";
    return guess == c->measured.median ? "right" : "wrong";
}

// ---- the table -----------------------------------------------------------------------------------------------

enum column { NAME, YOURS, MODEL, MEASURED, YOUR_ERROR, MODEL_ERROR, NCOLUMNS };

static const struct clab_column columns[NCOLUMNS] = {
    [NAME] = {.name = "prediction", .kind = CLAB_KIND_TEXT, .width = -34},
    [YOURS] = {.name = "yours", .kind = CLAB_KIND_TEXT, .width = 18},
    [MODEL] = {.name = "model", .kind = CLAB_KIND_TEXT, .width = 10},
    [MEASURED] = {.name = "measured", .kind = CLAB_KIND_TEXT, .width = 12},
    [YOUR_ERROR] = {.name = "error", .heading = "you are", .kind = CLAB_KIND_TEXT, .width = 20},
    [MODEL_ERROR] = {.name = "model_error", .heading = "the model is", .kind = CLAB_KIND_TEXT, .width = 20},
};

struct row {
    const char *cells[NCOLUMNS];
    char texts[NCOLUMNS][WORDS];
};

// A free value is compared with the model, as no program reports it.
static void fill_number(const struct lab_compared *c, struct row *r)
{
    const double measured = c->measured.n ? c->measured.median : NAN;
    struct lab_compared reference = *c;
    if (!c->measured.n && !isnan(c->model))
        reference.measured = (struct clab_summary){c->model, c->model, c->model, c->model, c->model, 1};
    r->cells[YOURS] = range_text(c->low, c->high, c->unit, r->texts[YOURS]);
    r->cells[MODEL] = value_text(c->model, c->unit, r->texts[MODEL]);
    r->cells[MEASURED] = value_text(measured, c->unit, r->texts[MEASURED]);
    r->cells[YOUR_ERROR] = range_error(&reference, r->texts[YOUR_ERROR]);
    r->cells[MODEL_ERROR] = error_text(c->model, measured, c->unit, r->texts[MODEL_ERROR]);
}

static void fill_yes_no(const struct lab_compared *c, struct row *r)
{
    r->cells[YOURS] = yes_no_text(c->low);
    r->cells[MODEL] = yes_no_text(c->model);
    r->cells[MEASURED] = yes_no_text(c->measured.n ? c->measured.median : NAN);
    r->cells[YOUR_ERROR] = yes_no_error(c->low, c);
    r->cells[MODEL_ERROR] = yes_no_error(c->model, c);
}

static const char *name_text(const struct prediction *asked, int ranks, int usual_ranks, char text[WORDS])
{
    const int used = snprintf(text, WORDS, "%s", asked->title);
    if (ranks != usual_ranks)
        snprintf(text + used, WORDS - (size_t)used, ", %d ranks", ranks);
    return text;
}

static int add_row(struct clab_table *table, const struct prediction *asked, const struct lab_compared *c, int ranks,
                   int usual_ranks)
{
    struct row r;
    struct clab_cell cells[NCOLUMNS];
    r.cells[NAME] = name_text(asked, ranks, usual_ranks, r.texts[NAME]);
    if (asked->kind == PREDICTION_YES_NO)
        fill_yes_no(c, &r);
    else
        fill_number(c, &r);
    for (int i = 0; i < NCOLUMNS; i++)
        cells[i] = strcmp(r.cells[i], "-") ? clab_cell_text(r.cells[i]) : clab_cell_none();
    return clab_table_add_row(table, cells);
}

static void print_places(const char *whose, const struct prediction *asked, const int places[], bool has,
                         const char *error)
{
    char text[WORDS];
    const char *words = places_text(asked, places, has, text);
    if (has && *error)
        printf("      %-9s %-60s %s\n", whose, words, error);
    else
        printf("      %-9s %s\n", whose, words);
}

// Orders are too long for a column: three lines each.
static void print_order(const struct prediction *asked, const struct prediction *answer, const struct lab_compared *c,
                        int ranks, int usual_ranks)
{
    char text[WORDS];
    printf("  %s\n", name_text(asked, ranks, usual_ranks, text));
    print_places("yours", asked, answer->places, true, order_error(asked, answer->places, true, c, text));
    print_places("model", asked, c->model_places, c->has_model_places,
                 order_error(asked, c->model_places, c->has_model_places, c, text));
    print_places("measured", asked, c->measured_places, c->has_measured_places, "");
}

static void print_state(const struct lab_yours *yours)
{
    if (yours->is_new || yours->is_added)
        printf("# your predictions are now locked: %s\n", kit_relative(yours->files.locked));
    if (yours->is_edited)
        clab_say("# %s has changed since this copy was locked; the changes do not count. For new predictions: "
               "./commlab predict %s --again\n",
               kit_relative(yours->files.given), yours->id);
    if (yours->blanks)
        printf("# %d of %d blanks of this command were left\n", yours->blanks, yours->blanks + yours->answers);
}

// Whether the lab asks for something that this run measures.
static bool is_asked(const struct lab_yours *yours)
{
    return yours->asked.template && yours->answers + yours->blanks > 0;
}

static int print_nothing(const struct lab_yours *yours)
{
    const struct predictions *template = yours->asked.template;
    bool fits = is_asked(yours);
    for (int i = 0; template && i < template->nsections; i++)
        fits |= yours->fits[i];
    if (fits && yours->counted)
        print_state(yours);
    else if (template && yours->is_other)
        printf("# you have not predicted this run: it has other sizes, iterations or options than lab %s\n", yours->id);
    else if (fits)
        clab_say("# you have not predicted this: type ./commlab predict %s before you run it\n", yours->id);
    return CLAB_OK;
}

// Of all answers the numbers and words, or the orders, which are printed at once.
static int compare_all(const struct lab_yours *yours, const struct lab_context *context,
                       const struct lab_results *results, bool orders, struct clab_table *table)
{
    const struct predictions *template = yours->asked.template;
    for (const struct prediction *asked = template->items; asked < template->items + template->count; asked++) {
        const struct prediction *answer = lab_yours_answer(yours, asked);
        const int ranks = yours->asked.runs[asked->section].ranks;
        struct lab_compared c;
        if (!answer || (asked->kind == PREDICTION_ORDER) != orders)
            continue;
        CLAB_TRY(lab_compare(context, results, asked, answer, ranks, &c));
        if (orders)
            print_order(asked, answer, &c, ranks, context->ranks);
        else
            CLAB_TRY(add_row(table, asked, &c, ranks, context->ranks));
    }
    return CLAB_OK;
}

int lab_yours_print(const struct lab_yours *yours, const struct lab_context *context, const struct lab_results *results)
{
    struct clab_table table;
    if (!yours->answers)
        return print_nothing(yours);
    printf("#\n# your predictions, %s\n", kit_relative(yours->files.locked));
    clab_table_init(&table, columns, NCOLUMNS);
    int err = compare_all(yours, context, results, false, &table);
    if (!err && clab_table_rows(&table))
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    if (!err)
        err = compare_all(yours, context, results, true, NULL);
    print_state(yours);
    return err;
}

// ---- the file ------------------------------------------------------------------------------------------------

static const struct clab_column file_columns[] = {
    CLAB_COLUMN(TEXT, "program"), CLAB_COLUMN(TEXT, "quantity"), CLAB_COLUMN(INTEGER, "ranks"),
    CLAB_COLUMN(TEXT, "unit"), CLAB_COLUMN(REAL, "low"), CLAB_COLUMN(REAL, "high"),
};
enum { FILE_COLUMNS = sizeof file_columns / sizeof *file_columns };

static int write_row(struct clab_table *table, const char *name, int ranks, const char *unit, double low, double high)
{
    static const char *const programs[PREDICTION_SOURCES] = {"",          "before", "after", "after/before",
                                                             "crossover", "least"};
    struct prediction_subject s;
    char quantity[2 * PREDICTION_NAME + 8];
    prediction_subject(name, &s);
    snprintf(quantity, sizeof quantity, "%s%s%s%s", s.source == PREDICTION_RATIO ? "ratio/" : "", s.quantity,
             *s.other ? ":" : "", s.other);
    const struct clab_cell cells[FILE_COLUMNS] = {
        clab_cell_text(programs[s.source]),
        clab_cell_text(quantity),
        clab_cell_integer(ranks),
        clab_cell_text(unit),
        clab_cell_real(low),
        clab_cell_real(high),
    };
    return clab_table_add_row(table, cells);
}

// Sizes in bytes, as figures have them; where no size was asked for (lanes), a number.
static int write_number(struct clab_table *table, const struct lab_conf *conf, const struct prediction *asked,
                        const struct prediction *answer, int ranks)
{
    struct prediction_subject s;
    double low = NAN, high = NAN;
    prediction_subject(asked->name, &s);
    const bool is_size = s.source == PREDICTION_CROSSOVER || s.source == PREDICTION_LEAST;
    const bool is_count = is_size && !prediction_ends(answer, "B", &low, &high);
    const char *unit = is_count ? "1" : is_size ? "B" : prediction_unit(conf, asked);
    if (!unit || !prediction_ends(answer, unit, &low, &high))
        return CLAB_OK;
    return write_row(table, asked->name, ranks, unit, low, high);
}

// Orders, yes and no are no values that a figure could mark.
static int write_all(const struct lab_yours *yours, const struct lab_conf *conf, const char *path)
{
    struct clab_table table;
    const struct predictions *template = yours->asked.template;
    int err = CLAB_OK;
    clab_table_init(&table, file_columns, FILE_COLUMNS);
    for (const struct prediction *asked = template->items; !err && asked < template->items + template->count; asked++) {
        const struct prediction *answer = lab_yours_answer(yours, asked);
        if (answer && asked->kind == PREDICTION_NUMBER)
            err = write_number(&table, conf, asked, answer, yours->asked.runs[asked->section].ranks);
    }
    if (!err && clab_table_rows(&table))
        err = clab_table_write_csv(&table, NULL, path);
    else
        unlink(path);
    clab_table_free(&table);
    return err;
}

int lab_yours_write(const struct lab_yours *yours, const struct lab_conf *conf, const char *csv)
{
    char path[PATH_MAX];
    const size_t length = strlen(csv);
    if (length < 4 || snprintf(path, sizeof path, "%.*s.yours.csv", (int)length - 4, csv) >= PATH_MAX)
        return CLAB_OK;
    if (yours->answers)
        return write_all(yours, conf, path);
    unlink(path);
    return CLAB_OK;
}
