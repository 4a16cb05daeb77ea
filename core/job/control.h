// SPDX-License-Identifier: MIT
// The control pages: the little memory that the launcher and its ranks share before there is a backend.
//
// - exchange is an allgather over a central barrier: two areas take turns, so that a rank may enter the next round
//   while others still read this one. The last arriver and a rank that gives up compete for the one word `round`:
//   either all ranks complete a round or none does, and from then on none completes another.
// - Deaths: the launcher writes them down and rings the bell; every waiter looks again.
// - It knows no processes and no environment (launch.c, bootstrap.c), so that threads can test it.
//
// Source of the barrier: Mellor-Crummey and Scott 1991, section 3.1 (centralized); futex sleep behind the spin.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clab_control {
    uint64_t magic;
    uint32_t nranks, cores; // cores that the launcher could use: a pinned rank sees only its own
    size_t bytes;           // of the control pages; what is behind them is the backend's
    size_t segment_bytes;   // of the backend's part

    _Alignas(64) _Atomic uint32_t dead; // 1 + the first rank that ended without leaving or in failure; 0: none
    _Atomic uint32_t ended;             // 1 + the first rank whose process has ended at all; 0: none

    _Alignas(64) _Atomic uint32_t arrivals; // at the round under way
    _Alignas(64) _Atomic uint64_t round;    // rounds completed << 8 | the error that ended the one under way, or 0
    _Atomic uint32_t bell;                  // a futex: changes whenever a sleeper must look again
    _Atomic uint32_t sleepers;
};

// One rank's use of the pages.
struct clab_seat {
    struct clab_control *control;
    int rank;
    uint64_t round; // completed by this rank
    double timeout; // seconds that a wait may last
};

// Bytes of the control pages for `nranks`, a multiple of 2 MiB; most of them are never touched.
size_t clab_control_bytes(int nranks);
// Lay them out in zeroed memory of that size.
void clab_control_init(struct clab_control *control, int nranks, int cores, size_t segment_bytes);
// Whether `control` was laid out by clab_control_init for `nranks`.
bool clab_control_is_valid(const struct clab_control *control, int nranks);

// Take seat `rank`, from the round under way on, and give it back.
//   errors: CLAB_EINVAL (rank out of range, or a living process sits there)
int clab_seat_take(struct clab_control *control, int rank, double timeout, struct clab_seat *seat_p);
void clab_seat_leave(struct clab_seat *seat);

// The allgather of struct clab_bootstrap: all ranks give the same number of `bytes`.  mine: (bytes); all: (P, bytes)
//   errors: CLAB_EPEER, CLAB_ETIMEOUT, CLAB_EMISMATCH (of bytes); after the first error each call returns it
int clab_seat_exchange(struct clab_seat *seat, const void *mine, size_t bytes, void *all);

// Launcher: the process of `rank` has ended; `failed` when its status was not 0. Wakes all who wait.
// Whether it had not left its seat.
bool clab_control_mark_ended(struct clab_control *control, int rank, bool failed);
// Whether a process sits at any seat: only such can hear of a death.
bool clab_control_is_used(struct clab_control *control);
// The first rank that ended in failure or without leaving its seat, or -1.
int clab_control_dead(struct clab_control *control);
