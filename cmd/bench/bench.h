// SPDX-License-Identifier: MIT
// The bench measures what collectives cost, predicts what they should cost, and checks their results. This is what one
// rank of it holds; each part has a header of its own.
//
// - bench.c     the subcommand: the order of events in the launcher and in the ranks.
// - options     the command line, checked before anything is started.
// - row, plan   a row of the table; all rows that were asked for.
// - call, data  one call and its buffers; what ranks give, and whether they got the right data.
// - limits      what this machine can do at most.
// - queue       calls that are started one behind the other, or recorded as a graph.
// - time        batches of calls, until their median is known.
// - sweep       all rows, measured one by one on all ranks.
// - predict     the simulator's time for a row.
// - errors      how far predictions were off, and how far a repeat is off.
// - table       the screen.
// - nccl_tests  the screen in the format of nccl-tests.
// - files       the manifest, CSV, JSON.
// - samples     what each rank measured in each batch.
// - several     several backends in turns, in one table.
// - matrix/     ranks x sizes x backends x collectives: each cell is a bench of its own.
#pragma once

#include <stdint.h>

#include "cmd/bench/limits.h"
#include "cmd/bench/options.h"
#include "cmd/bench/plan.h"
#include "cmd/bench/result.h"
#include "cmd/bench/samples.h"
#include "core/base/machine/machine.h"
#include "core/base/files/manifest.h"
#include "sim/sim.h"

struct clab_comm;
struct clab_job;

// What one rank holds. The launcher fills the first part, and its ranks have copies.
struct bench {
    const struct bench_options *options;
    const struct bench_plan *plan;
    const struct clab_net *net; // NULL: there are no predictions, and `why` says the reason
    char why[CLAB_NET_WHY];
    struct clab_manifest *manifest;
    struct clab_machine machine; // this rank's, with the cores that all ranks of the host share
    struct clab_job *job;        // NULL: it has not been started
    struct clab_comm *comm;      // its calls are measured
    struct clab_comm *alone;     // of this rank alone, for cmd/probe/placement.h; NULL: not used yet
    struct clab_comm *control;   // for what ranks agree on, so that those calls are not counted
    int rank, nranks;
    uint64_t seed;
    struct bench_buffers whole; // (plan->buffer_bytes) each
    void *probe_room;           // for cmd/probe/placement.h
    struct bench_limits limits;
    struct bench_result (*results)[BENCH_PLACEMENTS]; // (plan->nrows)
    double *latencies;                                // scratch of time.c
    double repeated;                                  // s for rows that were measured again
    struct bench_samples *samples;                    // NULL: nobody asks for them
    int verdict;                                      // rank 0's error code for a bench that ran to its end
};
