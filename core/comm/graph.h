// SPDX-License-Identifier: MIT
// Graphs: collectives of a backend's library that are recorded once, and started together again and again, at the
// cost of one start (CUDA graphs). For the bench.
//
// - What is recorded does not run. Buffers must be memory that the backend reaches, and stay in place as long as the
//   graph is started. Schedules, averages, sends and receives can not be recorded.
#pragma once

struct clab_comm;
struct clab_work;
struct clab_graph;

// Record what `calls(of)` calls on `comm`, on which nothing is under way. All members do so.
//   errors: CLAB_EUNSUPPORTED (the backend has no graphs, or something can not be recorded; logged), CLAB_ENOMEM,
//   CLAB_ESYS, those of `calls`
int clab_graph_record(struct clab_comm *comm, int (*calls)(void *of), void *of, struct clab_graph **graph_p);
// Start all of it, as one work.  errors: as those of a collective's start
int clab_graph_start(struct clab_graph *graph, struct clab_work **work_p);
// Before its communicator is destroyed. No work of it is under way, or the communicator has failed. NULL is fine.
void clab_graph_free(struct clab_graph *graph);
