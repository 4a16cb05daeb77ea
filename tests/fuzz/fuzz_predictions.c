// SPDX-License-Identifier: MIT
// predict.txt: what is accepted is within its limits, what is refused is said once, and what was accepted, written down
// anew, is accepted as the same. The check of lab 07's template ends in one line, too.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/predict/predictions.h"
#include "cmd/lab/asked.h"

static const char path[] = "work/07/predict.txt";

static const char conf_text[] = "[lab]\nid=07\ntitle=x\nheadline=time/\nbackends=shm\nranks=4\npairs=6\n"
                                "[time]\nunit=s\nmessage=yes\n[overlap]\nunit=%\nmost=100\n[beta]\nunit=s/GB\n"
                                "[bytes_sent]\nunit=B\n[messages]\nunit=1\n[named]\nunit=rank\n";
static const char template_text[] =
    "[./commlab lab 07]\nafter messages/ring/8=____\nafter bytes_sent/ring/2097152=____ MiB\n"
    "after time/{ring,tree,doubling}/8=____ < ____ < ____\nratio time/ring/8 > 1=____\n"
    "after time/ring/8=____ us\nafter overlap=____ %\nafter beta=____ s/GB\n"
    "crossover time/by_hand time/ring=____ KiB\nafter named=____ rank\n";

static void check_item(const struct predictions *p, const struct prediction *item)
{
    char name[PREDICTION_NAME];
    struct prediction_subject subject;
    must_hold(item->section >= 0 && item->section < p->nsections && item->line >= 1);
    must_hold(*item->title && *item->name && item->nwords >= 0 && item->nwords <= PREDICTION_WORDS);
    if (item->kind == PREDICTION_NUMBER && !item->is_blank)
        must_hold(isfinite(item->low) && item->low >= 0 && item->low <= item->high && isfinite(item->high));
    for (int i = 0; item->kind == PREDICTION_ORDER && i < item->nwords; i++) {
        must_hold(item->is_blank || (item->places[i] >= 0 && item->places[i] < item->nwords));
        prediction_expand(item, i, name);
        prediction_subject(name, &subject);
        must_hold(*subject.quantity);
    }
    must_hold(predictions_find(p, p->sections[item->section].command, item) == item); // none is there twice
}

// Freed by the caller.
static char *written(const struct predictions *p, size_t *size_p)
{
    char *text, value[1024];
    FILE *file = open_memstream(&text, size_p);
    must_hold(file);
    for (int s = 0; s < p->nsections; s++) {
        fprintf(file, "[%s]\n", p->sections[s].command);
        for (int i = 0; i < p->count; i++)
            if (p->items[i].section == s)
                fprintf(file, "%s = %s\n", p->items[i].title, prediction_text(&p->items[i], value, sizeof value));
    }
    fclose(file);
    return text;
}

static void check_written(const struct predictions *p)
{
    struct predictions *again;
    size_t size, size_again;
    char *text = written(p, &size), *text_again;
    must_hold(predictions_parse(text, size, path, &again) == CLAB_OK);
    text_again = written(again, &size_again);
    must_hold(size == size_again && memcmp(text, text_again, size) == 0);
    free(text_again);
    free(text);
    predictions_free(again);
}

static void check_against_template(const struct predictions *p)
{
    static const struct prediction_limits limits[] = {{.message = 1e-6, .byte = 1e-10, .ranks = 4}};
    struct predictions *template;
    struct lab_conf conf;
    FILE *file = fuzz_file(conf_text, strlen(conf_text));
    const int err = lab_conf_read(file, "lab.conf", &conf);
    fclose(file);
    if (err == CLAB_EUNSUPPORTED)
        return;
    must_hold(err == CLAB_OK);
    must_hold(predictions_parse(template_text, strlen(template_text), "t", &template) == CLAB_OK);
    must_hold(predictions_check_template(template, &conf) == CLAB_OK);
    fuzz_log_clear();
    if (predictions_check(p, template, &conf, limits) != CLAB_OK)
        must_say_once(path);
    else
        must_hold(fuzz_log_errors == 0 && p->count == template->count);
    predictions_free(template);
    lab_conf_free(&conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct predictions *p;
    fuzz_log_clear();
    const int err = predictions_parse((const char *)data, size, path, &p);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    for (int i = 0; i < p->count; i++)
        check_item(p, &p->items[i]);
    check_written(p);
    check_against_template(p);
    predictions_free(p);
    return 0;
}
