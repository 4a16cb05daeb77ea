// SPDX-License-Identifier: MIT
// Collectives by the library's own means, where a backend has them.
//
// - "native" stands where an algorithm's name does, so that it is chosen, queued, waited for, poisoned and reported
//   like any other. It has no schedule: nobody can prove, price or draw it, and what it sends is not known.
// - The automatic choice takes it where there is one. All ranks choose alike: has_native knows nothing of a rank.
// - An average is the library's sum, divided by the communicator: types and rounding are as with schedules.
// - A library does not say how far it has come, so the deadline holds for the call as a whole.

#include "core/comm/comm.h"

// ---- an algorithm without a schedule -------------------------------------------------------------------------

static bool supports(const struct clab_problem *problem)
{
    (void)problem;
    return false; // for all who would look at its stages
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

static enum clab_op library_op(enum clab_op op)
{
    return op == CLAB_AVG ? CLAB_SUM : op;
}

bool clab_native_has(const struct clab_backend *backend, enum clab_collective collective, enum clab_type type,
                     enum clab_op op)
{
    return backend->collectives->has(collective, type, library_op(op));
}

int clab_native_begin(struct clab_comm *comm, const struct clab_work *work)
{
    const struct clab_call call = {
        .problem = work->problem,
        .type = work->type,
        .op = library_op(work->op),
        .in_place = work->in_place,
        .in = work->in,
        .out = work->out,
        .agreed = comm->check.natives ? clab_check_number(work) : 0,
    };
    comm->traffic.algorithm = work->algorithm->name;
    return comm->backend->collectives->start(comm->endpoint, &call);
}

int clab_native_advance(struct clab_comm *comm, bool *done_p)
{
    struct clab_answer answer = {.differs = -1};
    const int err = comm->backend->collectives->test(comm->endpoint, &answer);
    *done_p = answer.done;
    return err;
}
