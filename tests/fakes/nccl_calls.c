// SPDX-License-Identifier: MIT
// The operations of the fake libnccl, as NCCL declares them: each checks what it is given and becomes a task.
//
// Collectives without elements are nothing, as in NCCL; a message without bytes is one.

#include "tests/fakes/nccl_inside.h"

static ncclResult_t check(ncclComm_t comm, const struct task *task)
{
    const ncclResult_t ready = comm_ready(comm);
    if (ready)
        return ready;
    if (comm->finalized || atomic_load(&comm->aborting))
        return warn(ncclInvalidUsage, "the communicator has been finalized or aborted");
    if (!type_bytes(task->type))
        return warn(ncclInvalidArgument, "type %d is none that the fake knows", (int)task->type);
    if ((int)task->op < 0 || task->op >= ncclNumOps)
        return warn(ncclInvalidArgument, "operation %d is none that the fake knows", (int)task->op);
    if (task->root < 0 || task->root >= comm->nranks)
        return warn(ncclInvalidArgument, "rank %d of %d", task->root, comm->nranks);
    const bool needs_in = task->kind != RECV && !(task->kind == BROADCAST && task->root != comm->rank) &&
                          !(task->kind == SCATTER && task->root != comm->rank);
    const bool needs_out =
        task->kind != SEND && !((task->kind == REDUCE || task->kind == GATHER) && task->root != comm->rank);
    if (task->count && ((needs_in && !task->in) || (needs_out && !task->out)))
        return warn(ncclInvalidArgument, "a buffer is NULL");
    return ncclSuccess;
}

static ncclResult_t begin(ncclComm_t comm, struct task task, cudaStream_t stream)
{
    const ncclResult_t result = check(comm, &task);
    if (result || (!task.count && task.kind > RECV))
        return group_error(result);
    task.fault = fake_fault_of(FAKE_OPERATION);
    // What this rank neither gives nor gets may be anything.
    if (task.root != comm->rank && (task.kind == BROADCAST || task.kind == SCATTER))
        task.in = 0;
    if (task.root != comm->rank && (task.kind == REDUCE || task.kind == GATHER))
        task.out = 0;
    return group_add(comm, &task, stream);
}

static ncclResult_t begin_all(ncclComm_t comm, enum kind kind, const void *in, void *out, size_t count,
                              ncclDataType_t type, ncclRedOp_t op, int root, cudaStream_t stream)
{
    const struct task task = {.kind = kind, .in = in, .out = out, .count = count, .type = type, .op = op, .root = root};
    return begin(comm, task, stream);
}

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return begin(comm, (struct task){.kind = SEND, .in = in, .count = count, .type = type, .root = peer}, stream);
}

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return begin(comm, (struct task){.kind = RECV, .out = out, .count = count, .type = type, .root = peer}, stream);
}

ncclResult_t ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream)
{
    return begin_all(comm, BROADCAST, in, out, count, type, ncclSum, root, stream);
}

ncclResult_t ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
    return ncclBroadcast(data, data, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream)
{
    return begin_all(comm, REDUCE, in, out, count, type, op, root, stream);
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    return begin_all(comm, ALL_REDUCE, in, out, count, type, op, 0, stream);
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
    return begin_all(comm, REDUCE_SCATTER, in, out, count, type, op, 0, stream);
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    return begin_all(comm, ALL_GATHER, in, out, count, type, ncclSum, 0, stream);
}

#if NCCL_VERSION_CODE >= 22800
ncclResult_t ncclAlltoAll(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream)
{
    return begin_all(comm, ALL_TO_ALL, in, out, count, type, ncclSum, 0, stream);
}

ncclResult_t ncclGather(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream)
{
    return begin_all(comm, GATHER, in, out, count, type, ncclSum, root, stream);
}

ncclResult_t ncclScatter(const void *in, void *out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream)
{
    return begin_all(comm, SCATTER, in, out, count, type, ncclSum, root, stream);
}
#endif
