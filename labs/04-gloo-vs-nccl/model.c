// SPDX-License-Identifier: MIT
// The model of lab 04: two numbers describe a backend. An allreduce of S bytes takes alpha + S beta.
//
// - On this machine, short runs of both programs measure the smallest and the largest size. The line through these two
//   predicts the sizes between. Where the line is far off, the backend switches its algorithm or its protocol.
// - The simulator predicts after instead, if its backend has a profile and each rank has a core.
// - In virtual time and over an emulated network, the simulator prices the algorithm that the library would choose
//   (clab_select), on each program's own network.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/comm/comm.h"

// ---- a described network -------------------------------------------------------------------------------------

// In virtual time no ranks share a core.
static double on_wire(const struct lab_context *context, const struct clab_net *net, int ranks, size_t bytes)
{
    struct lab_context over = *context;
    struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = ranks, .lanes = 1, .count = bytes / clab_type_bytes(CLAB_F32)};
    const struct clab_placement shared = {.crowded = ranks > context->cores, .cores = context->cores};
    const struct clab_placement placement = context->is_exact ? (struct clab_placement){0} : shared;
    const struct clab_algorithm *algorithm = clab_select(&problem, clab_type_bytes(CLAB_F32), placement);
    over.net = net;
    return algorithm ? lab_predict_allreduce(&over, ranks, algorithm->name, bytes) : NAN;
}

// ---- this machine --------------------------------------------------------------------------------------------

static double size_at(const struct lab_conf *conf, int i)
{
    return atof(conf->sizes.words[i]);
}

static double probed(const struct lab_context *context, enum lab_program program, int ranks, int i)
{
    char quantity[64];
    snprintf(quantity, sizeof quantity, "time/%s", context->conf->sizes.words[i]);
    return lab_series_median(lab_results_find(context->probe, program, ranks, quantity));
}

static double by_line(const struct lab_context *context, enum lab_program program, int ranks, double bytes)
{
    const int last = context->conf->sizes.count - 1;
    const double least = size_at(context->conf, 0), most = size_at(context->conf, last);
    const double at_least = probed(context, program, ranks, 0), at_most = probed(context, program, ranks, last);
    return last > 0 ? at_least + (bytes - least) * (at_most - at_least) / (most - least) : NAN;
}

// ---- both ----------------------------------------------------------------------------------------------------

static double predict_time(const struct lab_context *context, enum lab_program program, int ranks, double bytes)
{
    const bool other = program == LAB_BEFORE && context->before_net;
    const struct clab_net *net = other ? context->before_net : context->net;
    if (context->is_exact || context->is_delayed)
        return net ? on_wire(context, net, ranks, (size_t)bytes) : NAN;
    return program == LAB_AFTER && net && !lab_oversubscribed(context, ranks)
               ? on_wire(context, net, ranks, (size_t)bytes)
               : by_line(context, program, ranks, bytes);
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const struct lab_conf *conf = context->conf;
    if (!strncmp(quantity, "time/", 5))
        return predict_time(context, program, ranks, atof(quantity + 5));
    if (conf->sizes.count < 2)
        return NAN;
    const double least = size_at(conf, 0), most = size_at(conf, conf->sizes.count - 1);
    const double at_least = predict_time(context, program, ranks, least);
    const double beta = (predict_time(context, program, ranks, most) - at_least) / (most - least);
    const double alpha = at_least - least * beta;
    if (!strcmp(quantity, "alpha"))
        return alpha;
    if (!strcmp(quantity, "beta"))
        return 1e9 * beta;
    return !strcmp(quantity, "half") ? alpha / beta / 1024 : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
