// SPDX-License-Identifier: MIT
// What a work writes to the flight recorder, and to the trace: what it is, which rank it waits for, when and how it
// ends.

#include "core/comm/comm.h"

// The number of the algorithm in clab_algorithms, which is the same in all processes.
static uint8_t find_number(const struct clab_algorithm *algorithm)
{
    return algorithm == &clab_native_algorithm ? CLAB_FLIGHT_NATIVE : (uint8_t)clab_algorithm_number(algorithm);
}

// Mostly it is that of the work before.
static void know_algorithm(struct clab_comm *comm, const struct clab_algorithm *algorithm)
{
    if (algorithm == comm->recorded.algorithm)
        return;
    comm->recorded.algorithm = algorithm;
    comm->recorded.number = find_number(algorithm);
}

static void describe_message(const struct clab_work *work, struct clab_flight_op *op)
{
    const struct clab_transfer *t = &work->transfer;
    op->count = t->count;
    op->sequence = 0;
    op->root = (int16_t)work->comm->job_ranks[t->peer];
    op->what = t->op == CLAB_SEND ? CLAB_FLIGHT_SEND : CLAB_FLIGHT_RECEIVE;
    op->type = (uint8_t)t->type;
    op->op = op->lanes = op->algorithm = 0;
}

static inline void describe_collective(const struct clab_work *work, struct clab_flight_op *op)
{
    op->count = work->problem.count;
    op->sequence = (uint32_t)work->sequence;
    op->root = (int16_t)work->comm->job_ranks[work->problem.root];
    op->what = (uint8_t)work->problem.collective;
    op->type = (uint8_t)work->type;
    op->op = (uint8_t)work->op;
    op->lanes = (uint8_t)work->problem.lanes;
    op->algorithm = work->comm->recorded.number;
}

void clab_work_describe(const struct clab_work *work, struct clab_flight_op *op)
{
    op->comm = work->comm->id;
    if (work->algorithm) {
        know_algorithm(work->comm, work->algorithm);
        describe_collective(work, op);
    } else {
        describe_message(work, op);
    }
}

// All that happens seldom.
static __attribute__((noinline)) void record_slowly(struct clab_work *work)
{
    struct clab_flight *flight = work->comm->flight;
    clab_flight_tick(flight);
    struct clab_flight_op *op = clab_flight_next(flight);
    clab_work_describe(work, op);
    work->flight = op;
    work->flight_serial = clab_flight_begin(flight, op);
}

void clab_work_record(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    struct clab_flight *flight = comm->flight;
    if (work->algorithm != comm->recorded.algorithm || clab_flight_is_old(flight, work->problem.count)) {
        record_slowly(work);
        return;
    }
    struct clab_flight_op *op = clab_flight_next(flight);
    op->comm = comm->id;
    describe_collective(work, op);
    work->flight = op;
    work->flight_serial = clab_flight_begin(flight, op);
}

void clab_work_record_wait(const struct clab_work *work, double since)
{
    const struct clab_comm *comm = work->comm;
    const struct clab_work *first = work->algorithm ? comm->collectives : work; // the others are queued behind it
    struct clab_flight_op *op = first ? clab_work_recorded(first) : NULL;
    int peer, stage;
    if (!op)
        return;
    const bool known = clab_work_waits_for(first, &peer, &stage);
    clab_flight_wait(op, known ? comm->job_ranks[peer] : -1, known ? stage : -1, since);
}

// ---- the trace -----------------------------------------------------------------------------------------------

static struct clab_timeline_call describe_call(const struct clab_work *work)
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

void clab_work_trace(const struct clab_work *work)
{
    struct clab_trace *trace = work->comm->trace;
    struct clab_timeline_call call = describe_call(work);
    call.begin = work->traced.begin;
    call.end = clab_trace_now(trace);
    call.serial = work->traced.serial;
    clab_trace_end(trace, call);
}

// In the order of the program's waits, which is the same each time.
void clab_work_trace_settled(const struct clab_work *work)
{
    struct clab_trace *trace = work->comm->trace;
    struct clab_timeline_call call = describe_call(work);
    call.begin = work->started;
    call.end = work->due > work->started ? work->due : work->started;
    call.serial = clab_trace_begin(trace).serial;
    clab_trace_end(trace, call);
}
