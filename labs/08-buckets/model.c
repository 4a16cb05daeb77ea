// SPDX-License-Identifier: MIT
// The model of lab 08: what a step takes whose gradients are averaged parameter by parameter, all at once, or in
// buckets.
//
//   each:    compute + the sum of all parameters' collectives
//   whole:   compute + two copies + one collective
//   bucket:  compute + what is left of the collectives when the backward pass has ended (cmd/lab/step.h)
//   best:    the least of those
//
// The programs' options are LAYERS WIDTH ROWS REPEAT, their sizes the caps.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "cmd/lab/step.h"

enum { OPTIONS = 4 };
static const char alone[] = "time/nothing/none"; // of before, which probes are

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

// What a way to average takes, and how long of it nothing is computed.
struct cost {
    double time, exposed, collectives;
};

static struct cost cost_of_each(const struct lab_step *step)
{
    struct cost c = {lab_step_compute(step), 0, 2.0 * step->shape.layers};
    for (int l = 0; l < step->shape.layers; l++) {
        const size_t out = (size_t)step->shape.widths[l + 1], in = (size_t)step->shape.widths[l];
        c.exposed += lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, out * sizeof(float)) +
                     lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, in * out * sizeof(float));
    }
    c.time += c.exposed;
    return c;
}

static struct cost cost_of_whole(const struct lab_step *step)
{
    const size_t bytes = clab_mlp_count(&step->shape) * sizeof(float);
    struct cost c = {.collectives = 1};
    c.exposed =
        lab_step_price(step, CLAB_ALLREDUCE, step->algorithm, bytes) + 2 * lab_step_copy(step, 2 * (double)bytes);
    c.time = lab_step_compute(step) + c.exposed;
    return c;
}

static struct cost cost_of_bucket(const struct lab_step *step, size_t cap, bool copies)
{
    struct cost c;
    int buckets;
    c.time = lab_step_bucketed(step, cap, cap, copies, &c.exposed, &buckets);
    c.collectives = buckets;
    return c;
}

static struct cost cost_of_best(const struct lab_step *step, bool copies)
{
    const struct lab_words *caps = &step->context->conf->sizes;
    struct cost best = {NAN, NAN, NAN};
    size_t cap = 0;
    for (int i = 0; i < caps->count; i++) {
        const struct cost c = cost_of_bucket(step, (size_t)atoll(caps->words[i]), false);
        if (!(c.time >= best.time)) {
            best = c;
            cap = (size_t)atoll(caps->words[i]);
        }
    }
    return copies ? cost_of_bucket(step, cap, true) : best;
}

// What is exposed of a pass that odd ranks shorten is not said.
static struct cost cost_of(const struct lab_step *step, const char *method, const char *last)
{
    if (!strcmp(method, "each"))
        return cost_of_each(step);
    if (!strcmp(method, "whole"))
        return cost_of_whole(step);
    if (!strcmp(method, "bucket"))
        return cost_of_bucket(step, (size_t)atoll(last), false);
    if (!strcmp(method, "best") || !strcmp(method, "copied"))
        return cost_of_best(step, *method == 'c');
    const double time = !strcmp(method, "nothing") ? lab_step_compute(step) : NAN;
    return (struct cost){.time = time, .exposed = NAN, .collectives = NAN};
}

// Which cap is the best where it is measured, chance says too, so its count of collectives is not predicted.
static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char name[64], method[64], last[64];
    int widths[LAB_STEP_LAYERS + 1];
    struct lab_step step;
    (void)program;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%63s", name, method, last) != 3 ||
        plan(context, ranks, widths, &step) != CLAB_OK)
        return NAN;
    const struct cost c = cost_of(&step, method, last);
    if (!strcmp(name, "time"))
        return c.time;
    if (!strcmp(name, "exposed"))
        return c.exposed;
    const bool by_chance = !context->is_exact && (!strcmp(method, "best") || !strcmp(method, "copied"));
    return strcmp(name, "collectives") || by_chance ? NAN : c.collectives;
}

const struct lab_model LAB_MODEL = {.predict = predict};
