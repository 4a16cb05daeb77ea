// SPDX-License-Identifier: MIT
// The model of lab 01: what a loop costs that makes its communicator once, or in every iteration.
//
// - A communicator costs c = rendezvous + connect + first operation + destroy, once; a later operation costs o.
//   before: T(k) = k c.   after: T(k) = c + (k - 1) o.   Their ratio is at most k, and at most c / o.
// - o is the simulator's. c can not be derived from the network: short probes of the before program measure it at two
//   small numbers of ranks, and what is predicted is every other number of iterations, and of ranks: by the straight
//   line through the probes, since a rank prepares something for each of its peers.

#include "lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const phases[] = {"rendezvous", "connect", "first_op", "destroy"};
enum { NPHASES = sizeof phases / sizeof *phases };

// What a probe found `phase` of a communicator to cost. (What before reports for an iteration is one whole
// communicator.)
static double probed(const struct lab_context *context, const char *phase, int ranks)
{
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, ranks, phase));
}

// Likewise at any number of ranks, in seconds: the line through the first probe and the last.
static double once(const struct lab_context *context, const char *phase, int ranks)
{
    const struct lab_words *probes = &context->conf->probe_ranks;
    const int first = atoi(probes->words[0]), last = atoi(probes->words[probes->count - 1]);
    const double start = probed(context, phase, first);
    if (first == last)
        return start;
    return fmax(0, start + (ranks - first) * (probed(context, phase, last) - start) / (last - first));
}

static double whole(const struct lab_context *context, int ranks)
{
    double seconds = 0;
    for (int i = 0; i < NPHASES; i++)
        seconds += once(context, phases[i], ranks);
    return seconds;
}

// The number of iterations that phases are reported for: the last of the run's, or of the sweep's.
static int last_iterations(const struct lab_context *context, int ranks)
{
    const struct lab_conf *conf = context->conf;
    const struct lab_words *words = ranks == context->ranks ? &conf->iterations : &conf->sweep_iterations;
    return words->count ? atoi(words->words[words->count - 1]) : 1;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const double c = whole(context, ranks);
    const double o = lab_predict_allreduce(context, ranks, "doubling", (size_t)atoi(context->conf->sizes.words[0]));
    const int last = last_iterations(context, ranks);
    const char *slash = strrchr(quantity, '/');
    if (slash && !strncmp(quantity, "iteration/", 10)) {
        const int k = atoi(slash + 1);
        return program == LAB_BEFORE ? c : k > 1 ? (c + (k - 1) * o) / k : c;
    }
    for (int i = 0; i < NPHASES; i++)
        if (!strcmp(quantity, phases[i]))
            return once(context, phases[i], ranks) / (program == LAB_BEFORE ? 1 : last);
    if (program == LAB_BEFORE)
        return NAN;
    if (!strcmp(quantity, "op"))
        return last > 1 ? o * (last - 1) / last : NAN; // of one iteration it has none
    return !strcmp(quantity, "break_even") ? (c - o) / o : NAN;
}

const struct lab_model lab_model_reinit = {"reinit", predict};
