// SPDX-License-Identifier: MIT
// The tape: what this rank does, when, for a trace viewer (core/trace/timeline.h). Where CLAB_TRACE (or --trace) names a
// file; else there is none, and calls cost one test of a pointer each, stages another.
//
// - A rank writes to memory of its own, of a fixed size: of what is more, the oldest is overwritten, and counted. The
//   file holds the time of which no rank has overwritten anything, and says so.
// - When the job is closed, each rank hands its tape to rank 0, in a meeting of the two, and rank 0 writes the file:
//   whole or not at all. Ranks that have failed hand in nothing, and the file says so.
// - In virtual time (backend sim) calls last from when the rank entered them to when they are over for it; they are
//   written when the program has waited for them, and have no stages, since the backend runs them as a whole.
// - Times are those of clab_seconds. Clocks of other hosts are set by rank 0's, as of when the job is closed: to half
//   of the shortest round trip that was seen, which the file says.
#pragma once

#include <stdint.h>

#include "core/trace/timeline.h"

struct clab_job;
struct clab_tape;
struct clab_work;

// Whether the file that CLAB_TRACE names could be written now; CLAB_OK if it names none. Asked before ranks start.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO, CLAB_ENOMEM
int clab_tape_check(void);
// CLAB_TRACE's tape; *tape_p is NULL where it names none.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO (the file can not be written), CLAB_ENOMEM
int clab_tape_open(const struct clab_job *job, struct clab_tape **tape_p);
// Hand it in; rank 0 writes the file. Waits for the others, for the job's timeout at most. Frees it in any case. NULL
// is fine.
//   errors: CLAB_EIO, CLAB_ENOMEM, CLAB_EUNSUPPORTED (at rank 0 only: the file is not written; logged)
int clab_tape_close(const struct clab_job *job, struct clab_tape *tape);

// A call of `work` has begun, or its send or receive: its time and number.
struct clab_taped {
    double begin;
    uint32_t serial;
};
struct clab_taped clab_tape_begin(struct clab_tape *tape);
// It is over, on communicator rank `rank`.
void clab_tape_end(struct clab_tape *tape, const struct clab_work *work);
// A stage that began then, of the call `serial`, is over.
void clab_tape_stage(struct clab_tape *tape, uint32_t serial, int lane, int stage, double begin);

// What is computed: clab_span_begin and clab_span_end of clab.h.
void clab_tape_span_begin(struct clab_tape *tape, const char *name);
void clab_tape_span_end(struct clab_tape *tape);
