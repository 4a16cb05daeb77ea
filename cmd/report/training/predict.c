// SPDX-License-Identifier: MIT
// What the simulator says of the training run (run.h), by the model of labs 03 and 08 (cmd/lab/step.h): from messages,
// copies and sums of the network, and from one rank's computation alone, which no network knows. (In virtual time the
// network knows it, too.)

#include <math.h>
#include <stdlib.h>

#include "cmd/lab/step.h"
#include "cmd/report/training/run.h"
#include "core/base/err.h"
#include "core/train/ddp.h"

// Steady calls in turn, each begun when the one before has ended.
static double price(const struct training *t, enum clab_collective collective, const char *name, size_t bytes)
{
    struct clab_sim_options how = lab_calls(&t->context);
    how.in_place = true;
    return lab_predict(&t->context, t->ranks, collective, name, bytes, how);
}

static double price_buckets(const struct training *t)
{
    size_t counts[2 * TRAINING_LAYERS];
    int first[2 * TRAINING_LAYERS], end = 2 * TRAINING_LAYERS;
    double sum = 0;
    for (int l = 0; l < TRAINING_LAYERS; l++) {
        counts[2 * l] = (size_t)t->widths[l] * (size_t)t->widths[l + 1];
        counts[2 * l + 1] = (size_t)t->widths[l + 1];
    }
    const int n = clab_buckets_plan(counts, end, TRAINING_BUCKET, TRAINING_BUCKET, first);
    for (int b = 0; b < n; end = first[b++]) {
        size_t bytes = 0;
        for (int p = first[b]; p < end; p++)
            bytes += counts[p] * sizeof(float);
        sum += price(t, CLAB_ALLREDUCE, TRAINING_ALLREDUCE, bytes);
    }
    return sum;
}

static const char *why_not(const struct training *t)
{
    if (!training_is_modelled(t->backend->name))
        return "the simulator does not know that library's own algorithms";
    if (!t->context.net)
        return "there is no profile of this machine: commlab fit writes one";
    return NULL;
}

void training_predict(const struct training *t, struct training_prediction *p)
{
    const struct lab_series *alone = lab_results_find(&t->results, LAB_AFTER, 1, "compute");
    const size_t bytes = clab_mlp_count(&t->shape) * sizeof(float);
    struct lab_step step = {
        .context = &t->context, .ranks = t->ranks, .shape = t->shape, .algorithm = TRAINING_ALLREDUCE};
    *p = (struct training_prediction){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, why_not(t)};
    if (p->why || !alone)
        return;
    p->allreduce = price(t, CLAB_ALLREDUCE, TRAINING_ALLREDUCE, bytes);
    p->broadcast = price(t, CLAB_BROADCAST, TRAINING_BROADCAST, bytes);
    p->barrier = price(t, CLAB_BARRIER, TRAINING_BARRIER, 0);
    p->buckets = price_buckets(t);
    if (t->context.is_exact || t->context.is_delayed) {
        p->latency = lab_predict_message(t->context.net, 0, t->ranks - 1, 2 * sizeof(float));
        const size_t big = bytes < 4 << 20 ? bytes : 4 << 20;
        p->message = lab_predict_message(t->context.net, 0, t->ranks - 1, big);
    }
    if (lab_step_plan(&step, lab_series_median(alone)) != CLAB_OK)
        return;
    p->alone = lab_step_compute(&step);
    p->step = lab_step_bucketed(&step, TRAINING_BUCKET, TRAINING_BUCKET, false, &p->exposed, NULL);
}
