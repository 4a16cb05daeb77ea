// SPDX-License-Identifier: MIT
// The collectives of clab.h: check the arguments, choose the algorithm, queue the work.

#include <math.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

// Whether `in` and `out` are the same memory, in the sense of each collective (clab.h).
static bool is_in_place(const struct clab_comm *comm, const struct clab_work *w)
{
    size_t mine = (size_t)comm->rank * w->problem.count * clab_type_bytes(w->type);
    const char *in = w->in, *out = w->out;
    if (!in || !out)
        return false;
    switch (w->problem.collective) {
    case CLAB_ALLGATHER:
    case CLAB_GATHER: return in == out + mine && clab_problem_wants(&w->problem, comm->rank, comm->rank);
    case CLAB_REDUCE_SCATTER:
    case CLAB_SCATTER: return out == in + mine && clab_problem_holds(&w->problem, comm->rank, comm->rank);
    default: return in == out;
    }
}

static int refuse(const struct clab_work *w, const char *why)
{
    clab_error("%s: %s", clab_collective_name(w->problem.collective), why);
    return CLAB_EINVAL;
}

static int check(const struct clab_comm *comm, const struct clab_work *w)
{
    const struct clab_problem *p = &w->problem;
    bool gives = false, gets = false;
    if ((unsigned)w->type >= CLAB_TYPE_COUNT || (unsigned)w->op >= CLAB_OP_COUNT)
        return refuse(w, "there is no such type or operation");
    if (p->root < 0 || p->root >= p->nranks)
        return refuse(w, "the root is not a rank of this communicator");
    if (p->count > (size_t)-1 / 2 / clab_type_bytes(w->type) / (size_t)p->nranks)
        return refuse(w, "the count is larger than any memory");
    for (int b = 0; b < clab_problem_blocks(p) && p->count; b++) {
        gives |= clab_problem_holds(p, comm->rank, b);
        gets |= clab_problem_wants(p, comm->rank, b);
    }
    gives |= clab_problem_has_input(p) && p->count;
    if ((gives && !w->in) || (gets && !w->out))
        return refuse(w, "a buffer is NULL");
    if (p->collective == CLAB_ALLTOALL && w->in == w->out && p->count)
        return refuse(w, "in place is not supported; give it another buffer for out");
    return CLAB_OK;
}

// Hosts that differ must choose alike: what counts is the whole job.
static struct clab_placement placement_of(const struct clab_comm *comm)
{
    const struct clab_bootstrap *boot = comm->job->bootstrap;
    return (struct clab_placement){
        .crowded = boot->nranks > boot->job_cores && !comm->backend->own_cores,
        .cores = boot->job_cores,
        .sockets = comm->backend->sockets,
        .nodes = boot->nnodes,
        .table = &comm->job->table,
        .per_host = comm->per_host,
    };
}

static int choose(struct clab_comm *comm, struct clab_work *w)
{
    struct clab_problem *p = &w->problem;
    const bool has_native = clab_native_has(comm->backend, p->collective, w->type, w->op);
    w->algorithm = comm->choice[p->collective].algorithm;
    if (has_native && !w->algorithm)
        w->algorithm = &clab_native_algorithm;
    if (clab_native_is(w))
        return has_native ? CLAB_OK : refuse(w, "the library has no such reduction of its own; set \"auto\"");
    p->lanes = comm->choice[p->collective].lanes;
    p->listing = comm->choice[p->collective].listing;
    if (w->algorithm)
        return clab_placement_suits(placement_of(comm), w->algorithm, p)
                   ? CLAB_OK
                   : refuse(w, p->listing
                                   ? "the file's schedule is of another root, or its chunks do not divide the count"
                                   : "the chosen algorithm does not support this number of ranks; set \"auto\"");
    w->algorithm = clab_select(p, clab_type_bytes(w->type), placement_of(comm));
    return w->algorithm ? CLAB_OK : refuse(w, "no algorithm supports this");
}

// What the program asks for. `type` and `op` lie apart, unlike in a work: they are stored one by one, and a core that
// loads both at once waits until the stores before them are done, such as that of a message.
struct asked {
    enum clab_type type;
    int root;
    size_t count;
    const void *in;
    void *out;
    enum clab_op op;
    enum clab_collective collective;
    bool is_own; // as of a work
};

// Whether `w` was checked, and its algorithm chosen, for the same call.
static bool is_for(const struct clab_work *w, const struct asked *a)
{
    return w->algorithm && !w->graph && w->problem.count == a->count && w->problem.root == a->root && w->in == a->in &&
           w->out == a->out && w->type == a->type && w->op == a->op && w->is_own == a->is_own;
}

// Not inlined: the compiler would load `in` and `out` at once, ahead of the comparison (struct asked).
static __attribute__((noinline)) int fill_in(struct clab_comm *comm, const struct asked *a, struct clab_work *w)
{
    *w = (struct clab_work){
        .comm = comm,
        .problem =
            {.collective = a->collective, .nranks = comm->nranks, .root = a->root, .lanes = 1, .count = a->count},
        .in = a->in,
        .out = a->out,
        .type = a->type,
        .op = a->op,
        .is_own = a->is_own,
    };
    CLAB_TRY(check(comm, w));
    CLAB_TRY(choose(comm, w));
    w->in_place = is_in_place(comm, w);
    if (w->in_place && clab_problem_has_input(&w->problem) && w->problem.count)
        return refuse(w, "the schedule is not for calls in place; give it another buffer for out");
    w->engine = clab_engine_of(w);
    return CLAB_OK;
}

static int start(struct clab_comm *comm, const struct asked *a, struct clab_work **work_p)
{
    struct clab_work *w;
    CLAB_TRY(clab_work_take(comm, (int)a->collective, &w));
    const int err = is_for(w, a) ? CLAB_OK : fill_in(comm, a, w);
    if (err) {
        free(w);
        return err;
    }
    CLAB_TRY(clab_work_start(comm, w));
    *work_p = w;
    return CLAB_OK;
}

// Start it, and leave it to whoever makes progress.
static int leave_under_way(struct clab_comm *comm, const struct asked *a, struct clab_work **work_p)
{
    clab_job_enter(comm->job);
    const int err = start(comm, a, work_p);
    clab_job_leave(comm->job);
    clab_progress_begin(comm->job);
    return err;
}

// Start it and wait, which is one call: the progress thread never sees it.
static int call(struct clab_comm *comm, const struct asked *a)
{
    struct clab_work *work;
    clab_job_enter(comm->job);
    int err = start(comm, a, &work);
    if (!err)
        err = clab_work_wait_until(work, INFINITY, &(bool){0});
    clab_job_leave(comm->job);
    clab_progress_begin_if_held(comm->job);
    return err;
}

#define CALL(COLLECTIVE, ROOT, OP, TYPE)                                                                             \
    &(const struct asked)                                                                                            \
    {                                                                                                                \
        .collective = (COLLECTIVE), .root = (ROOT), .count = count, .in = in, .out = out, .type = (TYPE), .op = (OP) \
    }

int clab_allreduce_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                         enum clab_op op, struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_ALLREDUCE, 0, op, type), work_p);
}

int clab_broadcast_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                         struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_BROADCAST, root, CLAB_SUM, type), work_p);
}

int clab_reduce_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                      enum clab_op op, int root, struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_REDUCE, root, op, type), work_p);
}

int clab_allgather_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                         struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_ALLGATHER, 0, CLAB_SUM, type), work_p);
}

int clab_reduce_scatter_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                              enum clab_op op, struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_REDUCE_SCATTER, 0, op, type), work_p);
}

int clab_alltoall_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                        struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_ALLTOALL, 0, CLAB_SUM, type), work_p);
}

int clab_gather_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                      struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_GATHER, root, CLAB_SUM, type), work_p);
}

int clab_scatter_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                       struct clab_work **work_p)
{
    return leave_under_way(comm, CALL(CLAB_SCATTER, root, CLAB_SUM, type), work_p);
}

int clab_barrier_start(struct clab_comm *comm, struct clab_work **work_p)
{
    const void *in = NULL;
    void *out = NULL;
    size_t count = 0;
    return leave_under_way(comm, CALL(CLAB_BARRIER, 0, CLAB_SUM, CLAB_U8), work_p);
}

// A send or receive of the caller's.
static int start_message(struct clab_comm *comm, struct clab_transfer transfer, struct clab_work **work_p)
{
    transfer.lane = CLAB_P2P_LANE;
    CLAB_TRY(clab_message_start(comm, transfer, work_p));
    const bool sends = transfer.op == CLAB_SEND;
    const size_t bytes = transfer.count * clab_type_bytes(transfer.type);
    clab_comm_count_message(comm, transfer.op, transfer.peer, bytes);
    comm->job->counts.sends += sends;
    comm->job->counts.receives += !sends;
    return CLAB_OK;
}

int clab_message_start(struct clab_comm *comm, struct clab_transfer transfer, struct clab_work **work_p)
{
    if (transfer.peer < 0 || transfer.peer >= comm->nranks || (unsigned)transfer.type >= CLAB_TYPE_COUNT ||
        (transfer.count && !transfer.src && !transfer.dst) ||
        transfer.count > (size_t)-1 / 2 / clab_type_bytes(transfer.type)) {
        clab_error("send or receive: peer %d of %d ranks, %zu elements: the peer, type, count or buffer is impossible",
                   transfer.peer, comm->nranks, transfer.count);
        return CLAB_EINVAL;
    }
    transfer.bytes = transfer.count * clab_type_bytes(transfer.type);
    transfer.call = (uint16_t)transfer.type;
    struct clab_work *work;
    CLAB_TRY(clab_work_take(comm, CLAB_MESSAGE_WORK, &work));
    work->comm = comm;
    work->transfer = transfer;
    CLAB_TRY(clab_work_start(comm, work));
    *work_p = work;
    return CLAB_OK;
}

static int leave_message(struct clab_comm *comm, struct clab_transfer transfer, struct clab_work **work_p)
{
    clab_job_enter(comm->job);
    const int err = start_message(comm, transfer, work_p);
    clab_job_leave(comm->job);
    clab_progress_begin(comm->job);
    return err;
}

static int pass(struct clab_comm *comm, struct clab_transfer transfer)
{
    struct clab_work *work;
    clab_job_enter(comm->job);
    int err = start_message(comm, transfer, &work);
    if (!err)
        err = clab_work_wait_until(work, INFINITY, &(bool){0});
    clab_job_leave(comm->job);
    clab_progress_begin_if_held(comm->job);
    return err;
}

#define MESSAGE(OP, SRC, DST)                                                              \
    (struct clab_transfer)                                                                 \
    {                                                                                      \
        .op = (OP), .peer = peer, .src = (SRC), .dst = (DST), .count = count, .type = type \
    }

int clab_send_start(struct clab_comm *comm, const void *in, size_t count, enum clab_type type, int peer,
                    struct clab_work **work_p)
{
    return leave_message(comm, MESSAGE(CLAB_SEND, in, NULL), work_p);
}

int clab_recv_start(struct clab_comm *comm, void *out, size_t count, enum clab_type type, int peer,
                    struct clab_work **work_p)
{
    return leave_message(comm, MESSAGE(CLAB_RECV, NULL, out), work_p);
}

// ---- the same, waiting ---------------------------------------------------------------------------------------

int clab_allreduce(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                   enum clab_op op)
{
    return call(comm, CALL(CLAB_ALLREDUCE, 0, op, type));
}

int clab_broadcast(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root)
{
    return call(comm, CALL(CLAB_BROADCAST, root, CLAB_SUM, type));
}

int clab_reduce(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, enum clab_op op,
                int root)
{
    return call(comm, CALL(CLAB_REDUCE, root, op, type));
}

int clab_allgather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type)
{
    return call(comm, CALL(CLAB_ALLGATHER, 0, CLAB_SUM, type));
}

int clab_own_allgather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type)
{
    const struct asked asked = {
        .collective = CLAB_ALLGATHER, .count = count, .in = in, .out = out, .type = type, .is_own = true};
    return call(comm, &asked);
}

int clab_reduce_scatter(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                        enum clab_op op)
{
    return call(comm, CALL(CLAB_REDUCE_SCATTER, 0, op, type));
}

int clab_alltoall(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type)
{
    return call(comm, CALL(CLAB_ALLTOALL, 0, CLAB_SUM, type));
}

int clab_gather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root)
{
    return call(comm, CALL(CLAB_GATHER, root, CLAB_SUM, type));
}

int clab_scatter(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root)
{
    return call(comm, CALL(CLAB_SCATTER, root, CLAB_SUM, type));
}

int clab_barrier(struct clab_comm *comm)
{
    const void *in = NULL;
    void *out = NULL;
    size_t count = 0;
    return call(comm, CALL(CLAB_BARRIER, 0, CLAB_SUM, CLAB_U8));
}

int clab_send(struct clab_comm *comm, const void *in, size_t count, enum clab_type type, int peer)
{
    return pass(comm, MESSAGE(CLAB_SEND, in, NULL));
}

int clab_recv(struct clab_comm *comm, void *out, size_t count, enum clab_type type, int peer)
{
    return pass(comm, MESSAGE(CLAB_RECV, NULL, out));
}
