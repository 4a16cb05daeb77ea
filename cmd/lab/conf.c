// SPDX-License-Identifier: MIT
// lab.conf describes a lab in text. [lab] describes the run. [lab sim] and so on have the settings that differ on that
// backend, and [lab emulate] those over an emulated network. Each other section is a quantity that the programs report.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/units.h"

static int refuse(const struct clab_setting *s, const char *expected)
{
    clab_error("%s:%d: %s = '%s': expected %s", s->path, s->line, s->name, s->value, expected);
    return CLAB_EPARSE;
}

static int set_text(const struct clab_setting *s, char **text_p)
{
    if (!*s->value)
        return refuse(s, "a text");
    free(*text_p);
    *text_p = strdup(s->value);
    return *text_p ? CLAB_OK : CLAB_ENOMEM;
}

static int set_number(const struct clab_setting *s, int *value_p)
{
    return clab_parse_int(s->value, 1, 1 << 20, value_p) == CLAB_OK ? CLAB_OK
                                                                    : refuse(s, "a whole number of at least 1");
}

void lab_words_free(struct lab_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->words[i]);
    words->count = 0;
}

int lab_words_split(const char *text, const char *separators, struct lab_words *words)
{
    char *copy = strdup(text), *rest = copy;
    int err = copy ? CLAB_OK : CLAB_ENOMEM;
    lab_words_free(words);
    for (char *word; !err && (word = strtok_r(rest, separators, &rest));)
        if (words->count == LAB_MAX_WORDS)
            err = CLAB_EINVAL;
        else if (!(words->words[words->count] = strdup(word)))
            err = CLAB_ENOMEM;
        else
            words->count++;
    free(copy);
    return err;
}

static int set_words(const struct clab_setting *s, struct lab_words *words)
{
    int err = lab_words_split(s->value, " \t", words);
    return err == CLAB_EINVAL ? refuse(s, "at most 32 words") : err;
}

static int set_numbers(const struct clab_setting *s, struct lab_words *words)
{
    int number;
    CLAB_TRY(set_words(s, words));
    for (int i = 0; i < words->count; i++)
        if (clab_parse_int(words->words[i], 1, 1 << 30, &number) != CLAB_OK)
            return refuse(s, "whole numbers of at least 1, with spaces between");
    return CLAB_OK;
}

// The settings of [lab].
enum kind { TEXT, NUMBER, WORDS, NUMBERS };

static const struct field {
    const char *name;
    enum kind kind;
    size_t offset; // in struct lab_conf
    bool required;
} fields[] = {
    {"id", TEXT, offsetof(struct lab_conf, id), true},
    {"title", TEXT, offsetof(struct lab_conf, title), true},
    {"headline", TEXT, offsetof(struct lab_conf, headline), true},
    {"backends", WORDS, offsetof(struct lab_conf, backends), true},
    {"ranks", NUMBER, offsetof(struct lab_conf, ranks), true},
    {"least_ranks", NUMBER, offsetof(struct lab_conf, least_ranks), false},
    {"pairs", NUMBER, offsetof(struct lab_conf, pairs), true},
    {"options", WORDS, offsetof(struct lab_conf, options), false},
    {"sizes", NUMBERS, offsetof(struct lab_conf, sizes), false},
    {"iterations", NUMBERS, offsetof(struct lab_conf, iterations), false},
    {"sweep", NUMBERS, offsetof(struct lab_conf, sweep), false},
    {"sweep_iterations", NUMBERS, offsetof(struct lab_conf, sweep_iterations), false},
    {"sweep_pairs", NUMBER, offsetof(struct lab_conf, sweep_pairs), false},
    {"before_backends", WORDS, offsetof(struct lab_conf, before_backends), false},
    {"before_net", TEXT, offsetof(struct lab_conf, before_net), false},
    {"emulate", TEXT, offsetof(struct lab_conf, emulate), false},
    {"net", TEXT, offsetof(struct lab_conf, net), false},
    {"plain_why", TEXT, offsetof(struct lab_conf, plain_why), false},
    {"not_measured", TEXT, offsetof(struct lab_conf, not_measured), false},
    {"probe_program", TEXT, offsetof(struct lab_conf, probe_program), false},
    {"probe_ranks", NUMBERS, offsetof(struct lab_conf, probe_ranks), false},
    {"probe_iterations", NUMBERS, offsetof(struct lab_conf, probe_iterations), false},
};
enum { NFIELDS = sizeof fields / sizeof *fields };

static int set_lab(const struct clab_setting *s, struct lab_conf *conf)
{
    for (const struct field *f = fields; f < fields + NFIELDS; f++) {
        void *target = (char *)conf + f->offset;
        if (strcmp(f->name, s->name))
            continue;
        switch (f->kind) {
        case TEXT: return set_text(s, target);
        case NUMBER: return set_number(s, target);
        case WORDS: return set_words(s, target);
        case NUMBERS: return set_numbers(s, target);
        }
    }
    clab_error("%s:%d: [%s] has no setting '%s'", s->path, s->line, s->section, s->name);
    return CLAB_EPARSE;
}

// Keep it for lab_conf_use, after a check that it can be set.
static int add_override(const struct clab_setting *s, struct lab_conf *conf)
{
    const char *variant = s->section + strlen("lab ");
    struct lab_conf scratch = {0};
    bool known = !strcmp(variant, "emulate");
    for (int i = 0; i < conf->backends.count; i++)
        known |= !strcmp(variant, conf->backends.words[i]);
    if (!known) {
        clab_error("%s:%d: [%s]: the lab runs on no '%s' ([lab] above says on what)", s->path, s->line, s->section,
                   variant);
        return CLAB_EPARSE;
    }
    if (conf->noverrides == LAB_MAX_OVERRIDES)
        return refuse(s, "at most 32 settings that differ");
    const int err = set_lab(s, &scratch);
    lab_conf_free(&scratch);
    CLAB_TRY(err);
    struct lab_override *o = &conf->overrides[conf->noverrides++];
    *o = (struct lab_override){strdup(variant), strdup(s->name), strdup(s->value)};
    return o->variant && o->name && o->value ? CLAB_OK : CLAB_ENOMEM;
}

int lab_conf_use(struct lab_conf *conf, const char *variant)
{
    for (const struct lab_override *o = conf->overrides; o < conf->overrides + conf->noverrides; o++) {
        const struct clab_setting s = {.path = "lab.conf", .section = o->variant, .name = o->name, .value = o->value};
        if (!strcmp(o->variant, variant))
            CLAB_TRY(set_lab(&s, conf));
    }
    return CLAB_OK;
}

static bool is_set(const struct lab_conf *conf, const struct field *f)
{
    const char *target = (const char *)conf + f->offset;
    switch (f->kind) {
    case NUMBER: return *(const int *)target != 0;
    case WORDS:
    case NUMBERS: return ((const struct lab_words *)target)->count != 0;
    default: return *(void *const *)target != NULL;
    }
}

static int set_tolerance(const struct clab_setting *s, double *percent_p)
{
    return clab_parse_number(s->value, percent_p) == CLAB_OK ? CLAB_OK : refuse(s, "percent, 0 or more");
}

static int set_yes_no(const struct clab_setting *s, bool *is_p)
{
    *is_p = strcmp(s->value, "no");
    return !*is_p || !strcmp(s->value, "yes") ? CLAB_OK : refuse(s, "yes or no");
}

static int set_equal(const struct clab_setting *s, struct lab_quantity *q)
{
    q->equal = strcmp(s->value, "no");
    const bool in_words = !q->equal || !strcmp(s->value, "yes");
    if (strcmp(s->name, "equal") || (!in_words && clab_parse_number(s->value, &q->apart) != CLAB_OK))
        return refuse(s, "unit, tolerance, most, message, or equal = yes, no, or the percent that values may be apart");
    return CLAB_OK;
}

// The quantity of the setting's section: a new one, unless it is there.
static int quantity_of(const struct clab_setting *s, struct lab_conf *conf, struct lab_quantity **q_p)
{
    struct lab_quantity *q = conf->quantities;
    while (q < conf->quantities + conf->nquantities && strcmp(q->name, s->section))
        q++;
    if (q == conf->quantities + LAB_MAX_QUANTITIES)
        return refuse(s, "at most 16 quantities");
    if (q == conf->quantities + conf->nquantities) {
        *q = (struct lab_quantity){.name = strdup(s->section), .tolerance = NAN, .most = INFINITY};
        if (!q->name)
            return CLAB_ENOMEM;
        conf->nquantities++;
    }
    *q_p = q;
    return CLAB_OK;
}

static int set_quantity(const struct clab_setting *s, struct lab_conf *conf)
{
    struct lab_quantity *q = NULL;
    CLAB_TRY(quantity_of(s, conf, &q));
    if (!strcmp(s->name, "unit"))
        return set_text(s, &q->unit);
    if (!strcmp(s->name, "tolerance"))
        return set_tolerance(s, &q->tolerance);
    if (!strcmp(s->name, "most"))
        return clab_parse_number(s->value, &q->most) == CLAB_OK ? CLAB_OK : refuse(s, "a number, 0 or more");
    return strcmp(s->name, "message") ? set_equal(s, q) : set_yes_no(s, &q->is_message);
}

static int use(void *context, const struct clab_setting *s)
{
    if (!strncmp(s->section, "lab ", 4))
        return add_override(s, context);
    if (*s->section)
        return strcmp(s->section, "lab") ? set_quantity(s, context) : set_lab(s, context);
    clab_error("%s:%d: expected a [section] above the first key", s->path, s->line);
    return CLAB_EPARSE;
}

static int check(const struct lab_conf *conf, const char *path)
{
    for (const struct field *f = fields; f < fields + NFIELDS; f++)
        if (f->required && !is_set(conf, f)) {
            clab_error("%s: [lab] lacks the setting '%s'", path, f->name);
            return CLAB_EPARSE;
        }
    if (conf->sweep.count && !conf->sweep_pairs) {
        clab_error("%s: [lab] lacks the setting 'sweep_pairs', since it has 'sweep'", path);
        return CLAB_EPARSE;
    }
    if (conf->probe_program && !lab_conf_probes(conf, LAB_BEFORE) && !lab_conf_probes(conf, LAB_AFTER)) {
        clab_error("%s: probe_program = '%s': expected before, after or both", path, conf->probe_program);
        return CLAB_EPARSE;
    }
    for (const struct lab_quantity *q = conf->quantities; q < conf->quantities + conf->nquantities; q++)
        if (!q->unit) {
            clab_error("%s: [%s] lacks the setting 'unit'", path, q->name);
            return CLAB_EPARSE;
        }
    return CLAB_OK;
}

int lab_conf_read(FILE *file, const char *path, struct lab_conf *conf_p)
{
    struct lab_conf conf = {0};
    int err = clab_conf_read(file, path, use, &conf);
    if (!err)
        err = check(&conf, path);
    if (err)
        lab_conf_free(&conf);
    else
        *conf_p = conf;
    return err;
}

static int read_path(const char *path, struct lab_conf *conf_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const int err = lab_conf_read(input.file, path, conf_p);
    clab_input_close(&input);
    return err;
}

static int find_model(const char *folder, const struct lab_model **model_p)
{
    *model_p = lab_model_find(folder);
    if (*model_p)
        return CLAB_OK;
    clab_error("labs/%s: this build has no model of it: write labs/%s/model.c (labs/README.md), then `%s`", folder,
               folder, clab_rebuild());
    return CLAB_ENOENT;
}

int lab_conf_load(const char *root, const char *folder, struct lab_conf *conf_p)
{
    const struct lab_model *model;
    CLAB_TRY(find_model(folder, &model));
    char *path, *name = strdup(folder);
    if (!name || asprintf(&path, "%s/labs/%s/lab.conf", root, folder) < 0) {
        free(name);
        return CLAB_ENOMEM;
    }
    const int err = read_path(path, conf_p);
    free(path);
    if (err) {
        free(name);
        return err;
    }
    conf_p->folder = name;
    conf_p->model = model;
    return CLAB_OK;
}

void lab_conf_free(struct lab_conf *conf)
{
    for (const struct field *f = fields; f < fields + NFIELDS; f++) {
        void *target = (char *)conf + f->offset;
        if (f->kind == TEXT)
            free(*(char **)target);
        else if (f->kind == WORDS || f->kind == NUMBERS)
            lab_words_free(target);
    }
    for (int i = 0; i < conf->nquantities; i++) {
        free(conf->quantities[i].name);
        free(conf->quantities[i].unit);
    }
    for (int i = 0; i < conf->noverrides; i++) {
        free(conf->overrides[i].variant);
        free(conf->overrides[i].name);
        free(conf->overrides[i].value);
    }
    free(conf->folder);
    memset(conf, 0, sizeof *conf);
}

bool lab_conf_probes(const struct lab_conf *conf, enum lab_program program)
{
    const char *which = conf->probe_program ? conf->probe_program : lab_program_names[LAB_BEFORE];
    return !strcmp(which, "both") || !strcmp(which, lab_program_names[program]);
}

const struct lab_quantity *lab_conf_quantity(const struct lab_conf *conf, const char *quantity)
{
    const size_t length = strcspn(quantity, "/");
    for (const struct lab_quantity *q = conf->quantities; q < conf->quantities + conf->nquantities; q++)
        if (strlen(q->name) == length && !strncmp(q->name, quantity, length))
            return q;
    return NULL;
}
