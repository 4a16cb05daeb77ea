// SPDX-License-Identifier: MIT
// The NCCL_*, CUDA_* and CLAB_* variables that are set: the meaning of each, and any error in its value (doctor.h).

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/nearest.h"
#include "cmd/doctor/doctor.h"
#include "cmd/doctor/variables.h"

enum { NAME = 64, VALUE = DOCTOR_WRONG, SHOWN = 48 };

// ---- one variable --------------------------------------------------------------------------------------------

// "NAME=VALUE"; a long value is cut.
static void name_value(char topic[VALUE], const char *name, const char *text)
{
    snprintf(topic, VALUE, "%.*s=%.*s%s", NAME, name, SHOWN, text, strlen(text) > SHOWN ? "..." : "");
}

static void add_known(struct doctor *doctor, const struct doctor_variable *variable, const char *text)
{
    char wrong[VALUE], topic[VALUE];
    doctor_judge(doctor, variable, text, wrong);
    // People send this page around, so it shows no secret.
    name_value(topic, variable->name, strcmp(variable->name, "CLAB_TOKEN") ? text : "(not shown)");
    const bool slows =
        !*wrong && variable->slows && *text && strcmp(text, "0") != 0 && strcasecmp(text, "DEFAULT") != 0;
    const bool gone = strstr(variable->meaning, "removed in") != NULL || variable->value == VALUE_ABSENT;
    doctor_add(doctor, *wrong || slows || gone ? DOCTOR_WARNING : DOCTOR_OK, topic, "%s%s%s", variable->meaning,
               *wrong  ? "; "
               : slows ? "; while it is set, "
                       : "",
               *wrong  ? wrong
               : slows ? variable->slows
                       : "");
    if (variable->value == VALUE_ABSENT)
        doctor_advise(doctor, "unset %s: %s", variable->name, variable->words);
    else if (*wrong)
        doctor_advise(doctor, "unset %s, or correct its value", variable->name);
    else if (slows || gone)
        doctor_advise(doctor, "unset %s, unless you want that", variable->name);
}

// ---- names that are unknown ----------------------------------------------------------------------------------

static void add_unknown(struct doctor *doctor, const char *name, const char *text)
{
    char hidden[NAME + 8], topic[VALUE];
    name_value(topic, name, strstr(name, "TOKEN") ? "(not shown)" : text); // perhaps a secret under a wrong name
    snprintf(hidden, sizeof hidden, " %.*s ", NAME, name);
    if (strlen(name) < NAME && strstr(doctor_hidden_variables, hidden)) {
        doctor_add(doctor, DOCTOR_WARNING, topic, "NCCL reads it, but does not document it: its meaning may change");
        doctor_advise(doctor, "unset %s, unless you want that", name);
        return;
    }
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    for (const struct doctor_variable *known = doctor_known_variables; known->name; known++)
        clab_nearest_offer(&nearest, known->name);
    if (*nearest.word) {
        doctor_add(doctor, DOCTOR_WARNING, topic, "no program reads this name");
        doctor_advise(doctor, "did you mean %s?", nearest.word);
    } else if (strncmp(name, "CUDA_", 5) != 0) {
        doctor_add(doctor, DOCTOR_WARNING, topic, "no name that %s",
                   *name == 'N' ? "NCCL documents; a plugin may read it" : "this kit reads");
        doctor_advise(doctor, "unset %s, unless one of your programs reads it", name);
    } else {
        doctor_add(doctor, DOCTOR_OK, topic, "not CUDA's own; a build or a script may read it");
    }
}

static const struct doctor_variable *find_known(const char *name)
{
    for (const struct doctor_variable *known = doctor_known_variables; known->name; known++)
        if (!strcmp(known->name, name))
            return known;
    return NULL;
}

// ---- all -----------------------------------------------------------------------------------------------------

static void add_variable(struct doctor *doctor, const char *entry)
{
    char name[NAME];
    const char *equals = strchr(entry, '=');
    snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
    const struct doctor_variable *known = find_known(name);
    if (known)
        add_known(doctor, known, equals + 1);
    else
        add_unknown(doctor, name, equals + 1);
}

// NCCL's, CUDA's and ours are all judged; of other programs' variables those that the table has.
static bool is_ours(const char *entry)
{
    static const char *const families[] = {"NCCL_", "CUDA_", "CLAB_"};
    char name[NAME];
    const char *equals = strchr(entry, '=');
    if (!equals)
        return false;
    for (int f = 0; f < 3; f++)
        if (strncmp(entry, families[f], 5) == 0)
            return true;
    snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
    return find_known(name) != NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Check the variables in `environment`, which has the form of environ.
static void check_variables(struct doctor *doctor, char *const environment[])
{
    int n = 0, set = 0;
    doctor->section = "Environment";
    while (environment[n])
        n++;
    char **sorted = calloc((size_t)n + 1, sizeof *sorted);
    if (!sorted) {
        doctor->incomplete = true;
        return;
    }
    for (int i = 0; i < n; i++)
        if (is_ours(environment[i]))
            sorted[set++] = environment[i];
    qsort(sorted, (size_t)set, sizeof *sorted, by_name);
    for (int i = 0; i < set; i++)
        add_variable(doctor, sorted[i]);
    if (set == 0)
        doctor_add(doctor, DOCTOR_OK, "variables", "no NCCL_*, CUDA_* or CLAB_* is set, nor another that matters here");
    free(sorted);
}

void doctor_environment(struct doctor *doctor)
{
    check_variables(doctor, environ);
}
