// SPDX-License-Identifier: MIT
// The model of lab 02: a training step whose gradients are reduced a layer at a time, after the backward pass or
// beside it.
//
// - What computing takes is a machine's own: a short run of before.c says it (forward, backward, update), and the
//   layers are alike. A layer's backward pass is two products, of which the first gives its gradients, and layer 0
//   has only that: the k-th of L layers' gradients are there after (2 k - 1) / (2 L - 1) of the pass.
// - What a layer's reduction takes is the network's (sim/train/train.h), one after another.
// - The backward pass runs beside the reductions only if a thread or the network moves messages meanwhile
//   (core/comm/progress.h). If only calls do, the model predicts that after.c is no faster than before.c.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "labs/02-no-overlap/shape.h"
#include "sim/net/net.h"
#include "sim/train/train.h"

static double probed(const struct lab_context *context, const char *quantity)
{
    const int ranks = context->conf->probe_ranks.count ? atoi(context->conf->probe_ranks.words[0]) : 0;
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, ranks, quantity));
}

static void fill(struct clab_train_bucket buckets[LAYERS], double forward, double backward)
{
    for (int k = 1; k <= LAYERS; k++)
        buckets[k - 1] = (struct clab_train_bucket){.ready = forward + backward * (2 * k - 1) / (2 * LAYERS - 1),
                                                    .bytes = (size_t)(WIDTH + 1) * WIDTH * sizeof(float)};
}

static bool overlaps(const struct lab_context *context, enum lab_program program, int ranks)
{
    return program == LAB_AFTER && lab_progress(context, ranks, NULL) != CLAB_PROGRESS_MANUAL;
}

static double choose(const struct clab_train_result *r, const char *quantity)
{
    if (!strcmp(quantity, "step_time"))
        return r->median;
    if (!strcmp(quantity, "exposed_comm"))
        return r->exposed;
    if (!strcmp(quantity, "comm"))
        return r->communication;
    if (strcmp(quantity, "overlap") != 0 || !(r->communication > 0))
        return NAN;
    const double hidden = 1 - r->exposed / r->communication;
    return hidden > 1e-9 ? 100 * hidden : 0; // a sum that is rounded
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const double forward = probed(context, "forward"), backward = probed(context, "backward");
    struct clab_train_bucket buckets[LAYERS];
    struct clab_train_result result;
    if (!strcmp(quantity, "gradients")) // of predict.txt: no program reports it
        return (double)LAYERS * (WIDTH + 1) * WIDTH * sizeof(float);
    if (!context->net || isnan(forward) || isnan(backward))
        return NAN;
    fill(buckets, forward, backward);
    const struct clab_train train = {.net = context->net,
                                     .nranks = ranks,
                                     .element_bytes = sizeof(float),
                                     .algorithm = "ring",
                                     .buckets = buckets,
                                     .nbuckets = LAYERS,
                                     .compute = forward + backward,
                                     .update = probed(context, "update"),
                                     .overlap =
                                         overlaps(context, program, ranks) ? CLAB_TRAIN_BUCKET : CLAB_TRAIN_NONE};
    if (clab_train_run(&train, &result) != CLAB_OK)
        return NAN;
    const double value = choose(&result, quantity);
    clab_train_free(&result);
    return value;
}

const struct lab_model LAB_MODEL = {.predict = predict};
