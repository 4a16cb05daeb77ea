// SPDX-License-Identifier: MIT
// The control pages: shared memory of one host's launcher and ranks, used before and beside the backend.
//
// - control.c   rank slots: which ranks have joined, left or died; and the futex that wakes all sleepers.
// - mailboxes.c the exchange: each rank posts in its own mailboxes and reads those of the others.
// - board.c     notices about failures, for all ranks.
// - Behind the rank slots is one flight recorder per rank (core/flight/flight.h), which outlives the rank.
// - These files know no processes and no environment, so tests can use threads.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/job/exchange.h"

enum { CLAB_BOARD_NOTICES = 4096 }; // on the board; a newer one overwrites the oldest

struct clab_board_entry {
    _Atomic uint64_t number;   // 1 + the notices posted before it; 0: being written
    _Atomic uint64_t words[2]; // a struct clab_notice
};

// A reader's position on the board.
struct clab_read_cursor {
    uint64_t next; // the number of the notice to read
    double since;  // when this reader first found that notice half written (clab_now); 0: it did not
};

struct clab_control {
    uint64_t magic;
    uint32_t nranks, cores; // cores of the launcher: a pinned rank sees only its own
    size_t bytes;           // of the control pages; the backend's part is behind them
    size_t segment_bytes;   // of the backend's part

    _Alignas(64) _Atomic uint32_t futex; // changes whenever a sleeper must look again
    _Atomic uint32_t sleepers;
    _Atomic uint64_t logged_key;          // the key of the last round whose failure was logged
    _Alignas(64) _Atomic uint64_t posted; // notices, ever
    struct clab_board_entry board[CLAB_BOARD_NOTICES];
};

// A rank's handle on its slot.
struct clab_rank_slot {
    struct clab_control *control;
    int rank;
    double timeout; // seconds that a wait may last
    struct exchange_progress progress;
    unsigned turn;        // rounds so far
    struct clab_members { // the last round in each of the two mailboxes
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

// Take the slot of `rank`, and leave it: nobody waits for a rank that has left.
//   errors: CLAB_EINVAL (rank out of range, or a running process has the slot)
int clab_slot_take(struct clab_control *control, int rank, double timeout, struct clab_rank_slot *slot_p);
void clab_slot_leave(struct clab_rank_slot *slot);
// The rank has logged why it can not go on: when its process ends, it has left.
void clab_slot_refuse(struct clab_rank_slot *slot);
// The rank is about to leave: fences that wait for it fail.
void clab_slot_announce(struct clab_rank_slot *slot);

// The exchange of struct clab_bootstrap.  mine: (bytes); all: (n, bytes)
int clab_slot_exchange(struct clab_rank_slot *slot, struct clab_fence fence, const void *mine, size_t bytes, void *all);

enum clab_presence clab_control_presence(struct clab_control *control, int rank);

// Launcher: the process of `rank` has ended; `failed` if its status was not 0. Posts a notice and wakes all sleepers.
// A rank that has refused has not failed: the others find the same, and end by themselves.
// Whether the rank had not left its slot.
bool clab_control_mark_ended(struct clab_control *control, int rank, bool failed);
// Whether `rank` has called clab_slot_refuse.
bool clab_control_has_refused(struct clab_control *control, int rank);
// Whether any slot is taken: only ranks that have joined read notices.
bool clab_control_is_used(struct clab_control *control);

// The board of struct clab_bootstrap.
void clab_control_notify(struct clab_control *control, const struct clab_notice *notice);
bool clab_control_next_notice(struct clab_control *control, struct clab_read_cursor *cursor,
                              struct clab_notice *notice_p);

// ---- between control.c and mailboxes.c -----------------------------------------------------------------------

enum { CONTROL_BLOB_BYTES = 4096 }; // of a rank in one round; longer ones take several rounds

// What a rank posts in one round. Its owner writes it; readers write only `taken`.
struct control_mailbox {
    _Alignas(64) _Atomic uint64_t key;      // of the round; 0: being written
    _Atomic uint32_t post;                  // posts in this mailbox so far
    _Atomic uint32_t bytes;                 // that the owner gives in the whole exchange
    _Atomic int32_t err;                    // why the owner has given up
    _Atomic uint32_t taken[CLAB_MAX_RANKS]; // by rank: the last post that it has read or gives up
    _Alignas(64) _Atomic uint64_t blob[CONTROL_BLOB_BYTES / sizeof(uint64_t)];
};

struct control_mailbox *control_mailbox(struct clab_control *control, int rank, unsigned turn);
void control_wake(struct clab_control *control);
// Sleep until the futex no longer has the value `seen`, or until `deadline` (seconds of clab_now).
void control_sleep(struct clab_control *control, uint32_t seen, double deadline);
