// SPDX-License-Identifier: MIT
// The trace buffer: what this rank does, when, for a trace viewer (core/trace/timeline.h). There is one where
// CLAB_TRACE (or --trace) names a file. Without one, each call costs one test of a pointer, and each stage another.
//
// - A rank writes to memory of its own, of a fixed size. If there is more, it overwrites the oldest, and counts them.
//   The file holds the time of which no rank has overwritten anything, and says so.
// - When the job is closed, each rank sends its buffer to rank 0, and rank 0 writes the file: whole or not at all.
//   Ranks that have failed send nothing, and the file says so.
// - By an exact clock (struct clab_time) a call lasts from when the rank entered it to when it is over for the rank. It
//   is written when the program has waited for it. It has no stages where the backend runs it as a whole.
// - Times are those of the backend. Clocks of other hosts are set by rank 0's, as of when the job is closed: to half of
//   the shortest round trip that was seen, which the file states.
#pragma once

#include <stdint.h>

#include "core/trace/timeline.h"
#include "core/transport/backend.h"

struct clab_trace;

// The job that is traced.
struct clab_trace_job {
    struct clab_bootstrap *boot;
    const struct clab_domain *domain;
    const char *backend; // its name, for the file
};

// Whether the file that CLAB_TRACE names could be written now; CLAB_OK if it names none. Asked before ranks start.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO, CLAB_ENOMEM
int clab_trace_check(void);
// *trace_p is NULL where CLAB_TRACE names no file.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO (the file can not be written), CLAB_ENOMEM
int clab_trace_open(const struct clab_trace_job *job, struct clab_trace **trace_p);
// Hand it in; rank 0 writes the file. Waits for the others, for the job's timeout at most. Frees it in any case. NULL
// is fine.
//   errors: CLAB_EIO, CLAB_ENOMEM, CLAB_EUNSUPPORTED (at rank 0 only: the file is not written; logged)
int clab_trace_close(const struct clab_trace_job *job, struct clab_trace *trace);

// A call has begun, or a send or receive: its time and number.
struct clab_traced {
    double begin;
    uint32_t serial;
};
struct clab_traced clab_trace_begin(struct clab_trace *trace);
// It is over, at `call.end`. The rest of `call` is the caller's but for `process`.
void clab_trace_end(struct clab_trace *trace, struct clab_timeline_call call);
// s of the backend's time.
double clab_trace_now(const struct clab_trace *trace);
// A stage that began then, of the call `serial`, is over.
void clab_trace_stage(struct clab_trace *trace, uint32_t serial, int lane, int stage, double begin);

// What is computed: clab_span_begin and clab_span_end of clab.h.
// clab_trace_span_stop says when it was over, and clab_trace_span_end keeps it: that one waits for its turn with the
// progress thread, which is no part of the span.
void clab_trace_span_begin(struct clab_trace *trace, const char *name);
void clab_trace_span_stop(struct clab_trace *trace);
void clab_trace_span_end(struct clab_trace *trace);
// The innermost that is open reads and writes so many bytes of memory.
void clab_trace_span_bytes(struct clab_trace *trace, double bytes);
