// SPDX-License-Identifier: MIT
// Other processes' device memory, mapped to be read; and the calls of NCCL that are about memory.

#include "tests/fakes/nccl_inside.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fakes/fake.h"

struct memory {
    dev_t device;
    ino_t inode;
    int holders;
    const char *bytes;
    size_t size;
    struct memory *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;

static struct memory *find(const struct stat *file)
{
    struct memory *memory = memories;
    while (memory && !(memory->device == file->st_dev && memory->inode == file->st_ino))
        memory = memory->next;
    return memory;
}

static struct memory *map(int fd, const struct stat *file)
{
    const size_t size = (size_t)file->st_size;
    void *bytes = mmap(0, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    struct memory *memory = bytes == MAP_FAILED ? 0 : malloc(sizeof *memory);
    if (!memory) {
        if (bytes != MAP_FAILED)
            munmap(bytes, size);
        return 0;
    }
    madvise(bytes, size, MADV_DONTDUMP);
    *memory = (struct memory){file->st_dev, file->st_ino, 0, bytes, size, memories};
    return memories = memory;
}

struct memory *memory_open(int fd)
{
    struct stat file;
    pthread_mutex_lock(&lock);
    const bool known = fstat(fd, &file) == 0;
    struct memory *memory = known ? find(&file) : 0;
    memory = memory || !known ? memory : map(fd, &file);
    if (memory)
        memory->holders++;
    pthread_mutex_unlock(&lock);
    close(fd);
    return memory;
}

const char *memory_bytes(const struct memory *memory)
{
    return memory->bytes;
}

void memory_close(struct memory *memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    if (--memory->holders == 0) {
        struct memory **at = &memories;
        while (*at != memory)
            at = &(*at)->next;
        *at = memory->next;
        munmap((void *)memory->bytes, memory->size);
        free(memory);
    }
    pthread_mutex_unlock(&lock);
}

ncclResult_t ncclMemAlloc(void **memory_p, size_t bytes)
{
    if (!memory_p || !bytes)
        return warn(ncclInvalidArgument, "ncclMemAlloc of %zu bytes", bytes);
    const cudaError_t error = cudaMalloc(memory_p, bytes);
    return error ? warn(ncclUnhandledCudaError, "ncclMemAlloc: %s", cudaGetErrorString(error)) : ncclSuccess;
}

// The real one unmaps memory (cuMemUnmap), for which nothing is waited: what still uses it fails.
ncclResult_t ncclMemFree(void *memory)
{
    const cudaError_t error = clab_fake_unmap(memory);
    return error ? warn(ncclUnhandledCudaError, "ncclMemFree: %s", cudaGetErrorString(error)) : ncclSuccess;
}

// A registration makes nothing faster here. It is kept to be given back, and because ranks that differ in it hang.
struct registration {
    struct registration *next; // of the communicator
    ncclComm_t comm;
    const char *memory;
    size_t bytes;
};

bool memory_is_registered(ncclComm_t comm, const void *memory, size_t bytes)
{
    const char *first = memory;
    bool found = false;
    pthread_mutex_lock(&comm->lock);
    for (const struct registration *r = comm->registrations; r && !found; r = r->next)
        found = first >= r->memory && first + bytes <= r->memory + r->bytes;
    pthread_mutex_unlock(&comm->lock);
    return found;
}

static void forget(struct registration *registration)
{
    struct registration **at = &registration->comm->registrations;
    pthread_mutex_lock(&registration->comm->lock);
    while (*at && *at != registration)
        at = &(*at)->next;
    if (*at)
        *at = registration->next;
    pthread_mutex_unlock(&registration->comm->lock);
    free(registration);
}

void memory_forget_all(ncclComm_t comm)
{
    while (comm->registrations)
        forget(comm->registrations);
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes, void **handle_p)
{
    const ncclResult_t ready = comm_ready(comm);
    if (ready)
        return ready;
    struct fake_place place;
    if (!handle_p || !bytes || !clab_fake_place(memory, bytes, &place))
        return warn(ncclInvalidArgument, "ncclCommRegister: %p is not memory that the device can use", memory);
    if (fake_fault_of(FAKE_REGISTRATION) == FAKE_REGISTER)
        return warn(ncclSystemError, "ncclCommRegister: a fault that CLAB_FAKE_FAULT asks for");
    struct registration *registration = malloc(sizeof *registration);
    if (!registration)
        return ncclSystemError;
    pthread_mutex_lock(&comm->lock);
    *registration = (struct registration){comm->registrations, comm, memory, bytes};
    comm->registrations = registration;
    pthread_mutex_unlock(&comm->lock);
    inform("comm %s rank %d: registered %zu bytes", comm->id, comm->rank, bytes);
    *handle_p = registration;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    struct registration *registration = handle;
    if (!comm || !registration || registration->comm != comm)
        return warn(ncclInvalidArgument, "ncclCommDeregister: a handle of another communicator");
    forget(registration);
    return ncclSuccess;
}

#if NCCL_VERSION_CODE >= 22700
// All ranks make a window together, in the call. For the rest it is like a registration.
static ncclResult_t meet(ncclComm_t comm, void *data)
{
    (void)data;
    return gate_pass(comm, &comm->segment->windows)
               ? ncclSuccess
               : warn(ncclRemoteError, "ncclCommWindowRegister: a rank does not come");
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes, ncclWindow_t *window_p, int flags)
{
    void *handle;
    if (!window_p || (flags != NCCL_WIN_DEFAULT && flags != NCCL_WIN_COLL_SYMMETRIC) ||
        (uintptr_t)memory % NCCL_WIN_REQUIRED_ALIGNMENT)
        return warn(ncclInvalidArgument, "ncclCommWindowRegister: %p, flags %d", memory, flags);
    ncclResult_t result = ncclCommRegister(comm, memory, bytes, &handle);
    if (result)
        return result;
    *window_p = handle;
    inform("comm %s rank %d: a window of %zu bytes", comm->id, comm->rank, bytes);
    return comm_do(comm, meet, 0);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    return window ? ncclCommDeregister(comm, window) : ncclSuccess;
}
#endif
