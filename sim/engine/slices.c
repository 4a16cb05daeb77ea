// SPDX-License-Identifier: MIT
// Sizes of lanes and chunks, computed once a problem.

#include "sim/engine/slices.h"

void slices_init(struct slices *slices, const struct clab_problem *problem, int chunks, size_t element_bytes)
{
    *slices = (struct slices){.element_bytes = element_bytes, .chunks = chunks, .lanes = problem->lanes};
    for (int lane = 0; lane < problem->lanes; lane++) {
        size_t slice = clab_part_size(problem->count, problem->lanes, lane);
        slices->slice[lane] = slice;
        slices->each[lane] = slice / (size_t)chunks;
        slices->extra[lane] = (int)(slice % (size_t)chunks);
    }
}

static size_t before(const struct slices *s, int lane, int chunk_of_block)
{
    int larger = chunk_of_block < s->extra[lane] ? chunk_of_block : s->extra[lane];
    return (size_t)chunk_of_block * s->each[lane] + (size_t)larger;
}

size_t slices_uneven_bytes(const struct slices *s, int lane, int first, int count)
{
    if (first + count <= s->chunks) // of block 0
        return (before(s, lane, first + count) - before(s, lane, first)) * s->element_bytes;
    int last = first + count, blocks = last / s->chunks - first / s->chunks;
    size_t elements =
        (size_t)blocks * s->slice[lane] + before(s, lane, last % s->chunks) - before(s, lane, first % s->chunks);
    return elements * s->element_bytes;
}
