// SPDX-License-Identifier: MIT
// A star: all ranks exchange messages with one rank in the middle, which serves them one after another.
//
//         1   2                 The fewest bytes in all, and for two or three ranks the fastest; but the middle rank
//          ╲ ╱                  sends and receives P-1 messages.
//       3 ─ 0 ─ 4
//
// The ranks of a rooted collective are counted from the root, which is 0 here (from_root).
// Source: folklore; the linear algorithms of Pjesivac-Grbovic et al. 2007, "Performance analysis of MPI collective
// operations".

#include "core/schedule/build.h"

static int at_most(const struct clab_problem *problem)
{
    return problem->nranks;
}

// 0 sends `chunk(0)` to all others.
static int spread(int P, int v, struct clab_step out[])
{
    if (v != 0) {
        out[0] = recv(0, chunk(0));
        return 1;
    }
    for (int i = 1; i < P; i++)
        out[i - 1] = send(i, chunk(0));
    return P - 1;
}

// 0 receives from the others one after another, since all go into the same chunk, and then answers all at once.
static int gather_and_spread(int P, int rank, int s, transfer *take, struct clab_step out[])
{
    int answer = rank == 0 ? P - 1 : 1;
    if (s > answer)
        return CLAB_DONE;
    if (s == answer)
        return spread(P, rank, out);
    out[0] = rank == 0 ? take(s + 1, chunk(0)) : send(0, chunk(0));
    return 1;
}

STAGE(allreduce)
{
    return gather_and_spread(P, rank, s, recv_reduce, out);
}

STAGE(barrier)
{
    return gather_and_spread(P, rank, s, recv, out);
}

STAGE(broadcast)
{
    int v = mod(rank - problem->root, P);
    return s == 0 ? from_root(problem, spread(P, v, out), out) : CLAB_DONE;
}

STAGE(reduce)
{
    int v = mod(rank - problem->root, P), stages = v ? 1 : P - 1;
    if (s >= stages)
        return CLAB_DONE;
    out[0] = v ? send(0, chunk(0)) : recv_reduce(s + 1, chunk(0));
    return from_root(problem, 1, out);
}

// The root has a step with every other rank, each for that rank's block; the others have one step with the root.
static int each_its_block(const struct clab_problem *problem, int rank, int s, transfer *at_root, transfer *elsewhere,
                          struct clab_step out[])
{
    if (s > 0)
        return CLAB_DONE;
    if (rank != problem->root) {
        out[0] = elsewhere(problem->root, chunk(rank));
        return 1;
    }
    int n = 0;
    for (int i = 0; i < problem->nranks; i++)
        if (i != rank)
            out[n++] = at_root(i, chunk(i));
    return n;
}

STAGE(gather)
{
    return each_its_block(problem, rank, s, recv, send, out);
}

STAGE(scatter)
{
    return each_its_block(problem, rank, s, send, recv, out);
}

static int both_ways(const struct clab_problem *problem)
{
    return 2 * problem->nranks - 1;
}

// Every rank is in the middle of a star of its own. It begins with its neighbours, so that not all send to rank 0 first.
STAGE(alltoall)
{
    int n = 0;
    if (s > 0)
        return CLAB_DONE;
    for (int i = 1; i < P; i++)
        out[n++] = send(mod(rank + i, P), input(mod(rank + i, P)));
    for (int i = 1; i < P; i++)
        out[n++] = recv(mod(rank - i, P), chunk(mod(rank - i, P)));
    out[n++] = copy(chunk(rank), input(rank));
    return n;
}

// ---- costs ---------------------------------------------------------------------------------------------------

COST(cost_both_ways)
{
    return (struct clab_cost){.rounds = 2 * (P - 1),
                              .serial = 2 * (P - 1),
                              .messages_max = L * (P - 1),
                              .sent_max = L * (P - 1),
                              .sent_total = 2 * L * (P - 1)};
}

COST(cost_allreduce)
{
    struct clab_cost cost = cost_both_ways(problem);
    cost.reduced = P - 1;
    cost.reduced_max = L * (P - 1);
    return cost;
}

COST(cost_outward)
{
    return (struct clab_cost){.rounds = P - 1,
                              .serial = P - 1,
                              .messages_max = L * (P - 1),
                              .sent_max = L * (P - 1),
                              .sent_total = L * (P - 1)};
}

COST(cost_inward)
{
    long sends = P > 1 ? L : 0;
    return (struct clab_cost){
        .rounds = P - 1, .serial = P - 1, .messages_max = sends, .sent_max = sends, .sent_total = L * (P - 1)};
}

COST(cost_alltoall)
{
    struct clab_cost cost = cost_outward(problem);
    cost.sent_total = L * P * (P - 1);
    return cost;
}

COST(cost_reduce)
{
    struct clab_cost cost = cost_inward(problem);
    cost.reduced = P - 1;
    cost.reduced_max = L * (P - 1);
    return cost;
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allreduce_star = {
    .name = "star",
    .title = "everyone sends to rank 0, which sends the sum back to everyone",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = allreduce,
    .cost = cost_allreduce,
};

const struct clab_algorithm clab_barrier_central = {
    .name = "central",
    .title = "every rank reports to rank 0, which then releases all",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_BARRIER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = barrier,
    .cost = cost_both_ways,
};

const struct clab_algorithm clab_broadcast_flat = {
    .name = "flat",
    .title = "the root sends to everyone",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_BROADCAST,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = broadcast,
    .cost = cost_outward,
};

const struct clab_algorithm clab_reduce_flat = {
    .name = "flat",
    .title = "everyone sends to the root",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_REDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = reduce,
    .cost = cost_reduce,
};

const struct clab_algorithm clab_gather_flat = {
    .name = "flat",
    .title = "everyone sends its block to the root",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_GATHER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = gather,
    .cost = cost_inward,
};

const struct clab_algorithm clab_scatter_flat = {
    .name = "flat",
    .title = "the root sends everyone its block",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_SCATTER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = scatter,
    .cost = cost_outward,
};

const struct clab_algorithm clab_alltoall_flat = {
    .name = "flat",
    .title = "everyone sends everyone its block at once",
    .source = "Pjesivac-Grbovic et al. 2007 (linear algorithms)",
    .collective = CLAB_ALLTOALL,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = both_ways,
    .stage = alltoall,
    .cost = cost_alltoall,
    .representative = rotated,
};
