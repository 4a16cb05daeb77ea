// SPDX-License-Identifier: MIT
// Shared memory: ranks of one host, and one sparse memory file that all of them have mapped whole.
//
// - heap.c     each rank's share of the file, handed out by clab_alloc and to endpoints; peers read it in place.
// - areas.c    when an endpoint's part of that is free again.
// - channel.c  one-way message queues between a pair of ranks, one per lane.
// - shm.c      the backend: attach, open, start, test, idle.
//
// A message uses one of three protocols, chosen by its sender (protocol.h):
// - inline: in the cache line that announces it;
// - slots:  copied into slots beside the lines, and out of them (or reduced out of them) by the receiver;
// - pull:   data in the file only: the line holds its place, and the receiver copies or reduces straight from there.
//
// Long messages from other memory go through the slots, too, and not by process_vm_readv: sender and receiver then work
// at the same time, and the kernel need not find pages. Measured: core/comm/PERFORMANCE.md.
// The sender of a pull, or of a long message, waits until the receiver has consumed it; the others are buffered. So a
// rank that sends long messages of other memory must make progress while its receiver takes them.
#pragma once

#include <stdatomic.h>

#include "core/transport/backend.h"
#include "backends/shm/protocol.h"

extern const struct clab_backend clab_backend_shm;

struct shm_heap;
struct shm_filter;
struct shm_closed; // the area of an endpoint that is closed here, but perhaps not at all its members

// The beginning of each rank's share, which the others read and write. Behind that of rank 0 lie the filters.
struct shm_futex {
    _Alignas(64) _Atomic uint32_t sleeping; // the rank is, or is about to be, asleep on this futex
};

struct shm_domain {
    struct clab_domain base;
    struct clab_bootstrap *boot;
    char *file;         // the backend's part of it, mapped
    size_t bytes;       // mapped
    size_t share_bytes; // each rank's
    struct shm_heap *heap;
    struct shm_filter *filters; // (nranks), in shared memory: who is in which communicator
    struct shm_closed *closed;  // areas that a peer may still touch
};

static inline struct shm_futex *shm_futex(const struct shm_domain *domain, int job_rank)
{
    return (struct shm_futex *)(domain->file + (size_t)job_rank * domain->share_bytes);
}

static inline bool shm_is_shared(const struct shm_domain *domain, const void *memory)
{
    return (const char *)memory >= domain->file && (const char *)memory < domain->file + domain->bytes;
}

// ---- heap.c --------------------------------------------------------------------------------------------------

// A heap over [memory, memory + bytes), which lies at `file_offset` of the file `fd`.  errors: CLAB_ENOMEM
int shm_heap_create(char *memory, size_t bytes, int fd, size_t file_offset, struct shm_heap **heap_p);
void shm_heap_destroy(struct shm_heap *heap);

// `bytes` of zeros, aligned to 64 bytes, from 2 MiB on to huge pages.  errors: CLAB_ENOMEM
int shm_heap_alloc(struct shm_heap *heap, size_t bytes, void **memory_p);
// The same in small pages, where most of it is never touched.
int shm_heap_alloc_sparse(struct shm_heap *heap, size_t bytes, void **memory_p);
// The pages go back to the system. An address that no block in use begins at is logged.
void shm_heap_free(struct shm_heap *heap, void *memory);
// The largest block that could be had.
size_t shm_heap_left(const struct shm_heap *heap);
