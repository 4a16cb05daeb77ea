// SPDX-License-Identifier: MIT
// Collectives that the backend runs by itself: a library's own, or schedules that the backend prices.
//
// - "native" stands where an algorithm's name does, so that it is chosen, queued, waited for, poisoned and reported
//   like any other. It has no schedule: it can not be proved, priced or drawn, and its messages are not known.
// - The automatic choice takes it where there is one. All ranks choose alike: `has` knows nothing of a rank.
// - An average is the backend's sum, divided by the communicator: types and rounding are as with the executor.
// - If a backend does not report progress within a call, the deadline holds for the whole call.

#include "core/comm/comm.h"

// ---- an algorithm without a schedule -------------------------------------------------------------------------

static bool supports(const struct clab_problem *problem)
{
    (void)problem;
    return false; // its stages are not known
}

static int one_chunk(const struct clab_problem *problem)
{
    (void)problem;
    return 1;
}

static int nothing(const struct clab_problem *problem)
{
    (void)problem;
    return 0;
}

static int no_stage(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])
{
    (void)problem, (void)rank, (void)lane, (void)stage, (void)out;
    return CLAB_DONE;
}

static struct clab_cost no_cost(const struct clab_problem *problem)
{
    (void)problem;
    return (struct clab_cost){0};
}

const struct clab_algorithm clab_native_algorithm = {
    .name = "native",
    .title = "what the backend's library does by itself",
    .source = "the library",
    .collective = CLAB_COLLECTIVE_COUNT, // any
    .default_lanes = 1,
    .supports = supports,
    .chunks = one_chunk,
    .scratch = nothing,
    .width = nothing,
    .stage = no_stage,
    .cost = no_cost,
};

// ---- running it ----------------------------------------------------------------------------------------------

bool clab_native_is(const struct clab_work *work)
{
    return work->algorithm == &clab_native_algorithm;
}

static enum clab_op without_average(enum clab_op op)
{
    return op == CLAB_AVG ? CLAB_SUM : op;
}

bool clab_native_has(const struct clab_backend *backend, enum clab_collective collective, enum clab_type type,
                     enum clab_op op)
{
    return backend->collectives->has(collective, type, without_average(op));
}

static int begin(struct clab_comm *comm, struct clab_work *work)
{
    const struct clab_collectives *collectives = comm->backend->collectives;
    const bool compares = collectives->runs_schedules || comm->check.natives;
    const struct clab_call call = {
        .problem = work->problem,
        .algorithm = clab_native_is(work) ? NULL : work->algorithm,
        .type = work->type,
        .op = without_average(work->op),
        .in_place = work->in_place,
        .in = work->in,
        .out = work->out,
        .graph = work->graph,
        .agreed = compares ? clab_check_number(work) : 0,
        .when = work->started,
    };
    comm->traffic.algorithm = work->algorithm->name;
    return collectives->start(comm->endpoint, &call);
}

static int advance(struct clab_comm *comm, struct clab_work *work, bool *progress_p, bool *done_p)
{
    struct clab_answer answer = {.differs = -1};
    const int err = comm->backend->collectives->test(comm->endpoint, &answer);
    (void)progress_p;
    if (err == CLAB_EMISMATCH && answer.differs >= 0)
        clab_check_ask(comm, comm->job_ranks[answer.differs]);
    CLAB_TRY(err);
    if (!answer.done)
        return CLAB_OK;
    work->started = answer.begun;
    work->due = answer.due;
    clab_comm_count(comm, clab_work_counts(work), answer.messages, answer.bytes_sent, answer.bytes_received,
                    answer.bytes_across);
    *done_p = true;
    return CLAB_OK;
}

static bool waits_for(const struct clab_comm *comm, int *peer_p, int *stage_p)
{
    size_t moved;
    (void)stage_p;
    comm->backend->collectives->look(comm->endpoint, peer_p, &moved);
    return *peer_p >= 0;
}

static size_t moved(const struct clab_comm *comm)
{
    int peer;
    size_t bytes;
    comm->backend->collectives->look(comm->endpoint, &peer, &bytes);
    return bytes;
}

// The backend runs the whole call.
static const struct clab_engine by_backend = {
    .begin = begin, .advance = advance, .waits_for = waits_for, .moved = moved};

const struct clab_engine *clab_engine_of(const struct clab_work *work)
{
    const bool whole = clab_native_is(work) || work->comm->backend->collectives->runs_schedules;
    return whole ? &by_backend : &clab_engine_executor;
}
