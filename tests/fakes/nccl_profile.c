// SPDX-License-Identifier: MIT
// The profiler that NCCL_PROFILER_PLUGIN names, as the fake libnccl calls it: a file with the symbol ncclProfiler_v5. It
// is told of collectives and messages when they are launched, and of nothing that the GPU does. Small collectives say
// that they are a tree's, and others a ring's; they are neither.

#include "tests/fakes/nccl_inside.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "backends/nccl-profiler/api.h"

enum { SMALL = 65536 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct nccl_profiler_v5 *profiler;

static void load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : 0;
    profiler = library ? dlsym(library, "ncclProfiler_v5") : 0;
    if (path && *path)
        inform("PROFILER/Plugin: %s", profiler ? "Loaded (v5)" : dlerror());
}

void profile_begin(ncclComm_t comm)
{
    pthread_once(&once, load);
    if (profiler)
        profiler->init(&comm->profile, (uint64_t)(uintptr_t)comm, &comm->profiled, comm->id, 1, comm->nranks,
                       comm->rank, 0);
}

void profile_end(ncclComm_t comm)
{
    if (comm->profile)
        profiler->finish(comm->profile);
}

static struct nccl_event event_of(ncclComm_t comm, const struct task *task)
{
    static const char *const names[] = {[SEND] = "Send",
                                        [RECV] = "Recv",
                                        [BROADCAST] = "Broadcast",
                                        [REDUCE] = "Reduce",
                                        [ALL_REDUCE] = "AllReduce",
                                        [REDUCE_SCATTER] = "ReduceScatter",
                                        [ALL_GATHER] = "AllGather",
                                        [ALL_TO_ALL] = "AlltoAll",
                                        [GATHER] = "Gather",
                                        [SCATTER] = "Scatter"};
    const bool is_small = task->count * type_bytes(task->type) < SMALL;
    if (task->kind <= RECV)
        return (struct nccl_event){.type = NCCL_EVENT_MESSAGE,
                                   .rank = comm->rank,
                                   .message = {.name = names[task->kind],
                                               .type = "ncclUint8",
                                               .count = task->count,
                                               .peer = task->root,
                                               .channels = 1}};
    return (struct nccl_event){.type = NCCL_EVENT_COLLECTIVE,
                               .rank = comm->rank,
                               .collective = {.name = names[task->kind],
                                              .count = task->count,
                                              .root = task->root,
                                              .type = "ncclUint8",
                                              .channels = is_small ? 2 : 4,
                                              .algorithm = is_small ? "TREE" : "RING",
                                              .protocol = is_small ? "LL" : "SIMPLE"}};
}

void profile_tasks(ncclComm_t comm, const struct task *tasks, int n)
{
    for (int i = 0; comm->profile && i < n; i++) {
        const struct nccl_event event = event_of(comm, &tasks[i]);
        void *handle = 0;
        if (!(comm->profiled & (int)event.type))
            continue;
        profiler->start(comm->profile, &handle, &event);
        profiler->stop(handle);
    }
}
