// SPDX-License-Identifier: MIT
// Sizes of lanes and chunks, computed once a problem.

#include "slices.h"

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
