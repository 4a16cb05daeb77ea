// SPDX-License-Identifier: MIT
// Holds predictions to what is asked and possible (predictions.h): the lab's own predict.txt says which quantities there
// are, lab.conf their units and bounds, and the card what physics allows a message.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/nearest.h"
#include "core/base/units.h"
#include "cmd/predict/prediction_value.h"
#include "cmd/lab/asked.h"

enum { WHERE = 512 };

// ---- units ---------------------------------------------------------------------------------------------------

// False: the unit is none that we know, or does not convert. A unit of lab.conf's own is only itself.
static bool convert(double value, const char *from, const char *to, double *value_p)
{
    const struct clab_unit *a = clab_unit_find(from), *b = clab_unit_find(to);
    if (a && b && clab_unit_converts(a, b))
        *value_p = clab_unit_convert(value, a, b);
    else if (!strcmp(from, to) || (!*from && !b))
        *value_p = value;
    else
        return false;
    return isfinite(*value_p);
}

bool prediction_ends(const struct prediction *item, const char *unit, double *low_p, double *high_p)
{
    double low, high;
    if (!convert(item->low, item->unit, unit, &low) || !convert(item->high, item->unit, unit, &high))
        return false;
    *low_p = fmin(low, high);
    *high_p = fmax(low, high);
    return true;
}

bool prediction_limit(const struct prediction *item, const char *unit, double *limit_p)
{
    return convert(item->limit, item->limit_unit, unit, limit_p);
}

const char *prediction_unit(const struct lab_conf *conf, const struct prediction *asked)
{
    struct prediction_subject subject;
    prediction_subject(asked->name, &subject);
    const struct lab_quantity *q = lab_conf_quantity(conf, subject.quantity);
    switch (subject.source) {
    case PREDICTION_BEFORE:
    case PREDICTION_AFTER: return q ? q->unit : NULL;
    case PREDICTION_RATIO: return q && !strcmp(q->unit, "s") ? "1" : NULL;
    case PREDICTION_CROSSOVER:
    case PREDICTION_LEAST: return q ? asked->unit : NULL;
    default: return asked->kind == PREDICTION_NUMBER ? asked->unit : q ? q->unit : NULL;
    }
}

static const char *units_like(const char *unit)
{
    const struct clab_unit *known = clab_unit_find(unit);
    return known ? clab_dimension_units(known->dimension) : unit;
}

// ---- what is possible ----------------------------------------------------------------------------------------

// The bytes of "time/ring/2097152"; 0: it does not end so.
static double bytes_of(const char *quantity)
{
    size_t bytes = 0;
    const char *slash = strrchr(quantity, '/');
    return slash && clab_parse_size(slash + 1, &bytes) == CLAB_OK ? (double)bytes : 0;
}

// The time of a message can not be below what one costs, nor its bytes be faster than any.
static int check_time(const struct prediction *item, const char *quantity, double seconds,
                      const struct prediction_limits *limits, const char *where)
{
    const double bytes = bytes_of(quantity), least = bytes * limits->byte;
    char given[CLAB_TEXT], floor[CLAB_TEXT], rate[CLAB_TEXT], own[CLAB_TEXT];
    if (seconds < limits->message) // false where it is NAN
        return prediction_refuse(where, "%s = %s is below the time of one message, %s; see ./commlab card", item->title,
                                 clab_seconds_text(seconds, given), clab_seconds_text(limits->message, floor));
    if (seconds < least)
        return prediction_refuse(where, "%s = %s means %s, more than the card's bandwidth, %s; see ./commlab card",
                                 item->title, clab_seconds_text(seconds, given), clab_rate_text(bytes / seconds, own),
                                 clab_rate_text(1 / limits->byte, rate));
    return CLAB_OK;
}

static int check_rate(const struct prediction *item, const char *unit, double value,
                      const struct prediction_limits *limits, const char *where)
{
    double cost;
    char rate[CLAB_TEXT], own[CLAB_TEXT];
    if (convert(value, unit, "s/B", &cost) && cost < limits->byte)
        return prediction_refuse(where, "%s = %s is more than the card's bandwidth, %s; see ./commlab card",
                                 item->title, clab_rate_text(1 / cost, own), clab_rate_text(1 / limits->byte, rate));
    return CLAB_OK;
}

// Between the ends of an answer something must be possible. low, high: in lab.conf's unit
static int check_bounds(const struct lab_quantity *q, const struct prediction *item, const char *quantity, double low,
                        double high, const struct prediction_limits *limits, const char *where)
{
    const struct clab_unit *unit = clab_unit_find(q->unit);
    const bool is_cost = unit && unit->dimension == CLAB_DIMENSION_COST;
    if (low > q->most)
        return prediction_refuse(where, "%s = %g %s: it can not be above %g %s", item->title, low, q->unit, q->most,
                                 q->unit);
    if (!strcmp(q->unit, "rank") && low > limits->ranks - 1)
        return prediction_refuse(where, "%s = %g: there are the ranks 0 to %d", item->title, low, limits->ranks - 1);
    if (q->is_message)
        CLAB_TRY(check_time(item, quantity, high, limits, where));
    const bool is_rate = is_cost || (unit && unit->dimension == CLAB_DIMENSION_RATE);
    if (is_rate && isinf(q->most)) // else lab.conf has a limit of its own: of any link, not of this one
        return check_rate(item, q->unit, is_cost ? high : low, limits, where);
    return CLAB_OK;
}

static int check_unit(const struct prediction *item, const char *unit, const char *where)
{
    double value;
    if (convert(1, item->unit, unit, &value))
        return CLAB_OK;
    if (!*item->unit)
        return prediction_refuse(where, "%s: the unit is missing: write %s", item->title, units_like(unit));
    return prediction_refuse(where, "%s: '%s' is not a unit of this quantity: write %s", item->title, item->unit,
                             units_like(unit));
}

int prediction_check(const struct lab_conf *conf, const struct prediction *item, const struct prediction *asked,
                     const struct prediction_limits *limits, const char *where)
{
    struct prediction_subject subject;
    double low, high;
    if (item->kind != PREDICTION_NUMBER || (item->is_blank && !*item->unit))
        return CLAB_OK;
    const char *unit = prediction_unit(conf, asked);
    CLAB_TRY(check_unit(item, unit, where));
    if (item->is_blank)
        return CLAB_OK;
    if (!prediction_ends(item, unit, &low, &high))
        return prediction_refuse(where, "%s: %g %s is no possible value", item->title, item->low, item->unit);
    prediction_subject(asked->name, &subject);
    if (subject.source != PREDICTION_BEFORE && subject.source != PREDICTION_AFTER)
        return CLAB_OK;
    return check_bounds(lab_conf_quantity(conf, subject.quantity), item, subject.quantity, low, high, limits, where);
}

// ---- a whole file --------------------------------------------------------------------------------------------

static int refuse_section(const struct predictions *p, const struct prediction_section *s,
                          const struct predictions *template)
{
    char where[WHERE];
    struct clab_nearest nearest = clab_nearest_to(s->command, strlen(s->command));
    for (int i = 0; i < template->nsections; i++)
        clab_nearest_offer(&nearest, template->sections[i].command);
    snprintf(where, sizeof where, "%.440s:%d", p->path, s->line);
    return prediction_refuse(where, "the lab asks nothing of [%s]%s", s->command, clab_nearest_hint(&nearest));
}

static int check_sections(const struct predictions *p, const struct predictions *template)
{
    for (int i = 0; i < p->nsections; i++) {
        bool asked = false;
        for (int k = 0; k < template->nsections; k++)
            asked |= !strcmp(p->sections[i].command, template->sections[k].command);
        if (!asked)
            return refuse_section(p, &p->sections[i], template);
    }
    return CLAB_OK;
}

// What the lab asks there instead: the nearest name.
static int refuse_item(const struct predictions *p, const struct prediction *item, const struct predictions *template,
                       const char *where)
{
    struct clab_nearest nearest = clab_nearest_to(item->title, strlen(item->title));
    const char *command = p->sections[item->section].command;
    for (int i = 0; i < template->count; i++)
        if (!strcmp(template->sections[template->items[i].section].command, command))
            clab_nearest_offer(&nearest, template->items[i].title);
    return prediction_refuse(where, "the lab does not ask for '%s' of [%s]%s", item->title, command,
                             clab_nearest_hint(&nearest));
}

static int check_items(const struct predictions *p, const struct predictions *template, const struct lab_conf *conf,
                       const struct prediction_limits limits[])
{
    for (const struct prediction *item = p->items; item < p->items + p->count; item++) {
        char where[WHERE];
        const struct prediction *asked = predictions_find(template, p->sections[item->section].command, item);
        snprintf(where, sizeof where, "%.440s:%d", p->path, item->line);
        if (!asked)
            return refuse_item(p, item, template, where);
        CLAB_TRY(prediction_check(conf, item, asked, &limits[asked->section], where));
    }
    return CLAB_OK;
}

static int check_nothing_is_missing(const struct predictions *p, const struct predictions *template)
{
    for (const struct prediction *asked = template->items; asked < template->items + template->count; asked++) {
        const char *command = template->sections[asked->section].command;
        char text[PREDICTION_NAME];
        if (!predictions_find(p, command, asked))
            return prediction_refuse(p->path, "'%s' is missing: write `%s = %s` below [%s]", asked->title, asked->title,
                                     prediction_text(asked, text, sizeof text), command);
    }
    return CLAB_OK;
}

int predictions_check(const struct predictions *p, const struct predictions *template, const struct lab_conf *conf,
                      const struct prediction_limits limits[])
{
    CLAB_TRY(check_sections(p, template));
    CLAB_TRY(check_items(p, template, conf, limits));
    return check_nothing_is_missing(p, template);
}

// ---- the template --------------------------------------------------------------------------------------------

static int check_word(const struct lab_conf *conf, const struct prediction *item, int i, const char *where)
{
    char name[PREDICTION_NAME];
    struct prediction_subject subject;
    prediction_expand(item, i, name);
    prediction_subject(name, &subject);
    if (lab_conf_quantity(conf, subject.quantity) && (!*subject.other || lab_conf_quantity(conf, subject.other)))
        return CLAB_OK;
    return prediction_refuse(where, "%s: lab.conf describes no quantity '%s'", item->title, subject.quantity);
}

static int check_asked(const struct lab_conf *conf, const struct prediction *item, const char *where)
{
    double value;
    struct prediction_subject subject;
    prediction_subject(item->name, &subject);
    const bool is_free = subject.source == PREDICTION_FREE && item->kind == PREDICTION_NUMBER;
    for (int i = 0; !is_free && i < (item->nwords ? item->nwords : 1); i++)
        CLAB_TRY(check_word(conf, item, i, where));
    if (item->kind == PREDICTION_ORDER)
        return CLAB_OK;
    const char *unit = prediction_unit(conf, item);
    if (!unit)
        return prediction_refuse(where, "%s: only a time has a ratio", item->title);
    if (item->kind == PREDICTION_NUMBER && !convert(1, item->unit, unit, &value))
        return prediction_refuse(where, "%s: '%s' does not convert to lab.conf's unit, %s", item->title, item->unit,
                                 unit);
    if (item->kind == PREDICTION_YES_NO && !prediction_limit(item, unit, &value))
        return prediction_refuse(where, "%s: '%s' does not convert to lab.conf's unit, %s", item->title,
                                 item->limit_unit, unit);
    return CLAB_OK;
}

int predictions_check_template(const struct predictions *template, const struct lab_conf *conf)
{
    for (const struct prediction *item = template->items; item < template->items + template->count; item++) {
        char where[WHERE];
        snprintf(where, sizeof where, "%.440s:%d", template->path, item->line);
        if (!item->is_blank)
            return prediction_refuse(where, "%s: expected a blank, ____", item->title);
        CLAB_TRY(check_asked(conf, item, where));
    }
    return CLAB_OK;
}
