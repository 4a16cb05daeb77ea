// SPDX-License-Identifier: MIT
// What a lab's program reports of itself: rows are read as they are written, anything else is refused with its line,
// and no quantity is one that a model can not be asked for.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/lab/lab.h"
#include "sim/net/net.h"

static const char path[] = "rows";

// Whether what is predicted is a number of at least 0, or nothing.
static void check_predictions(const struct lab_results *results)
{
    static const struct lab_conf conf = {
        .sizes = {{"64"}, 1}, .iterations = {{"4"}, 1}, .sweep_iterations = {{"4"}, 1}, .probe_ranks = {{"2"}, 1}};
    static const char *const models[] = {"07-ring-vs-tree", "01-reinit-comm"};
    struct clab_net *net;
    must_hold(clab_net_create_flat(1e-6, 1e-9, 1e-10, &net) == CLAB_OK);
    const struct lab_context context = {.conf = &conf, .net = net, .probe = results, .ranks = 3, .cores = 4};
    for (int i = 0; i < results->count && i < 8; i++)
        for (int model = 0; model < 2; model++) {
            const double value = lab_model_find(models[model])
                                     ->predict(&context, results->series[i].program, 3, results->series[i].quantity);
            must_hold(isnan(value) || value >= 0 || model == 1); // lab 01's differences can be anything
        }
    clab_net_free(net);
}

static void check_results(const struct lab_results *results, const char *text)
{
    int lines = 0, samples = 0;
    for (; *text; text++)
        lines += *text == '\n' || !text[1];
    for (int i = 0; i < results->count; i++) {
        const struct lab_series *s = &results->series[i];
        samples += s->n;
        must_hold(s->ranks == 3 && s->program == LAB_AFTER && s->n >= 1);
        must_hold(*s->quantity && *s->unit && !strpbrk(s->quantity, ",\n") && !strpbrk(s->unit, ",\n"));
        must_hold(lab_results_find(results, LAB_AFTER, 3, s->quantity) == s); // each once
        for (int k = 0; k < s->n; k++)
            must_hold(isfinite(s->samples[k]));
        must_hold(isfinite(lab_series_median(s)));
    }
    must_hold(samples == lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lab_results results = {0};
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    const int err = lab_rows_read(file, path, LAB_AFTER, 3, &results);
    fclose(file);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
    } else {
        char *text = fuzz_text(data, size);
        must_hold(fuzz_log_errors == 0);
        check_results(&results, text);
        check_predictions(&results);
        free(text);
    }
    lab_results_free(&results);
    return 0;
}
