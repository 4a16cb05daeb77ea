// SPDX-License-Identifier: MIT
// A trace of a job as `commlab bottleneck` looks at it: for each rank its steps, what it computed, and its collectives.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/schedule/schedule.h"

struct trace_file;

struct bottleneck_interval {
    double begin, end; // s
    double kept;       // s of it in which others had the rank's core; 0: none, or not known
};

#define BOTTLENECK_ROUNDING 2e-9 // s, of times in the file

struct bottleneck_call {
    double begin, end; // s: begin, when this rank entered it, and its call before was over
    enum clab_collective collective;
    const struct clab_algorithm *algorithm; // NULL: not one of ours
    size_t count, element_bytes;
    int kind; // calls of the same collective, algorithm and count have the same number
};

struct bottleneck_memory {
    double begin, end; // s: a pass over memory that computes nothing
    double kept;       // s, as above
    double bytes;      // read and written; below 0: not known
};

struct bottleneck_rank {
    double begin, end;                    // s: of what is looked at
    struct bottleneck_interval *computes; // by begin, apart from each other; memory's are among them
    struct bottleneck_memory *memories;
    struct bottleneck_call *calls; // by begin
    struct bottleneck_interval *steps;
    int ncomputes, nmemories, ncalls, nsteps, compute_room, memory_room, call_room, step_room;
};

struct bottleneck_run {
    struct bottleneck_rank *ranks; // (n)
    int n, steps;                  // steps 0: the program has no spans of that name, and the whole job is looked at
    int kinds;
    bool is_aligned; // all ranks make the same calls in the same order, so that they can be compared
    bool is_virtual;
    bool has_wire; // messages go over a network, real or described: not over shared memory
    bool is_emulated;
    double load; // of the machine in the minute before: programs that wanted a core; cores: those it has
    int cores;
    double kept;     // of the ranks' time, the part in which others had their cores; NAN: not known
    double resent;   // messages that the described network has lost
    double left_out; // s between the first thing that was traced and what is looked at, of the rank with the most
    char backend[32];
    char expected[64]; // the network that the run says it had, without what was wrong with it; "": it does not say
};

// Take apart a trace. span: the name of a step's span.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EPARSE (no ranks, or no calls; logged), CLAB_ENOMEM
int bottleneck_run_read(const struct trace_file *file, const char *span, struct bottleneck_run *run_p);
void bottleneck_run_free(struct bottleneck_run *run);
