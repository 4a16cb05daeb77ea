// SPDX-License-Identifier: MIT
// One call of a collective, and the buffers it takes (call.h).

#include "cmd/bench/call.h"

#include "core/base/err.h"
#include "core/clab.h"

struct bench_buffers bench_place(const struct bench_row *row, int rank, enum bench_placement placement,
                                 struct bench_buffers whole)
{
    const struct clab_problem *p = &row->problem;
    const size_t mine = (size_t)rank * p->count * clab_type_bytes(row->type);
    if (placement == BENCH_OUT_OF_PLACE)
        return whole;
    switch (p->collective) {
    case CLAB_ALLGATHER: return (struct bench_buffers){whole.out + mine, whole.out};
    case CLAB_GATHER: return rank == p->root ? (struct bench_buffers){whole.out + mine, whole.out} : whole;
    case CLAB_REDUCE_SCATTER: return (struct bench_buffers){whole.in, whole.in + mine};
    case CLAB_SCATTER: return rank == p->root ? (struct bench_buffers){whole.in, whole.in + mine} : whole;
    default: return (struct bench_buffers){whole.out, whole.out};
    }
}

// Each rank sends to the next one, and receives from the one before.
static int shift(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers b)
{
    const struct clab_problem *p = &row->problem;
    const int rank = clab_comm_rank(comm), next = (rank + 1) % p->nranks, previous = (rank + p->nranks - 1) % p->nranks;
    struct clab_work *send;
    CLAB_TRY(clab_send_start(comm, b.in, p->count, row->type, next, &send));
    CLAB_TRY(clab_recv(comm, b.out, p->count, row->type, previous));
    return clab_work_wait(send);
}

int bench_call(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers b)
{
    const size_t count = row->problem.count;
    const int root = row->problem.root;
    switch (row->problem.collective) {
    case CLAB_ALLREDUCE: return clab_allreduce(comm, b.in, b.out, count, row->type, row->op);
    case CLAB_BROADCAST: return clab_broadcast(comm, b.in, b.out, count, row->type, root);
    case CLAB_REDUCE: return clab_reduce(comm, b.in, b.out, count, row->type, row->op, root);
    case CLAB_ALLGATHER: return clab_allgather(comm, b.in, b.out, count, row->type);
    case CLAB_REDUCE_SCATTER: return clab_reduce_scatter(comm, b.in, b.out, count, row->type, row->op);
    case CLAB_ALLTOALL: return clab_alltoall(comm, b.in, b.out, count, row->type);
    case CLAB_GATHER: return clab_gather(comm, b.in, b.out, count, row->type, root);
    case CLAB_SCATTER: return clab_scatter(comm, b.in, b.out, count, row->type, root);
    case CLAB_BARRIER: return clab_barrier(comm);
    case CLAB_SENDRECV: return shift(comm, row, b);
    default: return CLAB_EINVAL;
    }
}

int bench_call_start(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers b,
                     struct clab_work *works[2])
{
    const size_t count = row->problem.count;
    const int root = row->problem.root, n = row->problem.nranks, rank = clab_comm_rank(comm);
    works[1] = NULL;
    switch (row->problem.collective) {
    case CLAB_ALLREDUCE: return clab_allreduce_start(comm, b.in, b.out, count, row->type, row->op, works);
    case CLAB_BROADCAST: return clab_broadcast_start(comm, b.in, b.out, count, row->type, root, works);
    case CLAB_REDUCE: return clab_reduce_start(comm, b.in, b.out, count, row->type, row->op, root, works);
    case CLAB_ALLGATHER: return clab_allgather_start(comm, b.in, b.out, count, row->type, works);
    case CLAB_REDUCE_SCATTER: return clab_reduce_scatter_start(comm, b.in, b.out, count, row->type, row->op, works);
    case CLAB_ALLTOALL: return clab_alltoall_start(comm, b.in, b.out, count, row->type, works);
    case CLAB_GATHER: return clab_gather_start(comm, b.in, b.out, count, row->type, root, works);
    case CLAB_SCATTER: return clab_scatter_start(comm, b.in, b.out, count, row->type, root, works);
    case CLAB_BARRIER: return clab_barrier_start(comm, works);
    case CLAB_SENDRECV:
        CLAB_TRY(clab_send_start(comm, b.in, count, row->type, (rank + 1) % n, &works[0]));
        return clab_recv_start(comm, b.out, count, row->type, (rank + n - 1) % n, &works[1]);
    default: return CLAB_EINVAL;
    }
}
