// SPDX-License-Identifier: MIT
// Folding: how an algorithm for a power of two serves any number of ranks.
//
//     P = 11 is 8 places and 3 extra ranks: place 0 1 2 | 3 4 5 6 7
//                                           rank  0 2 4 | 6 7 8 9 10
//                                        partner  1 3 5 |
//
// The extra ranks are the odd ones of the first pairs. Each hands its data to its even partner, does nothing while the
// places work, and gets the result back. Places keep the order of ranks. A place and its partner stand for adjacent
// blocks.
// Source: Rabenseifner and Traeff 2004, "More efficient reduction algorithms for non-power-of-two number of
// processors".
#pragma once

#include "core/schedule/build.h"

// How many places there are, and how many ranks are extra.
static inline int fold_places(int P)
{
    return 1 << floor_log2(P);
}

static inline int fold_extra(int P)
{
    return P - fold_places(P);
}

// The rank at a place: it is the first of those that the place stands for. The end of all places is P.
static inline int fold_rank(int P, int place)
{
    return place + min(place, fold_extra(P));
}

// The place of a rank; -1 for an extra rank.
static inline int fold_place(int P, int rank)
{
    int extra = fold_extra(P);
    if (rank >= 2 * extra)
        return rank - extra;
    return rank % 2 ? -1 : rank / 2;
}

// The blocks of the aligned group of `size` places that `place` is in.
static inline struct clab_span fold_blocks(int P, int place, int size)
{
    int first = fold_rank(P, place & -size), end = fold_rank(P, (place & -size) + size);
    return chunks(first, end - first);
}

// The stage in which extra ranks hand `span` to their partners, who `take` it: one step, or none.
static inline int fold_in(int P, int rank, transfer *take, struct clab_span span, struct clab_step out[])
{
    if (rank >= 2 * fold_extra(P))
        return 0;
    out[0] = rank % 2 ? send(rank - 1, span) : take(rank + 1, span);
    return 1;
}

// The stage in which they get `span` back.
static inline int fold_out(int P, int rank, struct clab_span span, struct clab_step out[])
{
    if (rank >= 2 * fold_extra(P))
        return 0;
    out[0] = rank % 2 ? recv(rank - 1, span) : send(rank + 1, span);
    return 1;
}

// The blocks that the busiest place exchanges in all its steps: its groups of 1, 2, 4 ... places, partners included.
static inline long fold_blocks_exchanged(int P)
{
    long blocks = 0;
    for (int size = 1; size < fold_places(P); size *= 2)
        blocks += fold_rank(P, size);
    return blocks;
}
