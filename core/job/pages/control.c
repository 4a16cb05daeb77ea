// SPDX-License-Identifier: MIT
// The control pages: their layout, the rank slots, and the futex.

#include "core/job/pages/control.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"

enum { CONTROL_ALIGNMENT = 2 << 20 }; // a huge page, so that what follows may be in huge pages
static const uint64_t CONTROL_MAGIC = UINT64_C(0x636c61626a6f6205); // "clabjob", version 5

struct slot {
    _Alignas(64) _Atomic int32_t pid;    // of its owner; 0: not taken, or left
    _Atomic int32_t presence;            // enum clab_presence
    _Atomic int32_t refused;             // its rank has logged why it can not go on
    struct control_mailbox mailboxes[2]; // used in turn: the owner writes one while others still read the other
};

static struct slot *slot_of(struct clab_control *control, int rank)
{
    return (struct slot *)(control + 1) + rank;
}

struct control_mailbox *control_mailbox(struct clab_control *control, int rank, unsigned turn)
{
    return &slot_of(control, rank)->mailboxes[turn & 1];
}

char *clab_control_flights(struct clab_control *control)
{
    return (char *)slot_of(control, (int)control->nranks);
}

size_t clab_control_bytes(int nranks)
{
    const size_t each = sizeof(struct slot) + CLAB_FLIGHT_BYTES;
    const size_t bytes = sizeof(struct clab_control) + (size_t)nranks * each;
    return (bytes + CONTROL_ALIGNMENT - 1) / CONTROL_ALIGNMENT * CONTROL_ALIGNMENT;
}

void clab_control_init(struct clab_control *control, int nranks, int cores, size_t segment_bytes)
{
    control->nranks = (uint32_t)nranks;
    control->cores = (uint32_t)cores;
    control->bytes = clab_control_bytes(nranks);
    control->segment_bytes = segment_bytes;
    control->magic = CONTROL_MAGIC;
}

bool clab_control_is_valid(const struct clab_control *control, int nranks)
{
    return control->magic == CONTROL_MAGIC && control->nranks == (uint32_t)nranks;
}

// ---- rank slots ---------------------------------------------------------------------------------------------------

int clab_slot_take(struct clab_control *control, int rank, double timeout, struct clab_rank_slot *slot_p)
{
    if (rank < 0 || rank >= (int)control->nranks) {
        clab_error("RANK is %d, but the job has ranks 0 to %d", rank, (int)control->nranks - 1);
        return CLAB_EINVAL;
    }
    struct slot *slot = slot_of(control, rank);
    int32_t owner = 0;
    if (atomic_load(&slot->presence) != CLAB_EXPECTED && atomic_load(&slot->pid) == 0) {
        clab_error("rank %d has left this job: a rank joins once", rank);
        return CLAB_EINVAL;
    }
    while (!atomic_compare_exchange_strong(&slot->pid, &owner, (int32_t)getpid()))
        if (owner && (kill(owner, 0) == 0 || errno != ESRCH)) {
            clab_error("rank %d has joined this job already, as process %d: a rank joins once", rank, owner);
            return CLAB_EINVAL;
        }
    atomic_store(&slot->presence, CLAB_PRESENT);
    *slot_p = (struct clab_rank_slot){.control = control, .rank = rank, .timeout = timeout};
    return CLAB_OK;
}

void clab_slot_refuse(struct clab_rank_slot *slot)
{
    atomic_store(&slot_of(slot->control, slot->rank)->refused, 1);
}

bool clab_control_has_refused(struct clab_control *control, int rank)
{
    return atomic_load(&slot_of(control, rank)->refused);
}

void clab_slot_announce(struct clab_rank_slot *slot)
{
    atomic_store(&slot_of(slot->control, slot->rank)->presence, CLAB_LEAVING);
    control_wake(slot->control);
}

void clab_slot_leave(struct clab_rank_slot *slot)
{
    struct slot *left = slot_of(slot->control, slot->rank);
    atomic_store(&left->presence, CLAB_LEFT);
    atomic_store(&left->pid, 0);
    control_wake(slot->control);
    for (int i = 0; i < 2; i++)
        free(slot->last[i].ranks);
}

bool clab_control_is_used(struct clab_control *control)
{
    for (int rank = 0; rank < (int)control->nranks; rank++)
        if (atomic_load(&slot_of(control, rank)->pid))
            return true;
    return false;
}

enum clab_presence clab_control_presence(struct clab_control *control, int rank)
{
    return (enum clab_presence)atomic_load_explicit(&slot_of(control, rank)->presence, memory_order_acquire);
}

bool clab_control_mark_ended(struct clab_control *control, int rank, bool failed)
{
    const bool had_joined = atomic_load(&slot_of(control, rank)->pid) != 0;
    const bool lost = (failed || had_joined) && !clab_control_has_refused(control, rank);
    atomic_store(&slot_of(control, rank)->presence, lost ? CLAB_LOST : CLAB_LEFT);
    clab_control_notify(control, &(struct clab_notice){.kind = lost ? CLAB_NOTICE_LOST : CLAB_NOTICE_LEFT,
                                                       .reporter = rank,
                                                       .culprit = rank,
                                                       .err = CLAB_EPEER});
    return had_joined;
}

// ---- the futex ------------------------------------------------------------------------------------------------

void control_wake(struct clab_control *control)
{
    atomic_fetch_add(&control->futex, 1);
    if (atomic_load(&control->sleepers))
        syscall(SYS_futex, &control->futex, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void control_sleep(struct clab_control *control, uint32_t seen, double deadline)
{
    const struct timespec at = {(time_t)deadline, (long)((deadline - (double)(time_t)deadline) * 1e9)};
    atomic_fetch_add(&control->sleepers, 1);
    syscall(SYS_futex, &control->futex, FUTEX_WAIT_BITSET, seen, &at, NULL, FUTEX_BITSET_MATCH_ANY);
    atomic_fetch_sub(&control->sleepers, 1);
}
