// SPDX-License-Identifier: MIT
// The closed form: what a student derives on paper. An algorithm's cost says how many messages, chunks and reduced
// chunks follow each other; alpha, beta and gamma price them.
//
// - A chunk is the largest one: it is what the others wait for.
// - L lanes are a pipeline: the last one ends when the first has, and the busiest rank has then done its part of L - 1
//   more.
// - One link for all: that between nodes, if the ranks need several. It knows no protocols, no caches, one call only.
//
// Source: Hockney 1994; Thakur, Rabenseifner and Gropp 2005, section 4.

#include "sim/engine/engine.h"

#include <math.h>

#include "core/base/err.h"
#include "core/schedule/formats/listing.h"

static const struct clab_link *link_of(const struct clab_net *net, int nranks)
{
    return nranks > net->ranks_per_node || !net->intra.present ? &net->inter : &net->intra;
}

int clab_engine_closed(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options,
                       struct clab_sim_result *result_p)
{
    struct clab_cost cost = algorithm->cost(problem);
    const struct clab_link *link = link_of(net, problem->nranks);
    size_t slice = clab_part_size(problem->count, problem->lanes, 0);
    double chunk = (double)(clab_part_size(slice, algorithm->chunks(problem), 0) * options->element_bytes);
    double others = (double)(problem->lanes - 1) / problem->lanes;
    result_p->latency = ((double)cost.rounds + others * (double)cost.messages_max) * link->alpha;
    result_p->bandwidth = ((double)cost.serial + others * (double)cost.sent_max) * chunk * link->beta;
    result_p->reduce = ((double)cost.reduced + others * (double)cost.reduced_max) * chunk * net->gamma;
    result_p->reduce += problem->listing ? problem->listing->calc : 0;
    result_p->wait = 0;
    result_p->seconds = result_p->latency + result_p->bandwidth + result_p->reduce;
    result_p->whole = result_p->seconds * (options->calls > 1 ? options->calls : 1);
    for (int rank = 0; rank < problem->nranks && options->ends; rank++)
        options->ends[rank] = result_p->whole;
    result_p->messages = 0;
    result_p->peak_bytes = 0;
    return CLAB_OK;
}

// ---- about how long ------------------------------------------------------------------------------------------

enum { MOST_HOPS = 64 };

static void add_dearest(const struct clab_link *link, double *message, double *byte)
{
    for (int i = 0; i < link->nsegments && link->present; i++) {
        const struct clab_segment *s = &link->segments[i];
        *message = fmax(*message, s->o_send + s->o_recv + s->o_both + s->o_reduce + fabs(s->latency));
        *byte = fmax(*byte, s->gap_send + s->gap_recv);
    }
}

double clab_engine_estimate(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                            const struct clab_net *net, const struct clab_sim_options *options)
{
    struct clab_cost cost = algorithm->cost(problem);
    double message = 0, byte = 0, gamma = net->gamma, lanes = problem->lanes;
    size_t slice = clab_part_size(problem->count, problem->lanes, 0);
    double chunk = (double)(clab_part_size(slice, algorithm->chunks(problem), 0) * options->element_bytes);
    add_dearest(&net->intra, &message, &byte);
    add_dearest(&net->inter, &message, &byte);
    add_dearest(&net->pair, &message, &byte);
    for (int i = 0; i < net->ntiers; i++)
        add_dearest(&net->tiers[i], &message, &byte);
    message += MOST_HOPS * net->topology.hop;
    for (int i = 0; i < net->nlevels; i++) {
        byte = fmax(byte, net->levels[i].pull[CLAB_FRESH][CLAB_BOTH] +
                              fmax(net->levels[i].copy_shared[CLAB_BOTH], net->levels[i].copy[CLAB_BOTH]));
        gamma = fmax(gamma, fmax(net->levels[i].reduce[CLAB_FRESH][CLAB_BOTH], net->levels[i].add_fresh[CLAB_BOTH]));
    }
    double call = net->call + (double)cost.rounds * lanes * (message + net->stage + net->lane) +
                  (double)cost.serial * lanes * chunk * byte + (double)cost.reduced * lanes * chunk * gamma;
    if (problem->listing)
        call += problem->listing->calc * lanes;
    double delay = 0;
    for (int rank = 0; rank < problem->nranks && options->delays; rank++)
        delay = fmax(delay, options->delays[rank]);
    return delay + (call + options->compute) * (options->calls > 1 ? options->calls : 1);
}
