// SPDX-License-Identifier: MIT
// How harness.c writes a schedule down: 32-bit numbers of this machine.
//
//   a problem: WIRE_MAGIC, ranks, lanes, chunks, scratch, then its programs, rank by rank, of each lane by lane
//   a program: its stages, then WIRE_DONE, WIRE_ENDLESS, WIRE_BAD_COUNT or WIRE_UNSTEADY, and what stage()
//              returned
//   a stage:   the number of its steps, then the steps
//   a step:    op, peer, buffer, first and count of src, and of dst
#pragma once

#include <stdbool.h>

enum {
    WIRE_MAGIC = 0x32683268,
    WIRE_DONE = -1,
    WIRE_ENDLESS = -2,
    WIRE_BAD_COUNT = -3,
    WIRE_UNSTEADY = -4, // asked twice, it gave two answers
    WIRE_STEP = 8,
    WIRE_MOST_RANKS = 16,
    WIRE_MOST_LANES = 16,
    WIRE_MOST_CHUNKS = 256,
    WIRE_MOST_SCRATCH = 8,
    WIRE_MOST_STEPS = 64,
    WIRE_MOST_STAGES = 1000,
};

// One that is none has no programs.
static inline bool wire_is_shape(int lanes, int chunks, int scratch)
{
    return lanes >= 1 && lanes <= WIRE_MOST_LANES && chunks >= 1 && chunks <= WIRE_MOST_CHUNKS && scratch >= 0 &&
           scratch <= WIRE_MOST_SCRATCH;
}

// What is said of one that is none. It takes lanes, chunks and scratch.
#define WIRE_SHAPE_FORMAT                                                                                               \
    "lanes() is %d (1 to 16), chunks_per_lane() is %d (1 to 256), scratch_buffers() is %d (0 to 8): return numbers in " \
    "these ranges"
