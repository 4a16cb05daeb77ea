// SPDX-License-Identifier: MIT
#include "cmd/lab/step.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/sim.h"
#include "core/train/ddp.h"

static double total_flop(const struct clab_mlp_shape *shape)
{
    double flop = clab_mlp_loss_load(shape).flop;
    for (int l = 0; l < shape->layers; l++)
        for (enum clab_pass pass = CLAB_FORWARD; pass <= CLAB_STEP; pass++)
            flop += clab_mlp_layer_load(shape, l, pass).flop;
    return flop;
}

static double seconds_of(const struct lab_step *step, struct clab_mlp_load load)
{
    double seconds;
    if (!step->context->is_exact)
        return load.flop * step->second;
    return clab_net_compute(step->context->net, CLAB_FP32, load.flop, load.bytes, &seconds) == CLAB_OK ? seconds : NAN;
}

static int probed_ranks(const struct lab_context *context)
{
    return context->conf->probe_ranks.count ? atoi(context->conf->probe_ranks.words[0]) : context->ranks;
}

double lab_step_probed(const struct lab_context *context, const char *quantity)
{
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, probed_ranks(context), quantity));
}

// How much longer ranks compute than those of the probe, since more of them share the cores.
static double crowding(const struct lab_step *step)
{
    const struct lab_context *c = step->context;
    return fmax(step->ranks, c->cores) / fmax(probed_ranks(c), c->cores);
}

int lab_step_plan(struct lab_step *step, double alone)
{
    const struct clab_mlp_shape *shape = &step->shape;
    if (!step->context->net || shape->layers > LAB_STEP_LAYERS)
        return CLAB_ENOENT;
    step->second = step->context->is_exact ? 0 : alone * crowding(step) / total_flop(shape);
    step->loss = seconds_of(step, clab_mlp_loss_load(shape));
    step->forward = step->backward = step->update = 0;
    for (int l = 0; l < shape->layers; l++) {
        step->forward += seconds_of(step, clab_mlp_layer_load(shape, l, CLAB_FORWARD));
        step->update += seconds_of(step, clab_mlp_layer_load(shape, l, CLAB_STEP));
    }
    for (int l = shape->layers - 1; l >= 0; l--) {
        step->backward += seconds_of(step, clab_mlp_layer_load(shape, l, CLAB_BACKWARD));
        step->ready[l] = step->backward;
        step->backward += seconds_of(step, clab_mlp_layer_load(shape, l, CLAB_BACKWARD_INPUT));
    }
    return isnan(lab_step_compute(step)) ? CLAB_ENOENT : CLAB_OK;
}

double lab_step_price(const struct lab_step *step, enum clab_collective collective, const char *name, size_t bytes)
{
    return lab_predict(step->context, step->ranks, collective, name, bytes,
                       (struct clab_sim_options){.in_place = true});
}

double lab_step_compute(const struct lab_step *step)
{
    return step->forward + step->loss + step->backward + step->update;
}

double lab_step_copy(const struct lab_step *step, double bytes)
{
    if (step->context->is_exact)
        return seconds_of(step, (struct clab_mlp_load){0, bytes});
    return bytes / 2 * clab_net_level(step->context->net, (size_t)bytes).copy[CLAB_ALONE]; // one read, one written
}

// Of each parameter, in the order of the forward pass.
static void count_parameters(const struct clab_mlp_shape *shape, size_t counts[])
{
    for (int l = 0; l < shape->layers; l++) {
        counts[2 * l] = (size_t)shape->widths[l] * (size_t)shape->widths[l + 1];
        counts[2 * l + 1] = (size_t)shape->widths[l + 1];
    }
}

double lab_step_bucketed(const struct lab_step *step, size_t cap, size_t first_cap, bool copies, double *exposed_p,
                         int *buckets_p)
{
    static const double each = sizeof(float);
    const bool is_hidden = step->context->is_exact || step->context->is_delayed;
    const int n = 2 * step->shape.layers;
    size_t counts[2 * LAB_STEP_LAYERS];
    int first[2 * LAB_STEP_LAYERS];
    double free_from = 0, late = 0, copied = 0; // late: copies so far, by which the backward pass is longer
    count_parameters(&step->shape, counts);
    const int buckets = clab_buckets_plan(counts, n, cap, first_cap, first);
    for (int b = 0, end = n; b < buckets; end = first[b++]) {
        double bytes = 0;
        for (int p = first[b]; p < end; p++)
            bytes += each * (double)counts[p];
        late += copies ? lab_step_copy(step, 2 * bytes) : 0;
        copied += copies ? lab_step_copy(step, 2 * bytes) : 0;
        const double ready = is_hidden ? step->ready[first[b] / 2] + late : step->backward + late;
        free_from = fmax(free_from, ready) + lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, (size_t)bytes);
    }
    const double exposed = fmax(0, free_from - step->backward - late) + copied;
    if (exposed_p)
        *exposed_p = exposed;
    if (buckets_p)
        *buckets_p = buckets;
    return lab_step_compute(step) + late + exposed;
}
