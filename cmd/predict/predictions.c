// SPDX-License-Identifier: MIT
// The reader of predict.txt (predictions.h): lines to items. A line is taken whole or refused; nothing is cut.

#include "cmd/predict/predictions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "cmd/predict/prediction_value.h"

enum { LINE = 400 }; // bytes

static const char *const sources[PREDICTION_SOURCES] = {"", "before", "after", "ratio", "crossover", "least"};

// ---- names ---------------------------------------------------------------------------------------------------

// Copy `text` with single blanks between its words. False: it does not fit.
static bool squeeze(const char *text, char out[], size_t room)
{
    size_t used = 0;
    for (const char *t = text + strspn(text, " \t"); *t; t += strspn(t, " \t")) {
        const size_t length = strcspn(t, " \t");
        if (used + length + 2 > room)
            return false;
        if (used)
            out[used++] = ' ';
        memcpy(out + used, t, length);
        used += length;
        t += length;
    }
    out[used] = 0;
    return true;
}

void prediction_subject(const char *name, struct prediction_subject *subject_p)
{
    *subject_p = (struct prediction_subject){.source = PREDICTION_FREE};
    const size_t length = strcspn(name, " ");
    const char *rest = name;
    for (int i = PREDICTION_BEFORE; i < PREDICTION_SOURCES; i++)
        if (name[length] && strlen(sources[i]) == length && !strncmp(name, sources[i], length)) {
            subject_p->source = i;
            rest = name + length + 1;
        }
    const size_t first = strcspn(rest, " ");
    snprintf(subject_p->quantity, sizeof subject_p->quantity, "%.*s", (int)first, rest);
    snprintf(subject_p->other, sizeof subject_p->other, "%s", rest[first] ? rest + first + 1 : "");
}

void prediction_expand(const struct prediction *item, int i, char name[PREDICTION_NAME])
{
    const char *open = strchr(item->name, '{'), *close = strchr(item->name, '}');
    struct clab_text text = clab_text_begin(name, PREDICTION_NAME);
    if (open && close)
        clab_text_add(&text, "%.*s%s%s", (int)(open - item->name), item->name, item->words[i], close + 1);
    else
        clab_text_add(&text, "%s", item->name);
}

// The words of "{ring,tree}".
static int take_words(const char *where, struct prediction *item)
{
    const char *open = strchr(item->name, '{'), *close = strchr(item->name, '}'), *rest, *word;
    char list[PREDICTION_NAME];
    size_t length;
    if (!open && !close)
        return CLAB_OK;
    if (!open || !close || close < open || strpbrk(open + 1, "{") || strchr(close + 1, '}'))
        return prediction_refuse(where, "%s: expected one pair of braces, as in {ring,tree}", item->name);
    snprintf(list, sizeof list, "%.*s", (int)(close - open - 1), open + 1);
    for (rest = list; (word = clab_list_next(&rest, &length));) {
        if (!length || item->nwords == PREDICTION_WORDS)
            return prediction_refuse(where, "%s: expected two to %d words in braces, with commas between", item->name,
                                     PREDICTION_WORDS);
        snprintf(item->words[item->nwords++], PREDICTION_NAME, "%.*s", (int)length, word);
    }
    for (int i = 0; i < item->nwords; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(item->words[i], item->words[k]))
                return prediction_refuse(where, "%s: '%s' is twice in the braces", item->name, item->words[i]);
    item->kind = PREDICTION_ORDER;
    return item->nwords >= 2 ? CLAB_OK : prediction_refuse(where, "%s: expected two words in braces", item->name);
}

// "ratio time/ring/8 > 1": what is compared stays the name.
static int take_comparison(const char *where, struct prediction *item)
{
    char *sign = strpbrk(item->name, "<>");
    if (!sign)
        return CLAB_OK;
    item->kind = PREDICTION_YES_NO;
    item->relation = *sign;
    const char *limit = sign + 1;
    for (*sign = 0; sign > item->name && sign[-1] == ' ';)
        *--sign = 0;
    if (!*item->name || prediction_number_read(limit + strspn(limit, " "), &item->limit, item->limit_unit) != CLAB_OK)
        return prediction_refuse(where, "%s: expected QUANTITY %c NUMBER UNIT", item->title, item->relation);
    return CLAB_OK;
}

// Each name that the item stands for is PROGRAM QUANTITY, a crossover of two, or, free or in an order, one word.
static int check_form(const char *where, const struct prediction *item)
{
    char name[PREDICTION_NAME];
    struct prediction_subject subject;
    for (int i = 0; i < (item->nwords ? item->nwords : 1); i++) {
        prediction_expand(item, i, name);
        prediction_subject(name, &subject);
        const bool wants_other = subject.source == PREDICTION_CROSSOVER;
        if (!*subject.quantity || strchr(subject.other, ' ') || (*subject.other != 0) != wants_other)
            return prediction_refuse(where,
                                     "'%s': expected QUANTITY, or before, after, ratio or least and a QUANTITY, or "
                                     "crossover QUANTITY QUANTITY",
                                     item->title);
    }
    return CLAB_OK;
}

static int take_name(const char *text, const char *where, struct prediction *item)
{
    if (!squeeze(text, item->title, sizeof item->title))
        return prediction_refuse(where, "the name of a quantity has at most %d characters", PREDICTION_NAME - 1);
    if (!*item->title)
        return prediction_refuse(where, "expected the name of a quantity before the '='");
    memcpy(item->name, item->title, sizeof item->name);
    CLAB_TRY(take_words(where, item));
    if (!item->nwords)
        CLAB_TRY(take_comparison(where, item));
    return check_form(where, item);
}

// ---- sections ------------------------------------------------------------------------------------------------

// The place of the option's value in *s, or NULL.
static char *option_at(const char *word, struct prediction_section *s)
{
    return !strcmp(word, "--backend")   ? s->backend
           : !strcmp(word, "--net")     ? s->net
           : !strcmp(word, "--emulate") ? s->emulate
                                        : NULL;
}

static int take_option(const char *where, const char *word, const char *value, struct prediction_section *s)
{
    char *at = option_at(word, s);
    if (value && at && strlen(value) < PREDICTION_WHERE) {
        strcpy(at, value);
        return CLAB_OK;
    }
    if (value && !strcmp(word, "-n") && clab_parse_int(value, 1, 1 << 20, &s->ranks) == CLAB_OK)
        return CLAB_OK;
    return prediction_refuse(where, "[%s]: expected -n RANKS, --backend NAME, --net NAME or --emulate NAME at '%s'",
                             s->command, word);
}

static int take_command(const char *where, struct prediction_section *s)
{
    char copy[PREDICTION_COMMAND], *rest = copy;
    memcpy(copy, s->command, sizeof copy);
    const char *program = strtok_r(copy, " ", &rest), *lab = strtok_r(NULL, " ", &rest),
               *id = strtok_r(NULL, " ", &rest);
    if (!id || strcmp(program, "./commlab") != 0 || strcmp(lab, "lab") != 0 || strlen(id) >= PREDICTION_WHERE)
        return prediction_refuse(where, "[%s]: expected a command, as in [./commlab lab 07]", s->command);
    strcpy(s->lab, id);
    for (const char *word; (word = strtok_r(NULL, " ", &rest));)
        CLAB_TRY(take_option(where, word, strtok_r(NULL, " ", &rest), s));
    return CLAB_OK;
}

static int take_section(char *text, const char *where, int line, struct predictions *p)
{
    struct prediction_section s = {.line = line};
    char *end = strchr(text, ']');
    if (!end || end[1 + strspn(end + 1, " \t")])
        return prediction_refuse(where, "expected a command in brackets, as in [./commlab lab 07]");
    *end = 0;
    if (!squeeze(text + 1, s.command, sizeof s.command))
        return prediction_refuse(where, "a command has at most %d characters", PREDICTION_COMMAND - 1);
    CLAB_TRY(take_command(where, &s));
    for (int i = 0; i < p->nsections; i++)
        if (!strcmp(p->sections[i].command, s.command))
            return prediction_refuse(where, "[%s] is in line %d already; keep one of them", s.command,
                                     p->sections[i].line);
    if (p->nsections == PREDICTION_SECTIONS)
        return prediction_refuse(where, "at most %d commands", PREDICTION_SECTIONS);
    p->sections[p->nsections++] = s;
    return CLAB_OK;
}

// ---- lines ---------------------------------------------------------------------------------------------------

static int refuse_repetition(const struct predictions *p, const struct prediction *item, const char *where)
{
    for (int i = 0; i < p->count; i++)
        if (p->items[i].section == item->section && !strcmp(p->items[i].title, item->title))
            return prediction_refuse(where, "%s is in line %d already; keep one of them", item->title,
                                     p->items[i].line);
    return p->count < PREDICTIONS ? CLAB_OK : prediction_refuse(where, "at most %d predictions", PREDICTIONS);
}

static int take_item(char *text, const char *where, int line, struct predictions *p)
{
    struct prediction item = {.line = line, .section = p->nsections - 1};
    char *equals = strchr(text, '='), *hash = strchr(text, '#');
    if (hash) {
        *hash++ = 0;
        hash += strspn(hash, " \t");
        snprintf(item.comment, sizeof item.comment, "%s", hash);
    }
    if (!equals || (hash && equals > hash))
        return prediction_refuse(where, "expected `quantity = value unit`, a [command] or a # comment");
    *equals = 0;
    if (item.section < 0)
        return prediction_refuse(where, "expected a [./commlab lab NN] above the first quantity");
    CLAB_TRY(take_name(text, where, &item));
    CLAB_TRY(refuse_repetition(p, &item, where));
    CLAB_TRY(prediction_answer(&item, equals + 1, where, &p->items[p->count]));
    p->count++;
    return CLAB_OK;
}

// The line without the blanks around it.
static char *trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = 0;
    return text;
}

static int take_line(const char *line, size_t bytes, int number, struct predictions *p)
{
    char text[LINE + 1], where[512];
    snprintf(where, sizeof where, "%.440s:%d", p->path, number);
    if (bytes > LINE)
        return prediction_refuse(where, "a line has at most %d characters", LINE);
    memcpy(text, line, bytes);
    text[bytes] = 0;
    if (strlen(text) != bytes || !clab_is_utf8(text))
        return prediction_refuse(where, "this is no text in UTF-8");
    const bool has_mark = number == 1 && !strncmp(text, "\xef\xbb\xbf", 3); // some editors put it there
    char *begin = trim(text + (has_mark ? 3 : 0));
    if (!*begin || *begin == '#')
        return CLAB_OK;
    return *begin == '[' ? take_section(begin, where, number, p) : take_item(begin, where, number, p);
}

int predictions_parse(const char *text, size_t bytes, const char *path, struct predictions **p_p)
{
    struct predictions *p = calloc(1, sizeof *p);
    int err = p && (p->path = strdup(path)) ? CLAB_OK : CLAB_ENOMEM;
    const char *end = text + bytes;
    for (int line = 1; !err && text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        err = take_line(text, (size_t)(stop - text), line, p);
        text = stop + 1;
    }
    if (err)
        predictions_free(p);
    else
        *p_p = p;
    return err;
}

int predictions_load(const char *path, struct predictions **p_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const int err = predictions_parse(input.text, input.bytes, path, p_p);
    clab_input_close(&input);
    return err;
}

void predictions_free(struct predictions *p)
{
    if (p)
        free(p->path);
    free(p);
}

int predictions_blanks(const struct predictions *p)
{
    int blanks = 0;
    for (int i = 0; i < p->count; i++)
        blanks += p->items[i].is_blank;
    return blanks;
}

bool predictions_answers(const struct predictions *p, const char *command)
{
    for (int i = 0; i < p->count; i++)
        if (!p->items[i].is_blank && !strcmp(p->sections[p->items[i].section].command, command))
            return true;
    return false;
}

const struct prediction *predictions_find(const struct predictions *p, const char *command,
                                          const struct prediction *like)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->sections[p->items[i].section].command, command) && !strcmp(p->items[i].title, like->title))
            return &p->items[i];
    return NULL;
}
