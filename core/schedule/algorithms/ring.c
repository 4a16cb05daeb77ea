// SPDX-License-Identifier: MIT
// Rings: every rank talks to its two neighbours only. As few bytes as there can be, as many rounds as there are ranks.
//
//     stage 0         1               2               after reduce-scatter, P = 4
//     rank 0 ─c0→ 1   rank 0 ─c3→ 1   rank 0 ─c2→ 1   rank 0 holds all of c1
//     rank 1 ─c1→ 2   rank 1 ─c0→ 2   rank 1 ─c3→ 2   rank 1 holds all of c2
//     rank 2 ─c2→ 3   rank 2 ─c1→ 3   rank 2 ─c0→ 3   rank 2 holds all of c3
//     rank 3 ─c3→ 0   rank 3 ─c2→ 0   rank 3 ─c1→ 0   rank 3 holds all of c0
//
// Each partial sum travels once around, and then each sum does.
// Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations".

#include "core/schedule/build.h"

STAGE(allreduce)
{
    int next = mod(rank + 1, P), prev = mod(rank - 1, P), taken = mod(rank - s - 1, P);
    if (s >= 2 * (P - 1))
        return CLAB_DONE;
    out[0] = send(next, chunk(mod(rank - s, P)));
    out[1] = s < P - 1 ? recv_reduce(prev, chunk(taken)) : recv(prev, chunk(taken));
    return 2;
}

STAGE(allgather)
{
    int next = mod(rank + 1, P), prev = mod(rank - 1, P);
    if (s >= P - 1)
        return CLAB_DONE;
    out[0] = send(next, chunk(mod(rank - s, P)));
    out[1] = recv(prev, chunk(mod(rank - s - 1, P)));
    return 2;
}

// One block further back than the allreduce's first half, so that the last sum to arrive is the rank's own block.
STAGE(reduce_scatter)
{
    int next = mod(rank + 1, P), prev = mod(rank - 1, P);
    if (s >= P - 1)
        return CLAB_DONE;
    out[0] = send(next, chunk(mod(rank - s - 1, P)));
    out[1] = recv_reduce(prev, chunk(mod(rank - s - 2, P)));
    return 2;
}

// The end of the lap that `stage` is in: the sums' lap, and then the results'.
static int end_of_lap(const struct clab_problem *problem, int stage)
{
    int lap = problem->nranks - 1;
    return stage < lap ? lap : 2 * lap;
}

// `laps` times around; sums are made in the first `reducing_laps` of them.
static struct clab_cost ring_cost(long P, long L, int laps, int reducing_laps)
{
    long stages = laps * (P - 1), sums = reducing_laps * (P - 1);
    return (struct clab_cost){.rounds = stages,
                              .serial = stages,
                              .reduced = sums,
                              .messages_max = L * stages,
                              .sent_max = L * stages,
                              .reduced_max = L * sums,
                              .sent_total = L * P * stages};
}

COST(cost_allreduce)
{
    return ring_cost(P, L, 2, 1);
}

COST(cost_allgather)
{
    return ring_cost(P, L, 1, 0);
}

COST(cost_reduce_scatter)
{
    return ring_cost(P, L, 1, 1);
}

const struct clab_algorithm clab_allreduce_ring = {
    .name = "ring",
    .title = "reduce-scatter once around the ring, allgather once more",
    .source = "Patarasuk and Yuan 2009",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = per_rank,
    .scratch = none,
    .width = two,
    .stage = allreduce,
    .cost = cost_allreduce,
    .representative = rotated,
    .same_until = end_of_lap,
};

const struct clab_algorithm clab_allgather_ring = {
    .name = "ring",
    .title = "every block goes once around the ring",
    .source = "Thakur et al. 2005, section 4 (allgather, ring)",
    .collective = CLAB_ALLGATHER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = allgather,
    .cost = cost_allgather,
    .representative = rotated,
    .same_until = end_of_lap,
};

const struct clab_algorithm clab_reduce_scatter_ring = {
    .name = "ring",
    .title = "every block's partial sum goes once around the ring, and ends at its owner",
    .source = "Patarasuk and Yuan 2009",
    .collective = CLAB_REDUCE_SCATTER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = reduce_scatter,
    .cost = cost_reduce_scatter,
    .representative = rotated,
    .same_until = end_of_lap,
};
