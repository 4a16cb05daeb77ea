// SPDX-License-Identifier: MIT
// The model of lab 04: what a backend is, in two numbers. An allreduce of S bytes takes alpha + S beta.
//
// - On this machine short probes of both programs measure the smallest size and the largest, and predict those between.
//   Where that is far off, the backend does something else there than at the ends. After is the simulator's instead,
//   where its backend has a profile and ranks have a core each.
// - In virtual time, and over an emulated wire, nothing is probed: times are those of each program's network, call by
//   call, with the algorithm that the library takes (clab_select).

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/comm/comm.h"

// ---- a described network -------------------------------------------------------------------------------------

// A barrier, then `calls` of them; seconds of the slowest rank.
static int walk_calls(struct lab_walk *walk, int calls, size_t count, double starts[], double *seconds_p)
{
    double most = 0;
    CLAB_TRY(lab_walk_barrier(walk));
    for (int r = 0; r < walk->nranks; r++)
        starts[r] = lab_walk_now(walk, r);
    for (int i = 0; i < calls; i++)
        CLAB_TRY(lab_walk_call(walk, CLAB_ALLREDUCE, NULL, count, CLAB_F32));
    for (int r = 0; r < walk->nranks; r++)
        most = fmax(most, lab_walk_now(walk, r) - starts[r]);
    *seconds_p = most;
    return CLAB_OK;
}

// As the programs' measure(): three calls, three calls, an agreement on how many, one call.
static int walk_measure(struct lab_walk *walk, size_t count, double starts[], double *seconds_p)
{
    CLAB_TRY(walk_calls(walk, 3, count, starts, seconds_p));
    CLAB_TRY(walk_calls(walk, 3, count, starts, seconds_p));
    CLAB_TRY(lab_walk_call(walk, CLAB_ALLREDUCE, NULL, 1, CLAB_F64));
    return walk_calls(walk, 1, count, starts, seconds_p);
}

static double exact(const struct clab_net *net, int ranks, size_t bytes)
{
    struct lab_walk walk;
    double seconds = NAN, *starts = malloc((size_t)ranks * sizeof *starts);
    if (starts && lab_walk_begin(net, ranks, &walk) == CLAB_OK) {
        if (walk_measure(&walk, bytes / clab_type_bytes(CLAB_F32), starts, &seconds) != CLAB_OK)
            seconds = NAN;
        lab_walk_free(&walk);
    }
    free(starts);
    return seconds;
}

static double on_wire(const struct lab_context *context, const struct clab_net *net, int ranks, size_t bytes)
{
    struct lab_context over = *context;
    struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = ranks, .lanes = 1, .count = bytes / clab_type_bytes(CLAB_F32)};
    const struct clab_ground ground = {.crowded = ranks > context->cores, .cores = context->cores};
    const struct clab_algorithm *algorithm = clab_select(&problem, clab_type_bytes(CLAB_F32), ground);
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
    if (context->is_virtual)
        return net ? exact(net, ranks, (size_t)bytes) : NAN;
    if (context->is_emulated)
        return net ? on_wire(context, net, ranks, (size_t)bytes) : NAN;
    return program == LAB_AFTER && net && !lab_crowded(context, ranks) ? on_wire(context, net, ranks, (size_t)bytes)
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

const struct lab_model lab_model_backends = {"backends", predict};
