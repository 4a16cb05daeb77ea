// SPDX-License-Identifier: MIT
// Batches of calls, repeated until the median of a call is known.
#pragma once

#include <stdbool.h>

#include "cmd/bench/call.h"
#include "sim/net/net.h"

struct bench;

enum { BENCH_MOST_BATCHES = 4096, BENCH_ENOUGH = 6 }; // fewer batches than ENOUGH have no 95 % interval
enum { BENCH_SLEEP_US = 600 };                        // of hosts that share cores, while two of them probe the wire

// What a time means.
enum bench_mode {
    BENCH_THROUGHPUT, // calls back to back: total / calls, of the slowest rank
    BENCH_LATENCY,    // one call from a common start: last exit - last entry
    BENCH_LOCAL,      // each rank's own mean: mean, least and most over ranks
    BENCH_ENQUEUE,    // calls started one behind the other, and one wait: total / calls, of the slowest rank
    BENCH_MODES
};
const char *bench_mode_name(enum bench_mode mode);

// Whose time a batch's is, as in nccl-tests (-a).
enum bench_average { BENCH_RANK_0, BENCH_MEAN, BENCH_LEAST, BENCH_MOST, BENCH_AVERAGES };

// A batch of calls that was timed.
struct bench_batch {
    enum bench_mode mode;
    enum bench_placement placement;
    int calls;
    struct clab_placement_sample probed; // where the cores were meanwhile (cmd/probe/placement.h); zeros: not observed
};

struct bench_time {
    double seconds, low, high; // per call: median and its 95 % interval; in local mode mean, least and most over ranks
    double half_width;         // of the median's interval, as a fraction of the median
    bool noisy;                // the interval is wider than wanted, or of too few batches to be one of 95 %
    bool disturbed;            // of ranks that share cores: other processes took these during most batches
    double host;               // s per call to start it, of rank 0; NAN: the mode waits for each
    double by_device;          // s of kernels per call, by the clock of rank 0's device, in another batch; NAN: none
    int calls;                 // per batch
    struct clab_placement_sample probed; // where the cores were meanwhile (cmd/probe/placement.h); zeros: not observed
};

// Time calls of `row` on all ranks; collective. *time_p is set at rank 0.  errors: the collective's, CLAB_ENOMEM
int bench_time_calls(struct bench *bench, const struct bench_row *row, struct bench_buffers buffers,
                     struct bench_time *time_p);
