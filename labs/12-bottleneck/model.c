// SPDX-License-Identifier: MIT
// The model of lab 12: what a step takes with each fault, and when it is mended.
//
//   faulty:  compute + what is left of the collectives when the backward pass has ended (cmd/lab/step.h), by the network,
//            the processors and the samples that the fault leaves
//   time:    the same with the remedy of the fault that the program names; before always names the buckets
//   named:   after names the job's fault, or none if its remedy saves less than 5 % of a step
//
// A retransmission delays a step by what the collective waits for it, on average. It is in virtual time only: elsewhere
// a step's computation is not known beforehand.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lab/step.h"
#include "core/base/err.h"
#include "labs/12-bottleneck/faults.h"
#include "sim/net/net.h"

enum { LAYERS = 32, WIDTH = 96, METRICS = 2048 };
static const double enough = 0.05; // of a step: less is no fault, as in job.h

// The network and the processors that the fault leaves.
static int spoil(const struct setting *s, struct clab_net *net)
{
    char wire[64];
    setting_wire(s, wire);
    for (int p = 0; p < CLAB_PRECISIONS; p++)
        net->compute.flops[p] /= s->slowness;
    net->compute.memory *= s->slowness;
    return *wire ? clab_net_vary(net, wire + 1) : CLAB_OK;
}

static double seconds_of(const struct clab_net *net, double flop, double bytes)
{
    double seconds;
    return clab_net_compute(net, CLAB_FP32, flop, bytes, &seconds) == CLAB_OK ? seconds : NAN;
}

static double forward(const struct lab_step *step, const struct clab_net *net, int samples)
{
    struct clab_mlp_shape shape = step->shape;
    double sum = 0;
    shape.repeat = samples;
    for (int l = 0; l < shape.layers; l++) {
        const struct clab_mlp_load load = clab_mlp_layer_load(&shape, l, CLAB_FORWARD);
        sum += seconds_of(net, load.flop, load.bytes);
    }
    return sum;
}

// What a step does beside learning: load samples, copy gradients, validate, and average the metrics.
static double rest(const struct lab_step *step, const struct clab_net *net, const struct setting *s, int samples,
                   int mine)
{
    const int shares = s->first ? step->ranks * s->first : 1;
    const double gradients = (double)clab_mlp_count(&step->shape) * sizeof(float);
    double sum = seconds_of(net, 0, 4 * sizeof(float) * (double)mine * WIDTH);
    sum += s->copies * seconds_of(net, 0, 4 * gradients);
    sum += shares * forward(step, net, samples / 8 ? samples / 8 : 1);
    sum += s->first ? lab_step_price(step, CLAB_BROADCAST, "binomial", sizeof(float)) : 0;
    return sum + lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, METRICS * sizeof(float));
}

// Of each collective, the part that is delayed; a step's averages and its metrics.
static double stalls(const struct lab_step *step, const struct setting *s, int buckets)
{
    int stages = 0;
    while (1 << stages < step->ranks)
        stages++;
    if (step->ranks <= step->context->net->ranks_per_node)
        return 0; // nothing leaves the host
    return (buckets + 1) * s->loss * 2 * step->ranks * (stages ? stages : 1) * resend;
}

static double step_time(const struct lab_context *context, int ranks, const struct setting *s)
{
    struct clab_net net = *context->net;
    struct lab_context spoilt = *context;
    int widths[LAYERS + 1], buckets;
    const int samples = context->conf->options.count ? atoi(context->conf->options.words[0]) : 0;
    if (samples < 1 || spoil(s, &net) != CLAB_OK)
        return NAN;
    spoilt.net = &net;
    struct lab_step step = {.context = &spoilt, .ranks = ranks, .algorithm = "halving_doubling"};
    const int most = setting_samples(s, s->slow_rank < 0 ? 0 : s->slow_rank, samples);
    step.shape = clab_mlp_even(LAYERS, WIDTH, WIDTH, WIDTH, 1, widths);
    step.shape.repeat = most; // the others wait for the rank that has the most
    if (lab_step_plan(&step, 0) != CLAB_OK)
        return NAN;
    const double trained = lab_step_bucketed(&step, s->cap, s->cap, false, NULL, &buckets);
    return trained + rest(&step, &net, s, samples, most) + stalls(&step, s, buckets);
}

// What after names: a fault that costs less than `enough` is none. NaN: a step has no model.
static double named_fault(const struct lab_context *context, int ranks, uint64_t seed)
{
    const struct setting as_found = setting_of(seed, ranks, FAULTS), mended = setting_of(seed, ranks, fault_of(seed));
    const double found = step_time(context, ranks, &as_found), then = step_time(context, ranks, &mended);
    if (isnan(found) || isnan(then))
        return NAN;
    return found - then < enough * found ? NO_FAULT : fault_of(seed);
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    unsigned long long seed;
    char name[32];
    if (!context->is_exact || !context->net || sscanf(quantity, "%31[^/]/%llu", name, &seed) != 2)
        return NAN;
    const double named = program == LAB_BEFORE ? BUCKETS : named_fault(context, ranks, seed);
    if (!strcmp(name, "named") || isnan(named))
        return named;
    if (strcmp(name, "time") != 0 && strcmp(name, "faulty") != 0)
        return NAN;
    const struct setting s = setting_of(seed, ranks, *name == 't' ? (enum fault)named : FAULTS);
    return step_time(context, ranks, &s);
}

const struct lab_model LAB_MODEL = {.predict = predict};
