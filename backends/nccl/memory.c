// SPDX-License-Identifier: MIT
// The GPU's memory, and its registration with NCCL.
//
// - Large allocations are NCCL's (ncclMemAlloc), which peers' GPUs can map. If a library has no such call, or refuses
//   it, the memory is CUDA's, which costs only speed.
// - With CLAB_NCCL_REGISTER=2 they are symmetric windows (ncclCommWindowRegister), of NCCL 2.27 or later. All ranks make a
//   window together, in a worker of the first native that uses its memory: so all must use memory of the same sizes in
//   the same order, and only collectives have windows whose ranks all give and get.
// - With CLAB_NCCL_REGISTER=1, the buffers of NCCL's own collectives are registered (ncclCommRegister); NCCL then moves
//   them without a copy where the machine can do that. All ranks must register alike. In 2.28.9, for NVLS, the
//   registered ranks of a host wait for each other in ncclShmemAllgather (src/misc/shmutils.cc), which spins without
//   checking the abort flag. The two ends of a message use different chunk sizes if only one is registered
//   (src/device/sendrecv.h). Such a hang outlasts ncclCommAbort. No rank can see another's buffers in time, so:
//   - The ranks agree on registering when they attach to the job (nccl.c).
//   - Then every buffer of every native is registered, whatever its size: inside the start of the call, before NCCL is
//     called. A rank that can not register does not call NCCL, and its communicator fails; the failure is passed on.
//   - A schedule's messages, whose staging memory is not registered, are refused (messages.c).
//   - All memory of alloc is then NCCL's, which shares no page with other memory: NCCL finds buffers by their pages.
// - To free GPU memory, or to unregister host memory, CUDA waits for the GPU, which may wait for a peer that waits for
//   this rank. So frees are deferred while any operation is under way.

#include "backends/nccl/endpoint.h"

#include <stdlib.h>

#include "core/base/log.h"

enum { LARGE_BYTES = 1 << 20 }; // NCCL allocates in multiples of 2 MiB

#if NCCL_VERSION_CODE >= 22700
// An older library lacks them, and is loaded all the same.
#pragma weak ncclCommWindowRegister
#pragma weak ncclCommWindowDeregister
#endif

// A region's registration with the first communicator of an endpoint.
struct nccl_entry {
    struct nccl_entry *next;
    struct nccl_endpoint *endpoint;
    void *memory, *handle; // handle: NULL where NCCL has made none; a window's if `is_window`
    size_t bytes;
    bool is_window;
};

struct nccl_region {
    struct nccl_region *next; // of the domain
    char *memory;
    size_t bytes;
    bool is_ours, by_nccl; // alloc's; NCCL's
    struct nccl_entry *entries;
};

// Memory whose free is deferred: a freed region's, or other memory.
struct nccl_deferred {
    struct nccl_deferred *next;
    void *memory; // NULL: the program's own
    bool by_nccl;
    bool of_host, is_registered; // of the host's backend; with CUDA
    struct nccl_entry *entries;  // to be deregistered first
};

// The result of pin: a region of the GPU's memory, or memory of the host that CUDA has registered.
struct nccl_pinned {
    struct clab_registration base;
    struct nccl_region *region; // or NULL
};

// ---- deferred frees --------------------------------------------------------------------------------------------

// NCCL unmaps its memory at once, whatever still uses it, and cudaFree need not wait either: so the GPU is waited for
// first. Nothing is under way that waits for a peer. A GPU that has failed keeps what it has.
static void free_now(void *memory, bool by_nccl)
{
    if (nccl_cuda_error(cudaDeviceSynchronize(), "waiting for what uses memory that is freed") != CLAB_OK)
        return;
#if NCCL_VERSION_CODE >= 21900
    if (by_nccl) {
        ncclMemFree(memory);
        return;
    }
#endif
    (void)by_nccl;
    nccl_cuda_error(cudaFree(memory), "cudaFree");
}

// After the host's endpoint that moved it, and never where the GPU is stuck, which may still copy.
static void free_of_host(struct nccl_domain *domain, void *memory, bool is_registered)
{
    if (is_registered)
        nccl_cuda_error(cudaHostUnregister(memory), "cudaHostUnregister");
    domain->host->free(domain->host_domain, memory);
}

static void free_deferred(struct nccl_domain *domain, const struct nccl_deferred *deferred)
{
    if (deferred->of_host)
        free_of_host(domain, deferred->memory, deferred->is_registered);
    else if (deferred->memory)
        free_now(deferred->memory, deferred->by_nccl);
}

static void take_back(struct nccl_entry *entry)
{
#if NCCL_VERSION_CODE >= 22700
    if (entry->is_window && entry->handle)
        ncclCommWindowDeregister(entry->endpoint->lanes[0].comm, entry->handle);
#endif
#if NCCL_VERSION_CODE >= 21900
    if (!entry->is_window && entry->handle) // NULL: NCCL_LOCAL_REGISTER=0, or NCCL copies in another way
        ncclCommDeregister(entry->endpoint->lanes[0].comm, entry->handle);
#endif
    free(entry);
}

// Those of `endpoint` (NULL: of all) that can be; the others stay, since NCCL is at work on what it was called for.
static void take_back_all(struct nccl_entry **list, const struct nccl_endpoint *endpoint)
{
    while (*list) {
        struct nccl_entry *entry = *list;
        if ((endpoint && entry->endpoint != endpoint) || nccl_call_waits(&entry->endpoint->lanes[0])) {
            list = &entry->next;
            continue;
        }
        *list = entry->next;
        take_back(entry);
    }
}

static void forget_all(struct nccl_entry **list, const struct nccl_endpoint *endpoint)
{
    while (*list) {
        struct nccl_entry *entry = *list;
        if (entry->endpoint != endpoint) {
            list = &entry->next;
            continue;
        }
        *list = entry->next;
        free(entry);
    }
}

static void free_or_defer(struct nccl_domain *domain, struct nccl_deferred deferred)
{
    take_back_all(&deferred.entries, NULL);
    const bool is_due = domain->under_way == 0 && !domain->is_stuck && !deferred.entries;
    struct nccl_deferred *w = is_due ? NULL : malloc(sizeof *w);
    if (!is_due && w) {
        *w = deferred;
        w->next = domain->deferred;
        domain->deferred = w;
    } else if (is_due) {
        free_deferred(domain, &deferred);
    }
}

void nccl_defer_free(struct nccl_domain *domain, void *memory)
{
    free_or_defer(domain, (struct nccl_deferred){.memory = memory});
}

void nccl_defer_free_of_host(struct nccl_domain *domain, void *memory, bool is_registered)
{
    free_or_defer(domain, (struct nccl_deferred){.memory = memory, .of_host = true, .is_registered = is_registered});
}

void nccl_free_deferred(struct nccl_domain *domain, bool always)
{
    for (struct nccl_deferred **link = &domain->deferred; *link && (always || domain->under_way == 0);) {
        struct nccl_deferred *w = *link;
        take_back_all(&w->entries, NULL);
        if (!always && (w->entries || domain->is_stuck)) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        if (!domain->is_stuck)
            free_deferred(domain, w);
        free(w);
    }
}

// ---- regions -------------------------------------------------------------------------------------------------

static struct nccl_region *add_region(struct nccl_domain *domain, void *memory, size_t bytes, bool is_ours,
                                      bool by_nccl)
{
    struct nccl_region *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct nccl_region){
        .next = domain->regions, .memory = memory, .bytes = bytes, .is_ours = is_ours, .by_nccl = by_nccl};
    domain->regions = r;
    return r;
}

// Its memory is freed when that can be, if it is ours.
static void remove_region(struct nccl_domain *domain, struct nccl_region *r)
{
    struct nccl_region **link = &domain->regions;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    free_or_defer(domain, (struct nccl_deferred){
                              .memory = r->is_ours ? r->memory : NULL, .by_nccl = r->by_nccl, .entries = r->entries});
    free(r);
}

static struct nccl_region *find_region(const struct nccl_domain *domain, const void *memory)
{
    for (struct nccl_region *r = domain->regions; r; r = r->next)
        if ((const char *)memory >= r->memory && (const char *)memory < r->memory + r->bytes)
            return r;
    return NULL;
}

static bool has_entry(const struct nccl_region *r, const struct nccl_endpoint *endpoint)
{
    for (const struct nccl_entry *entry = r->entries; entry; entry = entry->next)
        if (entry->endpoint == endpoint)
            return true;
    return false;
}

// NCCL's communicator of the endpoint is called with the whole region, once.
static int enter(struct nccl_endpoint *endpoint, struct nccl_region *r, struct nccl_entry **window_p)
{
    struct nccl_entry *entry = malloc(sizeof *entry);
    int err = entry ? CLAB_OK : CLAB_ENOMEM;
    if (!entry)
        return err;
    *entry = (struct nccl_entry){.next = r->entries,
                                 .endpoint = endpoint,
                                 .memory = r->memory,
                                 .bytes = r->bytes,
                                 .is_window = endpoint->domain->registration == NCCL_WINDOWS};
#if NCCL_VERSION_CODE >= 21900
    const ncclComm_t comm = endpoint->lanes[0].comm;
    if (!entry->is_window)
        err =
            nccl_error(endpoint, comm, ncclCommRegister(comm, r->memory, r->bytes, &entry->handle), "ncclCommRegister");
#endif
    if (err)
        free(entry);
    else
        r->entries = entry;
    if (!err && entry->is_window)
        *window_p = entry;
    return err;
}

bool nccl_has_windows(void)
{
    int version = 0;
    ncclGetVersion(&version);
#if NCCL_VERSION_CODE >= 22700
    return version >= 22700 && ncclCommWindowRegister && ncclCommWindowDeregister;
#endif
    return false;
}

ncclResult_t nccl_window_register(struct nccl_entry *entry)
{
#if NCCL_VERSION_CODE >= 22700
    ncclWindow_t window = NULL;
    const ncclResult_t code = ncclCommWindowRegister(entry->endpoint->lanes[0].comm, entry->memory, entry->bytes,
                                                     &window, NCCL_WIN_COLL_SYMMETRIC);
    entry->handle = window;
    return code;
#endif
    (void)entry;
    return ncclInvalidUsage;
}

int nccl_register(struct nccl_endpoint *endpoint, const void *buffer, size_t bytes, struct nccl_entry **window_p)
{
    if (!endpoint->domain->registration || bytes == 0)
        return CLAB_OK;
    struct nccl_region *r = find_region(endpoint->domain, buffer);
    if (!r || (const char *)buffer + bytes > r->memory + r->bytes) {
        clab_error(
            "CLAB_NCCL_REGISTER=%d: the %zu bytes at %p are neither from clab_alloc nor registered by clab_register: "
            "take all buffers from there at all ranks, or unset CLAB_NCCL_REGISTER",
            (int)endpoint->domain->registration, bytes, buffer);
        return CLAB_EINVAL;
    }
    return has_entry(r, endpoint) ? CLAB_OK : enter(endpoint, r, window_p);
}

void nccl_deregister_all(struct nccl_endpoint *endpoint, bool failed)
{
    struct nccl_domain *domain = endpoint->domain;
    for (struct nccl_region *r = domain->regions; r; r = r->next) {
        if (!failed)
            take_back_all(&r->entries, endpoint);
        forget_all(&r->entries, endpoint);
    }
    for (struct nccl_deferred *w = domain->deferred; w; w = w->next) {
        if (!failed)
            take_back_all(&w->entries, endpoint);
        forget_all(&w->entries, endpoint);
    }
}

// ---- alloc ---------------------------------------------------------------------------------------------------

static cudaError_t allocate(const struct nccl_domain *domain, size_t bytes, void **memory_p, bool *by_nccl_p)
{
    *by_nccl_p = false;
#if NCCL_VERSION_CODE >= 21900
    if ((bytes >= LARGE_BYTES || domain->registration) && ncclMemAlloc(memory_p, bytes ? bytes : 1) == ncclSuccess) {
        *by_nccl_p = true;
        return cudaSuccess;
    }
    cudaGetLastError();
    if (domain->registration)
        return cudaErrorMemoryAllocation;
#endif
    (void)domain;
    return cudaMalloc(memory_p, bytes ? bytes : 1);
}

static int say_if_none_is_left(const struct nccl_domain *domain, size_t bytes, cudaError_t code)
{
    size_t left = 0, total = 0;
    if (code != cudaErrorMemoryAllocation)
        return nccl_cuda_error(code, "cudaMalloc");
    cudaGetLastError();
    cudaMemGetInfo(&left, &total);
    clab_error("GPU %d: no memory for %zu bytes: %zu of its %zu are left", domain->device, bytes, left, total);
    return CLAB_ENOMEM;
}

int nccl_reserve(struct nccl_domain *domain, size_t bytes, void **memory_p)
{
    return say_if_none_is_left(domain, bytes, cudaMalloc(memory_p, bytes));
}

int nccl_alloc(struct clab_domain *base, size_t bytes, void **memory_p)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    void *memory;
    bool by_nccl;
    nccl_free_deferred(domain, false);
    CLAB_TRY(say_if_none_is_left(domain, bytes, allocate(domain, bytes, &memory, &by_nccl)));
    if (!add_region(domain, memory, bytes ? bytes : 1, true, by_nccl)) {
        free_or_defer(domain, (struct nccl_deferred){.memory = memory, .by_nccl = by_nccl});
        return CLAB_ENOMEM;
    }
    *memory_p = memory;
    return CLAB_OK;
}

void nccl_free(struct clab_domain *base, void *memory)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    struct nccl_region *r = domain->regions;
    while (!r->is_ours || r->memory != memory)
        r = r->next;
    remove_region(domain, r);
}

// ---- memory of the program's ---------------------------------------------------------------------------------

// Memory of this GPU, or managed by CUDA, or of the host, registered with CUDA.
static bool is_reached(const struct nccl_domain *domain, const void *memory, enum cudaMemoryType *type_p)
{
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, memory) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    *type_p = a.type;
    return a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == domain->device) ||
           (a.type == cudaMemoryTypeHost && a.devicePointer == memory);
}

bool nccl_reaches(struct clab_domain *base, const void *memory)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    enum cudaMemoryType type;
    return find_region(domain, memory) || is_reached(domain, memory, &type);
}

int nccl_pin(struct clab_domain *base, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    enum cudaMemoryType type = cudaMemoryTypeUnregistered;
    struct nccl_pinned *registration = calloc(1, sizeof *registration);
    if (!registration)
        return CLAB_ENOMEM;
    registration->base = (struct clab_registration){memory, bytes};
    int err = CLAB_OK;
    if (!is_reached(domain, memory, &type) || type != cudaMemoryTypeDevice)
        err = nccl_cuda_error(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "cudaHostRegister");
    else if (!(registration->region = add_region(domain, memory, bytes, false, false)))
        err = CLAB_ENOMEM;
    if (err) {
        free(registration);
        return err;
    }
    *registration_p = &registration->base;
    return CLAB_OK;
}

void nccl_unpin(struct clab_domain *base, struct clab_registration *base_registration)
{
    struct nccl_domain *domain = (struct nccl_domain *)base;
    struct nccl_pinned *registration = (struct nccl_pinned *)base_registration;
    if (registration->region)
        remove_region(domain, registration->region);
    else
        nccl_cuda_error(cudaHostUnregister(registration->base.memory), "cudaHostUnregister");
    free(registration);
}
