// SPDX-License-Identifier: MIT
// Halving: in each round partners exchange halves of the data that they still have to sum, at half the distance of the
// round before, until each rank has the sum of its own part. As few bytes as a ring, in log2 P rounds.
//
//     P = 4, chunks that a rank is still to sum:   0: 0123 → 01.. → 0...      then, to make it an allreduce, the same
//     (0↔2, 1↔3, then 0↔1, 2↔3)                    1: 0123 → 01.. → .1..      in reverse: doubling. Or a gather, to
//                                                  2: 0123 → ..23 → ..2.      make it a reduce.
//                                                  3: 0123 → ..23 → ...3
// Any P by folding (fold.h).
// Source: Rabenseifner 2004, "Optimization of collective reduction operations"; Thakur, Rabenseifner and Gropp 2005,
// "Optimization of collective communication operations in MPICH", section 4.

#include "core/schedule/algorithms/fold.h"

static int per_place(const struct clab_problem *problem)
{
    return fold_places(problem->nranks);
}

// The aligned group of `size` chunks that `place` is in.
static struct clab_span group(int place, int size)
{
    return chunks(place & -size, size);
}

// Round r of a halving of `places` chunks: keep the half that is mine, give the other away.
static int halve(int P, int place, int r, struct clab_step out[])
{
    int size = fold_places(P) >> (r + 1), other = place ^ size, peer = fold_rank(P, other);
    out[0] = send(peer, group(other, size));
    out[1] = recv_reduce(peer, group(place, size));
    return 2;
}

STAGE(allreduce)
{
    int rounds = floor_log2(P), place = fold_place(P, rank);
    if (s == 0)
        return fold_in(P, rank, recv_reduce, chunks(0, 1 << rounds), out);
    if (s > 2 * rounds)
        return s == 2 * rounds + 1 ? fold_out(P, rank, chunks(0, 1 << rounds), out) : CLAB_DONE;
    if (place < 0)
        return 0;
    if (s <= rounds)
        return halve(P, place, s - 1, out);
    int size = 1 << (s - rounds - 1), other = place ^ size, peer = fold_rank(P, other);
    out[0] = send(peer, group(place, size));
    out[1] = recv(peer, group(other, size));
    return 2;
}

// The same with blocks for chunks: a place stands for its partner's block, too, and hands it over at the end.
STAGE(reduce_scatter)
{
    int rounds = floor_log2(P), place = fold_place(P, rank);
    if (s == 0)
        return fold_in(P, rank, recv_reduce, chunks(0, P), out);
    if (s > rounds)
        return s == rounds + 1 ? fold_out(P, rank, chunk(rank | 1), out) : CLAB_DONE;
    if (place < 0)
        return 0;
    int size = (1 << rounds) >> s, other = place ^ size, peer = fold_rank(P, other);
    out[0] = send(peer, fold_blocks(P, other, size));
    out[1] = recv_reduce(peer, fold_blocks(P, place, size));
    return 2;
}

// Round r of a gather to place 0: of the places that still have chunks, half send them to the other half.
static int gather(int P, int place, int r, struct clab_step out[])
{
    int size = 1 << r;
    if (place % size)
        return 0;
    out[0] = place & size ? send(fold_rank(P, place - size), chunks(place, size))
                          : recv(fold_rank(P, place + size), chunks(place + size, size));
    return 1;
}

STAGE(reduce)
{
    int v = mod(rank - problem->root, P), rounds = floor_log2(P), place = fold_place(P, v), n = 0;
    if (s > 2 * rounds)
        return CLAB_DONE;
    if (s == 0)
        n = fold_in(P, v, recv_reduce, chunks(0, 1 << rounds), out);
    else if (place >= 0)
        n = s <= rounds ? halve(P, place, s - 1, out) : gather(P, place, s - rounds - 1, out);
    return from_root(problem, n, out);
}

// ---- costs ---------------------------------------------------------------------------------------------------

COST(cost_allreduce)
{
    long rounds = floor_log2((int)P), places = fold_places((int)P), extra = fold_extra((int)P), folds = extra > 0;
    return (struct clab_cost){.rounds = 2 * rounds + 2 * folds,
                              .serial = 2 * (places - 1) + 2 * places * folds,
                              .reduced = places - 1 + places * folds,
                              .messages_max = L * (2 * rounds + folds),
                              .sent_max = L * (2 * (places - 1) + places * folds),
                              .reduced_max = L * (places - 1 + places * folds),
                              .sent_total = L * 2 * places * (places - 1 + extra)};
}

COST(cost_reduce_scatter)
{
    long rounds = floor_log2((int)P), extra = fold_extra((int)P), folds = extra > 0;
    long exchanged = fold_blocks_exchanged((int)P);
    return (struct clab_cost){.rounds = rounds + 2 * folds,
                              .serial = exchanged + (P + 1) * folds,
                              .reduced = exchanged + P * folds,
                              .messages_max = L * (rounds + folds),
                              .sent_max = L * (folds ? P : P - 1),
                              .reduced_max = L * (exchanged + P * folds),
                              .sent_total = L * (P * (P - 1) + extra)};
}

COST(cost_reduce)
{
    long rounds = floor_log2((int)P), places = fold_places((int)P), extra = fold_extra((int)P), folds = extra > 0;
    return (struct clab_cost){.rounds = 2 * rounds + folds,
                              .serial = 2 * (places - 1) + places * folds,
                              .reduced = places - 1 + places * folds,
                              .messages_max = P > 1 ? L * (rounds + 1) : 0,
                              .sent_max = L * (places - 1 + places / 2),
                              .reduced_max = L * (places - 1 + places * folds),
                              .sent_total = L * (places * (places - 1 + extra) + places / 2 * rounds)};
}

// ---- tables --------------------------------------------------------------------------------------------------

const struct clab_algorithm clab_allreduce_halving_doubling = {
    .name = "halving_doubling",
    .title = "reduce-scatter by recursive halving, allgather by recursive doubling",
    .source = "Rabenseifner 2004; Thakur et al. 2005, section 4 (allreduce)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = per_place,
    .scratch = none,
    .width = two,
    .stage = allreduce,
    .cost = cost_allreduce,
    .representative = flipped,
};

const struct clab_algorithm clab_reduce_scatter_halving = {
    .name = "halving",
    .title = "partners at halving distance exchange halves of what is left",
    .source = "Thakur et al. 2005, section 4 (reduce-scatter, recursive halving)",
    .collective = CLAB_REDUCE_SCATTER,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = reduce_scatter,
    .cost = cost_reduce_scatter,
    .representative = flipped,
};

const struct clab_algorithm clab_reduce_rs_gather = {
    .name = "rs_gather",
    .title = "reduce-scatter by recursive halving, then a binomial gather",
    .source = "Rabenseifner 2004; Thakur et al. 2005, section 4 (reduce)",
    .collective = CLAB_REDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = per_place,
    .scratch = none,
    .width = two,
    .stage = reduce,
    .cost = cost_reduce,
};
