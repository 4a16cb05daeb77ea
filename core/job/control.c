// SPDX-License-Identifier: MIT
// The control pages (control.h): head, seats, and the two areas of the exchange.

#include "job/control.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/relax.h"

enum {
    CONTROL_ALIGNMENT = 2 << 20, // a huge page, so that what follows may be in huge pages
    CONTROL_BLOB_BYTES = 4096,   // of a rank in one round; longer ones take several rounds
    CONTROL_SPINS = 2000,        // looks before the core is given away: 10 to 100 us, more than a round takes
    CONTROL_YIELDS = 50,         // and before sleep: a futex wake costs about as much
    CONTROL_NAMED = 8,           // missing ranks that a message names
    CONTROL_ERR_BITS = 8,        // of `round`, below the count
};
static const uint64_t CONTROL_MAGIC = UINT64_C(0x636c61626a6f6201); // "clabjob", version 1

// A rank's line. Only the rank itself writes it.
struct seat_line {
    _Alignas(64) _Atomic uint64_t arrived; // the round that it has arrived at, counted from 1
    _Atomic int32_t pid;                   // 0: nobody has taken it, or its owner has left
};

// One of the two areas: the blobs of a round side by side, so that the result is one copy.
struct area {
    _Alignas(64) _Atomic uint64_t bytes; // 1 + what the first arriver gives in all; 0: nobody has arrived
    _Alignas(64) char blobs[];           // (P, bytes)
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t area_bytes(int nranks)
{
    return round_up(sizeof(struct area) + (size_t)nranks * CONTROL_BLOB_BYTES, 64);
}

static struct seat_line *line_of(struct clab_control *control, int rank)
{
    return (struct seat_line *)(control + 1) + rank;
}

static struct area *area_of(struct clab_control *control, uint64_t round)
{
    char *areas = (char *)line_of(control, (int)control->nranks);
    return (struct area *)(areas + (round & 1) * area_bytes((int)control->nranks));
}

size_t clab_control_bytes(int nranks)
{
    const size_t bytes =
        sizeof(struct clab_control) + (size_t)nranks * sizeof(struct seat_line) + 2 * area_bytes(nranks);
    return round_up(bytes, CONTROL_ALIGNMENT);
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

// ---- seats ---------------------------------------------------------------------------------------------------

int clab_seat_take(struct clab_control *control, int rank, double timeout, struct clab_seat *seat_p)
{
    if (rank < 0 || rank >= (int)control->nranks) {
        clab_error("RANK is %d, but the job has ranks 0 to %d", rank, (int)control->nranks - 1);
        return CLAB_EINVAL;
    }
    struct seat_line *line = line_of(control, rank);
    int32_t owner = 0;
    while (!atomic_compare_exchange_strong(&line->pid, &owner, (int32_t)getpid()))
        if (owner && (kill(owner, 0) == 0 || errno != ESRCH)) {
            clab_error("rank %d has joined this job already, as process %d: a rank joins once", rank, owner);
            return CLAB_EINVAL;
        }
    const uint64_t round = atomic_load(&control->round) >> CONTROL_ERR_BITS;
    *seat_p = (struct clab_seat){.control = control, .rank = rank, .round = round, .timeout = timeout};
    return CLAB_OK;
}

void clab_seat_leave(struct clab_seat *seat)
{
    atomic_store(&line_of(seat->control, seat->rank)->pid, 0);
}

bool clab_control_is_used(struct clab_control *control)
{
    for (int rank = 0; rank < (int)control->nranks; rank++)
        if (atomic_load(&line_of(control, rank)->pid))
            return true;
    return false;
}

// ---- the bell ------------------------------------------------------------------------------------------------

static void ring(struct clab_control *control)
{
    atomic_fetch_add(&control->bell, 1);
    syscall(SYS_futex, &control->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

// Sleep until the bell is no longer at `heard`, or until `deadline` (seconds of clab_now).
static void sleep_until_bell(struct clab_control *control, uint32_t heard, double deadline)
{
    const struct timespec at = {(time_t)deadline, (long)((deadline - (double)(time_t)deadline) * 1e9)};
    syscall(SYS_futex, &control->bell, FUTEX_WAIT_BITSET, heard, &at, NULL, FUTEX_BITSET_MATCH_ANY);
}

bool clab_control_mark_ended(struct clab_control *control, int rank, bool failed)
{
    const bool sat = atomic_load(&line_of(control, rank)->pid) != 0;
    uint32_t none = 0;
    if (failed || sat)
        atomic_compare_exchange_strong(&control->dead, &none, (uint32_t)rank + 1);
    none = 0;
    atomic_compare_exchange_strong(&control->ended, &none, (uint32_t)rank + 1);
    ring(control);
    return sat;
}

int clab_control_dead(struct clab_control *control)
{
    return (int)atomic_load_explicit(&control->dead, memory_order_acquire) - 1;
}

// ---- exchange ------------------------------------------------------------------------------------------------

static bool is_over(const struct clab_seat *seat)
{
    return atomic_load_explicit(&seat->control->round, memory_order_acquire) != seat->round << CONTROL_ERR_BITS;
}

// How the seat's round ended; CLAB_OK also while it is under way.
static int outcome(const struct clab_seat *seat)
{
    const uint64_t word = atomic_load_explicit(&seat->control->round, memory_order_acquire);
    return word >> CONTROL_ERR_BITS > seat->round ? CLAB_OK : (int)(word & ((1 << CONTROL_ERR_BITS) - 1));
}

// End the round with `err` for everybody, for ever. False: it was over before.
static bool break_round(struct clab_seat *seat, int err)
{
    uint64_t word = seat->round << CONTROL_ERR_BITS;
    if (!atomic_compare_exchange_strong(&seat->control->round, &word, word | (uint64_t)err))
        return false;
    ring(seat->control);
    return true;
}

static void log_missing(const struct clab_seat *seat)
{
    char names[CONTROL_NAMED * 12 + 32] = "";
    int missing = 0;
    size_t used = 0;
    for (int rank = 0; rank < (int)seat->control->nranks; rank++) {
        if (atomic_load(&line_of(seat->control, rank)->arrived) > seat->round)
            continue;
        if (missing++ < CONTROL_NAMED)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%d", missing > 1 ? ", " : "", rank);
    }
    if (missing > CONTROL_NAMED)
        snprintf(names + used, sizeof names - used, " and %d more", missing - CONTROL_NAMED);
    clab_error("rendezvous: rank%s %s of %u did not arrive within %g s (CLAB_TIMEOUT)", missing == 1 ? "" : "s", names,
               seat->control->nranks, seat->timeout);
}

// Break the round when a rank has ended or the deadline has passed. Called by who found nothing to wait for.
static void give_up(struct clab_seat *seat, double deadline)
{
    const uint32_t ended = atomic_load(&seat->control->ended);
    const uint32_t dead = atomic_load(&seat->control->dead);
    if (dead || ended) {
        if (break_round(seat, CLAB_EPEER))
            clab_error("rendezvous: rank %d has ended", (int)(dead ? dead : ended) - 1);
    } else if (clab_now() >= deadline) {
        if (break_round(seat, CLAB_ETIMEOUT))
            log_missing(seat);
    }
}

static void sleep_out_round(struct clab_seat *seat)
{
    struct clab_control *control = seat->control;
    const double deadline = clab_now() + seat->timeout;
    atomic_fetch_add(&control->sleepers, 1);
    for (;;) {
        const uint32_t heard = atomic_load(&control->bell);
        if (!is_over(seat))
            give_up(seat, deadline);
        if (is_over(seat))
            break;
        sleep_until_bell(control, heard, deadline);
    }
    atomic_fetch_sub(&control->sleepers, 1);
}

// Spin while cores are free, lend the core out, then sleep.
static void await_round(struct clab_seat *seat)
{
    const int spins = seat->control->nranks <= seat->control->cores ? CONTROL_SPINS : 0;
    for (int i = 0; i < spins; i++, clab_relax())
        if (is_over(seat))
            return;
    for (int i = 0; i < CONTROL_YIELDS; i++, sched_yield())
        if (is_over(seat))
            return;
    sleep_out_round(seat);
}

// All have arrived: prepare the next round's area, which nobody reads any more, and open the door.
static void complete_round(struct clab_seat *seat)
{
    struct clab_control *control = seat->control;
    uint64_t word = seat->round << CONTROL_ERR_BITS;
    const uint64_t next = (seat->round + 1) << CONTROL_ERR_BITS;
    atomic_store(&area_of(control, seat->round + 1)->bytes, 0);
    atomic_store(&control->arrivals, 0);
    if (atomic_compare_exchange_strong(&control->round, &word, next) && atomic_load(&control->sleepers))
        ring(control);
}

// Ranks agree on the whole, not on this round's part of it: else one might be done while another waits for the rest.
static int check_sizes(struct clab_seat *seat, struct area *area, size_t bytes)
{
    uint64_t first = 0;
    if (atomic_compare_exchange_strong(&area->bytes, &first, bytes + 1) || first == bytes + 1)
        return CLAB_OK;
    if (break_round(seat, CLAB_EMISMATCH))
        clab_error("rendezvous: this rank gives %zu bytes, another %zu", bytes, (size_t)first - 1);
    return CLAB_EMISMATCH;
}

// One round.  mine: (bytes <= CONTROL_BLOB_BYTES), a part of `stride` bytes; all: rank r's goes to all + r * stride
static int exchange_round(struct clab_seat *seat, const char *mine, size_t bytes, char *all, size_t stride)
{
    struct clab_control *control = seat->control;
    struct area *area = area_of(control, seat->round);
    CLAB_TRY(outcome(seat));
    CLAB_TRY(check_sizes(seat, area, stride));
    if (bytes)
        memcpy(area->blobs + (size_t)seat->rank * bytes, mine, bytes);
    atomic_store(&line_of(control, seat->rank)->arrived, seat->round + 1);
    if (atomic_fetch_add(&control->arrivals, 1) + 1 == control->nranks)
        complete_round(seat);
    else
        await_round(seat);
    CLAB_TRY(outcome(seat));
    seat->round++;
    for (uint32_t rank = 0; rank < control->nranks && bytes; rank++)
        memcpy(all + rank * stride, area->blobs + rank * bytes, bytes);
    return CLAB_OK;
}

int clab_seat_exchange(struct clab_seat *seat, const void *mine, size_t bytes, void *all)
{
    size_t done = 0;
    do {
        const size_t part = bytes - done < CONTROL_BLOB_BYTES ? bytes - done : CONTROL_BLOB_BYTES;
        CLAB_TRY(exchange_round(seat, (const char *)mine + done, part, (char *)all + done, bytes));
        done += part;
    } while (done < bytes);
    return CLAB_OK;
}
