// SPDX-License-Identifier: MIT
// The model of lab 03: a step that goes through rank 0, and one of replicas. With P ranks, S bytes of parameters and X
// of samples a rank (as many of outputs):
//
//   through_zero: a broadcast and a reduction of S, two scatters and a gather of X, one after another, each by messages
//                 between rank 0 and every other: bytes of rank 0 are (P - 1) (2 S + 3 X), of another 2 S + 3 X
//                 and rank 0 alone has the model after a step
//   replicas:     a ring of S after the backward pass: bytes of each rank are 4 (P - 1) / P S, half of them in; all ranks
//                 have the model

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cmd/lab/step.h"

enum { LAYERS = 4, ROWS = 16 }; // the programs'

static int plan(const struct lab_context *context, int ranks, int width, int widths[], struct lab_step *step_p)
{
    char alone[64];
    *step_p = (struct lab_step){.context = context, .ranks = ranks, .algorithm = "ring"};
    step_p->shape = clab_mlp_even(LAYERS, width, width, width, ROWS, widths);
    snprintf(alone, sizeof alone, "compute/through_zero/%d", width);
    return lab_step_plan(step_p, lab_step_probed(context, alone));
}

// Seconds of messages between rank 0 and all others, and the losses of all at rank 0 alone.
static double time_through_zero(const struct lab_step *step, size_t parameters, size_t samples)
{
    const double all = lab_step_price(step, CLAB_BROADCAST, "flat", parameters) +
                       lab_step_price(step, CLAB_REDUCE, "flat", parameters) +
                       2 * lab_step_price(step, CLAB_SCATTER, "flat", samples) +
                       lab_step_price(step, CLAB_GATHER, "flat", samples);
    return all + lab_step_compute(step) + (step->ranks - 1) * step->loss;
}

static double bytes_through_zero(int ranks, const char *quantity, double parameters, double samples)
{
    const double pair = 2 * parameters + 3 * samples;
    return !strcmp(quantity, "bytes_of_zero") ? (ranks - 1) * pair : pair;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char name[64], method[64];
    int width, widths[LAYERS + 1];
    if (sscanf(quantity, "%63[^/]/%63[^/]/%d", name, method, &width) != 3 || width < 1)
        return NAN;
    const size_t parameters = (size_t)LAYERS * ((size_t)width + 1) * (size_t)width * sizeof(float);
    const size_t samples = (size_t)ROWS * (size_t)width * sizeof(float);
    if (!strncmp(name, "bytes_of_", 9))
        return program == LAB_BEFORE ? bytes_through_zero(ranks, name, (double)parameters, (double)samples)
                                     : 4.0 * (ranks - 1) / ranks * (double)parameters;
    if (!strcmp(name, "models"))
        return program == LAB_BEFORE ? 1 : ranks;
    struct lab_step step;
    if (strcmp(name, "time") || plan(context, ranks, width, widths, &step) != CLAB_OK)
        return NAN;
    return program == LAB_BEFORE ? time_through_zero(&step, parameters, samples)
                                 : lab_step_bucketed(&step, SIZE_MAX, SIZE_MAX, false, NULL, NULL);
}

const struct lab_model LAB_MODEL = {.predict = predict};
