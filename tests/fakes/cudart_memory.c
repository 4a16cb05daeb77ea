// SPDX-License-Identifier: MIT
// Memory of the fake libcudart.
//
// - Device memory: addresses of an arena that nobody can touch; their bytes are in a file in memory, at the same offset
//   from its beginning, and mapped a second time, where only what is allocated can be touched.
// - An allocation is whole pages, with a page that nobody can touch behind it; what was freed is given back to the
//   system, and its addresses come again only when the arena has been gone through. So a kernel or copy that goes
//   beyond its memory, or comes late, crashes.
// - Fresh memory is poison, not zeros.
// - Host memory that is allocated here is of the same file, but its address is that of the second mapping; a device has
//   it at the same address, as it has memory of the host that was registered.

#include "tests/fakes/fake.h"
#include "tests/fakes/faults.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA  ((size_t)64 << 30)
#define POISON ((size_t)16 << 20) // bytes of an allocation that are: enough for a test, and soon done
enum { PAGE = 4096, POISON_BYTE = 0xA5 };

struct block {
    size_t first, bytes; // from the file's beginning; of registered memory: the address
    int device;
    enum cudaMemoryType type;
};

// Blocks by their first byte.
struct blocks {
    struct block *of;
    size_t n, room;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *arena, *alias;
static int file;
static size_t next; // where to look for free addresses
static struct blocks ours, registered;

static void *map(int protection, int flags, int fd)
{
    void *memory = mmap(0, ARENA, protection, flags | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        perror("fake CUDA: 64 GiB of addresses");
        abort();
    }
    madvise(memory, ARENA, MADV_DONTDUMP);
    return memory;
}

static void start(void)
{
    file = memfd_create("fake-gpu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)ARENA)) {
        perror("fake CUDA: a file in memory");
        abort();
    }
    arena = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    alias = map(PROT_NONE, MAP_SHARED, file);
}

int clab_fake_file(size_t *bytes_p)
{
    pthread_once(&once, start);
    *bytes_p = ARENA;
    return file;
}

// ---- blocks --------------------------------------------------------------------------------------------------------

// How many blocks begin at or before `at`.
static size_t until(const struct blocks *blocks, size_t at)
{
    size_t low = 0, high = blocks->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (blocks->of[middle].first <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The block that has the byte `at`.
static struct block *find(const struct blocks *blocks, size_t at)
{
    const size_t i = until(blocks, at);
    return i && at < blocks->of[i - 1].first + blocks->of[i - 1].bytes ? &blocks->of[i - 1] : 0;
}

static bool insert(struct blocks *blocks, struct block block)
{
    if (blocks->n == blocks->room) {
        const size_t room = blocks->room ? 2 * blocks->room : 64;
        struct block *more = realloc(blocks->of, room * sizeof *more);
        if (!more)
            return false;
        *blocks = (struct blocks){more, blocks->n, room};
    }
    const size_t i = until(blocks, block.first);
    memmove(&blocks->of[i + 1], &blocks->of[i], (blocks->n++ - i) * sizeof block);
    blocks->of[i] = block;
    return true;
}

// Take out the block that begins at `first`, if there is one.
static bool take_out(struct blocks *blocks, size_t first, struct block *block_p)
{
    const size_t i = until(blocks, first);
    if (!i || blocks->of[i - 1].first != first)
        return false;
    *block_p = blocks->of[i - 1];
    memmove(&blocks->of[i - 1], &blocks->of[i], (blocks->n-- - i) * sizeof *block_p);
    return true;
}

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

// Where `bytes` and a page behind them are free, from `from` on; ARENA: nowhere.
static size_t gap(size_t from, size_t bytes)
{
    size_t i = until(&ours, from);
    if (i) {
        const size_t end = ours.of[i - 1].first + pages(ours.of[i - 1].bytes) + PAGE;
        from = end > from ? end : from;
    }
    for (; from + bytes + PAGE <= ARENA; i++) {
        if (i == ours.n || from + bytes + PAGE <= ours.of[i].first)
            return from;
        from = ours.of[i].first + pages(ours.of[i].bytes) + PAGE;
    }
    return ARENA;
}

static size_t used(int device)
{
    size_t bytes = 0;
    for (size_t i = 0; i < ours.n; i++)
        if (ours.of[i].device == device && ours.of[i].type == cudaMemoryTypeDevice)
            bytes += ours.of[i].bytes;
    return bytes;
}

size_t fake_memory_used(int device)
{
    pthread_mutex_lock(&lock);
    const size_t bytes = used(device);
    pthread_mutex_unlock(&lock);
    return bytes;
}

// ---- what an address means -----------------------------------------------------------------------------------

static bool is_in(const char *mapping, const void *address)
{
    return (const char *)address >= mapping && (const char *)address < mapping + ARENA;
}

// The block at an address, and the byte of it that the address is. With the lock.
static struct block *block_at(const void *address, size_t *at_p)
{
    const bool device = is_in(arena, address), host = is_in(alias, address);
    *at_p = (size_t)address - (device ? (size_t)arena : host ? (size_t)alias : 0);
    struct block *block = find(device || host ? &ours : &registered, *at_p);
    return block && block->type == (device ? cudaMemoryTypeDevice : cudaMemoryTypeHost) ? block : 0;
}

bool clab_fake_place(const void *address, size_t bytes, struct fake_place *place_p)
{
    pthread_once(&once, start);
    *place_p = (struct fake_place){.type = cudaMemoryTypeUnregistered, .device = -2};
    size_t at;
    pthread_mutex_lock(&lock);
    const struct block *block = block_at(address, &at);
    if (block && bytes <= block->first + block->bytes - at)
        *place_p = (struct fake_place){
            .type = block->type,
            .device = block->device,
            .host = block->type == cudaMemoryTypeDevice ? alias + at : (void *)address,
            .in_file = is_in(arena, address) || is_in(alias, address),
            .offset = at,
        };
    pthread_mutex_unlock(&lock);
    return place_p->type != cudaMemoryTypeUnregistered;
}

void *clab_fake_touch(int device, const void *address, size_t bytes)
{
    struct fake_place place;
    if (clab_fake_place(address, bytes, &place))
        return place.host;
    clab_fake_fail(device, cudaErrorIllegalAddress);
    return 0;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes_p, const void *address)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    struct fake_place place;
    const bool known = clab_fake_place(address, 0, &place);
    *attributes_p = (struct cudaPointerAttributes){
        .type = place.type,
        .device = place.device,
        .devicePointer = known ? (void *)address : 0,
        .hostPointer = place.type == cudaMemoryTypeDevice ? 0 : (void *)address,
    };
    return cudaSuccess;
}

// ---- ours ----------------------------------------------------------------------------------------------------

// With the lock.
static cudaError_t allocate(size_t bytes, enum cudaMemoryType type, size_t *first_p)
{
    if (bytes > ARENA || (type == cudaMemoryTypeDevice && used(fake_device()) + bytes > fake_memory_limit()))
        return cudaErrorMemoryAllocation;
    size_t first = gap(next, pages(bytes));
    first = first == ARENA ? gap(0, pages(bytes)) : first;
    if (first == ARENA || mprotect(alias + first, pages(bytes), PROT_READ | PROT_WRITE) ||
        !insert(&ours, (struct block){first, bytes, fake_device(), type}))
        return cudaErrorMemoryAllocation;
    next = first + pages(bytes) + PAGE;
    *first_p = first;
    return cudaSuccess;
}

static cudaError_t acquire(void **memory_p, size_t bytes, enum cudaMemoryType type)
{
    pthread_once(&once, start);
    size_t first;
    pthread_mutex_lock(&lock);
    const cudaError_t error = allocate(bytes, type, &first);
    pthread_mutex_unlock(&lock);
    if (error)
        return fake_error(error);
    memset(alias + first, POISON_BYTE, bytes < POISON ? bytes : POISON);
    *memory_p = (type == cudaMemoryTypeDevice ? arena : alias) + first;
    return cudaSuccess;
}

static cudaError_t release(void *memory, enum cudaMemoryType type)
{
    size_t at;
    struct block taken;
    pthread_mutex_lock(&lock);
    const struct block *block = block_at(memory, &at);
    const bool found =
        block && block->type == type && (is_in(arena, memory) || is_in(alias, memory)) && take_out(&ours, at, &taken);
    if (found) {
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)taken.first, (off_t)pages(taken.bytes));
        mprotect(alias + taken.first, pages(taken.bytes), PROT_NONE);
    }
    pthread_mutex_unlock(&lock);
    return fake_error(found ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t clab_fake_unmap(void *memory)
{
    const cudaError_t error = fake_enter();
    return error || !memory ? error : release(memory, cudaMemoryTypeDevice);
}

// After all that the device has been given, as the real one does.
static cudaError_t release_after_work(void *memory, enum cudaMemoryType type)
{
    const cudaError_t error = fake_enter();
    if (error || !memory)
        return error;
    const cudaError_t work = cudaDeviceSynchronize();
    return work ? work : release(memory, type);
}

cudaError_t cudaMalloc(void **memory_p, size_t bytes)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    if (fake_fault_of(FAKE_ALLOCATION) == FAKE_MEMORY)
        return fake_error(cudaErrorMemoryAllocation);
    if (bytes)
        return acquire(memory_p, bytes, cudaMemoryTypeDevice);
    *memory_p = 0;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    return release_after_work(memory, cudaMemoryTypeDevice);
}

cudaError_t cudaMallocAsync(void **memory_p, size_t bytes, cudaStream_t stream)
{
    return fake_stream_device(stream) < 0 ? fake_error(cudaErrorInvalidResourceHandle) : cudaMalloc(memory_p, bytes);
}

static void release_later(void *memory, cudaError_t status)
{
    (void)status;
    release(memory, cudaMemoryTypeDevice);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    return memory ? fake_stream_put(stream, release_later, memory, 0) : cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory_p, size_t bytes, unsigned flags)
{
    (void)flags;
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    return bytes ? acquire(memory_p, bytes, cudaMemoryTypeHost) : fake_error(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **memory_p, size_t bytes)
{
    return cudaHostAlloc(memory_p, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *memory)
{
    return release_after_work(memory, cudaMemoryTypeHost);
}

// ---- the program's -------------------------------------------------------------------------------------------

static cudaError_t add_registered(struct block block)
{
    pthread_mutex_lock(&lock);
    const size_t i = until(&registered, block.first + block.bytes - 1);
    const bool taken = i && registered.of[i - 1].first + registered.of[i - 1].bytes > block.first;
    const bool kept = !taken && insert(&registered, block);
    pthread_mutex_unlock(&lock);
    return taken ? cudaErrorHostMemoryAlreadyRegistered : kept ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    (void)flags;
    const cudaError_t error = fake_enter();
    struct fake_place place;
    if (error)
        return error;
    if (!memory || !bytes || clab_fake_place(memory, 0, &place))
        return fake_error(memory && bytes ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue);
    return fake_error(add_registered((struct block){(size_t)memory, bytes, fake_device(), cudaMemoryTypeHost}));
}

cudaError_t cudaHostUnregister(void *memory)
{
    const cudaError_t error = fake_enter(), work = error ? error : cudaDeviceSynchronize();
    if (work)
        return work;
    struct block block;
    pthread_mutex_lock(&lock);
    const bool found = take_out(&registered, (size_t)memory, &block);
    pthread_mutex_unlock(&lock);
    return fake_error(found ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void **device_p, void *memory, unsigned flags)
{
    struct fake_place place;
    if (flags || !clab_fake_place(memory, 0, &place) || place.type != cudaMemoryTypeHost)
        return fake_error(cudaErrorInvalidValue);
    *device_p = memory;
    return cudaSuccess;
}
