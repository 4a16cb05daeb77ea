// SPDX-License-Identifier: MIT
// A trace of a schedule: every message and every change of a chunk, in rounds. Drawings are made from it.
//
// - Recorded by the verifier, so what is drawn is proved.
// - Time is counted in messages, on the machine of struct clab_cost, with one difference: lanes share the way out and
//   the way in of a rank, so that a drawing shows a pipeline as one.
#pragma once

#include "core/schedule/verify/verify.h"

// A chunk of CLAB_DATA or CLAB_SCRATCH has got a new value.
struct clab_change {
    long time;
    int lane, rank, stage;
    enum clab_buffer buffer;
    int cell;     // lane by lane: lane * (the lane's chunks of that buffer) + chunk
    int inputs;   // of CLAB_DATA: how many of the ranks' inputs that it needs it holds
    int block;    // of the inputs, whose chunk this is: in an alltoall, the rank that it is for
    uint64_t set; // who contributed, of ranks 0 to 63: a bit each
};

struct clab_trace {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm;
    struct clab_verify_result result;
    long rounds;                   // until the last message has landed
    int cells;                     // chunks of CLAB_DATA in all lanes
    struct clab_message *messages; // (nmessages), by the time at which they leave
    size_t nmessages;
    struct clab_change *changes; // (nchanges), by time
    size_t nchanges;
    long *ends; // (lanes, P, stages): when each stage ended; 0: it has no messages
    int stages; // of the rank with most
};

// Record `algorithm` on `problem`.
//   out:    *trace_p, on success only
//   errors: CLAB_EWRONG (the algorithm is flawed: one logged line says how), CLAB_ENOMEM
int clab_trace_record(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                      struct clab_trace *trace_p);
void clab_trace_free(struct clab_trace *trace);

// How many inputs a cell needs to be complete: P, or 1 where nothing is reduced.
int clab_trace_complete(const struct clab_trace *trace);

// When a rank's stage ended, in rounds. One without messages ends with the last one before it that has some.
long clab_trace_stage_end(const struct clab_trace *trace, int lane, int rank, int stage);

// How many cells a rank has in a lane's part of `buffer`; 0: the collective, or the algorithm, does not use it.
int clab_trace_lane_cells(const struct clab_trace *trace, enum clab_buffer buffer);

// How many inputs each rank's cells hold: at the start, and after the changes from *next_p on up to `time`.
//   inputs: (P, cells); *next_p is 0 at first
void clab_trace_start(const struct clab_trace *trace, int inputs[]);
void clab_trace_advance(const struct clab_trace *trace, long time, size_t *next_p, int inputs[]);
