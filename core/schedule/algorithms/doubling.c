// SPDX-License-Identifier: MIT
// Doubling: in each round the number of ranks whose data a rank has doubles. The fewest rounds, log2 P.
//
//     round 0: 0↔1 2↔3 4↔5 6↔7     round 1: 0↔2 1↔3 4↔6 5↔7     round 2: 0↔4 1↔5 2↔6 3↔7
//
// - Allreduce exchanges whole sums. Allgather exchanges all blocks gathered so far. Any P by folding (fold.h).
// - Dissemination sends to one rank and receives from another instead of exchanging, so it needs no folding. Some ranks
//   then receive a signal twice, which does no harm in a barrier.
// Source: Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH", section
// 4; Hensgen, Finkel and Manber 1988, "Two algorithms for barrier synchronization".

#include "core/schedule/algorithms/fold.h"

STAGE(allreduce)
{
    int rounds = floor_log2(P), place = fold_place(P, rank);
    if (s == 0)
        return fold_in(P, rank, recv_reduce, chunk(0), out);
    if (s > rounds)
        return s == rounds + 1 ? fold_out(P, rank, chunk(0), out) : CLAB_DONE;
    if (place < 0)
        return 0;
    int peer = fold_rank(P, place ^ 1 << (s - 1));
    out[0] = send(peer, chunk(0));
    out[1] = recv_reduce(peer, chunk(0));
    return 2;
}

STAGE(allgather)
{
    int rounds = floor_log2(P), place = fold_place(P, rank);
    if (s == 0)
        return fold_in(P, rank, recv, chunk(rank | 1), out); // the odd partner's block
    if (s > rounds)
        return s == rounds + 1 ? fold_out(P, rank, chunks(0, P), out) : CLAB_DONE;
    if (place < 0)
        return 0;
    int size = 1 << (s - 1), other = place ^ size, peer = fold_rank(P, other);
    out[0] = send(peer, fold_blocks(P, place, size));
    out[1] = recv(peer, fold_blocks(P, other, size));
    return 2;
}

STAGE(dissemination)
{
    if (s >= ceil_log2(P))
        return CLAB_DONE;
    out[0] = send(mod(rank + (1 << s), P), chunk(0));
    out[1] = recv(mod(rank - (1 << s), P), chunk(0));
    return 2;
}

COST(cost_allreduce)
{
    long rounds = floor_log2((int)P), places = fold_places((int)P), extra = fold_extra((int)P), folds = extra > 0;
    return (struct clab_cost){.rounds = rounds + 2 * folds,
                              .serial = rounds + 2 * folds,
                              .reduced = rounds + folds,
                              .messages_max = L * (rounds + folds),
                              .sent_max = L * (rounds + folds),
                              .reduced_max = L * (rounds + folds),
                              .sent_total = L * (places * rounds + 2 * extra)};
}

COST(cost_allgather)
{
    long rounds = floor_log2((int)P), extra = fold_extra((int)P), folds = extra > 0;
    long exchanged = fold_blocks_exchanged((int)P);
    return (struct clab_cost){.rounds = rounds + 2 * folds,
                              .serial = exchanged + (1 + P) * folds,
                              .messages_max = L * (rounds + folds),
                              .sent_max = L * (exchanged + P * folds),
                              .sent_total = L * (P * (P - 1) + extra)};
}

COST(cost_dissemination)
{
    long rounds = ceil_log2((int)P);
    return (struct clab_cost){.rounds = rounds,
                              .serial = rounds,
                              .messages_max = L * rounds,
                              .sent_max = L * rounds,
                              .sent_total = L * P * rounds};
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allreduce_doubling = {
    .name = "doubling",
    .title = "partners at doubling distance exchange their sums",
    .source = "Thakur et al. 2005, section 4 (allreduce, recursive doubling)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = allreduce,
    .cost = cost_allreduce,
    .representative = flipped,
};

const struct clab_algorithm clab_allgather_doubling = {
    .name = "doubling",
    .title = "partners at doubling distance exchange all that they have",
    .source = "Thakur et al. 2005, section 4 (allgather, recursive doubling)",
    .collective = CLAB_ALLGATHER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = allgather,
    .cost = cost_allgather,
    .representative = flipped,
};

const struct clab_algorithm clab_barrier_dissemination = {
    .name = "dissemination",
    .title = "each rank signals the rank 1, 2, 4 ... ahead",
    .source = "Hensgen, Finkel and Manber 1988",
    .collective = CLAB_BARRIER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = dissemination,
    .cost = cost_dissemination,
    .representative = rotated,
};
