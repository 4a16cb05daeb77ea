// SPDX-License-Identifier: MIT
// The model of lab 09: what a step takes whose gradients travel whole, or compressed.
//
//   time      = compute + averaging
//   averaging = work on this rank's memory + the collectives, one after another
//   pays      = (bytes of float32 - bytes) / (work + messages that are more than those of one allreduce)
//
// - With an exact clock, work is the bytes that the programs say they read and write, at the network's memory; else what
//   after's short runs have measured of it alone, on a communicator of one rank.
// - n gradients, P ranks, shares of n/P: int8 has the allreduce of one scale, an alltoall and an allgather of n bytes;
//   PowerSGD of rank r two allreduces, of r (rows + columns) per matrix and what is none.
// - The programs' options are LAYERS WIDTH ROWS REPEAT.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lab/step.h"
#include "core/base/err.h"
#include "sim/net/net.h"

enum { OPTIONS = 4, RANK = 4, PART = 100 }; // of PowerSGD, and top-k: core/train/compress
static const char alone[] = "compute/fp32/step";

static int plan(const struct lab_context *context, int ranks, int widths[], struct lab_step *step_p)
{
    const struct lab_words *options = &context->conf->options;
    int numbers[OPTIONS];
    if (options->count != OPTIONS)
        return CLAB_ENOENT;
    for (int i = 0; i < OPTIONS; i++)
        numbers[i] = atoi(options->words[i]);
    if (numbers[0] < 1 || numbers[0] > LAB_STEP_LAYERS)
        return CLAB_ENOENT;
    *step_p = (struct lab_step){.context = context, .ranks = ranks, .algorithm = "halving_doubling"};
    step_p->shape = clab_mlp_even(numbers[0], numbers[1], numbers[1], numbers[1], numbers[2], widths);
    step_p->shape.repeat = numbers[3];
    return lab_step_plan(step_p, lab_step_probed(context, alone));
}

// ---- what a way does -----------------------------------------------------------------------------------------

enum { CALLS = 6, COLLECTIVES = 3 };
struct way {
    struct {
        enum clab_collective collective;
        double bytes; // of a rank's block
    } collectives[COLLECTIVES];
    int n;
    double flop[CALLS], memory[CALLS]; // of each call of clab_compute: operations, bytes
    int calls;
};

static void adds(struct way *w, enum clab_collective collective, double bytes)
{
    w->collectives[w->n].collective = collective;
    w->collectives[w->n++].bytes = bytes;
}

static void works(struct way *w, double flop, double bytes)
{
    w->flop[w->calls] = flop;
    w->memory[w->calls++] = bytes;
}

// Codes of 8 bits. scale: bytes that agree on it, if any; wide: they are added up in 32 bits, by shares
static void codes(struct way *w, double n, double ranks, double scale, bool wide)
{
    const double share = ceil(n / ranks);
    if (scale > 0)
        adds(w, CLAB_ALLREDUCE, scale);
    if (wide) {
        adds(w, CLAB_ALLTOALL, share);
        adds(w, CLAB_ALLGATHER, share);
    } else {
        adds(w, CLAB_ALLREDUCE, n);
    }
    works(w, 0, 4 * n);
    works(w, 0, 5 * n);
    works(w, 0, 5 * n + (9 * ranks + 5) * share);
}

static void halves(struct way *w, double n)
{
    adds(w, CLAB_ALLREDUCE, 2 * n);
    works(w, 0, 14 * n);
    works(w, 0, 6 * n);
}

static void thin_matrices(struct way *w, const struct clab_mlp_shape *shape, double n)
{
    double p = 0, q = 0;
    for (int l = 0; l < shape->layers; l++) {
        const double in = shape->widths[l], out = shape->widths[l + 1], thin = RANK * (in + out);
        p += out + (thin < in * out ? RANK * in : in * out);
        q += thin < in * out ? RANK * out : 0;
    }
    adds(w, CLAB_ALLREDUCE, 4 * p);
    adds(w, CLAB_ALLREDUCE, 4 * q);
    works(w, 0, 12 * n);
    works(w, 2 * RANK * n, 4 * n);
    works(w, 2 * RANK * n, 4 * n);
    works(w, 2 * RANK * n, 24 * n);
}

static void largest(struct way *w, double n, double ranks)
{
    const double k = ceil(n / PART);
    adds(w, CLAB_ALLGATHER, 8 * k);
    works(w, 0, 32 * n);
    works(w, 0, 4 * n + 16 * ranks * k);
}

static int way_of(const struct lab_step *step, const char *name, struct way *w)
{
    const double n = (double)clab_mlp_count(&step->shape), ranks = step->ranks;
    *w = (struct way){.n = 0};
    if (!strcmp(name, "fp32"))
        adds(w, CLAB_ALLREDUCE, 4 * n);
    else if (!strcmp(name, "int8"))
        codes(w, n, ranks, 4, true);
    else if (!strcmp(name, "own_scales"))
        codes(w, n, ranks, 0, true);
    else if (!strcmp(name, "narrow_sums"))
        codes(w, n, ranks, 4, false);
    else if (!strcmp(name, "fp16") || !strcmp(name, "bf16"))
        halves(w, n);
    else if (!strcmp(name, "powersgd"))
        thin_matrices(w, &step->shape, n);
    else if (!strcmp(name, "topk"))
        largest(w, n, ranks);
    else
        return CLAB_ENOENT;
    return CLAB_OK;
}

// ---- what it costs -------------------------------------------------------------------------------------------

static double work_of(const struct lab_step *step, const struct way *w, const char *name)
{
    const struct lab_context *c = step->context;
    char quantity[80];
    double sum = 0;
    if (!strcmp(name, "fp32"))
        return 0;
    if (!c->is_exact) {
        snprintf(quantity, sizeof quantity, "work/%s/step", name);
        return lab_series_median(lab_results_find(c->probe, LAB_AFTER, atoi(c->conf->probe_ranks.words[0]), quantity));
    }
    for (int i = 0; i < w->calls; i++) {
        double seconds;
        if (clab_net_compute(c->net, CLAB_FP32, w->flop[i], w->memory[i], &seconds) != CLAB_OK)
            return NAN;
        sum += seconds;
    }
    return sum;
}

static const char *algorithm_of(enum clab_collective collective)
{
    return collective == CLAB_ALLREDUCE ? "halving_doubling" : collective == CLAB_ALLTOALL ? "pairwise" : "ring";
}

static double travel_of(const struct lab_step *step, const struct way *w)
{
    double sum = 0;
    for (int i = 0; i < w->n; i++)
        sum += lab_step_price(step, w->collectives[i].collective, algorithm_of(w->collectives[i].collective),
                              (size_t)w->collectives[i].bytes);
    return sum;
}

// That the busiest rank sends: lab.md's formulas. Halving and doubling send so much for powers of two only.
static double bytes_of(const struct lab_step *step, const struct way *w)
{
    const double others = step->ranks - 1;
    double sum = 0;
    if (step->ranks & (step->ranks - 1))
        return NAN;
    for (int i = 0; i < w->n; i++)
        sum +=
            w->collectives[i].bytes * others * (w->collectives[i].collective == CLAB_ALLREDUCE ? 2.0 / step->ranks : 1);
    return sum;
}

// The bytes that are saved, by the time that everything else takes more than float32's one allreduce. NAN: it pays at any
// bandwidth.
static double breakeven_of(const struct lab_step *step, const struct way *w, const char *name)
{
    const double whole = 8.0 * (step->ranks - 1) / step->ranks * (double)clab_mlp_count(&step->shape);
    double more = work_of(step, w, name) - lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, sizeof(float));
    for (int i = 0; i < w->n; i++)
        more += lab_step_price(step, w->collectives[i].collective, algorithm_of(w->collectives[i].collective),
                               sizeof(float));
    return more > 0 ? 1e-9 * (whole - bytes_of(step, w)) / more : NAN;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char name[64], method[64], last[64];
    int widths[LAB_STEP_LAYERS + 1];
    struct lab_step step;
    struct way w;
    (void)program;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%63s", name, method, last) != 3 ||
        plan(context, ranks, widths, &step) != CLAB_OK || way_of(&step, method, &w) != CLAB_OK)
        return NAN;
    const double averaging = work_of(&step, &w, method) + travel_of(&step, &w);
    if (!strcmp(name, "time"))
        return lab_step_compute(&step) + averaging;
    if (!strcmp(name, "averaging"))
        return averaging;
    if (!strcmp(name, "pays"))
        return breakeven_of(&step, &w, method);
    return !strcmp(name, "bytes") ? bytes_of(&step, &w) : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
