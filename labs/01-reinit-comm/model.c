// SPDX-License-Identifier: MIT
// The model of lab 01: what a loop costs that makes its communicator once, or in every iteration.
//
// - A communicator costs c = rendezvous + connect + first operation + destroy, once; a later operation costs o.
//   before: T(k) = k c.   after: T(k) = c + (k - 1) o.   Their ratio is at most k, and at most c / o.
// - o is the simulator's. c can not be derived from the network: short probes of the before program measure it at two
//   small numbers of ranks, and what is predicted is every other number of iterations, and of ranks: by the straight
//   line through the probes, since a rank prepares something for each of its peers.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

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

// The run's numbers of iterations, or the sweep's.
static const struct lab_words *iterations_of(const struct lab_context *context, int ranks)
{
    return ranks == context->ranks ? &context->conf->iterations : &context->conf->sweep_iterations;
}

// That which phases are reported for: the last.
static int last_iterations(const struct lab_context *context, int ranks)
{
    const struct lab_words *words = iterations_of(context, ranks);
    return words->count ? atoi(words->words[words->count - 1]) : 1;
}

static double ratio_of(double whole, double later)
{
    return later > 0 ? (whole - later) / later : NAN;
}

// The loops that the program runs up to that of `last`, in (LAB_MAX_WORDS).  How many.
static int loops_until(const struct lab_context *context, int ranks, int last, int ks[])
{
    const struct lab_words *words = iterations_of(context, ranks);
    int n = 0;
    while (n < words->count && (ks[n] = atoi(words->words[n])) != last)
        n++;
    ks[n] = last;
    return n + 1;
}

// In virtual time nothing is probed: the loop is walked.
static double predict_exactly(const struct lab_context *context, enum lab_program program, int ranks,
                              const char *quantity)
{
    static const char *const exact_phases[] = {"rendezvous", "connect", "first_op", "op"};
    const bool of_iteration = !strncmp(quantity, "iteration/", 10);
    const int k = of_iteration ? atoi(quantity + 10) : last_iterations(context, ranks);
    const size_t bytes = (size_t)atoi(context->conf->sizes.words[0]);
    int ks[LAB_MAX_WORDS + 1];
    const int n = loops_until(context, ranks, k, ks);
    struct lab_loop loop;
    if (lab_exact_loop(context->net, program, ranks, ks, n, bytes, &loop) != CLAB_OK)
        return NAN;
    if (of_iteration)
        return loop.iteration;
    for (int phase = 0; phase < LAB_PHASES; phase++)
        if (!strcmp(quantity, exact_phases[phase]))
            return phase == LAB_OP && (program == LAB_BEFORE || k == 1) ? NAN : loop.phases[phase]; // it has none
    if (!strcmp(quantity, "destroy"))
        return 0;
    const double op = loop.phases[LAB_OP] * k / fmax(1, k - 1); // one of the later ones
    return !strcmp(quantity, "break_even") ? ratio_of(k * (loop.iteration - loop.phases[LAB_OP]), op) : NAN;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    if (context->is_virtual)
        return predict_exactly(context, program, ranks, quantity);
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
    return !strcmp(quantity, "break_even") ? ratio_of(c, o) : NAN;
}

const struct lab_model lab_model_reinit = {"reinit", predict};
