// SPDX-License-Identifier: MIT
// Connections of the fake libnccl: none is needed to move data, but the calls wait in which the real one connects.

#include "tests/fakes/nccl_inside.h"

#include <stdlib.h>
#include <string.h>

static struct mailbox *mailbox(ncclComm_t comm, int from, int to)
{
    return &comm->segment->mailboxes[from * comm->nranks + to];
}

// Say that this rank's first call has come.
static void offer(ncclComm_t comm, const struct task *task)
{
    struct member *peer = &comm->members[task->root];
    const bool sends = task->kind == SEND;
    if (task->root == comm->rank || (sends ? peer->is_sent_to : peer->is_received_from))
        return;
    if (sends)
        atomic_store(&mailbox(comm, comm->rank, task->root)->sends, true);
    else
        atomic_store(&mailbox(comm, task->root, comm->rank)->receives, true);
    futex_signal(&comm->segment->futexes[task->root]);
}

// Whether the peer's has come, too.
static bool is_met(ncclComm_t comm, const struct task *task)
{
    struct member *peer = &comm->members[task->root];
    bool *is_known = task->kind == SEND ? &peer->is_sent_to : &peer->is_received_from;
    if (task->root == comm->rank || *is_known)
        return true;
    *is_known = task->kind == SEND ? atomic_load(&mailbox(comm, comm->rank, task->root)->receives)
                                   : atomic_load(&mailbox(comm, task->root, comm->rank)->sends);
    return *is_known;
}

static const struct task *first_unmet(ncclComm_t comm, const struct task *tasks, int n)
{
    for (int i = 0; i < n; i++)
        if (tasks[i].kind <= RECV && !is_met(comm, &tasks[i]))
            return &tasks[i];
    return 0;
}

static bool connect_messages(ncclComm_t comm, const struct task *tasks, int n)
{
    atomic_uint *futex = &comm->segment->futexes[comm->rank];
    for (int i = 0; i < n; i++)
        if (tasks[i].kind <= RECV)
            offer(comm, &tasks[i]);
    for (;;) {
        const unsigned seen = atomic_load(futex);
        const struct task *unmet = first_unmet(comm, tasks, n);
        if (!unmet)
            return true;
        if (atomic_load(&comm->aborting) || (!futex_wait(futex, seen) && !comm_lives(comm, unmet->root)))
            return false;
    }
}

static bool connect_collectives(ncclComm_t comm, const struct task *tasks, int n)
{
    const char *late = getenv("NCCL_RUNTIME_CONNECT");
    bool has_any = false;
    for (int i = 0; i < n; i++)
        has_any |= tasks[i].kind > RECV;
    if (!has_any || comm->is_connected || !late || strcmp(late, "0") == 0)
        return true;
    comm->is_connected = gate_pass(comm, &comm->segment->connection);
    return comm->is_connected;
}

bool connect_for(ncclComm_t comm, const struct task *tasks, int n)
{
    return connect_collectives(comm, tasks, n) && connect_messages(comm, tasks, n);
}
