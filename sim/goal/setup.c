// SPDX-License-Identifier: MIT
// The memory of a run of a GOAL program: some words per operation and rank, and what is in flight.

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/goal/run.h"
#include "sim/net/topology.h"

// What the dearest rank does, one operation after another: for the length of a tick only.
static double estimate(const struct clab_goal *goal, const struct clab_net *net)
{
    const struct clab_link *link = net->inter.present ? &net->inter : &net->intra;
    double most = 0;
    for (int rank = 0; rank < goal->nranks; rank++) {
        const struct clab_goal_op *op = goal->ops + goal->ranks[rank].first;
        double seconds = 0;
        for (uint32_t i = 0; i < goal->ranks[rank].nops; i++, op++)
            seconds += op->type == CLAB_GOAL_CALC ? 1e-9 * (double)op->size
                                                  : 2 * (link->alpha + (double)op->size * link->beta);
        most = run_later(most, seconds);
    }
    return 4 * most;
}

static uint64_t longest(const struct clab_goal *goal)
{
    uint64_t most = 0;
    for (size_t i = 0; i < goal->nops; i++)
        if (goal->ops[i].type != CLAB_GOAL_CALC && goal->ops[i].size > most)
            most = goal->ops[i].size;
    return most;
}

static int open_flows(struct run *run)
{
    const int nranks = run->goal->nranks, nlinks = clab_net_shared_links(run->net, nranks);
    if (nlinks >= CLAB_SHARED_LINKS) {
        clab_error("network '%s' has too many shared links for %d ranks: name another --net", run->net->name, nranks);
        return CLAB_EINVAL;
    }
    if (!(run->flows = calloc(1, sizeof *run->flows)))
        return CLAB_ENOMEM;
    CLAB_TRY(flows_init(run->flows, nlinks, run->costs.ticks));
    for (int i = 0; i < nlinks; i++)
        run->flows->capacity[i] = clab_net_shared_rate(run->net, nranks, i);
    return CLAB_OK;
}

static int open_cores(struct run *run)
{
    const int per_node = run->net->ranks_per_node;
    const size_t nodes = (size_t)((run->goal->nranks + per_node - 1) / per_node);
    run->cores = calloc(nodes * (size_t)run->net->cores_per_node, sizeof *run->cores);
    return run->cores ? CLAB_OK : CLAB_ENOMEM;
}

// Containers of one machine: the first rank of each core begins.
static int open_machine(struct run *run)
{
    const int64_t n = run->net->machine_cores;
    run->switch_cost = ticks_round(run->costs.ticks, run->net->switch_cost);
    run->costs.armed = run->goal->nranks > n ? run->net->arming : 0;
    run->cores = calloc((size_t)n, sizeof *run->cores);
    run->owners = calloc((size_t)n, sizeof *run->owners);
    if (!run->cores || !run->owners)
        return CLAB_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        run->owners[i] = i;
    return CLAB_OK;
}

static void count_what_is_left(struct run *run)
{
    const struct clab_goal *goal = run->goal;
    for (int rank = 0; rank < goal->nranks; rank++) {
        const struct clab_goal_rank *r = &goal->ranks[rank];
        for (uint32_t f = goal->after[r->first]; f < goal->after[r->first + r->nops]; f++)
            run->left[r->first + goal->followers[f] / 2]++;
    }
}

static void set_up_hosts(struct run *run, const struct clab_sim_options *options)
{
    for (int rank = 0; rank < run->goal->nranks; rank++) {
        struct host *h = &run->hosts[rank];
        const double delay = options->delays ? options->delays[rank] : 0;
        h->begin = h->seen = ticks_round(run->costs.ticks, delay + options->compute);
        h->wake = INFINITY;
    }
}

int run_open(struct run *run, const struct clab_sim_options *options)
{
    const struct clab_goal *goal = run->goal;
    const struct clab_net *net = run->net;
    const size_t nranks = (size_t)goal->nranks;
    run->costs = (struct loggp_costs){.ticks = ticks_for(estimate(goal, net)), .net = net};
    run->pull = clab_net_level(net, 2 * nranks * longest(goal)).pull[CLAB_KEPT][CLAB_ALONE];
    run->only = net->ranks_per_node == 1 && net->ntiers == 0 && net->inter.present ? &net->inter : NULL;
    run->spare_event = run->spare_message = RUN_NONE;
    run->pool.spare = HOST_NONE;
    run->left = calloc(goal->nops + 1, sizeof *run->left);
    run->hosts = calloc(nranks, sizeof *run->hosts);
    if (!run->left || !run->hosts)
        return CLAB_ENOMEM;
    count_what_is_left(run);
    set_up_hosts(run, options);
    CLAB_TRY(run_queue_init(&run->queue, 64, true));
    CLAB_TRY(match_open(&run->match, nranks, goal->has_any));
    if (clab_net_shares_cores(net, goal->nranks))
        CLAB_TRY(open_cores(run));
    else if (clab_net_shares_machine(net, NULL, goal->nranks))
        CLAB_TRY(open_machine(run));
    CLAB_TRY(corking_init(&run->corking, net, goal->nranks));
    return clab_net_shares_links(net, goal->nranks) ? open_flows(run) : CLAB_OK;
}

size_t run_bytes(const struct run *run)
{
    const size_t nranks = (size_t)run->goal->nranks;
    size_t bytes = run->goal->nops * (sizeof *run->left + sizeof *run->goal->ops + sizeof *run->goal->after) +
                   run->goal->nfollowers * sizeof *run->goal->followers + nranks * sizeof *run->hosts;
    bytes += run->event_room * (sizeof *run->events + sizeof *run->queue.items) +
             run->message_room * sizeof *run->messages + run->pool.room * sizeof *run->pool.all +
             match_bytes(&run->match) + corking_bytes(&run->corking);
    return bytes;
}

void run_close(struct run *run)
{
    for (int rank = 0; run->hosts && rank < run->goal->nranks; rank++)
        host_free(&run->hosts[rank]);
    if (run->flows)
        flows_free(run->flows);
    free(run->flows);
    free(run->cores);
    free(run->owners);
    corking_free(&run->corking);
    match_close(&run->match);
    run_queue_free(&run->queue);
    free(run->ready);
    free(run->freed);
    free(run->dirty);
    free(run->messages);
    free(run->events);
    free(run->pool.all);
    free(run->hosts);
    free(run->left);
}
