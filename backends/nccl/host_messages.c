// SPDX-License-Identifier: MIT
// Messages staged through the host's memory: the program's sends and receives, and those of the monitored barrier.
// They come in any order, which NCCL does not permit (endpoint.h).
//
// - A send is copied to the host's memory, then sent by a host's backend (shared memory, or the network among hosts). A
//   receive arrives in the host's memory and is copied to the GPU. So messages match and fail as they do between hosts.
// - Sends are passed on in the order in which they were started, which is also the order of their copies.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"

enum state { COPIES_OUT, MOVES, COPIES_IN }; // to the host, between hosts, to the GPU

struct host_message {
    struct host_message *all;  // the next one of the endpoint
    struct host_message *next; // of the sends that are copied, or spare
    enum state state;
    struct clab_transfer inner; // of the host's backend
    cudaEvent_t copied;
    char *memory; // of the host's backend
    size_t room;
    bool is_registered; // with CUDA, which then copies without waiting
};

bool nccl_goes_by_host(const struct clab_transfer *transfer)
{
    return transfer->lane >= CLAB_MAX_LANES;
}

// ---- host memory ---------------------------------------------------------------------------------------------

// To register or unregister memory, CUDA may wait for the GPU, which may wait for a peer that waits for this message.
// So do neither while anything is under way; copies of unregistered memory pass through CUDA's own memory.
static void make_known(struct nccl_domain *domain, struct host_message *m)
{
    if (m->is_registered || domain->under_way > 0)
        return;
    m->is_registered = cudaHostRegister(m->memory, m->room, cudaHostRegisterPortable) == cudaSuccess;
    if (!m->is_registered)
        clab_debug("CUDA: %zu bytes of the host are not registered: %s", m->room,
                   cudaGetErrorString(cudaGetLastError()));
}

static void free_memory(struct nccl_domain *domain, struct host_message *m)
{
    if (m->memory)
        nccl_defer_free_of_host(domain, m->memory, m->is_registered);
    m->is_registered = false;
    m->memory = NULL;
    m->room = 0;
}

static int reserve(struct nccl_domain *domain, struct host_message *m, size_t bytes)
{
    size_t room = 4096;
    void *memory;
    if (bytes > m->room) {
        while (room < bytes)
            room *= 2;
        free_memory(domain, m);
        CLAB_TRY(domain->host->alloc(domain->host_domain, room, &memory));
        m->memory = memory;
        m->room = room;
    }
    if (m->room > 0)
        make_known(domain, m);
    return CLAB_OK;
}

// The smallest that has room, else any.
static struct host_message *take_spare(struct nccl_endpoint *endpoint, size_t bytes)
{
    struct host_message **best = &endpoint->spare_host_messages;
    for (struct host_message **link = best; *link; link = &(*link)->next)
        if ((*link)->room >= bytes && ((*best)->room < bytes || (*link)->room < (*best)->room))
            best = link;
    struct host_message *m = *best;
    if (m)
        *best = m->next;
    return m;
}

static int take(struct nccl_endpoint *endpoint, size_t bytes, struct host_message **message_p)
{
    struct host_message *m = take_spare(endpoint, bytes);
    if (!m) {
        if (!(m = calloc(1, sizeof *m)))
            return CLAB_ENOMEM;
        const int err =
            nccl_cuda_error(cudaEventCreateWithFlags(&m->copied, cudaEventDisableTiming), "cudaEventCreate");
        if (err) {
            free(m);
            return err;
        }
        m->all = endpoint->host_messages;
        endpoint->host_messages = m;
    }
    CLAB_TRY(reserve(endpoint->domain, m, bytes));
    m->next = NULL;
    *message_p = m;
    return CLAB_OK;
}

static void retire(struct nccl_endpoint *endpoint, struct host_message *m, struct clab_transfer *t)
{
    t->done = true;
    t->moved = t->bytes;
    m->next = endpoint->spare_host_messages;
    endpoint->spare_host_messages = m;
    endpoint->nhost_messages--;
}

void nccl_host_messages_stop(struct nccl_endpoint *endpoint)
{
    if (!endpoint->copies)
        return;
    nccl_drain(endpoint->domain, endpoint->copies);
    cudaStreamDestroy(endpoint->copies);
}

void nccl_host_messages_free(struct nccl_endpoint *endpoint)
{
    struct nccl_domain *domain = endpoint->domain;
    for (struct host_message *m = endpoint->host_messages, *next; m; m = next) {
        next = m->all;
        if (!domain->is_stuck)
            free_memory(domain, m);
        cudaEventDestroy(m->copied);
        free(m);
    }
}

// ---- moving --------------------------------------------------------------------------------------------------

static int hand_on(struct nccl_endpoint *endpoint, struct host_message *m)
{
    m->state = MOVES;
    return endpoint->domain->host->start(endpoint->host, &m->inner, 1);
}

static int copy(struct nccl_endpoint *endpoint, struct host_message *m, void *to, const void *from, size_t bytes)
{
    if (bytes)
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, endpoint->copies));
    CUDA_TRY(cudaEventRecord(m->copied, endpoint->copies));
    return CLAB_OK;
}

static int has_copied(const struct host_message *m, bool *copied_p)
{
    const cudaError_t state = cudaEventQuery(m->copied);
    *copied_p = state == cudaSuccess;
    return state == cudaErrorNotReady ? CLAB_OK : nccl_cuda_error(state, "a copy");
}

// Pass on the sends that have been copied, up to the first that has not.
static int hand_on_sends(struct nccl_endpoint *endpoint)
{
    while (endpoint->sends) {
        struct host_message *m = endpoint->sends;
        bool copied;
        CLAB_TRY(has_copied(m, &copied));
        if (!copied)
            return CLAB_OK;
        endpoint->sends = m->next;
        CLAB_TRY(hand_on(endpoint, m));
    }
    return CLAB_OK;
}

static int start_send(struct nccl_endpoint *endpoint, struct host_message *m, const struct clab_transfer *t)
{
    struct host_message **end = &endpoint->sends;
    m->inner.src = m->memory;
    m->state = COPIES_OUT;
    while (*end)
        end = &(*end)->next;
    *end = m;
    CLAB_TRY(nccl_follow_device(endpoint->copies, &endpoint->copies_given));
    CLAB_TRY(copy(endpoint, m, m->memory, t->src, t->bytes));
    return hand_on_sends(endpoint);
}

int nccl_host_message_start(struct nccl_endpoint *endpoint, struct clab_transfer *t)
{
    struct host_message *m;
    if (t->op == CLAB_RECV_REDUCE) {
        clab_error("nccl: a message of the program's can not be reduced on its way");
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(take(endpoint, t->bytes, &m));
    endpoint->nhost_messages++;
    t->done = false;
    t->moved = 0;
    t->mark = (uint64_t)(uintptr_t)m;
    m->inner = *t;
    if (t->op == CLAB_SEND)
        return start_send(endpoint, m, t);
    m->inner.dst = m->memory;
    return hand_on(endpoint, m);
}

static int test_moving(struct nccl_endpoint *endpoint, struct host_message *m, struct clab_transfer *t)
{
    bool done;
    const int err = endpoint->domain->host->test(endpoint->host, &m->inner, 1, &done);
    t->moved = m->inner.moved;
    t->failed = m->inner.failed;
    if (err || !done)
        return err;
    if (t->op == CLAB_SEND) {
        retire(endpoint, m, t);
        return CLAB_OK;
    }
    m->state = COPIES_IN;
    CLAB_TRY(nccl_follow_device(endpoint->copies,
                                &endpoint->copies_given)); // it may still read the memory that is overwritten
    return copy(endpoint, m, t->dst, m->memory, t->bytes);
}

int nccl_host_message_test(struct nccl_endpoint *endpoint, struct clab_transfer *t)
{
    struct host_message *m = (struct host_message *)(uintptr_t)t->mark;
    bool copied;
    CLAB_TRY(hand_on_sends(endpoint));
    if (m->state == MOVES)
        CLAB_TRY(test_moving(endpoint, m, t));
    if (m->state != COPIES_IN || t->done)
        return CLAB_OK;
    CLAB_TRY(has_copied(m, &copied));
    if (copied)
        retire(endpoint, m, t);
    return CLAB_OK;
}
