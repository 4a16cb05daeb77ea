// SPDX-License-Identifier: MIT
// The list of findings, printed for people and as JSON (doctor.h).

#include "cmd/doctor/doctor.h"
#include "cmd/kit/words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/machine/machine.h"
#include "core/base/vector.h"

enum { INDENT = 11, FIRST = 8, FACTS = 14 };

static const char *const levels[] = {"ok", "missing", "warning", "broken"};

// ---- the list ------------------------------------------------------------------------------------------------

static char *format_line(const char *format, va_list values)
{
    char *said, *text;
    if (vasprintf(&said, format, values) < 0)
        return NULL;
    text = clab_called_text(said);
    free(said);
    for (char *at = text; at && *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    return text;
}

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *topic, const char *format, ...)
{
    va_list values;
    doctor_tell(doctor);
    va_start(values, format);
    struct doctor_finding finding = {level,      doctor->section, strdup(topic), format_line(format, values),
                                     strdup(""), false};
    va_end(values);
    if (finding.topic && finding.text && finding.remedy &&
        CLAB_PUSH(doctor->findings, doctor->count, doctor->room, finding) == CLAB_OK)
        return;
    free(finding.topic);
    free(finding.text);
    free(finding.remedy);
    doctor->incomplete = true;
}

void doctor_advise(struct doctor *doctor, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *remedy = format_line(format, values);
    va_end(values);
    if (!remedy || !doctor->count) {
        free(remedy);
        doctor->incomplete = true;
        return;
    }
    struct doctor_finding *last = &doctor->findings[doctor->count - 1];
    free(last->remedy);
    last->remedy = remedy;
}

void doctor_mark_fact(struct doctor *doctor)
{
    if (doctor->count > 0)
        doctor->findings[doctor->count - 1].is_fact = true;
}

int doctor_count(const struct doctor *doctor, enum doctor_level level)
{
    int n = 0;
    for (int i = 0; i < doctor->count; i++)
        n += doctor->findings[i].level == level;
    return n;
}

void doctor_free(struct doctor *doctor)
{
    for (int i = 0; i < doctor->count; i++) {
        free(doctor->findings[i].topic);
        free(doctor->findings[i].text);
        free(doctor->findings[i].remedy);
    }
    free(doctor->findings);
    doctor->findings = NULL;
    doctor->count = 0;
}

// ---- for people ----------------------------------------------------------------------------------------------

static void print_finding(const struct doctor_finding *finding, FILE *out)
{
    int at = fprintf(out, "  %-8s ", levels[finding->level]);
    if (*finding->topic) {
        at = kit_print_words(finding->topic, at, INDENT, out);
        at += fprintf(out, ": ");
    }
    at = kit_print_words(finding->text, at, INDENT, out);
    if (*finding->remedy) {
        at += fprintf(out, "; ");
        kit_print_words(finding->remedy, at, INDENT, out);
    }
    putc('\n', out);
}

// Broken findings, then warnings, then missing ones; each remedy once.
//   out: first (doctor->count) is freed by the caller; NULL and *n_p 0 without memory
static const struct doctor_finding **list_first(const struct doctor *doctor, int *n_p)
{
    static const enum doctor_level order[] = {DOCTOR_BROKEN, DOCTOR_WARNING, DOCTOR_MISSING};
    const struct doctor_finding **first = calloc((size_t)doctor->count + 1, sizeof *first);
    *n_p = 0;
    for (size_t o = 0; first && o < sizeof order / sizeof *order; o++)
        for (int i = 0; i < doctor->count; i++) {
            const struct doctor_finding *finding = &doctor->findings[i];
            bool told = false;
            for (int f = 0; f < *n_p; f++)
                told |= !strcmp(first[f]->remedy, finding->remedy);
            if (finding->level == order[o] && *finding->remedy && !told)
                first[(*n_p)++] = finding;
        }
    return first;
}

static void print_first(const struct doctor *doctor, FILE *out)
{
    int n;
    const struct doctor_finding **first = list_first(doctor, &n);
    if (n > 0)
        fprintf(out, "  what to do first:\n");
    for (int f = 0; f < n && f < FIRST; f++) {
        int at = fprintf(out, "  %8d ", f + 1);
        at = kit_print_words(first[f]->topic, at, INDENT, out);
        at += fprintf(out, ": ");
        kit_print_words(first[f]->remedy, at, INDENT, out);
        putc('\n', out);
    }
    if (n > FIRST)
        clab_say_to(out, "           and %d more: ./commlab doctor --all\n", n - FIRST);
    free(first);
}

static void print_summary(const struct doctor *doctor, FILE *out)
{
    const int broken = doctor_count(doctor, DOCTOR_BROKEN), warnings = doctor_count(doctor, DOCTOR_WARNING);
    fprintf(out, "  %s: %d ok, %d missing, %d warning%s, %d broken\n",
            broken ? "something is broken here" : "the kit works here", doctor_count(doctor, DOCTOR_OK),
            doctor_count(doctor, DOCTOR_MISSING), warnings, warnings == 1 ? "" : "s", broken);
    print_first(doctor, out);
}

static void print_facts(const struct doctor *doctor, FILE *out)
{
    int n = 0;
    fprintf(out, "\nThis machine\n");
    for (int i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        if (!finding->is_fact || n++ >= FACTS)
            continue;
        int at = fprintf(out, "  %-8s ", finding->level == DOCTOR_OK ? "" : levels[finding->level]);
        at = kit_print_words(finding->topic, at, INDENT, out);
        at += fprintf(out, ": ");
        kit_print_words(finding->text, at, INDENT, out);
        putc('\n', out);
    }
    if (n > FACTS)
        clab_say_to(out, "           and %d more: ./commlab doctor --all\n", n - FACTS);
}

void doctor_print_short(const struct doctor *doctor, FILE *out)
{
    fprintf(out, "Summary\n");
    print_summary(doctor, out);
    print_facts(doctor, out);
    clab_say_to(out, "\n`./commlab doctor --all` lists all %d findings; `./commlab explain < LOG` explains a job that failed.\n",
            doctor->count);
}

void doctor_print(const struct doctor *doctor, FILE *out)
{
    const char *section = NULL;
    for (int i = 0; i < doctor->count; i++) {
        if (doctor->findings[i].section != section)
            fprintf(out, "%s%s\n", section ? "\n" : "", doctor->findings[i].section);
        section = doctor->findings[i].section;
        print_finding(&doctor->findings[i], out);
    }
    fprintf(out, "\nSummary\n");
    print_summary(doctor, out);
}

// ---- JSON ----------------------------------------------------------------------------------------------------

// What two kits are compared by.
static void add_version(struct clab_json *json)
{
    static const char *const keys[] = {"version", "commit"};
    struct clab_manifest manifest = {0};
    if (clab_machine_describe_build(&manifest) == CLAB_OK)
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            clab_json_add(json, keys[i], clab_cell_text(clab_manifest_get(&manifest, keys[i])));
    clab_manifest_free(&manifest);
}

int doctor_print_json(const struct doctor *doctor, FILE *out)
{
    struct clab_json *json;
    int n;
    CLAB_TRY(clab_json_create(&json));
    add_version(json);
    clab_json_add_bool(json, "works", doctor_count(doctor, DOCTOR_BROKEN) == 0);
    struct clab_json *list = clab_json_add_list(json, "findings");
    for (int i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        struct clab_json *one = clab_json_add_object(list, NULL);
        clab_json_add(one, "section", clab_cell_text(finding->section));
        clab_json_add(one, "level", clab_cell_text(levels[finding->level]));
        clab_json_add(one, "topic", clab_cell_text(finding->topic));
        clab_json_add(one, "text", clab_cell_text(finding->text));
        clab_json_add(one, "remedy", clab_cell_text(*finding->remedy ? finding->remedy : NULL));
    }
    struct clab_json *todo = clab_json_add_list(json, "first");
    const struct doctor_finding **first = list_first(doctor, &n);
    for (int f = 0; f < n; f++)
        clab_json_add(todo, NULL, clab_cell_text(first[f]->remedy));
    free(first);
    int err = clab_json_write(json, out);
    clab_json_destroy(json);
    return err;
}
