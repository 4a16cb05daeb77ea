// SPDX-License-Identifier: MIT
// The trace buffer itself: buffer.c fills it, and gather.c sends it to rank 0.
#pragma once

#include "core/trace/buffer.h"

// 2.4 MiB a rank at most, and only what is written is touched.
enum { TRACE_CALLS = 1 << 13, TRACE_STAGES = 1 << 15, TRACE_SPANS = 1 << 13, TRACE_DEPTH = 16 };

struct clab_trace {
    const struct clab_domain *domain; // whose clock the trace uses
    int process;
    uint32_t serial;                  // of the last call that has begun
    uint64_t ncalls, nstages, nspans; // ever
    double opened, kept;              // s: the clock when it was opened, and clab_kept then; kept NAN: not known
    double from;                      // s: when the last of what has been overwritten was over; -INFINITY: nothing has
    unsigned depth;                   // spans that are open
    struct clab_timeline_span open[TRACE_DEPTH];
    struct clab_timeline_call calls[TRACE_CALLS]; // rings
    struct clab_timeline_stage stages[TRACE_STAGES];
    struct clab_timeline_span spans[TRACE_SPANS];
};

// Seconds so far in which others had the caller's core; NAN: not known.
double clab_trace_kept(const struct clab_trace *trace);
