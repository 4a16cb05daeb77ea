// SPDX-License-Identifier: MIT
// A rank's share of the memory file, cut into blocks: first fit over a list ordered by address.
// - The list lives in private memory, so that a peer's stray write can not break it.
// - Freed ranges are punched out of the file at once: a lab that allocates each step does not grow, and whatever is
//   handed out is zero.
// - Not thread safe: one thread a domain.
// Source: Knuth, The Art of Computer Programming 1, section 2.5, algorithms A and B.

#include "backends/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/log.h"

struct block {
    size_t start, bytes; // relative to the heap
    bool used;
    struct block *next;
};

struct shm_heap {
    char *memory;
    size_t bytes;
    int fd;
    size_t file_offset;
    struct block *first;
};

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int shm_heap_create(char *memory, size_t bytes, int fd, size_t file_offset, struct shm_heap **heap_p)
{
    struct shm_heap *heap = calloc(1, sizeof *heap);
    struct block *all = calloc(1, sizeof *all);
    if (!heap || !all) {
        free(heap);
        free(all);
        return CLAB_ENOMEM;
    }
    all->bytes = bytes;
    *heap = (struct shm_heap){.memory = memory, .bytes = bytes, .fd = fd, .file_offset = file_offset, .first = all};
    *heap_p = heap;
    return CLAB_OK;
}

void shm_heap_destroy(struct shm_heap *heap)
{
    if (!heap)
        return;
    for (struct block *block = heap->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(heap);
}

// Cut `block` at `at`, relative to its start; the rest follows it as a free block.
static int split(struct block *block, size_t at)
{
    if (at == block->bytes)
        return CLAB_OK;
    struct block *rest = malloc(sizeof *rest);
    if (!rest)
        return CLAB_ENOMEM;
    *rest = (struct block){.start = block->start + at, .bytes = block->bytes - at, .next = block->next};
    block->bytes = at;
    block->next = rest;
    return CLAB_OK;
}

static int allocate(struct shm_heap *heap, size_t bytes, size_t unit, void **memory_p)
{
    if (bytes > heap->bytes)
        return CLAB_ENOMEM;
    bytes = round_up(bytes ? bytes : 1, unit);
    for (struct block *block = heap->first; block; block = block->next) {
        size_t skip = round_up((size_t)heap->memory + block->start, unit) - (size_t)heap->memory - block->start;
        if (block->used || block->bytes < skip + bytes)
            continue;
        if (skip) {
            CLAB_TRY(split(block, skip));
            block = block->next;
        }
        CLAB_TRY(split(block, bytes));
        block->used = true;
        if (unit == CLAB_HUGE_PAGE)
            madvise(heap->memory + block->start, bytes, MADV_HUGEPAGE); // a hint: small pages are right, too
        *memory_p = heap->memory + block->start;
        return CLAB_OK;
    }
    return CLAB_ENOMEM;
}

int shm_heap_alloc(struct shm_heap *heap, size_t bytes, void **memory_p)
{
    return allocate(heap, bytes, bytes >= CLAB_HUGE_PAGE ? CLAB_HUGE_PAGE : CLAB_CACHE_LINE, memory_p);
}

int shm_heap_alloc_sparse(struct shm_heap *heap, size_t bytes, void **memory_p)
{
    return allocate(heap, bytes, CLAB_CACHE_LINE, memory_p);
}

static void merge_free(struct shm_heap *heap)
{
    for (struct block *block = heap->first; block && block->next;) {
        struct block *next = block->next;
        if (block->used || next->used) {
            block = next;
            continue;
        }
        block->bytes += next->bytes;
        block->next = next->next;
        free(next);
    }
}

// Whether any page of the block was ever touched: to look for one is cheaper than to go through all processes'
// mappings.
static bool has_pages(const struct shm_heap *heap, const struct block *block)
{
    const off_t start = (off_t)(heap->file_offset + block->start), data = lseek(heap->fd, start, SEEK_DATA);
    return data < 0 ? errno != ENXIO : data < start + (off_t)block->bytes; // ENXIO: none from here to the file's end
}

static void give_pages_back(const struct shm_heap *heap, const struct block *block)
{
    if (has_pages(heap, block) && fallocate(heap->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                            (off_t)(heap->file_offset + block->start), (off_t)block->bytes))
        memset(heap->memory + block->start, 0, block->bytes); // a kernel that can not punch: zero it by hand
}

void shm_heap_free(struct shm_heap *heap, void *memory)
{
    const size_t start = (size_t)((char *)memory - heap->memory);
    struct block *block = heap->first;
    while (block && !(block->used && block->start == start))
        block = block->next;
    if (!block) {
        clab_error("clab_free: no memory of clab_alloc begins at %p: free it once, by the address that clab_alloc gave",
                   memory);
        return;
    }
    block->used = false;
    give_pages_back(heap, block);
    merge_free(heap);
}

size_t shm_heap_left(const struct shm_heap *heap)
{
    size_t most = 0;
    for (const struct block *block = heap->first; block; block = block->next)
        if (!block->used && block->bytes > most)
            most = block->bytes;
    return most;
}
