// SPDX-License-Identifier: MIT
// Known errors (known.h): reading them, and finding them in lines. make turns errors.conf into the string known_errors.

#include "cmd/explain/known.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/base/order.h"
#include "core/base/text.h"
#include "core/base/vector.h"

const char *const known_kind_names[KNOWN_KINDS] = {"cause", "symptom", "follow", "slow"};
const char known_between[] = " || ";


// ---- pairs of letters ----------------------------------------------------------------------------------------
// Nearly all lines have none of the patterns. The set of pairs of letters that stand side by side in a line tells most
// patterns that they can not be in it, so that a line costs a microsecond and not one search per pattern.

enum { PAIRS = 4096 };

static int pair_of(const char *text)
{
    return ((unsigned char)text[0] * 67 + (unsigned char)text[1]) % PAIRS;
}

struct pairs {
    uint64_t bits[PAIRS / 64];
};

static void pairs_fill(struct pairs *pairs_p, const char *text)
{
    memset(pairs_p, 0, sizeof *pairs_p);
    for (; text[0] && text[1]; text++)
        pairs_p->bits[pair_of(text) / 64] |= (uint64_t)1 << pair_of(text) % 64;
}

static bool has_pair(const struct pairs *pairs, int pair)
{
    return pair < 0 || pairs->bits[pair / 64] >> pair % 64 & 1;
}

// ---- patterns ------------------------------------------------------------------------------------------------

static bool fits(const struct known_pattern *pattern, const char *line, const struct pairs *pairs)
{
    if (!has_pair(pairs, pattern->first) || !has_pair(pairs, pattern->last))
        return false;
    const char *end = line + strlen(line);
    for (const char *part = pattern->text; *part; part += strspn(part, "*")) {
        const size_t bytes = strcspn(part, "*");
        const char *at = memmem(line, (size_t)(end - line), part, bytes);
        if (!at)
            return false;
        line = at + bytes;
        part += bytes;
    }
    return true;
}

static bool fits_any(const struct known_pattern *patterns, int n, const char *line, const struct pairs *pairs)
{
    for (int i = 0; i < n; i++)
        if (fits(&patterns[i], line, pairs))
            return true;
    return false;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static int take_pattern(const struct clab_setting *s, const char *text, size_t bytes, struct known_pattern *patterns,
                        int *n_p)
{
    if (bytes < 3 || *n_p == KNOWN_PATTERNS) {
        clab_error("%s:%d: [%s]: %s", s->path, s->line, s->section,
                   bytes < 3 ? "a pattern has three letters or more" : "an entry has 32 patterns at most");
        return CLAB_EPARSE;
    }
    struct known_pattern *p = &patterns[*n_p];
    p->text = strndup(text + (*text == '*'), bytes - (*text == '*'));
    if (!p->text)
        return CLAB_ENOMEM;
    lower(p->text);
    const size_t first = strcspn(p->text, "*");
    p->first = first < 2 ? -1 : pair_of(p->text);
    p->last = first < 2 ? -1 : pair_of(p->text + first - 2);
    ++*n_p;
    return CLAB_OK;
}

// "a || b || c"
static int take_patterns(const struct clab_setting *s, struct known_pattern *patterns, int *n_p)
{
    for (const char *at = s->value, *next; at; at = next) {
        next = strstr(at, known_between);
        CLAB_TRY(take_pattern(s, at, next ? (size_t)(next - at) : strlen(at), patterns, n_p));
        next = next ? next + strlen(known_between) : NULL;
    }
    return CLAB_OK;
}

// ---- reading -------------------------------------------------------------------------------------------------

static int take_kind(const struct clab_setting *s, enum known_kind *kind_p)
{
    static const struct clab_names kinds = {KNOWN_KINDS, known_kind_names, NULL};
    if (clab_names_parse(&kinds, s->value, kind_p) == CLAB_OK)
        return CLAB_OK;
    clab_error("%s:%d: [%s]: kind is cause, symptom, follow or slow, not '%s'", s->path, s->line, s->section, s->value);
    return CLAB_EPARSE;
}

static int take_text(const struct clab_setting *s, char **text_p)
{
    free(*text_p);
    *text_p = strdup(s->value);
    return *text_p ? CLAB_OK : CLAB_ENOMEM;
}

// is_settled: an earlier file has the entry, whose words stay; patterns add up.
static int take(struct known_error *e, const struct clab_setting *s, bool is_settled)
{
    if (!strncmp(s->name, "match", 5) && strlen(s->name) <= 6)
        return take_patterns(s, e->match, &e->nmatch);
    if (!strcmp(s->name, "unless"))
        return take_patterns(s, e->unless, &e->nunless);
    if (is_settled)
        return CLAB_OK;
    if (!strcmp(s->name, "kind"))
        return take_kind(s, &e->kind);
    const struct {
        const char *name;
        char **text_p;
    } texts[] = {{"seen", &e->seen}, {"what", &e->what},     {"why", &e->why},
                 {"do", &e->remedy}, {"source", &e->source}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(s->name, texts[i].name))
            return take_text(s, texts[i].text_p);
    clab_error("%s:%d: [%s]: there is no '%s': an entry has kind, match, match2, unless, seen, what, why, do, source",
               s->path, s->line, s->section, s->name);
    return CLAB_EPARSE;
}

// The section's entry, made with its first setting.
static int use(void *context, const struct clab_setting *s)
{
    struct known *known = context;
    if (!*s->section) {
        clab_error("%s:%d: expected a [name] before the first setting", s->path, s->line);
        return CLAB_EPARSE;
    }
    for (int i = 0; i < known->count; i++)
        if (!strcmp(known->errors[i].name, s->section))
            return take(&known->errors[i], s, i < known->settled);
    char *name = strdup(s->section);
    if (!name || CLAB_PUSH(known->errors, known->count, known->room, (struct known_error){.name = name})) {
        free(name);
        return CLAB_ENOMEM;
    }
    return take(&known->errors[known->count - 1], s, false);
}

static int check_all(const struct known *known, int from, const char *path)
{
    for (int i = from; i < known->count; i++) {
        const struct known_error *e = &known->errors[i];
        const char *lacks = !e->what ? "what" : !e->remedy ? "do" : e->nmatch ? (e->why ? NULL : "why") : e->seen ? NULL : "match";
        if (lacks) {
            clab_error("%s: [%s] lacks '%s'", path, e->name, lacks);
            return CLAB_EPARSE;
        }
    }
    return CLAB_OK;
}

int known_read(struct known *known, FILE *file, const char *path)
{
    known->settled = known->count;
    CLAB_TRY(clab_conf_read(file, path, use, known));
    return check_all(known, known->settled, path);
}

int known_read_own(struct known *known)
{
    FILE *file = fmemopen((void *)(uintptr_t)known_errors, sizeof known_errors - 1, "r");
    if (!file)
        return CLAB_ENOMEM;
    const int err = known_read(known, file, "cmd/explain/errors.conf");
    fclose(file);
    return err;
}

static void free_patterns(struct known_pattern *patterns, int n)
{
    for (int i = 0; i < n; i++)
        free(patterns[i].text);
}

void known_free(struct known *known)
{
    for (int i = 0; i < known->count; i++) {
        struct known_error *e = &known->errors[i];
        char *texts[] = {e->name, e->seen, e->what, e->why, e->remedy, e->source};
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            free(texts[t]);
        free_patterns(e->match, e->nmatch);
        free_patterns(e->unless, e->nunless);
    }
    free(known->errors);
    *known = (struct known){0};
}

// ---- looking -------------------------------------------------------------------------------------------------

static void note(struct known_error *e, const char *text, long number)
{
    if (e->count++ > 0)
        return;
    e->first = number;
    snprintf(e->line, sizeof e->line, "%s", text + strspn(text, " "));
    clab_make_utf8(e->line); // a character may have been cut
}

const struct known_error *known_look(struct known *known, const char *text, long number)
{
    char line[8192];
    struct pairs pairs;
    snprintf(line, sizeof line, "%s", text);
    lower(line);
    pairs_fill(&pairs, line);
    for (int i = 0; i < known->count; i++) {
        struct known_error *e = &known->errors[i];
        if (!fits_any(e->match, e->nmatch, line, &pairs) || fits_any(e->unless, e->nunless, line, &pairs))
            continue;
        note(e, text, number);
        return e;
    }
    return NULL;
}

void known_note(struct known *known, const char *name, const char *text, long number)
{
    for (int i = 0; i < known->count; i++)
        if (!strcmp(known->errors[i].name, name))
            note(&known->errors[i], text, number);
}

static int by_cause(const void *a, const void *b)
{
    const struct known_error *x = *(const struct known_error *const *)a, *y = *(const struct known_error *const *)b;
    return CLAB_ORDER(x->kind, y->kind) ?: CLAB_ORDER(x->first, y->first);
}

int known_found(const struct known *known, const struct known_error ***found_p, int *n_p)
{
    const struct known_error **found = calloc((size_t)known->count + 1, sizeof *found);
    int n = 0;
    if (!found)
        return CLAB_ENOMEM;
    for (int i = 0; i < known->count; i++)
        if (known->errors[i].count > 0)
            found[n++] = &known->errors[i];
    qsort(found, (size_t)n, sizeof *found, by_cause);
    *found_p = found;
    *n_p = n;
    return CLAB_OK;
}
