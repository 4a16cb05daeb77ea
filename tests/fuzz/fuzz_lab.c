// SPDX-License-Identifier: MIT
// lab.conf: what is accepted is complete and within its limits, what is refused is said once, and what was accepted,
// written down anew, is accepted as the same.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "cmd/lab/lab.h"

static const char path[] = "labs/07/lab.conf";

static int read_text(const void *text, size_t size, struct lab_conf *conf_p)
{
    FILE *file = fuzz_file(text, size);
    fuzz_log_clear();
    const int err = lab_conf_read(file, path, conf_p);
    fclose(file);
    return err;
}

// ---- what was accepted ---------------------------------------------------------------------------------------

static void check_numbers(const struct lab_words *words)
{
    int number;
    must_hold(words->count >= 0 && words->count <= LAB_MAX_WORDS);
    for (int i = 0; i < words->count; i++)
        must_hold(clab_parse_int(words->words[i], 1, INT32_MAX, &number) == CLAB_OK);
}

static void check_quantity(const struct lab_conf *conf, const struct lab_quantity *q)
{
    must_hold(*q->name && *q->unit);
    must_hold(isnan(q->tolerance) || (isfinite(q->tolerance) && q->tolerance >= 0));
    if (strchr(q->name, '/'))
        return;                                       // it is the name of no quantity
    must_hold(lab_conf_quantity(conf, q->name) == q); // none is there twice
    char reported[256];
    snprintf(reported, sizeof reported, "%s/more/8", q->name);
    must_hold(lab_conf_quantity(conf, reported) == q);
}

static void check_conf(const struct lab_conf *conf)
{
    must_hold(*conf->id && *conf->title && *conf->headline);
    must_hold(conf->backends.count >= 1);
    must_hold(conf->ranks >= 1 && conf->pairs >= 1 && (conf->sweep_pairs >= 1 || !conf->sweep.count));
    check_numbers(&conf->sizes);
    check_numbers(&conf->iterations);
    check_numbers(&conf->sweep);
    check_numbers(&conf->sweep_iterations);
    check_numbers(&conf->probe_ranks);
    check_numbers(&conf->probe_iterations);
    must_hold(conf->noverrides >= 0 && conf->noverrides <= LAB_MAX_OVERRIDES);
    must_hold(conf->nquantities >= 0 && conf->nquantities <= LAB_MAX_QUANTITIES);
    for (int i = 0; i < conf->nquantities; i++)
        check_quantity(conf, &conf->quantities[i]);
}

// ---- written and read ----------------------------------------------------------------------------------------

static void write_words(FILE *file, const char *name, const struct lab_words *words)
{
    if (words->count)
        fprintf(file, "%s=", name);
    for (int i = 0; i < words->count; i++)
        fprintf(file, "%s%s", words->words[i], i + 1 < words->count ? " " : "\n");
}

static void write_number(FILE *file, const char *name, int number)
{
    if (number)
        fprintf(file, "%s=%d\n", name, number);
}

static void write_overrides(FILE *file, const struct lab_conf *conf)
{
    for (const struct lab_override *o = conf->overrides; o < conf->overrides + conf->noverrides; o++)
        fprintf(file, "[lab %s]\n%s=%s\n", o->variant, o->name, o->value);
}

// Freed by the caller.
static char *written(const struct lab_conf *conf, size_t *size_p)
{
    char *text;
    FILE *file = open_memstream(&text, size_p);
    must_hold(file);
    fprintf(file, "[lab]\nid=%s\ntitle=%s\nheadline=%s\n", conf->id, conf->title, conf->headline);
    write_words(file, "backends", &conf->backends);
    write_number(file, "ranks", conf->ranks);
    write_number(file, "pairs", conf->pairs);
    write_words(file, "options", &conf->options);
    write_words(file, "sizes", &conf->sizes);
    write_words(file, "iterations", &conf->iterations);
    write_words(file, "sweep", &conf->sweep);
    write_words(file, "sweep_iterations", &conf->sweep_iterations);
    write_number(file, "sweep_pairs", conf->sweep_pairs);
    if (conf->probe_program)
        fprintf(file, "probe_program=%s\n", conf->probe_program);
    write_words(file, "probe_ranks", &conf->probe_ranks);
    write_words(file, "probe_iterations", &conf->probe_iterations);
    for (int i = 0; i < conf->nquantities; i++) {
        const struct lab_quantity *q = &conf->quantities[i];
        fprintf(file, "[%s]\nunit=%s\nequal=%s\n", q->name, q->unit, q->equal ? "yes" : "no");
        if (!isnan(q->tolerance))
            fprintf(file, "tolerance=%.17g\n", q->tolerance);
    }
    write_overrides(file, conf);
    fclose(file);
    return text;
}

static void check_written(const struct lab_conf *conf)
{
    struct lab_conf again;
    size_t size, size_again;
    char *text = written(conf, &size), *text_again;
    must_hold(read_text(text, size, &again) == CLAB_OK);
    text_again = written(&again, &size_again);
    must_hold(size == size_again && memcmp(text, text_again, size) == 0);
    free(text_again);
    free(text);
    lab_conf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lab_conf conf;
    const int err = read_text(data, size, &conf);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    check_conf(&conf);
    check_written(&conf);
    lab_conf_free(&conf);
    return 0;
}
