// SPDX-License-Identifier: MIT
// NCCL's collectives, in the stream of the first lane, or the caller's.
//
// - Each enters the stream when it is started, behind those before it, and an event behind each says when it is done.
// - Gather, scatter and all-to-all are sends and receives in one group: NCCL has calls of its own for them from 2.28
//   on, which do the same.
// - A barrier is the sum of one byte. An average is the sum, divided by the communicator.
// - NCCL tells in place from out of place as we do: by the addresses.
// - Whoever only gets a broadcast names its `out` twice: NCCL looks for both buffers among those that are registered.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"

// What is captured comes from a stream of ours.
static cudaStream_t stream_of(const struct nccl_endpoint *endpoint)
{
    return endpoint->stream && !endpoint->is_recording ? endpoint->stream : endpoint->lanes[0].stream;
}

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
    for (int r = 0; r < t->nranks && code == ncclSuccess && gives; r++)
        if (getter < 0 || getter == r)
            code = send(t, getter < 0 ? block(t->call->in, t, r) : t->call->in, r);
    for (int r = 0; r < t->nranks && code == ncclSuccess && gets; r++)
        if (giver < 0 || giver == r)
            code = receive(t, giver < 0 ? block(t->call->out, t, r) : t->call->out, r);
    ended = ncclGroupEnd();
    return code == ncclSuccess ? ended : code;
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

static ncclResult_t enqueue(const struct nccl_endpoint *endpoint, const struct target *t)
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
static int register_buffers(struct nccl_endpoint *endpoint, struct nccl_native *native)
{
    const struct clab_call *call = &native->call;
    const bool is_root = endpoint->rank == call->problem.root;
    native->windows[0] = native->windows[1] = NULL;
    if (call->graph || call->problem.collective == CLAB_BARRIER ||
        (endpoint->domain->registration == NCCL_WINDOWS && clab_collective_rooted(call->problem.collective)))
        return CLAB_OK;
    if (is_root || (call->problem.collective != CLAB_BROADCAST && call->problem.collective != CLAB_SCATTER))
        CLAB_TRY(nccl_register(endpoint, call->in, bytes_of(endpoint, call, true), &native->windows[0]));
    if (is_root || (call->problem.collective != CLAB_REDUCE && call->problem.collective != CLAB_GATHER))
        CLAB_TRY(nccl_register(endpoint, call->out, bytes_of(endpoint, call, false), &native->windows[1]));
    return CLAB_OK;
}

static ncclResult_t make(struct nccl_endpoint *endpoint, int index, void *of)
{
    const struct nccl_lane *lane = &endpoint->lanes[index];
    const struct nccl_native *native = of;
    struct target t = {.call = &native->call,
                       .comm = lane->comm,
                       .stream = stream_of(endpoint),
                       .rank = endpoint->rank,
                       .nranks = endpoint->nranks};
    ncclResult_t code = ncclSuccess;
    if (native->call.graph)
        return nccl_graph_launch(native->call.graph, t.stream);
    nccl_type(native->call.type, &t.type);
    for (int i = 0; i < 2 && code == ncclSuccess; i++)
        if (native->windows[i])
            code = nccl_window_register(native->windows[i]);
    return code == ncclSuccess ? enqueue(endpoint, &t) : code;
}

// ---- first messages ------------------------------------------------------------------------------------------

bool nccl_meet(struct nccl_endpoint *endpoint, int lane, int peer, unsigned char how)
{
    unsigned char *met = &endpoint->lanes[lane].met[peer];
    const bool is_first = peer != endpoint->rank && !(*met & how);
    *met |= how;
    return is_first;
}

// Of those that are sends and receives.
static bool meets(struct nccl_endpoint *endpoint, const struct clab_call *call)
{
    const enum clab_collective collective = call->problem.collective;
    const int root = call->problem.root;
    const bool is_root = endpoint->rank == root, to_all = collective == CLAB_ALLTOALL;
    bool is_first = false;
    for (int r = 0; r < endpoint->nranks; r++) {
        if (to_all || (collective == CLAB_GATHER && r == root) || (collective == CLAB_SCATTER && is_root))
            is_first |= nccl_meet(endpoint, 0, r, NCCL_SENT_TO);
        if (to_all || (collective == CLAB_GATHER && is_root) || (collective == CLAB_SCATTER && r == root))
            is_first |= nccl_meet(endpoint, 0, r, NCCL_RECEIVED_FROM);
    }
    return is_first;
}

static bool may_wait(struct nccl_endpoint *endpoint, const struct nccl_native *native)
{
    const struct nccl_domain *domain = endpoint->domain;
    const bool is_first = meets(endpoint, &native->call);
    return !native->call.graph && (is_first || domain->connects_late || domain->registration == NCCL_LOCAL ||
                                   native->windows[0] || native->windows[1]);
}

// ---- under way -----------------------------------------------------------------------------------------------

static int call_nccl(struct nccl_endpoint *endpoint, struct nccl_native *native)
{
    const cudaStream_t stream = stream_of(endpoint);
    const struct nccl_call call = {
        .make = make, .of = native, .what = clab_collective_name(native->call.problem.collective)};
    CLAB_TRY(register_buffers(endpoint, native));
    CLAB_TRY(nccl_follow_device(stream, endpoint->stream ? &endpoint->stream_given : &endpoint->lanes[0].given));
    CLAB_TRY(nccl_span_begin(&native->span, stream));
    native->is_called = true;
    native->range = nccl_range_of_collective(native->call.problem.collective);
    endpoint->domain->under_way++;
    return nccl_call(endpoint, 0, call, may_wait(endpoint, native));
}

// The work is in the stream; what follows it there comes behind its event.
static int mark(struct nccl_endpoint *endpoint, struct nccl_native *native)
{
    CLAB_TRY(nccl_span_end(&native->span, stream_of(endpoint)));
    CUDA_TRY(cudaEventRecord(native->done, stream_of(endpoint)));
    native->is_given = true;
    return CLAB_OK;
}

// Give NCCL those that it has not got yet, as far as that goes without waiting.
static int give_all(struct nccl_endpoint *endpoint)
{
    for (struct nccl_native *native; (native = endpoint->ungiven); endpoint->ungiven = native->next) {
        bool ready;
        CLAB_TRY(nccl_lane_ready(endpoint, 0, &ready));
        if (ready && !native->is_called) {
            CLAB_TRY(call_nccl(endpoint, native));
            CLAB_TRY(nccl_lane_ready(endpoint, 0, &ready));
        }
        if (!ready)
            return CLAB_OK;
        CLAB_TRY(mark(endpoint, native));
    }
    return CLAB_OK;
}

static int take(struct nccl_endpoint *endpoint, struct nccl_native **native_p)
{
    struct nccl_native *native = endpoint->spare_natives;
    if (native) {
        endpoint->spare_natives = native->next;
    } else {
        if (!(native = calloc(1, sizeof *native)))
            return CLAB_ENOMEM;
        const int err =
            nccl_cuda_error(cudaEventCreateWithFlags(&native->done, cudaEventDisableTiming), "cudaEventCreate");
        if (err) {
            free(native);
            return err;
        }
    }
    *native_p = native;
    return CLAB_OK;
}

static void append(struct nccl_endpoint *endpoint, struct nccl_native *native)
{
    if (endpoint->natives)
        endpoint->last_native->next = native;
    else
        endpoint->natives = native;
    endpoint->last_native = native;
    if (!endpoint->ungiven)
        endpoint->ungiven = native;
}

// Into the graph. The buffers are registered, and the peers are known, by a call before.
static int capture(struct nccl_endpoint *endpoint, const struct clab_call *call)
{
    struct nccl_native native = {.call = *call};
    CLAB_TRY(register_buffers(endpoint, &native));
    if (meets(endpoint, call) || native.windows[0] || native.windows[1]) {
        clab_error(
            "nccl: a graph can not hold the first call of its kind, for which NCCL connects: call it once before");
        return CLAB_EUNSUPPORTED;
    }
    return nccl_call(endpoint, 0, (struct nccl_call){.make = make, .of = &native, .what = "a call into a graph"},
                     false);
}

int nccl_native_start(struct clab_endpoint *base, const struct clab_call *call)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_native *native;
    if (endpoint->is_recording)
        return capture(endpoint, call);
    CLAB_TRY(take(endpoint, &native));
    native->call = *call;
    native->is_called = native->is_given = false;
    native->next = NULL;
    append(endpoint, native);
    return give_all(endpoint);
}

static void retire(struct nccl_endpoint *endpoint, struct nccl_native *native)
{
    nccl_range_end(native->range);
    nccl_span_add(&native->span);
    endpoint->natives = native->next;
    native->next = endpoint->spare_natives;
    endpoint->spare_natives = native;
    endpoint->domain->under_way--;
}

int nccl_native_test(struct clab_endpoint *base, struct clab_answer *answer_p)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    struct nccl_native *first = endpoint->natives;
    if (endpoint->is_recording) {
        answer_p->done = true;
        return CLAB_OK;
    }
    CLAB_TRY(give_all(endpoint));
    if (!first->is_given)
        return nccl_look_for_errors(endpoint);
    const cudaError_t state = cudaEventQuery(first->done);
    if (state == cudaErrorNotReady)
        return nccl_look_for_errors(endpoint);
    CUDA_TRY(state);
    retire(endpoint, first);
    answer_p->done = true;
    return CLAB_OK;
}

static void free_list(struct nccl_domain *domain, struct nccl_native *native)
{
    for (struct nccl_native *next; native; native = next) {
        next = native->next;
        domain->under_way -= native->is_called;
        if (native->is_called)
            nccl_range_end(native->range);
        cudaEventDestroy(native->done);
        nccl_span_free(&native->span);
        free(native);
    }
}

void nccl_natives_free(struct nccl_endpoint *endpoint)
{
    if (endpoint->domain->is_stuck)
        return;
    free_list(endpoint->domain, endpoint->natives);
    for (struct nccl_native *native = endpoint->spare_natives; native; native = native->next)
        native->is_called = false;
    free_list(endpoint->domain, endpoint->spare_natives);
}
