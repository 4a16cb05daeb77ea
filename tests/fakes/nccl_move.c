// SPDX-License-Identifier: MIT
// Sends and receives of the fake libnccl: a send posts where its bytes are, and is done when its receiver has taken
// them.
//
// - Messages of a pair are taken in the order of their sends; those of a group move together, in whatever order peers
//   come.
// - A receive of another size than what is sent hangs, and so does the send: the real one hangs, or breaks memory. It
//   is said with NCCL_DEBUG=WARN.

#include "tests/fakes/nccl_inside.h"

#include <string.h>

static struct mailbox *mailbox(ncclComm_t comm, int from, int to)
{
    return &comm->segment->mailboxes[from * comm->nranks + to];
}

static size_t bytes_of(const struct task *task)
{
    return task->count * type_bytes(task->type);
}

// Whether anything has come of it.
static bool move_send(ncclComm_t comm, struct task *task)
{
    struct mailbox *to = mailbox(comm, comm->rank, task->root);
    if (task->posted) {
        task->done = atomic_load(&to->taken) == task->number;
        return task->done;
    }
    to->offset = task->in_at;
    to->bytes = bytes_of(task);
    task->number = atomic_fetch_add(&to->posted, 1) + 1;
    task->posted = true;
    futex_signal(&comm->segment->futexes[task->root]);
    return true;
}

static bool move_recv(ncclComm_t comm, struct task *task)
{
    struct mailbox *from = mailbox(comm, task->root, comm->rank);
    if (atomic_load(&from->posted) == atomic_load(&from->taken))
        return false;
    if (from->bytes != bytes_of(task)) {
        if (!task->posted)
            warn(ncclInvalidUsage, "rank %d receives %zu bytes from rank %d, which sends %zu: both hang", comm->rank,
                 bytes_of(task), task->root, (size_t)from->bytes);
        task->posted = true;
        return false;
    }
    if (from->bytes)
        memcpy(task->to, memory_bytes(comm->members[task->root].memory) + from->offset, from->bytes);
    atomic_fetch_add(&from->taken, 1);
    futex_signal(&comm->segment->futexes[task->root]);
    task->done = true;
    return true;
}

// The first of each pair and direction that is not done. *left_p: any is not.
static bool move_some(ncclComm_t comm, struct task *tasks, int n, bool *left_p)
{
    bool moved = false, is_first[2][MAX_RANKS];
    memset(is_first, true, sizeof is_first);
    *left_p = false;
    for (int i = 0; i < n; i++) {
        struct task *task = &tasks[i];
        if (task->kind > RECV || task->done || !is_first[task->kind][task->root])
            continue;
        moved |= task->kind == SEND ? move_send(comm, task) : move_recv(comm, task);
        is_first[task->kind][task->root] = task->done;
        *left_p |= !task->done;
    }
    return moved;
}

static bool peers_live(ncclComm_t comm, const struct task *tasks, int n)
{
    for (int i = 0; i < n; i++)
        if (tasks[i].kind <= RECV && !tasks[i].done && !comm_lives(comm, tasks[i].root))
            return false;
    return true;
}

bool move(ncclComm_t comm, struct task *tasks, int n)
{
    atomic_uint *futex = &comm->segment->futexes[comm->rank];
    for (;;) {
        const unsigned seen = atomic_load(futex);
        bool left;
        const bool moved = move_some(comm, tasks, n, &left);
        if (!left)
            return true;
        if (!moved && !futex_wait(futex, seen) && !peers_live(comm, tasks, n))
            return false;
        if (atomic_load(&comm->aborting))
            return false;
    }
}
