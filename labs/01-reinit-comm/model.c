// SPDX-License-Identifier: MIT
// The model of lab 01: the cost of a loop that makes its communicator once, or in every iteration.
//
// - A communicator costs c = rendezvous + connect + first operation + destroy, once; a later operation costs o.
//   before: T(k) = k c.   after: T(k) = c + (k - 1) o.   Their ratio is at most k, and at most c / o.
// - The simulator says o.
// - On a real machine c does not follow from the network. Short runs of before measure it at two small numbers of
//   ranks. The straight line through both predicts other numbers, since a rank prepares something for each of its peers.
// - In virtual time, the network's alpha gives c: a rendezvous climbs a tree and comes back, 2 ceil(log2 P) alpha; to
//   connect is a round trip to each peer, 2 (P - 1) alpha; the first operation is as any other, and destroy is free.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

static const char *const phases[] = {"rendezvous", "connect", "first_op", "destroy"};
enum { NPHASES = sizeof phases / sizeof *phases };

static double later_op(const struct lab_context *context, int ranks)
{
    return lab_predict_allreduce(context, ranks, "doubling", (size_t)atoi(context->conf->sizes.words[0]));
}

// ---- what a phase of a communicator costs once ---------------------------------------------------------------

static double rendezvous(const struct clab_net *net, int ranks)
{
    double alpha = 0;
    int levels = 0;
    for (int r = 1; r < ranks; r++)
        alpha = fmax(alpha, lab_predict_message(net, 0, r, 0));
    while (1 << levels < ranks)
        levels++;
    return 2 * levels * alpha;
}

// Of the rank that is the furthest from its peers.
static double connecting(const struct clab_net *net, int ranks)
{
    double most = 0;
    for (int me = 0; me < ranks; me++) {
        double mine = 0;
        for (int peer = 0; peer < ranks; peer++)
            mine += peer == me ? 0 : 2 * lab_predict_message(net, me, peer, 0);
        most = fmax(most, mine);
    }
    return most;
}

static double in_virtual_time(const struct lab_context *context, const char *phase, int ranks)
{
    if (!strcmp(phase, "rendezvous"))
        return rendezvous(context->net, ranks);
    if (!strcmp(phase, "connect"))
        return connecting(context->net, ranks);
    return !strcmp(phase, "first_op") ? later_op(context, ranks) : 0;
}

// The median of the short runs of before. (An iteration of before makes one whole communicator.)
static double probed(const struct lab_context *context, const char *phase, int ranks)
{
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, ranks, phase));
}

// In seconds, at any number of ranks: by the line through the first probe and the last.
static double once(const struct lab_context *context, const char *phase, int ranks)
{
    if (context->is_exact)
        return in_virtual_time(context, phase, ranks);
    const struct lab_words *probes = &context->conf->probe_ranks;
    const int first = atoi(probes->words[0]), last = atoi(probes->words[probes->count - 1]);
    const double start = probed(context, phase, first);
    if (first == last)
        return start;
    return fmax(0, start + (ranks - first) * (probed(context, phase, last) - start) / (last - first));
}

// ---- the loop ------------------------------------------------------------------------------------------------

static double whole(const struct lab_context *context, int ranks)
{
    double seconds = 0;
    for (int i = 0; i < NPHASES; i++)
        seconds += once(context, phases[i], ranks);
    return seconds;
}

// The run's numbers of iterations, or the sweep's.
static const struct lab_words *iterations_of(const struct lab_context *context, int ranks)
{
    return ranks == context->ranks ? &context->conf->iterations : &context->conf->sweep_iterations;
}

// Phases are reported for the last of them.
static int last_iterations(const struct lab_context *context, int ranks)
{
    const struct lab_words *words = iterations_of(context, ranks);
    return words->count ? atoi(words->words[words->count - 1]) : 1;
}

static double ratio_of(double whole, double later)
{
    return later > 0 ? (whole - later) / later : NAN;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const double o = later_op(context, ranks), c = whole(context, ranks);
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
    return !strcmp(quantity, "break_even") ? ratio_of(c, o) : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
