// SPDX-License-Identifier: MIT
// What a row came to in one placement.
#pragma once

#include <stdbool.h>

#include "cmd/bench/time.h"
#include "core/transport/backend.h"

struct bench_result {
    bool measured; // the user asked for this placement, and the collective has it
    struct bench_time time;
    long long wrong;     // elements over all ranks; -1: not checked
    long long sent;      // bytes per call by the busiest rank; -1: unknown
    struct clab_ran ran; // what the library did; channels 0: not known
    double predicted;    // seconds; NAN: not predicted
    const char *refused; // why the time is impossible; NULL: it is possible
    double floor;        // s; the limit that refused it
};

// (measured - predicted) / measured
static inline double bench_residual(const struct bench_result *result)
{
    return (result->time.seconds - result->predicted) / result->time.seconds;
}
