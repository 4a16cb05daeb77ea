// SPDX-License-Identifier: MIT
// The binomial tree, built by halving: the ranks are split into two halves, and the first rank of all sends to the
// first rank of the other half; then each half does the same by itself. ceil(log2 P) levels, for every P and root.
//
//     level 0    0 ─────────────→ 4             ranks [0,8), first rank 0: the other half is [4,8)
//     level 1    0 ─────→ 2       4 ─────→ 6
//     level 2    0 ─→ 1   2 ─→ 3  4 ─→ 5   6 ─→ 7
//
// - Subtrees are ranges of ranks, whatever the root: each message of a scatter is one span, which never wraps around.
// - With root 0 and a power of two this is the textbook's tree.
// - Downwards: broadcast and scatter. Upwards, levels in reverse: reduce and gather.
// Source: Barnett et al. 1994, "Interprocessor collective communication library" (halving by ranges; scatter, then
// collect); Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH",
// section 4.

#include "core/schedule/build.h"

// The ranks [first, first + count) under `head`, one of them.
struct part {
    int first, count, head;
};

// The half of `all`, rounded down, that its head is not in; its own head is its first rank.
static struct part other_half(struct part all)
{
    int count = all.count / 2;
    bool is_above = all.head < all.first + all.count - count;
    int first = is_above ? all.first + all.count - count : all.first;
    return (struct part){first, count, first};
}

static struct part without(struct part all, struct part other)
{
    int first = other.first == all.first ? all.first + other.count : all.first;
    return (struct part){first, all.count - other.count, all.head};
}

// An edge of the tree: `above` tells `below`, which stands for all the ranks in `under`.
struct edge {
    int above, below;
    struct clab_span under;
};

// 1: `rank` is at either end of an edge of `level`, *edge_p. 0: of none. CLAB_DONE: there is no such level.
static int edge_at(const struct clab_problem *problem, int rank, int level, struct edge *edge_p)
{
    if (level < 0 || level >= ceil_log2(problem->nranks))
        return CLAB_DONE;
    struct part all = {0, problem->nranks, problem->root}, other = other_half(all);
    for (; level > 0; level--) {
        bool in_other = rank >= other.first && rank < other.first + other.count;
        all = in_other ? other : without(all, other);
        other = other_half(all);
    }
    *edge_p = (struct edge){all.head, other.head, chunks(other.first, other.count)};
    return other.count > 0 && (rank == all.head || rank == other.head);
}

STAGE(broadcast)
{
    struct edge edge;
    const int n = edge_at(problem, rank, s, &edge);
    if (n == 1)
        out[0] = rank == edge.above ? send(edge.below, chunk(0)) : recv(edge.above, chunk(0));
    return n;
}

STAGE(scatter)
{
    struct edge edge;
    const int n = edge_at(problem, rank, s, &edge);
    if (n == 1)
        out[0] = rank == edge.above ? send(edge.below, edge.under) : recv(edge.above, edge.under);
    return n;
}

STAGE(reduce)
{
    struct edge edge;
    const int n = edge_at(problem, rank, ceil_log2(P) - 1 - s, &edge);
    if (n == 1)
        out[0] = rank == edge.above ? recv_reduce(edge.below, chunk(0)) : send(edge.above, chunk(0));
    return n;
}

STAGE(gather)
{
    struct edge edge;
    const int n = edge_at(problem, rank, ceil_log2(P) - 1 - s, &edge);
    if (n == 1)
        out[0] = rank == edge.above ? recv(edge.below, edge.under) : send(edge.above, edge.under);
    return n;
}

// A broadcast for large messages: scatter chunk i to rank i, then let all chunks go around the ring.
STAGE(scatter_allgather)
{
    int turn = s - ceil_log2(P);
    if (turn < 0)
        return scatter(problem, rank, lane, s, out);
    if (turn >= P - 1)
        return CLAB_DONE;
    out[0] = send(mod(rank + 1, P), chunk(mod(rank - turn, P)));
    out[1] = recv(mod(rank - 1, P), chunk(mod(rank - turn - 1, P)));
    return 2;
}

// ---- costs ---------------------------------------------------------------------------------------------------

// All the ranks below all the edges: the sum of the binary digits of 0 ... P-1.
static long blocks_moved(long P)
{
    long blocks = 0;
    for (int k = 0; k < ceil_log2((int)P); k++)
        blocks += count_with_bit((int)P, k);
    return blocks;
}

COST(cost_broadcast)
{
    long levels = ceil_log2((int)P);
    return (struct clab_cost){.rounds = levels,
                              .serial = levels,
                              .messages_max = L * levels,
                              .sent_max = L * levels,
                              .sent_total = L * (P - 1)};
}

COST(cost_reduce)
{
    long levels = ceil_log2((int)P), sends = P > 1 ? L : 0;
    return (struct clab_cost){.rounds = levels,
                              .serial = levels,
                              .reduced = levels,
                              .messages_max = sends,
                              .sent_max = sends,
                              .reduced_max = L * levels,
                              .sent_total = L * (P - 1)};
}

COST(cost_scatter)
{
    long levels = ceil_log2((int)P);
    return (struct clab_cost){.rounds = levels,
                              .serial = P - 1,
                              .messages_max = L * levels,
                              .sent_max = L * (P - 1),
                              .sent_total = L * blocks_moved(P)};
}

COST(cost_gather)
{
    return (struct clab_cost){.rounds = ceil_log2((int)P),
                              .serial = P - 1,
                              .messages_max = P > 1 ? L : 0,
                              .sent_max = L * (P / 2),
                              .sent_total = L * blocks_moved(P)};
}

// The root is busy to the last level of the scatter, and from there the ring is in step.
COST(cost_scatter_allgather)
{
    long rounds = ceil_log2((int)P) + P - 1;
    return (struct clab_cost){.rounds = rounds,
                              .serial = 2 * (P - 1),
                              .messages_max = L * rounds,
                              .sent_max = L * 2 * (P - 1),
                              .sent_total = L * (blocks_moved(P) + P * (P - 1))};
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_broadcast_binomial = {
    .name = "binomial",
    .title = "each rank that has the data sends it to the other half of its range",
    .source = "Thakur et al. 2005, section 4 (broadcast, binomial tree)",
    .collective = CLAB_BROADCAST,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = broadcast,
    .cost = cost_broadcast,
};

const struct clab_algorithm clab_broadcast_scatter_allgather = {
    .name = "scatter_allgather",
    .title = "scatter the chunks by a binomial tree, then send them around a ring",
    .source = "Barnett et al. 1994; Thakur et al. 2005, section 4 (broadcast, van de Geijn)",
    .collective = CLAB_BROADCAST,
    .default_lanes = 1,
    .supports = any,
    .chunks = per_rank,
    .scratch = none,
    .width = two,
    .stage = scatter_allgather,
    .cost = cost_scatter_allgather,
};

const struct clab_algorithm clab_reduce_binomial = {
    .name = "binomial",
    .title = "sums climb a binomial tree to the root",
    .source = "Thakur et al. 2005, section 4 (reduce, binomial tree)",
    .collective = CLAB_REDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = reduce,
    .cost = cost_reduce,
};

const struct clab_algorithm clab_gather_binomial = {
    .name = "binomial",
    .title = "blocks climb a binomial tree, more at each level",
    .source = "Barnett et al. 1994 (minimum spanning tree gather)",
    .collective = CLAB_GATHER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = gather,
    .cost = cost_gather,
};

const struct clab_algorithm clab_scatter_binomial = {
    .name = "binomial",
    .title = "blocks descend a binomial tree, fewer at each level",
    .source = "Barnett et al. 1994 (minimum spanning tree scatter)",
    .collective = CLAB_SCATTER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = scatter,
    .cost = cost_scatter,
};
