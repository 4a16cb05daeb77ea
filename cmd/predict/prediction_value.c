// SPDX-License-Identifier: MIT
// What stands behind the "=" of a prediction (predictions.h).
//
// - A blank is two or more underscores. A range asks for two: `____..____ us`.
// - An answer to a number may be a range, and the other way round.

#include "cmd/predict/prediction_value.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/units.h"

enum { VALUE = 400 };

int prediction_refuse(const char *where, const char *format, ...)
{
    char text[900];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    clab_make_utf8(text); // where it was cut
    clab_error("%s: %s", where, text);
    return CLAB_EPARSE;
}

// ---- numbers -------------------------------------------------------------------------------------------------

static const char *skip(const char *text)
{
    return text + strspn(text, " \t");
}

static bool is_blank_text(const char *text)
{
    return strspn(text, "_") >= 2;
}

// A number at the start of `text` that ends before "..": "5..10" is 5. *end_p: behind it.
static int read_plain(const char *text, double *number_p, const char **end_p)
{
    char copy[48];
    size_t length = strspn(text, "0123456789.");
    const char *dots = strstr(text, "..");
    if (dots && dots < text + length)
        length = (size_t)(dots - text);
    else if (length && (text[length] == 'e' || text[length] == 'E') &&
             isdigit((unsigned char)text[length + 1 + (text[length + 1] == '-' || text[length + 1] == '+')])) {
        length += 1 + (text[length + 1] == '-' || text[length + 1] == '+');
        length += strspn(text + length, "0123456789");
    }
    if (!length || length >= sizeof copy)
        return CLAB_EPARSE;
    memcpy(copy, text, length);
    copy[length] = 0;
    CLAB_TRY(clab_parse_number(copy, number_p));
    *end_p = text + length;
    return CLAB_OK;
}

// A unit fills the rest of `text`; "" is none.
static int read_unit(const char *text, char unit[PREDICTION_UNIT])
{
    const size_t length = strcspn(text, " \t");
    if (length >= PREDICTION_UNIT || *skip(text + length))
        return CLAB_EPARSE;
    memcpy(unit, text, length);
    unit[length] = 0;
    return CLAB_OK;
}

int prediction_number_read(const char *text, double *number_p, char unit[PREDICTION_UNIT])
{
    const char *rest;
    CLAB_TRY(read_plain(text, number_p, &rest));
    return read_unit(skip(rest), unit);
}

// A number or a blank, which is NAN.
static int read_end(const char *text, double *number_p, const char **end_p)
{
    if (!is_blank_text(text))
        return read_plain(text, number_p, end_p);
    *number_p = NAN;
    *end_p = text + strspn(text, "_");
    return CLAB_OK;
}

// A blank that is asked for knows its unit; a line of a file is read before that.
static int refuse_number(const struct prediction *item, const char *text, const char *where)
{
    if (*text == '-' || !strncmp(text, "\xe2\x88\x92", 3))
        return prediction_refuse(where, "%s = %s: it can not be below 0", item->title, text);
    if (!*text)
        return prediction_refuse(where, "%s: there is nothing behind the '='; write ____ for no prediction",
                                 item->title);
    const char *unit = item->is_blank ? item->unit : "us", *blank = *unit ? " " : "";
    return prediction_refuse(where, "%s = %s: expected a number%s, as in 5%s%s, or a range, as in 5..10%s%s", item->title,
                             text, *unit ? " and a unit" : "", blank, unit, blank, unit);
}

static int read_number(const struct prediction *item, const char *text, const char *where, struct prediction *answer)
{
    const char *rest;
    if (read_end(text, &answer->low, &rest) != CLAB_OK)
        return refuse_number(item, text, where);
    answer->high = answer->low;
    rest = skip(rest);
    answer->asks_range = !strncmp(rest, "..", 2);
    if (answer->asks_range) {
        rest = skip(rest + 2);
        if (read_end(rest, &answer->high, &rest) != CLAB_OK)
            return refuse_number(item, text, where);
    }
    if (read_unit(skip(rest), answer->unit) != CLAB_OK)
        return refuse_number(item, text, where);
    if (isnan(answer->low) != isnan(answer->high))
        return prediction_refuse(where, "%s = %s: one end of the range is blank", item->title, text);
    if (answer->low > answer->high)
        return prediction_refuse(where, "%s = %s: the first end of the range is the larger one; swap them", item->title,
                                 text);
    answer->is_blank = isnan(answer->low);
    return CLAB_OK;
}

// ---- orders --------------------------------------------------------------------------------------------------

// "ring, doubling"
static const char *words_text(const struct prediction *item, char text[VALUE])
{
    struct clab_text out = clab_text_begin(text, VALUE);
    for (int i = 0; i < item->nwords; i++)
        clab_text_add(&out, "%s%s", i ? ", " : "", item->words[i]);
    return text;
}

static int word_of(const struct prediction *item, const char *word, const char *where)
{
    char words[VALUE];
    struct clab_nearest nearest = clab_nearest_to(word, strlen(word));
    for (int i = 0; i < item->nwords; i++) {
        if (!strcmp(item->words[i], word))
            return i;
        clab_nearest_offer(&nearest, item->words[i]);
    }
    prediction_refuse(where, "%s: '%s' is none of its words: %s%s", item->title, word, words_text(item, words),
                      clab_nearest_hint(&nearest));
    return -1;
}

// Take one word, or a blank, to the next place.
static int take_place(const struct prediction *item, const char *word, const char *where, int *blanks,
                      struct prediction *answer)
{
    const int place = answer->nwords;
    if (place == item->nwords)
        return prediction_refuse(where, "%s: expected %d words, and here are more", item->title, item->nwords);
    if (is_blank_text(word)) {
        ++*blanks;
    } else {
        const int which = word_of(item, word, where);
        if (which < 0)
            return CLAB_EPARSE;
        for (int i = 0; i < place; i++)
            if (answer->places[i] == which)
                return prediction_refuse(where, "%s: '%s' is there twice", item->title, word);
        answer->places[place] = which;
    }
    answer->nwords++;
    return CLAB_OK;
}

static int read_places(const struct prediction *item, char *text, const char *where, int *blanks,
                       struct prediction *answer)
{
    for (char *rest = text, *part; (part = strsep(&rest, "<"));) {
        char word[PREDICTION_NAME];
        snprintf(word, sizeof word, "%s", skip(part));
        for (size_t n = strlen(word); n && isspace((unsigned char)word[n - 1]);)
            word[--n] = 0;
        if (!*word)
            return prediction_refuse(where, "%s: expected a word on both sides of each '<'", item->title);
        CLAB_TRY(take_place(item, word, where, blanks, answer));
    }
    return CLAB_OK;
}

static int read_order(const struct prediction *item, const char *text, const char *where, struct prediction *answer)
{
    char copy[VALUE + 1];
    int blanks = 0;
    if (strlen(text) > VALUE)
        return prediction_refuse(where, "an order has at most %d characters", VALUE);
    strcpy(copy, text);
    if (strchr(copy, '>'))
        return prediction_refuse(where, "%s: write the smallest first, with < between", item->title);
    for (int i = 0; i < PREDICTION_WORDS; i++)
        answer->places[i] = -1;
    answer->nwords = 0;
    CLAB_TRY(read_places(item, copy, where, &blanks, answer));
    const int given = answer->nwords;
    answer->nwords = item->nwords;
    answer->is_blank = blanks == given;
    if (answer->is_blank && (given == 1 || given == item->nwords))
        return CLAB_OK;
    if (blanks || given < item->nwords)
        return prediction_refuse(where, "%s: expected all %d words, the smallest first, as in x < y%s", item->title,
                                 item->nwords, item->nwords > 2 ? " < ..." : "");
    return CLAB_OK;
}

// ---- all of them ---------------------------------------------------------------------------------------------

static int read_yes_no(const struct prediction *item, const char *text, const char *where, struct prediction *answer)
{
    const bool yes = !strcmp(text, "yes");
    answer->is_blank = is_blank_text(text) && !text[strspn(text, "_")];
    answer->low = answer->high = yes;
    if (answer->is_blank || yes || !strcmp(text, "no"))
        return CLAB_OK;
    return prediction_refuse(where, "%s = %s: expected yes or no", item->title, text);
}

int prediction_answer(const struct prediction *item, const char *text, const char *where, struct prediction *answer_p)
{
    struct prediction answer = *item;
    char copy[VALUE + 1];
    int err;
    if (strlen(skip(text)) > VALUE)
        return prediction_refuse(where, "an answer has at most %d characters", VALUE);
    strcpy(copy, skip(text));
    for (size_t n = strlen(copy); n && isspace((unsigned char)copy[n - 1]);)
        copy[--n] = 0;
    switch (item->kind) {
    case PREDICTION_ORDER: err = read_order(item, copy, where, &answer); break;
    case PREDICTION_YES_NO: err = read_yes_no(item, copy, where, &answer); break;
    default: err = read_number(item, copy, where, &answer);
    }
    if (!err)
        *answer_p = answer;
    return err;
}

static const char *number_text(const struct prediction *item, char text[], size_t room)
{
    const char *blank = item->unit[0] ? " " : "";
    if (item->is_blank)
        snprintf(text, room, "____%s%s%s", item->asks_range ? "..____" : "", blank, item->unit);
    else if (item->low != item->high)
        snprintf(text, room, "%.6g..%.6g%s%s", item->low, item->high, blank, item->unit);
    else
        snprintf(text, room, "%.6g%s%s", item->low, blank, item->unit);
    return text;
}

const char *prediction_text(const struct prediction *item, char text[], size_t room)
{
    struct clab_text out = clab_text_begin(text, room);
    if (item->kind == PREDICTION_NUMBER)
        return number_text(item, text, room);
    if (item->kind == PREDICTION_YES_NO)
        clab_text_add(&out, item->is_blank ? "____" : item->low > 0 ? "yes" : "no");
    else
        for (int i = 0; i < item->nwords; i++)
            clab_text_add(&out, "%s%s", i ? " < " : "", item->is_blank ? "____" : item->words[item->places[i]]);
    return text;
}
