// SPDX-License-Identifier: MIT
// Writing on the tape (buffer.h).

#include "core/trace/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/output.h"
#include "core/base/variables.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

int clab_tape_check(void)
{
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    if (!path || !*path)
        return CLAB_OK;
    CLAB_TRY(clab_json_check());
    return clab_output_check(path);
}

int clab_tape_open(const struct clab_job *job, struct clab_tape **tape_p)
{
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    if (!path || !*path) {
        *tape_p = NULL;
        return CLAB_OK;
    }
    if (job->rank == 0)
        CLAB_TRY(clab_tape_check());
    struct clab_tape *tape = calloc(1, sizeof *tape); // pages come when they are written
    if (!tape) {
        clab_error("no memory for CLAB_TRACE: %zu bytes per rank", sizeof *tape);
        return CLAB_ENOMEM;
    }
    tape->process = job->rank;
    tape->from = -INFINITY;
    *tape_p = tape;
    return CLAB_OK;
}

// ---- calls ---------------------------------------------------------------------------------------------------

// The ring's next thing, which was over then, is overwritten if the ring is full.
static void overwrite(struct clab_tape *tape, uint64_t n, int room, double end)
{
    if (n >= (uint64_t)room)
        tape->from = fmax(tape->from, end);
}

struct clab_taped clab_tape_begin(struct clab_tape *tape)
{
    return (struct clab_taped){.begin = clab_seconds(), .serial = ++tape->serial};
}

static struct clab_timeline_call describe(const struct clab_work *work)
{
    const struct clab_comm *comm = work->comm;
    const struct clab_transfer *t = &work->transfer;
    const struct clab_problem *p = &work->problem;
    struct clab_timeline_call call = {.comm = comm->id, .rank = comm->rank, .nranks = comm->nranks, .lanes = 1};
    if (!work->algorithm) {
        call.count = t->count;
        call.root = t->peer;
        call.what = t->op == CLAB_SEND ? CLAB_TIMELINE_SEND : CLAB_TIMELINE_RECEIVE;
        call.type = (uint8_t)t->type;
        return call;
    }
    call.count = p->count;
    call.sequence = (uint32_t)work->sequence;
    call.root = p->root;
    call.group = p->group;
    call.what = (uint8_t)p->collective;
    call.type = (uint8_t)work->type;
    call.lanes = (uint8_t)p->lanes;
    call.algorithm = (uint8_t)clab_algorithm_number(work->algorithm);
    return call;
}

void clab_tape_end(struct clab_tape *tape, const struct clab_work *work)
{
    struct clab_timeline_call *call = &tape->calls[tape->ncalls % TAPE_CALLS];
    overwrite(tape, tape->ncalls++, TAPE_CALLS, call->end);
    *call = describe(work);
    if (work->comm->backend->time->is_exact) { // in the order of the program's waits, which is the same each time
        call->begin = work->started;
        call->end = fmax(work->started, work->due);
        call->serial = ++tape->serial;
    } else {
        call->begin = work->taped.begin;
        call->end = clab_seconds();
        call->serial = work->taped.serial;
    }
    call->process = tape->process;
}

void clab_tape_stage(struct clab_tape *tape, uint32_t serial, int lane, int stage, double begin)
{
    struct clab_timeline_stage *taped = &tape->stages[tape->nstages % TAPE_STAGES];
    overwrite(tape, tape->nstages++, TAPE_STAGES, taped->end);
    *taped = (struct clab_timeline_stage){.begin = begin,
                                          .end = clab_seconds(),
                                          .serial = serial,
                                          .process = tape->process,
                                          .stage = stage,
                                          .lane = lane};
}

// ---- spans ---------------------------------------------------------------------------------------------------

void clab_tape_span_begin(struct clab_tape *tape, const char *name)
{
    if (tape->depth++ >= TAPE_DEPTH)
        return;
    struct clab_timeline_span *span = &tape->open[tape->depth - 1];
    *span = (struct clab_timeline_span){
        .bytes = -1, .process = tape->process, .row = CLAB_ROW_COMPUTE, .peer = -1, .stage = -1};
    snprintf(span->name, sizeof span->name, "%s", name);
    span->begin = clab_seconds();
}

void clab_tape_span_end(struct clab_tape *tape)
{
    if (tape->depth == 0 || --tape->depth >= TAPE_DEPTH)
        return;
    struct clab_timeline_span *span = &tape->spans[tape->nspans % TAPE_SPANS];
    overwrite(tape, tape->nspans++, TAPE_SPANS, span->end);
    *span = tape->open[tape->depth];
    span->end = clab_seconds();
}

void clab_span_begin(struct clab_job *job, const char *name)
{
    if (job->tape)
        clab_tape_span_begin(job->tape, name); // by the program's thread alone, as `depth` and `open` are
}

void clab_span_end(struct clab_job *job)
{
    if (!job->tape)
        return;
    clab_job_enter(job);
    clab_tape_span_end(job->tape);
    clab_job_leave(job);
}
