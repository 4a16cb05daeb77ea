// SPDX-License-Identifier: MIT
// Messages by way of the host: the program's sends and receives, and those of the monitored barrier, which come in any
// order (endpoint.h says why that is not NCCL's).
//
// - A send is copied to the host's memory, then sent by a host's backend (shared memory, or the network among hosts); a
//   receive comes there first, and is copied to the GPU. So messages match, fail and are compared as they do on hosts.
// - Sends are handed on in the order in which they were started: that is also the order of their copies.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"

enum state { COPIES_OUT, MOVES, COPIES_IN };

struct relay {
    struct relay *all;  // the next one of the endpoint
    struct relay *next; // of the sends that are copied, or spare
    enum state state;
    struct clab_transfer inner; // of the host's backend
    cudaEvent_t copied;
    char *memory; // of the host's backend
    size_t room;
    bool is_registered; // with CUDA, which then copies without waiting
};

static size_t bytes_of(const struct clab_transfer *t)
{
    return t->count * clab_type_bytes(t->type);
}

bool nccl_is_relayed(const struct clab_transfer *transfer)
{
    return transfer->lane >= CLAB_MAX_LANES;
}

// ---- relays --------------------------------------------------------------------------------------------------

// To be registered, or to be let go of again, CUDA may wait for the GPU, which may wait for a peer that waits for this
// very message: so neither is done while anything is under way. Copies then pass through memory of CUDA's own.
static void make_known(struct clab_domain *domain, struct relay *r)
{
    if (r->is_registered || domain->under_way > 0)
        return;
    r->is_registered = cudaHostRegister(r->memory, r->room, cudaHostRegisterPortable) == cudaSuccess;
    if (!r->is_registered)
        clab_debug("CUDA: %zu bytes of the host are not registered: %s", r->room,
                   cudaGetErrorString(cudaGetLastError()));
}

static void free_memory(struct clab_domain *domain, struct relay *r)
{
    if (r->memory)
        nccl_waste_add_of_host(domain, r->memory, r->is_registered);
    r->is_registered = false;
    r->memory = NULL;
    r->room = 0;
}

static int reserve(struct clab_domain *domain, struct relay *r, size_t bytes)
{
    size_t room = 4096;
    void *memory;
    if (bytes > r->room) {
        while (room < bytes)
            room *= 2;
        free_memory(domain, r);
        CLAB_TRY(domain->host->alloc(domain->host_domain, room, &memory));
        r->memory = memory;
        r->room = room;
    }
    if (r->room > 0)
        make_known(domain, r);
    return CLAB_OK;
}

// The smallest that has room, else any.
static struct relay *take_spare(struct clab_endpoint *endpoint, size_t bytes)
{
    struct relay **best = &endpoint->spare_relays;
    for (struct relay **link = best; *link; link = &(*link)->next)
        if ((*link)->room >= bytes && ((*best)->room < bytes || (*link)->room < (*best)->room))
            best = link;
    struct relay *r = *best;
    if (r)
        *best = r->next;
    return r;
}

static int take(struct clab_endpoint *endpoint, size_t bytes, struct relay **relay_p)
{
    struct relay *r = take_spare(endpoint, bytes);
    if (!r) {
        if (!(r = calloc(1, sizeof *r)))
            return CLAB_ENOMEM;
        const int err =
            nccl_cuda_error(cudaEventCreateWithFlags(&r->copied, cudaEventDisableTiming), "cudaEventCreate");
        if (err) {
            free(r);
            return err;
        }
        r->all = endpoint->relays;
        endpoint->relays = r;
    }
    CLAB_TRY(reserve(endpoint->domain, r, bytes));
    r->next = NULL;
    *relay_p = r;
    return CLAB_OK;
}

static void retire(struct clab_endpoint *endpoint, struct relay *r, struct clab_transfer *t)
{
    t->done = true;
    t->moved = bytes_of(t);
    r->next = endpoint->spare_relays;
    endpoint->spare_relays = r;
    endpoint->relayed--;
}

void nccl_relays_stop(struct clab_endpoint *endpoint)
{
    if (!endpoint->copies)
        return;
    nccl_drain(endpoint->domain, endpoint->copies);
    cudaStreamDestroy(endpoint->copies);
}

void nccl_relays_free(struct clab_endpoint *endpoint)
{
    struct clab_domain *domain = endpoint->domain;
    for (struct relay *r = endpoint->relays, *next; r; r = next) {
        next = r->all;
        if (!domain->is_stuck)
            free_memory(domain, r);
        cudaEventDestroy(r->copied);
        free(r);
    }
}

// ---- moving --------------------------------------------------------------------------------------------------

static int hand_on(struct clab_endpoint *endpoint, struct relay *r)
{
    r->state = MOVES;
    return endpoint->domain->host->start(endpoint->host, &r->inner, 1);
}

static int copy(struct clab_endpoint *endpoint, struct relay *r, void *to, const void *from, size_t bytes)
{
    if (bytes)
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, endpoint->copies));
    CUDA_TRY(cudaEventRecord(r->copied, endpoint->copies));
    return CLAB_OK;
}

static int has_copied(const struct relay *r, bool *copied_p)
{
    const cudaError_t state = cudaEventQuery(r->copied);
    *copied_p = state == cudaSuccess;
    return state == cudaErrorNotReady ? CLAB_OK : nccl_cuda_error(state, "a copy");
}

// Hand on what has been copied, up to the first send that has not.
static int hand_on_sends(struct clab_endpoint *endpoint)
{
    while (endpoint->sends) {
        struct relay *r = endpoint->sends;
        bool copied;
        CLAB_TRY(has_copied(r, &copied));
        if (!copied)
            return CLAB_OK;
        endpoint->sends = r->next;
        CLAB_TRY(hand_on(endpoint, r));
    }
    return CLAB_OK;
}

static int start_send(struct clab_endpoint *endpoint, struct relay *r, const struct clab_transfer *t)
{
    struct relay **end = &endpoint->sends;
    r->inner.src = r->memory;
    r->state = COPIES_OUT;
    while (*end)
        end = &(*end)->next;
    *end = r;
    CLAB_TRY(nccl_follow_device(endpoint->copies, &endpoint->copies_given));
    CLAB_TRY(copy(endpoint, r, r->memory, t->src, bytes_of(t)));
    return hand_on_sends(endpoint);
}

int nccl_relay_start(struct clab_endpoint *endpoint, struct clab_transfer *t)
{
    struct relay *r;
    if (t->op == CLAB_RECV_REDUCE) {
        clab_error("nccl: a message of the program's can not be reduced on its way");
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(take(endpoint, bytes_of(t), &r));
    endpoint->relayed++;
    t->done = false;
    t->moved = 0;
    t->mark = (uint64_t)(uintptr_t)r;
    r->inner = *t;
    if (t->op == CLAB_SEND)
        return start_send(endpoint, r, t);
    r->inner.dst = r->memory;
    return hand_on(endpoint, r);
}

static int test_moving(struct clab_endpoint *endpoint, struct relay *r, struct clab_transfer *t)
{
    bool done;
    const int err = endpoint->domain->host->test(endpoint->host, &r->inner, 1, &done);
    t->moved = r->inner.moved;
    t->failed = r->inner.failed;
    if (err || !done)
        return err;
    if (t->op == CLAB_SEND) {
        retire(endpoint, r, t);
        return CLAB_OK;
    }
    r->state = COPIES_IN;
    CLAB_TRY(nccl_follow_device(endpoint->copies, &endpoint->copies_given)); // it may still use what is overwritten
    return copy(endpoint, r, t->dst, r->memory, bytes_of(t));
}

int nccl_relay_test(struct clab_endpoint *endpoint, struct clab_transfer *t)
{
    struct relay *r = (struct relay *)(uintptr_t)t->mark;
    bool copied;
    CLAB_TRY(hand_on_sends(endpoint));
    if (r->state == MOVES)
        CLAB_TRY(test_moving(endpoint, r, t));
    if (r->state != COPIES_IN || t->done)
        return CLAB_OK;
    CLAB_TRY(has_copied(r, &copied));
    if (copied)
        retire(endpoint, r, t);
    return CLAB_OK;
}
