// SPDX-License-Identifier: MIT
// The tape itself: for buffer.c, which writes it, and gather.c, which hands it in.
#pragma once

#include "core/trace/buffer.h"

// 2.3 MiB a rank at most, and only what is written is touched.
enum { TAPE_CALLS = 1 << 13, TAPE_STAGES = 1 << 15, TAPE_SPANS = 1 << 13, TAPE_DEPTH = 16 };

struct clab_tape {
    int process;
    uint32_t serial;                  // of the last call that has begun
    uint64_t ncalls, nstages, nspans; // ever
    double from;                      // s: when the last of what has been overwritten was over; -INFINITY: nothing has
    unsigned depth;                   // spans that are open
    struct clab_timeline_span open[TAPE_DEPTH];
    struct clab_timeline_call calls[TAPE_CALLS]; // rings
    struct clab_timeline_stage stages[TAPE_STAGES];
    struct clab_timeline_span spans[TAPE_SPANS];
};
