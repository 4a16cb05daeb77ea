// SPDX-License-Identifier: MIT
// NCCL's collectives, in the stream of the first lane.
//
// - Gather, scatter and all-to-all are sends and receives in one group: NCCL has calls of its own for them from 2.28
//   on, which do the same.
// - A barrier is the sum of one byte. An average is the sum, divided by the communicator.
// - NCCL tells in place from out of place as we do: by the addresses.
// - Whoever only gets a broadcast names its `out` twice: NCCL looks for both buffers among those that are registered.

#include "backends/nccl/endpoint.h"

#include "core/base/log.h"

// A call and where it goes.
struct target {
    const struct clab_call *call;
    ncclDataType_t type;
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, nranks;
};

bool nccl_has_native(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    ncclDataType_t known;
    return collective != CLAB_SENDRECV && op < CLAB_AVG && nccl_type(type, &known);
}

static char *block(const void *buffer, const struct target *t, int index)
{
    const size_t bytes = t->call->problem.count * clab_type_bytes(t->call->type);
    return (char *)(uintptr_t)buffer + (size_t)index * bytes; // what is only read is not written
}

static ncclResult_t send(const struct target *t, const void *from, int peer)
{
    return ncclSend(from, t->call->problem.count, t->type, peer, t->comm, t->stream);
}

static ncclResult_t receive(const struct target *t, void *to, int peer)
{
    return ncclRecv(to, t->call->problem.count, t->type, peer, t->comm, t->stream);
}

// To each rank its block of `in`, if this rank gives; from each its block of `out`, if it gets. The first error.
static ncclResult_t pass_blocks(const struct target *t, bool gives, bool gets, int giver, int getter)
{
    ncclResult_t code = ncclGroupStart(), ended;
    for (int r = 0; r < t->nranks && nccl_is_taken(code) && gives; r++)
        if (getter < 0 || getter == r)
            code = send(t, getter < 0 ? block(t->call->in, t, r) : t->call->in, r);
    for (int r = 0; r < t->nranks && nccl_is_taken(code) && gets; r++)
        if (giver < 0 || giver == r)
            code = receive(t, giver < 0 ? block(t->call->out, t, r) : t->call->out, r);
    ended = ncclGroupEnd();
    return nccl_is_taken(code) ? ended : code;
}

static ncclResult_t alltoall(const struct target *t)
{
    return pass_blocks(t, true, true, -1, -1);
}

static ncclResult_t gather(const struct target *t)
{
    return pass_blocks(t, true, t->rank == t->call->problem.root, -1, t->call->problem.root);
}

static ncclResult_t scatter(const struct target *t)
{
    return pass_blocks(t, t->rank == t->call->problem.root, true, t->call->problem.root, -1);
}

static ncclResult_t begin(const struct nccl_endpoint *endpoint, const struct target *t)
{
    const struct clab_call *c = t->call;
    switch (c->problem.collective) {
    case CLAB_ALLREDUCE:
        return ncclAllReduce(c->in, c->out, c->problem.count, t->type, nccl_op(c->op), t->comm, t->stream);
    case CLAB_BROADCAST:
        return ncclBroadcast(t->rank == c->problem.root ? c->in : c->out, c->out, c->problem.count, t->type,
                             c->problem.root, t->comm, t->stream);
    case CLAB_REDUCE:
        return ncclReduce(c->in, c->out, c->problem.count, t->type, nccl_op(c->op), c->problem.root, t->comm,
                          t->stream);
    case CLAB_ALLGATHER: return ncclAllGather(c->in, c->out, c->problem.count, t->type, t->comm, t->stream);
    case CLAB_REDUCE_SCATTER:
        return ncclReduceScatter(c->in, c->out, c->problem.count, t->type, nccl_op(c->op), t->comm, t->stream);
    case CLAB_ALLTOALL: return alltoall(t);
    case CLAB_GATHER: return gather(t);
    case CLAB_SCATTER: return scatter(t);
    default: return ncclAllReduce(endpoint->nothing, endpoint->nothing, 1, ncclUint8, ncclMax, t->comm, t->stream);
    }
}

// Blocks that this rank passes, at most.
static size_t bytes_of(const struct nccl_endpoint *endpoint, const struct clab_call *call, bool in)
{
    const bool many = call->problem.collective == CLAB_ALLTOALL ||
                      (in ? call->problem.collective == CLAB_REDUCE_SCATTER || call->problem.collective == CLAB_SCATTER
                          : call->problem.collective == CLAB_ALLGATHER || call->problem.collective == CLAB_GATHER);
    return call->problem.count * clab_type_bytes(call->type) * (many ? (size_t)endpoint->nranks : 1);
}

// What this rank gives, and what it gets.
static int register_buffers(struct nccl_endpoint *endpoint)
{
    const struct clab_call *call = &endpoint->native.call;
    const bool is_root = endpoint->rank == call->problem.root;
    if (call->problem.collective == CLAB_BARRIER)
        return CLAB_OK;
    if (is_root || (call->problem.collective != CLAB_BROADCAST && call->problem.collective != CLAB_SCATTER))
        CLAB_TRY(nccl_register(endpoint, call->in, bytes_of(endpoint, call, true)));
    if (is_root || (call->problem.collective != CLAB_REDUCE && call->problem.collective != CLAB_GATHER))
        CLAB_TRY(nccl_register(endpoint, call->out, bytes_of(endpoint, call, false)));
    return CLAB_OK;
}

static int start(struct nccl_endpoint *endpoint)
{
    struct nccl_native *native = &endpoint->native;
    struct nccl_lane *lane = &endpoint->lanes[0];
    bool ready;
    CLAB_TRY(nccl_lane_ready(endpoint, 0, &ready));
    if (!ready)
        return CLAB_OK;
    struct target t = {.call = &native->call,
                       .comm = lane->comm,
                       .stream = lane->stream,
                       .rank = endpoint->rank,
                       .nranks = endpoint->nranks};
    nccl_type(native->call.type, &t.type);
    CLAB_TRY(register_buffers(endpoint));
    CLAB_TRY(nccl_follow_device(lane->stream, &lane->given));
    CLAB_TRY(nccl_span_begin(&native->span, lane->stream));
    const ncclResult_t code = begin(endpoint, &t);
    CLAB_TRY(nccl_error(endpoint, lane->comm, code, clab_collective_name(native->call.problem.collective)));
    lane->is_settling = code == ncclInProgress;
    native->is_started = true;
    endpoint->domain->under_way++;
    return CLAB_OK;
}

int nccl_native_start(struct clab_endpoint *base, const struct clab_call *call)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_native *native = &endpoint->native;
    native->call = *call;
    native->is_started = native->is_marked = false;
    return start(endpoint);
}

int nccl_native_mark(struct nccl_endpoint *endpoint)
{
    struct nccl_native *native = &endpoint->native;
    if (!native->is_started || native->is_marked)
        return CLAB_OK;
    CLAB_TRY(nccl_span_end(&native->span, endpoint->lanes[0].stream));
    CUDA_TRY(cudaEventRecord(native->done, endpoint->lanes[0].stream));
    native->is_marked = true;
    return CLAB_OK;
}

// While nothing has been put behind it, the stream itself says whether it is done.
static cudaError_t state_of(const struct nccl_endpoint *endpoint)
{
    return endpoint->native.is_marked ? cudaEventQuery(endpoint->native.done)
                                      : cudaStreamQuery(endpoint->lanes[0].stream);
}

int nccl_native_test(struct clab_endpoint *base, struct clab_answer *answer_p)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_native *native = &endpoint->native;
    bool ready;
    if (!native->is_started)
        CLAB_TRY(start(endpoint));
    if (!native->is_started)
        return nccl_look_for_errors(endpoint);
    CLAB_TRY(nccl_lane_ready(endpoint, 0, &ready));
    if (!ready)
        return CLAB_OK;
    CLAB_TRY(nccl_span_end(&native->span, endpoint->lanes[0].stream));
    const cudaError_t state = state_of(endpoint);
    if (state == cudaErrorNotReady)
        return nccl_look_for_errors(endpoint);
    CUDA_TRY(state);
    nccl_span_add(&native->span);
    native->is_started = false;
    endpoint->domain->under_way--;
    answer_p->done = true;
    return CLAB_OK;
}
