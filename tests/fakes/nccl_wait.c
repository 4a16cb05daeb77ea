// SPDX-License-Identifier: MIT
// How ranks of the fake libnccl wait for each other: asleep, and never for one that has ended.

#include "tests/fakes/nccl_inside.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool futex_wait(atomic_uint *word, unsigned value)
{
    const struct timespec tenth = {.tv_nsec = 100000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &tenth, 0, 0);
    return atomic_load(word) != value;
}

void futex_wake(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

void futex_signal(atomic_uint *word)
{
    atomic_fetch_add(word, 1);
    futex_wake(word);
}

void comm_fail(ncclComm_t comm, ncclResult_t result)
{
    int fine = ncclSuccess;
    if (!atomic_compare_exchange_strong(&comm->state, &fine, (int)result) && fine == ncclInProgress)
        atomic_compare_exchange_strong(&comm->state, &fine, (int)result);
}

// One that has finalized or aborted has no more to give, but has not ended: who waits for it hangs.
bool member_has_ended(ncclComm_t comm, int peer)
{
    struct pollfd alive = {.fd = comm->members[peer].alive, .events = POLLIN};
    return alive.fd < 0 || poll(&alive, 1, 0) == 1;
}

bool comm_lives(ncclComm_t comm, int peer)
{
    if (atomic_load(&comm->aborting))
        return false;
    for (int i = 0; i < comm->nranks; i++)
        if ((peer < 0 || i == peer) && member_has_ended(comm, i)) {
            warn(ncclRemoteError, "rank %d: the process of rank %d has ended", comm->rank, i);
            comm_fail(comm, ncclRemoteError);
            return false;
        }
    return true;
}

bool gate_pass(ncclComm_t comm, struct gate *gate)
{
    const unsigned round = atomic_load(&gate->round);
    if (atomic_fetch_add(&gate->arrivals, 1) % (unsigned)comm->nranks == (unsigned)comm->nranks - 1) {
        futex_signal(&gate->round);
        return true;
    }
    while (atomic_load(&gate->round) == round)
        if (!futex_wait(&gate->round, round) && !comm_lives(comm, -1))
            return false;
    return true;
}

void comm_hang(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    while (!atomic_load(&comm->aborting))
        pthread_cond_wait(&comm->turned, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}
