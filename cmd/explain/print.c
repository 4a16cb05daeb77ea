// SPDX-License-Identifier: MIT
// Findings for people and as JSON (explain.h).

#include "cmd/explain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/kit/words.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/json.h"

enum { INDENT = 3, DEEP = 8 };

// What an entry is to this log: "likely cause", "follows from it" and so on. 0 <= i < n
static const char *role_of(const struct explained *e, int i)
{
    const enum known_kind first = e->found[0]->kind, kind = e->found[i]->kind;
    if (kind == KNOWN_SLOW)
        return "makes the job slower";
    if (i == 0)
        return kind == KNOWN_CAUSE ? "likely cause" : kind == KNOWN_SYMPTOM ? "first sign" : "a consequence";
    return kind == first ? "also seen" : "follows from it";
}

// ---- for people ----------------------------------------------------------------------------------------------

enum { REMEDY = 512 };

// The remedy from `at` up to `end`, or all of it, in which this program is called as it is here.
static void take_remedy(const char *at, const char *end, char one_p[REMEDY])
{
    char text[REMEDY];
    snprintf(text, sizeof text, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
    clab_called_copy(text, one_p, REMEDY);
}

// "a || b": one line each.
static void print_remedies(const char *remedy, FILE *out)
{
    char one[REMEDY];
    for (int n = 0; remedy; n++) {
        const char *next = strstr(remedy, known_between);
        take_remedy(remedy, next, one);
        fprintf(out, "%*s%-5s- ", INDENT, "", n ? "" : "do:");
        kit_print_words(one, DEEP + 2, DEEP + 2, out);
        putc('\n', out);
        remedy = next ? next + strlen(known_between) : NULL;
    }
}

static void print_place(const struct known_error *error, FILE *out)
{
    fprintf(out, "%*sline %ld", INDENT, "", error->first);
    if (error->count > 1)
        fprintf(out, ", and %ld more like it", error->count - 1);
    fprintf(out, ":\n%*s", DEEP, "");
    kit_print_words(error->line, DEEP, DEEP, out);
    putc('\n', out);
}

static void print_one(const struct explained *e, int i, bool all, FILE *out)
{
    const struct known_error *error = e->found[i];
    int at = fprintf(out, "%d. %s: ", i + 1, role_of(e, i));
    at = kit_print_words(error->what, at, INDENT, out);
    if (!all && i > 0 && error->kind == KNOWN_FOLLOW) { // its remedy is the cause's
        fprintf(out, " [%s], line %ld\n", error->name, error->first);
        return;
    }
    fprintf(out, " [%s]\n", error->name);
    print_place(error, out);
    at = fprintf(out, "%*swhy: ", INDENT, "");
    kit_print_words(error->why, at, DEEP, out);
    putc('\n', out);
    print_remedies(error->remedy, out);
    if (all && error->source)
        fprintf(out, "%*sfrom %s\n", INDENT, "", error->source);
}

static void print_doubts(const struct explained *e, FILE *out)
{
    if (e->cut > 0)
        fprintf(out, "%ld line%s longer than 4096 bytes; the rest of %s was not read.\n", e->cut,
                e->cut == 1 ? " is" : "s are", e->cut == 1 ? "it" : "them");
    if (e->is_over)
        fprintf(out, "Only the first GiB was read.\n");
}

void explain_print(const struct explained *e, bool all, FILE *out)
{
    const char *plural = e->lines == 1 ? "" : "s";
    if (e->n == 0)
        fprintf(out, "%s: nothing known in %ld line%s\n", e->name, e->lines, plural);
    else
        fprintf(out, "%s: %d known thing%s in %ld line%s\n", e->name, e->n, e->n == 1 ? "" : "s", e->lines, plural);
    for (int i = 0; i < e->n; i++) {
        if (i == 0 || e->found[i]->kind != KNOWN_FOLLOW || e->found[i - 1]->kind != KNOWN_FOLLOW || all)
            putc('\n', out);
        print_one(e, i, all, out);
    }
    if (e->n > 0 && e->found[0]->kind == KNOWN_FOLLOW)
        fprintf(out, "\nThe cause is not in this log: look into the logs of the other ranks, or set NCCL_DEBUG=WARN.\n");
    explain_print_nccl(e->nccl, all, out);
    print_doubts(e, out);
}

// ---- the entries themselves ----------------------------------------------------------------------------------

// Its steps on one line. A bar would end the cell, so it is escaped.
static void print_cell(const char *said, FILE *out)
{
    char *named = clab_called_text(said);
    for (const char *text = named ? named : said; *text; text++)
        if (!strncmp(text, known_between, strlen(known_between))) {
            fprintf(out, "; ");
            text += strlen(known_between) - 1;
        } else {
            fprintf(out, "%s%c", *text == '|' ? "\\" : "", *text);
        }
    free(named);
}

void explain_print_table(const struct known *known, FILE *out)
{
    fprintf(out, "| you see | it means | do |\n|---|---|---|\n");
    for (int i = 0; i < known->count; i++) {
        const struct known_error *error = &known->errors[i];
        if (!error->seen)
            continue;
        fprintf(out, "| %s | %s | ", error->seen, error->what);
        print_cell(error->remedy, out);
        fprintf(out, " |\n");
    }
}

void explain_print_list(const struct known *known, FILE *out)
{
    for (int i = 0; i < known->count; i++) {
        const struct known_error *error = &known->errors[i];
        if (error->nmatch > 0)
            fprintf(out, "%-18s %-8s %s\n", error->name, known_kind_names[error->kind], error->what);
    }
}

// ---- JSON ----------------------------------------------------------------------------------------------------

static void add_one(struct clab_json *list, const struct explained *e, int i)
{
    const struct known_error *error = e->found[i];
    struct clab_json *one = clab_json_add_object(list, NULL);
    clab_json_add(one, "name", clab_cell_text(error->name));
    clab_json_add(one, "kind", clab_cell_text(known_kind_names[error->kind]));
    clab_json_add(one, "role", clab_cell_text(role_of(e, i)));
    clab_json_add(one, "line", clab_cell_integer(error->first));
    clab_json_add(one, "count", clab_cell_integer(error->count));
    clab_json_add(one, "text", clab_cell_text(error->line));
    clab_json_add(one, "what", clab_cell_text(error->what));
    clab_json_add(one, "why", clab_cell_text(error->why));
    struct clab_json *remedies = clab_json_add_list(one, "do");
    char text[REMEDY];
    for (const char *at = error->remedy, *next; at; at = next) {
        next = strstr(at, known_between);
        take_remedy(at, next, text);
        clab_json_add(remedies, NULL, clab_cell_text(text));
        next = next ? next + strlen(known_between) : NULL;
    }
    clab_json_add(one, "source", clab_cell_text(error->source));
}

int explain_print_json(const struct explained *e, FILE *out)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    clab_json_add(json, "log", clab_cell_text(e->name));
    clab_json_add(json, "lines", clab_cell_integer(e->lines));
    clab_json_add(json, "lines_cut", clab_cell_integer(e->cut));
    clab_json_add_bool(json, "whole", !e->is_over);
    struct clab_json *list = clab_json_add_list(json, "found");
    for (int i = 0; i < e->n; i++)
        add_one(list, e, i);
    if (e->nccl->lines > 0)
        explain_add_nccl(clab_json_add_object(json, "nccl"), e->nccl);
    const int err = clab_json_write(json, out);
    clab_json_destroy(json);
    return err;
}
