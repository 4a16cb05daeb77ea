// SPDX-License-Identifier: MIT
// What this machine can do at most, measured in the ranks that will be timed. A time under the floor that follows is
// refused: the work was not done.
#pragma once

#include "cmd/bench/row.h"
#include "cmd/probe/tcp_limit.h"

// What no collective can beat.
struct bench_limits {
    double copy_one, copy_all; // B/s from memory to memory: rank 0 alone; the sum of all ranks at once; NAN: no time
    double copy_peak;          // B/s within a core's first-level cache, or a GPU's cache, of the fastest rank
    double line;               // s for a cache line from rank 0 to rank 1 and back, at best; NAN: not measured
    struct tcp_limit tcp;      // trip and rate are NAN where the backend does not use TCP
};

struct bench;
struct bench_options;

// Whether the options leave time to copy from memory to memory. With less than 2 ms a row, a bench checks results.
bool bench_limits_have_time(const struct bench_options *options);

// Measure them in about a second; collective. Only rank 0's are complete.  errors: CLAB_ENOMEM, CLAB_EPEER
int bench_limits_measure(struct bench *bench, struct bench_limits *limits_p);

// The least time of a call, in seconds; *why_p names the limit that sets it.
double bench_limits_floor(const struct bench_limits *limits, const struct bench_row *row,
                          enum bench_placement placement, int cores, const char **why_p);
