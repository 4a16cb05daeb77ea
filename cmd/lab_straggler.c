// SPDX-License-Identifier: MIT
// The model of lab 06: steps in which the last of P ranks does E percent of its work w once more.
//
// - It comes x = w E / 100 after the others, who wait for it: T = w + x + b, with a barrier's own time b.
// - The others wait x + b each, the straggler b: it waits least. What is lost is (P - 1) x.
// - b is the simulator's for a plain barrier. In a monitored one rank 0 sends three messages to every other, one after
//   another, and the last rank has one more in its way: the sum of their alphas and bytes (core/comm/monitor.c).
// - The monitored barrier names rank P - 1, and says x. Whom the time in a plain barrier blames is not foreseen: one of
//   the others.
// - In virtual time w is the network's (its peaks, a roofline). Here a short probe of the before program has measured w,
//   while all work, and x of one E, while only the straggler does: another x is in proportion to that.

#include "lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net.h"

// What the probe found; NAN: nothing.
static double probed(const struct lab_context *context, const char *name)
{
    const struct lab_conf *conf = context->conf;
    char quantity[64];
    snprintf(quantity, sizeof quantity, "%s/%s", name, conf->probe_iterations.words[0]);
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, atoi(conf->probe_ranks.words[0]), quantity));
}

// Seconds of a step's work: each float is read, gets 2 flop, and is written.
static double work(const struct lab_context *context)
{
    const double bytes = atof(context->conf->sizes.words[0]);
    double seconds = NAN;
    if (!context->is_virtual)
        return probed(context, "work");
    return clab_net_compute(context->net, CLAB_FP32, bytes / 2, 2 * bytes, &seconds) == CLAB_OK ? seconds : NAN;
}

// And of `percent` of it, of the straggler alone.
static double extra(const struct lab_context *context, double percent)
{
    if (context->is_virtual)
        return work(context) * percent / 100;
    return probed(context, "injected") * percent / atof(context->conf->probe_iterations.words[0]);
}

static double monitored_barrier(const struct clab_net *net, int ranks)
{
    const double bytes = 1 + (1 + sizeof(double)) * (double)ranks; // of the three
    double seconds = clab_net_link(net, 0, ranks - 1)->alpha;
    for (int r = 1; r < ranks; r++) {
        const struct clab_link *link = clab_net_link(net, 0, r);
        seconds += 3 * link->alpha + bytes * link->beta;
    }
    return seconds;
}

static double barrier(const struct lab_context *context, enum lab_program program, int ranks)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_BARRIER, "dissemination");
    const struct clab_problem problem = {.collective = CLAB_BARRIER, .nranks = ranks, .lanes = 1};
    const struct clab_sim_options options = {.element_bytes = 1, .calls = 1};
    struct clab_sim_result result;
    if (!algorithm || !context->net || ranks == 1)
        return 0;
    if (program == LAB_AFTER)
        return monitored_barrier(context->net, ranks);
    return clab_sim_run(&problem, algorithm, context->net, &options, &result) == CLAB_OK ? result.seconds : 0;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const char *slash = strchr(quantity, '/');
    if (!slash)
        return NAN;
    const size_t length = (size_t)(slash - quantity);
    const double w = work(context), x = extra(context, atof(slash + 1)), b = barrier(context, program, ranks);
    const struct {
        const char *name;
        double value;
    } foreseen[] = {{"step", w + x + b},
                    {"injected", x},
                    {"lateness", x},
                    {"wait_others", x + b},
                    {"wait_straggler", b},
                    {"lost", (ranks - 1) * x},
                    {"named", program == LAB_AFTER ? ranks - 1 : NAN}};
    for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++)
        if (strlen(foreseen[i].name) == length && !strncmp(foreseen[i].name, quantity, length))
            return foreseen[i].value;
    return NAN;
}

const struct lab_model lab_model_straggler = {"straggler", predict};
