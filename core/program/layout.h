// SPDX-License-Identifier: MIT
// Where every chunk's current value lies, while a compiler walks one rank's stages of one lane.
//
// - A chunk begins in the caller's `in` and is read from there at its first touch.
// - A chunk that the rank wants at the end is written to `out`, others to CLAB_TEMP.
// - A chunk that is sent while it is received (recursive doubling) can not land where it is being read from: it
//   alternates between two places. A first walk over all stages counts how often, so that the alternation
//   begins with the place from which the last write lands in `out`.
// - Chunks that came by message and chunks that did not, sent together, must lie together: the latter are moved out of
//   `in` at the start ("early").
#pragma once

#include "core/program/program.h"

struct chunk {
    bool located; // its value lies in `region`; false: there is none yet
    enum clab_region region;
    bool wanted;    // in `out` at the end
    bool early;     // moved out of `in` at the start
    int read_stage; // the last stage that sends or copies it; -1: none
    int conflicts;  // stages to come that both read and receive it, and so change its place
};

struct layout {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    int rank, lane;
    bool in_place;
    int per_block; // chunks of a block
    int nchunks[CLAB_BUFFER_COUNT];
    struct chunk *chunks[CLAB_BUFFER_COUNT];
    int stage, nsteps;       // at hand
    struct clab_step *steps; // (width)
    size_t *region_elements; // the program's: grows as places are used
};

// errors: CLAB_ENOMEM; layout_free is right after an error, too
int layout_create(struct clab_program *program, struct layout *layout_p);
void layout_free(struct layout *layout);

// Put all chunks where they lie before the first stage of `lane`.
void layout_begin_lane(struct layout *layout, int lane);
// Compute the steps of `stage`; false when there is no such stage.
bool layout_begin_stage(struct layout *layout, int stage);

static inline struct chunk *layout_chunk(struct layout *layout, enum clab_buffer buffer, int index)
{
    return &layout->chunks[buffer][index];
}

// The elements of all chunks of `span`.
size_t layout_elements(const struct layout *layout, struct clab_span span);
// The place of chunk `index`: now, or if it lay in `region`. *count_p: its elements.
struct clab_place layout_place(struct layout *layout, enum clab_buffer buffer, int index, size_t *count_p);
struct clab_place layout_place_in(struct layout *layout, enum clab_buffer buffer, int index, enum clab_region region,
                                  size_t *count_p);
// Whether the span's chunks lie one behind the other: now (region = CLAB_REGION_COUNT), or if they lay in `region`.
bool layout_is_contiguous(struct layout *layout, struct clab_span span, enum clab_region region,
                          struct clab_place *first_p, size_t *count_p);

// Where a receive or copy into `span` lands; it lies there once settled.
enum clab_region layout_choose(struct layout *layout, struct clab_span span);
void layout_settle(struct layout *layout, struct clab_span span, enum clab_region region);
// Note that `count` elements at `place` are used.
void layout_use(struct layout *layout, struct clab_place place, size_t count);
