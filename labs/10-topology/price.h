// SPDX-License-Identifier: MIT
// price.h: what model.c and check.c share. On which host a rank is, what the simulator says of the lab's three ways to
// sum, and how many bytes leave a host.
//
// - Hosts have g ranks each, and there are H of them; P = g H.
// - scattered: a ring in which rank i is on host i mod H, so that each of its P messages per step leaves a host. With
//   one host, the ring is in order.
// - compact: a ring in which g ranks of a host follow each other. One of their messages per step leaves the host.
// - two_level: reduce-scatter in the host, allreduce of a block of S / g over the hosts by g communicators at the same
//   time, which share the adapters of a host; allgather in the host.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/comm/comm.h"
#include "sim/net/members.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum price_way { PRICE_SCATTERED, PRICE_COMPACT, PRICE_TWO_LEVEL, PRICE_WAYS };
static const char *const price_names[PRICE_WAYS] = {"scattered", "compact", "two_level"};

struct price {
    const struct clab_net *net;
    int ranks;
    size_t bytes;                    // of the buffer
    int calls;                       // one after another
    struct clab_placement placement; // by which the library chooses what is done in a host
};

static inline int price_per_host(const struct price *p)
{
    return p->ranks < p->net->ranks_per_node ? p->ranks : p->net->ranks_per_node;
}

static inline int price_hosts(const struct price *p)
{
    return (p->ranks + price_per_host(p) - 1) / price_per_host(p);
}

// Seconds of a collective of float32 among `members` (NULL: the first ranks); NAN: it has no price.
static inline double price_call(const struct price *p, const struct clab_net *net, enum clab_collective collective,
                                const char *name, int ranks, size_t count, const int members[])
{
    struct clab_problem problem = {.collective = collective, .nranks = ranks, .lanes = 1, .count = count};
    const struct clab_algorithm *algorithm =
        name ? clab_algorithm_find(collective, name) : clab_select(&problem, sizeof(float), p->placement);
    const struct clab_sim_options how = {
        .element_bytes = sizeof(float), .calls = p->calls, .members = members, .in_place = collective != CLAB_REDUCE_SCATTER};
    struct clab_sim_result result;
    return ranks == 1                                                                    ? 0
           : algorithm && !clab_sim_run(&problem, algorithm, net, &how, &result) ? result.seconds
                                                                                 : NAN;
}

// A ring through all ranks: in their order, or as a launcher has dealt them out to the hosts.
static inline double price_ring(const struct price *p, bool dealt)
{
    const int H = price_hosts(p), g = price_per_host(p);
    int *members = malloc((size_t)p->ranks * sizeof *members);
    if (!members)
        return NAN;
    for (int r = 0; r < p->ranks; r++)
        members[r] = dealt ? r % H * g + r / H : r;
    const double seconds = price_call(p, p->net, CLAB_ALLREDUCE, "ring", p->ranks, p->bytes / sizeof(float), members);
    free(members);
    return seconds;
}

// The g communicators between the hosts share adapters: each has its part of the network.
static inline double price_across(const struct price *p, size_t count)
{
    const int H = price_hosts(p), g = price_per_host(p);
    struct clab_net part = *p->net;
    int *members = malloc((size_t)(H + p->ranks) * sizeof *members), *parties = members + H;
    if (!members)
        return NAN;
    for (int host = 0; host < H; host++)
        members[host] = host * g;
    for (int r = 0; r < p->ranks; r++)
        parties[r] = r % g;
    clab_net_share(&part, clab_members_rivals(members, H, parties, p->ranks, p->net));
    const double seconds = price_call(p, &part, CLAB_ALLREDUCE, "ring", H, count, members);
    free(members);
    return seconds;
}

static inline double price_two_level(const struct price *p)
{
    const int g = price_per_host(p);
    const size_t block = p->bytes / sizeof(float) / (size_t)g;
    return price_call(p, p->net, CLAB_REDUCE_SCATTER, NULL, g, block, NULL) + price_across(p, block) +
           price_call(p, p->net, CLAB_ALLGATHER, NULL, g, block, NULL);
}

static inline double price_seconds(const struct price *p, enum price_way way)
{
    return way == PRICE_TWO_LEVEL ? price_two_level(p) : price_ring(p, way == PRICE_SCATTERED);
}

// Bytes that leave a host in one call: 2 (P - 1)/P of the buffer by each message that does, or 2 (H - 1)/H of g blocks.
static inline double price_bytes_across(const struct price *p, enum price_way way)
{
    const double H = price_hosts(p), P = p->ranks, S = (double)p->bytes;
    if (price_hosts(p) == 1)
        return 0;
    return way == PRICE_TWO_LEVEL ? 2 * (H - 1) / H * S
                                  : 2 * (P - 1) / P * S * (way == PRICE_SCATTERED ? price_per_host(p) : 1);
}
