// SPDX-License-Identifier: MIT
// Calls that are started one behind the other, and then waited for: the mode enqueue, as nccl-tests measures. Or
// recorded as a graph (CUDA graphs), which is launched so many times.
#pragma once

#include "cmd/bench/call.h"

struct clab_graph;

enum { BENCH_QUEUED = 256 }; // most calls that are started before one is waited for: a backend takes as many at once

struct bench_queue {
    struct clab_comm *comm;
    const struct bench_row *row;
    struct bench_buffers buffers;
    int launches;             // of the graph; 0: there is none
    struct clab_graph *graph; // of `recorded` calls
    int recorded;
};

// Before the time is taken: record so many calls, if there is to be a graph, and it is not of so many.
//   errors: of clab_graph_record
int bench_queue_prepare(struct bench_queue *queue, int calls);
// Start so many calls, or all launches, and wait for them. *started_p: s per call until they were started.
//   errors: the collective's
int bench_queue_run(struct bench_queue *queue, int calls, double *started_p);
// How many calls that makes.
int bench_queue_calls(const struct bench_queue *queue, int calls);
void bench_queue_free(struct bench_queue *queue);
