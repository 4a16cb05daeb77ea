// SPDX-License-Identifier: MIT
// How many bytes a span of chunks holds, without a loop over the chunks (rule 5 of schedule.h).
// - A block of `count` elements is cut into lanes, a lane's slice into chunks; the first few of each are one larger.
// - A span may run over several blocks, each of which starts anew.
#pragma once

#include "core/schedule/schedule.h"

enum { SIM_MAX_LANES = 64 };

struct slices {
    size_t element_bytes;
    int chunks, lanes;           // chunks of a block and lane
    size_t slice[SIM_MAX_LANES]; // elements of a lane's slice of a block
    size_t each[SIM_MAX_LANES];  // elements of a small chunk
    int extra[SIM_MAX_LANES];    // this many chunks, the first ones, have one more
};

// 1 <= problem->lanes <= SIM_MAX_LANES, chunks >= 1
void slices_init(struct slices *slices, const struct clab_problem *problem, int chunks, size_t element_bytes);

// Bytes of `count` chunks from `first` on, where chunks of the lane are not equal.
size_t slices_uneven_bytes(const struct slices *slices, int lane, int first, int count);

static inline size_t slices_bytes(const struct slices *s, int lane, int first, int count)
{
    if (__builtin_expect(s->extra[lane] == 0, 1))
        return (size_t)count * s->each[lane] * s->element_bytes;
    return slices_uneven_bytes(s, lane, first, count);
}
