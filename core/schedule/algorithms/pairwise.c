// SPDX-License-Identifier: MIT
// Every pair of ranks exchanges directly: in stage s each rank sends to the rank s+1 ahead and receives from the rank
// s+1 behind. Every message goes straight to its receiver.
//
//     stage 0: 0→1 1→2 2→3 3→0     stage 1: 0→2 1→3 2→0 3→1     stage 2: 0→3 1→0 2→1 3→2
//
// Source: Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH", section
// 4.

#include "core/schedule/build.h"

static int three(UNUSED const struct clab_problem *problem)
{
    return 3;
}

// Everyone sends everyone its whole input. The input is set aside, since the sum grows in its place.
// - Each rank adds in another order, from itself backwards, so ranks round differently. In one order for all, a rank
//   would add its own input in the middle: a copy more, and P - 1 senders to one receiver in each stage.
STAGE(allreduce)
{
    if (s >= P - 1)
        return CLAB_DONE;
    out[0] = send(mod(rank + s + 1, P), s == 0 ? chunk(0) : scratch(0, 1));
    out[1] = recv_reduce(mod(rank - s - 1, P), chunk(0));
    out[2] = copy(scratch(0, 1), chunk(0));
    return s == 0 ? 3 : 2;
}

STAGE(reduce_scatter)
{
    int to = mod(rank + s + 1, P), from = mod(rank - s - 1, P);
    if (s >= P - 1)
        return CLAB_DONE;
    out[0] = send(to, chunk(to));
    out[1] = recv_reduce(from, chunk(rank));
    return 2;
}

STAGE(alltoall)
{
    int to = mod(rank + s, P), from = mod(rank - s, P);
    if (s >= P)
        return CLAB_DONE;
    if (s == 0) {
        out[0] = copy(chunk(rank), input(rank));
        return 1;
    }
    out[0] = send(to, input(to));
    out[1] = recv(from, chunk(from));
    return 2;
}

// A send-receive is the first of these stages alone.
STAGE(shift)
{
    if (s > 0 || P == 1)
        return CLAB_DONE;
    out[0] = send(mod(rank + 1, P), chunk(0));
    out[1] = recv(mod(rank - 1, P), chunk(0));
    return 2;
}

// ---- costs ---------------------------------------------------------------------------------------------------

static struct clab_cost exchanges(long P, long L, long n)
{
    return (struct clab_cost){
        .rounds = n, .serial = n, .messages_max = L * n, .sent_max = L * n, .sent_total = L * P * n};
}

COST(cost_alltoall)
{
    return exchanges(P, L, P - 1);
}

COST(cost_reducing)
{
    struct clab_cost cost = exchanges(P, L, P - 1);
    cost.reduced = P - 1;
    cost.reduced_max = L * (P - 1);
    return cost;
}

COST(cost_shift)
{
    return exchanges(P, L, P > 1);
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allreduce_naive = {
    .name = "naive",
    .title = "everyone sends everything to everyone, and adds it in an order of its own",
    .source = "folklore: what an allreduce is measured against",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = one,
    .width = three,
    .stage = allreduce,
    .cost = cost_reducing,
    .representative = rotated,
};

const struct clab_algorithm clab_reduce_scatter_pairwise = {
    .name = "pairwise",
    .title = "every rank sends each other rank its block",
    .source = "Thakur et al. 2005, section 4 (reduce-scatter, pairwise exchange)",
    .collective = CLAB_REDUCE_SCATTER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = reduce_scatter,
    .cost = cost_reducing,
    .representative = rotated,
};

const struct clab_algorithm clab_alltoall_pairwise = {
    .name = "pairwise",
    .title = "in each stage, send to one partner and receive from another",
    .source = "Thakur et al. 2005, section 4 (pairwise exchange)",
    .collective = CLAB_ALLTOALL,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = alltoall,
    .cost = cost_alltoall,
    .representative = rotated,
};

const struct clab_algorithm clab_sendrecv_shift = {
    .name = "shift",
    .title = "every rank sends to the next and receives from the one before",
    .source = "the definition",
    .collective = CLAB_SENDRECV,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = shift,
    .cost = cost_shift,
    .representative = rotated,
};
