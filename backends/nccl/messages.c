// SPDX-License-Identifier: MIT
// The transfers of a schedule's stages: a batch of them is a group of ncclSend and ncclRecv in their lane's stream.
//
// - Elements travel as bytes: so does any type.
// - Data to be reduced is received into memory of the batch, and reduced by the device's kernel in the same stream.
// - An empty message is sent as one byte: NCCL skips empty ones, and their receiver would not wait.
// - NCCL compares neither sizes nor calls of the two ends. Ranks of one host notice different calls by their flight
//   recorders, ranks of several hosts with CLAB_CHECK=1.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "backends/nccl/device.h"

struct batch {
    struct batch *next; // of the lane, or spare
    struct clab_transfer *transfers;
    int n;
    bool is_started, is_marked; // NCCL has been called; `done` has been put behind it
    cudaEvent_t done;
    struct nccl_span span; // of the first lane's
    uint64_t range;        // of ranges.c
    char *staging;         // where what is reduced is received
    size_t staging_bytes;
};

// In the staging memory, each at a place that suits all types.
static size_t staged(const struct clab_transfer *t)
{
    return t->op == CLAB_RECV_REDUCE ? (t->bytes + 255) / 256 * 256 : 0;
}

// ---- batches -------------------------------------------------------------------------------------------------

// Doubles, so that what is outgrown, and kept until the end, is less than what is used.
static int reserve_staging(struct nccl_domain *domain, struct batch *b, size_t bytes)
{
    size_t room = b->staging_bytes ? b->staging_bytes : 4096;
    void *memory;
    if (bytes <= b->staging_bytes)
        return CLAB_OK;
    while (room < bytes)
        room *= 2;
    CLAB_TRY(nccl_reserve(domain, room, &memory));
    if (b->staging)
        nccl_defer_free(domain, b->staging);
    b->staging = memory;
    b->staging_bytes = room;
    return CLAB_OK;
}

static int make(struct batch **batch_p)
{
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return CLAB_ENOMEM;
    const int err = nccl_cuda_error(cudaEventCreateWithFlags(&b->done, cudaEventDisableTiming), "cudaEventCreate");
    if (err)
        free(b);
    else
        *batch_p = b;
    return err;
}

static int add(struct nccl_endpoint *endpoint, int lane, struct clab_transfer transfers[], int n)
{
    struct batch *b = endpoint->spare_batches, **end = &endpoint->batches[lane];
    size_t bytes = 0;
    if (!b)
        CLAB_TRY(make(&b));
    else
        endpoint->spare_batches = b->next;
    b->next = NULL;
    b->transfers = transfers;
    b->n = n;
    b->is_started = b->is_marked = false;
    while (*end)
        end = &(*end)->next;
    *end = b;
    for (int i = 0; i < n; i++) {
        transfers[i].done = false;
        transfers[i].moved = 0;
        transfers[i].mark = (uint64_t)(uintptr_t)b;
        bytes += staged(&transfers[i]);
    }
    return reserve_staging(endpoint->domain, b, bytes);
}

static void free_list(struct nccl_domain *domain, struct batch *b)
{
    for (struct batch *next; b; b = next) {
        next = b->next;
        domain->under_way -= b->is_started;
        if (b->is_started)
            nccl_range_end(b->range);
        if (b->staging)
            nccl_defer_free(domain, b->staging);
        cudaEventDestroy(b->done);
        nccl_span_free(&b->span);
        free(b);
    }
}

void nccl_batches_free(struct nccl_endpoint *endpoint)
{
    if (endpoint->domain->is_stuck)
        return;
    for (int lane = 0; lane < CLAB_MAX_LANES; lane++)
        free_list(endpoint->domain, endpoint->batches[lane]);
    for (struct batch *b = endpoint->spare_batches; b; b = b->next)
        b->is_started = false;
    free_list(endpoint->domain, endpoint->spare_batches);
}

// ---- start ---------------------------------------------------------------------------------------------------

static ncclResult_t call_one(const struct nccl_endpoint *endpoint, const struct nccl_lane *lane,
                             const struct clab_transfer *t, char *staging)
{
    const size_t bytes = t->bytes;
    if (t->op == CLAB_SEND)
        return ncclSend(bytes ? t->src : endpoint->nothing, bytes ? bytes : 1, ncclUint8, t->peer, lane->comm,
                        lane->stream);
    void *to = t->op == CLAB_RECV ? t->dst : staging;
    return ncclRecv(bytes ? to : endpoint->nothing + 1, bytes ? bytes : 1, ncclUint8, t->peer, lane->comm,
                    lane->stream);
}

static ncclResult_t call_group(struct nccl_endpoint *endpoint, int index, void *of)
{
    const struct nccl_lane *lane = &endpoint->lanes[index];
    const struct batch *b = of;
    ncclResult_t code = ncclGroupStart();
    char *staging = b->staging;
    for (int i = 0; i < b->n && code == ncclSuccess; i++) {
        code = call_one(endpoint, lane, &b->transfers[i], staging);
        staging += staged(&b->transfers[i]);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return code == ncclSuccess ? ended : code;
}

// Whether NCCL connects to a peer for it.
static bool meets(struct nccl_endpoint *endpoint, int lane, const struct batch *b)
{
    bool is_first = false;
    for (int i = 0; i < b->n; i++)
        is_first |= nccl_meet(endpoint, lane, b->transfers[i].peer,
                              b->transfers[i].op == CLAB_SEND ? NCCL_SENT_TO : NCCL_RECEIVED_FROM);
    return is_first;
}

static int launch(struct nccl_endpoint *endpoint, int index, struct batch *b)
{
    struct nccl_lane *lane = &endpoint->lanes[index];
    const struct nccl_call call = {.make = call_group, .of = b, .what = "a group of sends and receives"};
    CLAB_TRY(nccl_follow_device(lane->stream, &lane->given));
    if (index == 0)
        CLAB_TRY(nccl_span_begin(&b->span, lane->stream));
    b->is_started = true;
    b->range = nccl_range_of_lane(index);
    endpoint->domain->under_way++;
    return nccl_call(endpoint, index, call, meets(endpoint, index, b));
}

// What has come is reduced behind it in the same stream; the mark is behind that.
static int reduce(struct nccl_lane *lane, struct batch *b)
{
    char *staging = b->staging;
    for (int i = 0; i < b->n; i++) {
        const struct clab_transfer *t = &b->transfers[i];
        if (t->op == CLAB_RECV_REDUCE)
            nccl_device_reduce(lane->stream, t->type, t->redop, t->src, staging, t->dst, t->count);
        staging += staged(t);
    }
    CLAB_TRY(nccl_span_end(&b->span, lane->stream));
    CUDA_TRY(cudaEventRecord(b->done, lane->stream));
    return nccl_device_error();
}

// Go on with the batches of a lane as far as that goes without waiting.
static int advance(struct nccl_endpoint *endpoint, int index)
{
    struct nccl_lane *lane = &endpoint->lanes[index];
    for (struct batch *b = endpoint->batches[index]; b; b = b->next) {
        bool ready;
        if (b->is_marked)
            continue;
        CLAB_TRY(nccl_lane_ready(endpoint, index, &ready));
        if (ready && !b->is_started) {
            CLAB_TRY(launch(endpoint, index, b));
            CLAB_TRY(nccl_lane_ready(endpoint, index, &ready));
        }
        if (!ready)
            return CLAB_OK;
        CLAB_TRY(reduce(lane, b));
        b->is_marked = true;
    }
    return CLAB_OK;
}

// All ranks run the same schedule, so all refuse it.
static int refuse_registration(const struct nccl_endpoint *endpoint)
{
    if (!endpoint->domain->registration)
        return CLAB_OK;
    clab_error(
        "CLAB_NCCL_REGISTER=%d is for NCCL's own collectives (--algo native): a schedule receives into memory that "
        "is not registered; leave CLAB_NCCL_REGISTER out",
        (int)endpoint->domain->registration);
    return CLAB_EUNSUPPORTED;
}

int nccl_start(struct clab_endpoint *base, struct clab_transfer transfers[], int n)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    if (n == 0)
        return CLAB_OK;
    if (!nccl_goes_by_host(&transfers[0])) {
        CLAB_TRY(refuse_registration(endpoint));
        CLAB_TRY(add(endpoint, transfers[0].lane, transfers, n));
        return advance(endpoint, transfers[0].lane);
    }
    if (endpoint->stream) // the copies follow the device
        CLAB_TRY(nccl_device_follow(endpoint->stream));
    for (int i = 0; i < n; i++)
        CLAB_TRY(nccl_host_message_start(endpoint, &transfers[i]));
    return CLAB_OK;
}

// ---- test ----------------------------------------------------------------------------------------------------

static void retire(struct nccl_endpoint *endpoint, int lane, struct batch *b)
{
    nccl_range_end(b->range);
    nccl_span_add(&b->span);
    struct batch **link = &endpoint->batches[lane];
    while (*link != b)
        link = &(*link)->next;
    *link = b->next;
    b->next = endpoint->spare_batches;
    endpoint->spare_batches = b;
    for (int i = 0; i < b->n; i++) {
        b->transfers[i].moved = b->transfers[i].bytes;
        b->transfers[i].done = true;
    }
    endpoint->domain->under_way--;
}

static int test_batch(struct nccl_endpoint *endpoint, struct clab_transfer *t)
{
    struct batch *b = (struct batch *)(uintptr_t)t->mark;
    const int lane = t->lane;
    CLAB_TRY(advance(endpoint, lane));
    if (b->is_marked) {
        const cudaError_t state = cudaEventQuery(b->done);
        if (state == cudaSuccess) {
            retire(endpoint, lane, b);
            return CLAB_OK;
        }
        if (state != cudaErrorNotReady)
            CUDA_TRY(state);
    }
    return nccl_look_for_errors(endpoint);
}

int nccl_test(struct clab_endpoint *base, struct clab_transfer transfers[], int n, bool *done_p)
{
    struct nccl_endpoint *endpoint = (struct nccl_endpoint *)base;
    bool done = true;
    for (int i = 0; i < n; i++) {
        if (!transfers[i].done)
            CLAB_TRY(nccl_goes_by_host(&transfers[i]) ? nccl_host_message_test(endpoint, &transfers[i])
                                                      : test_batch(endpoint, &transfers[i]));
        done &= transfers[i].done;
        if (!done && !nccl_goes_by_host(&transfers[i]))
            break; // of one batch
    }
    *done_p = done;
    return CLAB_OK;
}
