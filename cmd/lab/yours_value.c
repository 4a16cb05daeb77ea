// SPDX-License-Identifier: MIT
// What each prediction of a student is compared with (yours.h): the median of the measured series, and the model.
//
// - A crossover is the size from which on the second curve is the lower one. Between two sizes it lies where the two
//   times are equal, if both grow by so many seconds per byte there; its interval is these two sizes.
// - The least is a size; its interval has all sizes whose intervals meet that of the least.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "cmd/lab/yours.h"

// A quantity of one program: measured, and by the model.
struct value {
    struct clab_summary measured;
    double model;
};

struct finder {
    const struct lab_context *context;
    const struct lab_results *results;
    int ranks;
};

static double model_of(const struct finder *f, enum lab_program program, const char *quantity)
{
    return f->context->conf->model->predict(f->context, program, f->ranks, quantity);
}

static int value_of_program(const struct finder *f, enum lab_program program, const char *quantity, struct value *v)
{
    const struct lab_series *s = lab_results_find(f->results, program, f->ranks, quantity);
    *v = (struct value){.model = model_of(f, program, quantity)};
    return s ? clab_summarize(s->samples, s->n, &v->measured) : CLAB_OK;
}

static int value_of_ratio(const struct finder *f, const char *quantity, struct value *v)
{
    const struct lab_series *after = lab_results_find(f->results, LAB_AFTER, f->ranks, quantity);
    const struct lab_series *before = after ? lab_counterpart(f->results, after) : NULL;
    *v = (struct value){.model = NAN};
    if (!before || before->n != after->n)
        return CLAB_OK;
    for (int i = 0; i < after->n; i++)
        if (!(before->samples[i] > 0 && after->samples[i] > 0))
            return CLAB_OK;
    v->model = model_of(f, LAB_BEFORE, before->quantity) / model_of(f, LAB_AFTER, quantity);
    return clab_summarize_ratios(before->samples, after->samples, after->n, &v->measured);
}

// The program that reports `quantity`; before where both or neither does.
static enum lab_program program_of(const struct finder *f, const char *quantity)
{
    return lab_results_find(f->results, LAB_BEFORE, f->ranks, quantity) ||
                   !lab_results_find(f->results, LAB_AFTER, f->ranks, quantity)
               ? LAB_BEFORE
               : LAB_AFTER;
}

// ---- curves --------------------------------------------------------------------------------------------------

enum { POINTS = 64 };

struct curve {
    double sizes[POINTS];
    struct value values[POINTS];
    int n;
};

static int add_point(const struct finder *f, const struct lab_series *s, size_t prefix, struct curve *c)
{
    size_t size;
    struct value value;
    if (c->n == POINTS || s->quantity[prefix] != '/' || clab_parse_size(s->quantity + prefix + 1, &size) != CLAB_OK)
        return CLAB_OK;
    CLAB_TRY(value_of_program(f, s->program, s->quantity, &value));
    int at = c->n++;
    for (; at > 0 && c->sizes[at - 1] > (double)size; at--) {
        c->sizes[at] = c->sizes[at - 1];
        c->values[at] = c->values[at - 1];
    }
    c->sizes[at] = (double)size;
    c->values[at] = value;
    return CLAB_OK;
}

// All reported PREFIX/SIZE, by rising size.
static int gather(const struct finder *f, const char *prefix, struct curve *c)
{
    const size_t length = strlen(prefix);
    enum lab_program program = LAB_BEFORE;
    c->n = 0;
    for (const struct lab_series *s = f->results->series; s < f->results->series + f->results->count; s++) {
        if (s->ranks != f->ranks || strncmp(s->quantity, prefix, length) != 0)
            continue;
        program = c->n ? program : s->program;
        if (s->program == program)
            CLAB_TRY(add_point(f, s, length, c));
    }
    return CLAB_OK;
}

static double point(const struct curve *c, int i, bool is_model)
{
    return is_model ? c->values[i].model : c->values[i].measured.median;
}

// Where b - a passes 0 between two sizes, if both times are alpha + beta S there.
static double meet(const struct curve *a, const struct curve *b, int i, bool is_model)
{
    const double first = point(b, i, is_model) - point(a, i, is_model);
    const double second = point(b, i + 1, is_model) - point(a, i + 1, is_model);
    return a->sizes[i] + (a->sizes[i + 1] - a->sizes[i]) * first / (first - second);
}

// From which size on b is below a at all sizes; n = 0: at none. At all of them: up to the least size.
static struct clab_summary crossover(const struct curve *a, const struct curve *b, bool is_model)
{
    int i = a->n;
    while (i > 0 && point(b, i - 1, is_model) < point(a, i - 1, is_model))
        i--;
    if (i == a->n)
        return (struct clab_summary){.n = 0};
    if (i == 0)
        return (struct clab_summary){a->sizes[0], 0, a->sizes[0], 0, a->sizes[0], 1};
    const double at = meet(a, b, i - 1, is_model);
    return (struct clab_summary){at, a->sizes[i - 1], a->sizes[i], a->sizes[i - 1], a->sizes[i], 1};
}

static int value_of_crossover(const struct finder *f, const struct prediction_subject *subject, struct value *v)
{
    struct curve a, b;
    *v = (struct value){.model = NAN};
    CLAB_TRY(gather(f, subject->quantity, &a));
    CLAB_TRY(gather(f, subject->other, &b));
    if (a.n < 2 || a.n != b.n || memcmp(a.sizes, b.sizes, (size_t)a.n * sizeof *a.sizes) != 0)
        return CLAB_OK;
    v->measured = crossover(&a, &b, false);
    const struct clab_summary model = crossover(&a, &b, true);
    v->model = model.n ? model.median : NAN;
    return CLAB_OK;
}

static int least_of(const struct curve *c, bool is_model)
{
    int least = 0;
    for (int i = 1; i < c->n; i++)
        if (point(c, i, is_model) < point(c, least, is_model) || isnan(point(c, least, is_model)))
            least = i;
    return least;
}

static int value_of_least(const struct finder *f, const char *prefix, struct value *v)
{
    struct curve c;
    *v = (struct value){.model = NAN};
    CLAB_TRY(gather(f, prefix, &c));
    if (!c.n)
        return CLAB_OK;
    const int least = least_of(&c, false), foreseen = least_of(&c, true);
    double low = c.sizes[least], high = c.sizes[least];
    for (int i = 0; i < c.n; i++)
        if (c.values[i].measured.low <= c.values[least].measured.high) {
            low = fmin(low, c.sizes[i]);
            high = fmax(high, c.sizes[i]);
        }
    v->measured = (struct clab_summary){c.sizes[least], low, high, low, high, 1};
    v->model = isnan(point(&c, foreseen, true)) ? NAN : c.sizes[foreseen];
    return CLAB_OK;
}

// ---- any prediction ------------------------------------------------------------------------------------------

// A free value is the model's alone, if it knows it.
static int value_of(const struct finder *f, const char *name, struct value *v)
{
    struct prediction_subject subject;
    prediction_subject(name, &subject);
    switch (subject.source) {
    case PREDICTION_BEFORE: return value_of_program(f, LAB_BEFORE, subject.quantity, v);
    case PREDICTION_AFTER: return value_of_program(f, LAB_AFTER, subject.quantity, v);
    case PREDICTION_RATIO: return value_of_ratio(f, subject.quantity, v);
    case PREDICTION_CROSSOVER: return value_of_crossover(f, &subject, v);
    case PREDICTION_LEAST: return value_of_least(f, subject.quantity, v);
    default: return value_of_program(f, program_of(f, subject.quantity), subject.quantity, v);
    }
}

// The words by rising value. False: one has none.
static bool sort_places(const double values[], int n, int places[])
{
    for (int i = 0; i < n; i++) {
        int at = i;
        if (isnan(values[i]))
            return false;
        for (; at > 0 && values[places[at - 1]] > values[i]; at--)
            places[at] = places[at - 1];
        places[at] = i;
    }
    return true;
}

static int compare_order(const struct finder *f, const struct prediction *asked, struct lab_compared *c)
{
    double measured[PREDICTION_WORDS], model[PREDICTION_WORDS];
    for (int i = 0; i < asked->nwords; i++) {
        char name[PREDICTION_NAME];
        struct value v;
        prediction_expand(asked, i, name);
        CLAB_TRY(value_of(f, name, &v));
        measured[i] = v.measured.n ? v.measured.median : NAN;
        model[i] = v.model;
    }
    c->has_measured_places = sort_places(measured, asked->nwords, c->measured_places);
    c->has_model_places = sort_places(model, asked->nwords, c->model_places);
    return CLAB_OK;
}

// 1: yes, 0: no.
static double holds(const struct prediction *asked, double value, double limit)
{
    return isnan(value) ? NAN : asked->relation == '<' ? value < limit : value > limit;
}

static int compare_yes_no(const struct finder *f, const struct prediction *asked, const char *unit,
                          struct lab_compared *c)
{
    struct value v;
    double limit = NAN;
    CLAB_TRY(value_of(f, asked->name, &v));
    prediction_limit(asked, unit, &limit);
    c->measured = v.measured;
    c->measured.median = holds(asked, v.measured.median, limit);
    const double at_low = holds(asked, v.measured.low, limit), at_high = holds(asked, v.measured.high, limit);
    c->measured.low = fmin(at_low, at_high); // 0 and 1: the interval allows both
    c->measured.high = fmax(at_low, at_high);
    c->model = holds(asked, v.model, limit);
    return CLAB_OK;
}

// Sizes that are found among names are bytes.
static void put_bytes_in(const char *unit, struct value *v)
{
    const struct clab_unit *to = clab_unit_find(unit), *bytes = clab_unit_find("B");
    if (!to || !clab_unit_converts(bytes, to))
        return;
    v->measured.median = clab_unit_convert(v->measured.median, bytes, to);
    v->measured.low = clab_unit_convert(v->measured.low, bytes, to);
    v->measured.high = clab_unit_convert(v->measured.high, bytes, to);
    v->model = clab_unit_convert(v->model, bytes, to);
}

static int compare_number(const struct finder *f, const struct prediction *asked, struct lab_compared *c)
{
    struct prediction_subject subject;
    struct value v;
    prediction_subject(asked->name, &subject);
    CLAB_TRY(value_of(f, asked->name, &v));
    if (subject.source == PREDICTION_CROSSOVER || subject.source == PREDICTION_LEAST)
        put_bytes_in(c->unit, &v);
    c->measured = v.measured;
    c->model = v.model;
    return CLAB_OK;
}

int lab_compare(const struct lab_context *context, const struct lab_results *results, const struct prediction *asked,
                const struct prediction *answer, int ranks, struct lab_compared *compared_p)
{
    const struct finder f = {context, results, ranks};
    struct lab_compared c = {.low = answer->low, .high = answer->high, .model = NAN};
    const char *unit = asked->kind == PREDICTION_ORDER ? "" : prediction_unit(context->conf, asked);
    snprintf(c.unit, sizeof c.unit, "%s", asked->kind == PREDICTION_NUMBER && unit ? unit : "");
    if (asked->kind == PREDICTION_NUMBER)
        prediction_ends(answer, c.unit, &c.low, &c.high);
    const int err = asked->kind == PREDICTION_ORDER    ? compare_order(&f, asked, &c)
                    : asked->kind == PREDICTION_YES_NO ? compare_yes_no(&f, asked, unit ? unit : "", &c)
                                                       : compare_number(&f, asked, &c);
    if (!err)
        *compared_p = c;
    return err;
}
