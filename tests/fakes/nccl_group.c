// SPDX-License-Identifier: MIT
// Groups of the fake libnccl: what a thread calls between ncclGroupStart and ncclGroupEnd is begun at the end of the
// outermost, together. Outside, each operation is a group of its own.

#include "tests/fakes/nccl_inside.h"

#include <stdlib.h>

struct launch {
    struct plan *plan;
    struct launch *next;
};

static _Thread_local struct group {
    int depth;
    ncclResult_t failed; // the first error inside
    struct doing *doings;
    struct launch *launches; // one for each communicator
} group;

bool group_takes(struct doing *doing)
{
    if (!group.depth)
        return false;
    doing->next = group.doings;
    group.doings = doing;
    return true;
}

// The plan of this communicator in the open group.
static struct plan *plan_of(ncclComm_t comm)
{
    struct launch **at = &group.launches;
    while (*at && plan_comm((*at)->plan) != comm)
        at = &(*at)->next;
    if (*at)
        return (*at)->plan;
    struct launch *launch = malloc(sizeof *launch);
    struct plan *plan = launch ? plan_new(comm) : 0;
    if (!plan) {
        free(launch);
        return 0;
    }
    *launch = (struct launch){plan, 0};
    *at = launch;
    return plan;
}

ncclResult_t group_add(ncclComm_t comm, const struct task *task, cudaStream_t stream)
{
    ncclGroupStart();
    struct plan *plan = plan_of(comm);
    if (!plan || !plan_add(plan, task, stream))
        group.failed = ncclSystemError;
    return ncclGroupEnd();
}

// ---- the end -------------------------------------------------------------------------------------------------

static void *finish(void *doing)
{
    return (void *)(intptr_t)comm_finish(doing);
}

// All at once, since ranks of one thread wait for each other.
static ncclResult_t finish_all(struct doing *doings)
{
    ncclResult_t first = ncclSuccess;
    struct running {
        pthread_t thread;
        struct running *next;
    } *all = 0;
    while (doings) {
        struct doing *doing = doings;
        doings = doing->next;
        struct running *running = malloc(sizeof *running);
        if (!running || pthread_create(&running->thread, 0, finish, doing)) {
            free(running);
            first = comm_finish(doing);
            continue;
        }
        running->next = all;
        all = running;
    }
    while (all) {
        struct running *running = all;
        all = running->next;
        void *result;
        pthread_join(running->thread, &result);
        first = first ? first : (ncclResult_t)(intptr_t)result;
        free(running);
    }
    return first;
}

static ncclResult_t launch(ncclComm_t comm, void *plan)
{
    (void)comm;
    return plan_launch(plan);
}

static ncclResult_t launch_all(struct launch *launches, ncclResult_t failed)
{
    ncclResult_t result = failed;
    while (launches) {
        const struct launch one = *launches;
        free(launches);
        launches = one.next;
        if (failed) {
            plan_free(one.plan);
            continue;
        }
        const ncclResult_t given = comm_do(plan_comm(one.plan), launch, one.plan);
        result = !result || result == ncclInProgress ? (given ? given : result) : result;
    }
    return result;
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return warn(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    if (--group.depth)
        return ncclSuccess;
    const struct group ended = group;
    group = (struct group){0};
    const ncclResult_t done = finish_all(ended.doings);
    return launch_all(ended.launches, ended.failed ? ended.failed : done);
}

// An error inside a group is the group's: ncclGroupEnd answers it, too, and nothing of it is launched.
ncclResult_t group_error(ncclResult_t result)
{
    if (group.depth && result && result != ncclInProgress && !group.failed)
        group.failed = result;
    return result;
}
