// SPDX-License-Identifier: MIT
// The automatic choice: a table that was measured, not a tree of magic sizes.
// A row holds up to `bytes` (the whole buffer, as bench counts it) and `ranks`; the first that fits is taken.

#include <string.h>

#include "comm/comm.h"

struct choice {
    enum clab_collective collective;
    int ranks;
    size_t bytes;
    const char *algorithm;
    int lanes; // 0: the algorithm's own
};

#define ANY_RANKS 1 << 30
#define ANY_BYTES (size_t)-1

static const struct choice choices[] = {
    {CLAB_ALLREDUCE, 2, 4 << 20, "doubling", 1},
    {CLAB_ALLREDUCE, ANY_RANKS, 64 << 10, "doubling", 1},
    {CLAB_ALLREDUCE, ANY_RANKS, ANY_BYTES, "ring", 1},
    {CLAB_BROADCAST, ANY_RANKS, ANY_BYTES, "binomial", 1},
    {CLAB_REDUCE, ANY_RANKS, ANY_BYTES, "binomial", 1},
    {CLAB_ALLGATHER, ANY_RANKS, ANY_BYTES, "ring", 1},
    {CLAB_REDUCE_SCATTER, ANY_RANKS, ANY_BYTES, "ring", 1},
    {CLAB_ALLTOALL, ANY_RANKS, ANY_BYTES, "pairwise", 1},
    {CLAB_GATHER, ANY_RANKS, ANY_BYTES, "flat", 1},
    {CLAB_SCATTER, ANY_RANKS, ANY_BYTES, "flat", 1},
    {CLAB_BARRIER, ANY_RANKS, ANY_BYTES, "dissemination", 1},
    {CLAB_SENDRECV, ANY_RANKS, ANY_BYTES, "shift", 1},
};

const struct clab_algorithm *clab_select(const struct clab_problem *problem, size_t element_bytes, int *lanes_p)
{
    size_t bytes = problem->count * element_bytes * (size_t)clab_problem_blocks(problem);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct choice *c = &choices[i];
        if (c->collective != problem->collective || problem->nranks > c->ranks || bytes > c->bytes)
            continue;
        const struct clab_algorithm *algorithm = clab_algorithm_find(c->collective, c->algorithm);
        if (!algorithm || !algorithm->supports(problem))
            continue;
        *lanes_p = c->lanes ? c->lanes : algorithm->default_lanes;
        return algorithm;
    }
    return NULL;
}
