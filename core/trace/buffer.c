// SPDX-License-Identifier: MIT
// Filling the trace buffer (buffer.h).

#include "core/trace/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files/json.h"
#include "core/base/machine/kept.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/variables.h"

int clab_trace_check(void)
{
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    if (!path || !*path)
        return CLAB_OK;
    CLAB_TRY(clab_json_check());
    return clab_output_check(path);
}

// Virtual time does not pass while others have the core.
double clab_trace_kept(const struct clab_trace *trace)
{
    return trace->domain->backend->time->is_exact ? NAN : clab_kept();
}

int clab_trace_open(const struct clab_trace_job *job, struct clab_trace **trace_p)
{
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    if (!path || !*path) {
        *trace_p = NULL;
        return CLAB_OK;
    }
    if (job->boot->rank == 0)
        CLAB_TRY(clab_trace_check());
    struct clab_trace *trace = calloc(1, sizeof *trace); // pages come when they are written
    if (!trace) {
        clab_error("no memory for CLAB_TRACE: %zu bytes per rank", sizeof *trace);
        return CLAB_ENOMEM;
    }
    trace->domain = job->domain;
    trace->process = job->boot->rank;
    trace->from = -INFINITY;
    trace->opened = clab_trace_now(trace);
    trace->kept = clab_trace_kept(trace);
    *trace_p = trace;
    return CLAB_OK;
}

// ---- calls ---------------------------------------------------------------------------------------------------

// The next entry of the ring. If the ring is full, the oldest entry is overwritten.
static void overwrite(struct clab_trace *trace, uint64_t n, int room, double end)
{
    if (n >= (uint64_t)room)
        trace->from = fmax(trace->from, end);
}

double clab_trace_now(const struct clab_trace *trace)
{
    return trace->domain->backend->time->now(trace->domain);
}

struct clab_traced clab_trace_begin(struct clab_trace *trace)
{
    return (struct clab_traced){.begin = clab_trace_now(trace), .serial = ++trace->serial};
}

void clab_trace_end(struct clab_trace *trace, struct clab_timeline_call call)
{
    struct clab_timeline_call *place = &trace->calls[trace->ncalls % TRACE_CALLS];
    overwrite(trace, trace->ncalls++, TRACE_CALLS, place->end);
    *place = call;
    place->process = trace->process;
}

void clab_trace_stage(struct clab_trace *trace, uint32_t serial, int lane, int stage, double begin)
{
    struct clab_timeline_stage *traced = &trace->stages[trace->nstages % TRACE_STAGES];
    overwrite(trace, trace->nstages++, TRACE_STAGES, traced->end);
    *traced = (struct clab_timeline_stage){.begin = begin,
                                           .end = clab_trace_now(trace),
                                           .serial = serial,
                                           .process = trace->process,
                                           .stage = stage,
                                           .lane = lane};
}

// ---- spans ---------------------------------------------------------------------------------------------------

void clab_trace_span_begin(struct clab_trace *trace, const char *name)
{
    if (trace->depth++ >= TRACE_DEPTH)
        return;
    struct clab_timeline_span *span = &trace->open[trace->depth - 1];
    *span = (struct clab_timeline_span){
        .bytes = -1, .process = trace->process, .row = CLAB_ROW_COMPUTE, .peer = -1, .stage = -1};
    snprintf(span->name, sizeof span->name, "%s", name);
    span->kept = clab_trace_kept(trace);
    span->begin = clab_trace_now(trace);
}

void clab_trace_span_bytes(struct clab_trace *trace, double bytes)
{
    if (trace->depth > 0 && trace->depth <= TRACE_DEPTH)
        trace->open[trace->depth - 1].bytes = (int64_t)bytes;
}

void clab_trace_span_stop(struct clab_trace *trace)
{
    if (trace->depth == 0 || trace->depth > TRACE_DEPTH)
        return;
    struct clab_timeline_span *span = &trace->open[trace->depth - 1];
    span->end = clab_trace_now(trace);
    const double kept = clab_trace_kept(trace) - span->kept;
    span->kept = kept >= 0 ? kept : -1;
}

void clab_trace_span_end(struct clab_trace *trace)
{
    if (trace->depth == 0 || --trace->depth >= TRACE_DEPTH)
        return;
    struct clab_timeline_span *span = &trace->spans[trace->nspans % TRACE_SPANS];
    overwrite(trace, trace->nspans++, TRACE_SPANS, span->end);
    *span = trace->open[trace->depth];
}
