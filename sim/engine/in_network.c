// SPDX-License-Identifier: MIT
// What the network does itself: switches that combine what comes from below, and send the result back down (NVLink
// SHARP, SHARP). No rank has a schedule; a rank sends its data once and hears the result once, both at the same time.
//
// - t = alpha + 2 * levels * hop + bytes * beta, beta the slower of the link's and the switch's; levels of switches,
//   each with `radix` below, so many that they reach all ranks. A reduction goes up only, a broadcast down only.
// - It is a formula: nothing else is under way, and all ranks begin together.
//
// Source: Graham et al. 2016 (SHARP); Klenk et al. 2020 (in-network reduction over NVLink).

#include "sim/engine/in_network.h"

#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/net/net.h"

static int levels_of(const struct clab_reducer *reducer, int nranks)
{
    int levels = 1;
    for (long reach = reducer->radix; reach < nranks; reach *= reducer->radix)
        levels++;
    return levels;
}

static int check(const struct clab_problem *problem, const struct clab_net *net)
{
    if (net->reducer.radix < 2) {
        clab_error("in_network: the switches of '%s' do not reduce; its description has no section [reducer]",
                   net->name);
        return CLAB_EUNSUPPORTED;
    }
    if (!clab_in_network_supports(problem->collective)) {
        clab_error("in_network: switches do allreduce, reduce, broadcast and barrier, not %s",
                   clab_collective_name(problem->collective));
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(clab_problem_check(problem, NULL));
    return clab_net_check_ranks(net, problem->nranks);
}

bool clab_in_network_supports(enum clab_collective collective)
{
    return collective == CLAB_ALLREDUCE || collective == CLAB_REDUCE || collective == CLAB_BROADCAST ||
           collective == CLAB_BARRIER;
}

int clab_sim_in_network(const struct clab_problem *problem, const struct clab_net *net, size_t element_bytes,
                        struct clab_sim_result *result_p)
{
    CLAB_TRY(check(problem, net));
    double begin = clab_now(), bytes = (double)(problem->count * element_bytes);
    const struct clab_link *link = problem->nranks > net->ranks_per_node ? &net->inter : &net->intra;
    bool one_way = problem->collective == CLAB_REDUCE || problem->collective == CLAB_BROADCAST;
    struct clab_sim_result result = {.engine = CLAB_ENGINE_CLOSED};
    if (problem->nranks > 1) {
        result.latency = link->alpha + (one_way ? 1 : 2) * levels_of(&net->reducer, problem->nranks) * net->reducer.hop;
        result.bandwidth = bytes * fmax(link->beta, net->reducer.beta);
    }
    result.seconds = result.latency + result.bandwidth;
    snprintf(result.why, sizeof result.why, "the network does it");
    result.engine_seconds = clab_now() - begin;
    *result_p = result;
    return CLAB_OK;
}
