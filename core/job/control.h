// SPDX-License-Identifier: MIT
// The control pages: the little memory that a host's launcher and ranks share before there is a backend, and beside it.
//
// - control.c   slots: who has come, who has left, who is lost; and the futex that wakes all who wait.
// - mailboxes.c the exchange: each rank posts in mailboxes of its own, and reads those of the others.
// - board.c     notices: what has gone wrong, told to all.
// - Behind each slot is room for the rank's flight recorder (core/flight/flight.h), which outlives the rank.
// - They know no processes and no environment (launch.c, bootstrap.c), so that threads can test them.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/transport/backend.h"

enum { CLAB_BOARD_NOTICES = 4096 }; // that the board holds; older ones are forgotten

struct clab_board_line {
    _Atomic uint64_t number;   // 1 + how many were posted before; 0: being written
    _Atomic uint64_t words[2]; // a struct clab_notice
};

// How far a reader of the board is.
struct clab_read_cursor {
    uint64_t next; // the number of the notice to read
    double since;  // when the next one was found unfinished (clab_now); 0: it was not
};

struct clab_control {
    uint64_t magic;
    uint32_t nranks, cores; // cores that the launcher could use: a pinned rank sees only its own
    size_t bytes;           // of the control pages; what is behind them is the backend's
    size_t segment_bytes;   // of the backend's part

    _Alignas(64) _Atomic uint32_t futex; // a futex: changes whenever a sleeper must look again
    _Atomic uint32_t sleepers;
    _Atomic uint64_t logged_key;          // the key of the round whose failure was logged last
    _Alignas(64) _Atomic uint64_t posted; // notices, ever
    struct clab_board_line board[CLAB_BOARD_NOTICES];
};

// One rank's use of the pages.
struct clab_rank_slot {
    struct clab_control *control;
    int rank;
    double timeout;                   // seconds that a wait may last
    int (*meanwhile)(void *, bool *); // of struct clab_bootstrap; may be NULL
    void *meanwhile_of;
    unsigned turn;        // exchanges' rounds so far
    struct clab_members { // of the last round that used each of the two mailboxes
        int *ranks, n, room;
    } last[2];
};

// Bytes of the control pages for `nranks`, a multiple of 2 MiB; most of them are never touched.
size_t clab_control_bytes(int nranks);
// Lay them out in zeroed memory of that size.
void clab_control_init(struct clab_control *control, int nranks, int cores, size_t segment_bytes);
// Whether `control` was laid out by clab_control_init for `nranks`.
bool clab_control_is_valid(const struct clab_control *control, int nranks);
// Where the flight recorders are: (nranks, CLAB_FLIGHT_BYTES).
char *clab_control_flights(struct clab_control *control);

// Take slot `rank`, and give it back: who has left it is not waited for.
//   errors: CLAB_EINVAL (rank out of range, or a living process sits there)
int clab_slot_take(struct clab_control *control, int rank, double timeout, struct clab_rank_slot *slot_p);
void clab_slot_leave(struct clab_rank_slot *slot);
// Its rank can not go on, and has said why.
void clab_slot_refuse(struct clab_rank_slot *slot);
// It will be left: who waits at a fence for it need not.
void clab_slot_announce(struct clab_rank_slot *slot);

// The exchange of struct clab_bootstrap.  mine: (bytes); all: (n, bytes)
int clab_slot_exchange(struct clab_rank_slot *slot, struct clab_fence fence, const void *mine, size_t bytes, void *all);

enum clab_presence clab_control_presence(struct clab_control *control, int rank);

// Launcher: the process of `rank` has ended; `failed` when its status was not 0. Tells all, and wakes who waits.
// Whether it had not left its slot.
bool clab_control_mark_ended(struct clab_control *control, int rank, bool failed);
// Launcher: whether `rank` has ended after clab_slot_refuse.
bool clab_control_has_refused(struct clab_control *control, int rank);
// Whether a process sits at any slot: only such can hear of a death.
bool clab_control_is_used(struct clab_control *control);

// The board of struct clab_bootstrap.
void clab_control_notify(struct clab_control *control, const struct clab_notice *notice);
bool clab_control_next_notice(struct clab_control *control, struct clab_read_cursor *cursor,
                              struct clab_notice *notice_p);

// ---- between control.c and mailboxes.c -----------------------------------------------------------------------

enum { CONTROL_BLOB_BYTES = 4096 }; // of a rank in one round; longer ones take several rounds

// What a rank posts in one round. Only its owner writes it, except for `taken`, which the readers write.
struct control_mailbox {
    _Alignas(64) _Atomic uint64_t key;      // of the round; 0: being written
    _Atomic uint32_t post;                  // how often this mailbox was written
    _Atomic uint32_t bytes;                 // that the owner gives in all
    _Atomic int32_t err;                    // the owner has given up
    _Atomic uint32_t taken[CLAB_MAX_RANKS]; // by rank: the last post that it has read, or will not read
    _Alignas(64) _Atomic uint64_t blob[CONTROL_BLOB_BYTES / sizeof(uint64_t)];
};

struct control_mailbox *control_mailbox(struct clab_control *control, int rank, unsigned turn);
void control_wake(struct clab_control *control);
// Sleep until the futex is no longer at `seen`, or until `deadline` (seconds of clab_now).
void control_sleep(struct clab_control *control, uint32_t seen, double deadline);
