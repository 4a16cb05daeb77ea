// SPDX-License-Identifier: MIT
// What the files that read, lower and write MSCCL's schedules share.
//
// - msccl_places.c  where chunks are.
// - msccl_lower.c   the steps here of each step there, and the listing.
// - msccl_connect.c who sends to whom in a foreign file, and what waits for what.
// - msccl_order.c   runs its thread blocks: what is in which stage.
// - msccl_race.c    proves that no other order of the thread blocks gives another result.
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "core/schedule/formats/msccl.h"

// ---- places --------------------------------------------------------------------------------------------------

// The buffer that `letter` means at `rank`, where in it the letter's chunks begin, and how many there are in the file.
enum clab_buffer msccl_buffer(const struct clab_msccl *m, int rank, char letter, int *first_p, int *size_p);

// A GPU's chunks of all buffers, in one row: of CLAB_DATA, CLAB_INPUT and CLAB_SCRATCH. In place, 'i' and 'o' are one.
int msccl_chunks(const struct clab_msccl *m, int rank);
// The first chunk that a step reads as its source, or writes as its destination, in this row.
int msccl_chunk(const struct clab_msccl *m, int rank, const struct clab_msccl_step *step, bool src);
// Every chunk of every step is in its buffer.  errors: CLAB_EPARSE (logged)
int msccl_check_places(const struct clab_msccl *m);

// Refuse a file that declares far more chunks than its steps use, and forget scratch that none uses.
//   errors: CLAB_EPARSE (logged)
int msccl_bound_chunks(struct clab_msccl *m);

// ---- what a step does ----------------------------------------------------------------------------------------

static inline bool msccl_sends(enum clab_msccl_type type)
{
    return type == CLAB_MSCCL_S || type == CLAB_MSCCL_RCS || type == CLAB_MSCCL_RRS || type == CLAB_MSCCL_RRCS;
}

static inline bool msccl_receives(enum clab_msccl_type type)
{
    return type >= CLAB_MSCCL_R && type <= CLAB_MSCCL_RRCS;
}

// It reads its source, or writes its destination: as memory, not as what it has just received.
static inline bool msccl_reads_src(enum clab_msccl_type type)
{
    return type != CLAB_MSCCL_R && type != CLAB_MSCCL_RCS && type != CLAB_MSCCL_NOP;
}

static inline bool msccl_writes_dst(enum clab_msccl_type type)
{
    return type != CLAB_MSCCL_S && type != CLAB_MSCCL_RRS && type != CLAB_MSCCL_NOP;
}

// ---- msccl_connect.c -----------------------------------------------------------------------------------------

// A thread block's GPU, and the blocks at the other ends of its connections, or -1.
struct msccl_ends {
    int rank, to, from;
};

//   out: ends (nblocks); from, target (nsteps), of struct msccl_order
//   errors: CLAB_EPARSE (logged: messages without another end, a wait for what is not there), CLAB_ENOMEM
int msccl_connect(const struct clab_msccl *m, struct msccl_ends *ends, int *from, int *target);

// ---- the order of a foreign file -----------------------------------------------------------------------------

// When a step is done, in stages of the global order.
struct msccl_when {
    int begin;              // it receives, copies or combines
    int post;               // it sends
    int through;            // what it sends is received
    long receipt, shipping; // the number, over all GPUs, of the message that it receives, and of the one that it sends
    bool is_overwritten;    // what it sends, between post and through
};

struct msccl_order {
    struct msccl_when *when; // (nsteps)
    int *target;             // (nsteps) the step whose end it waits for, or -1
    int *from;               // (nsteps) the step whose message it receives, or -1
    int *log;                // (nlog) steps in the order in which they ended
    int nlog;
};

// Run all thread blocks: each takes its steps in order, waits for what depid and deps say, for messages, and for room
// for those that it sends.
//   errors: those of msccl_connect, CLAB_EDEADLOCK (logged: thread blocks wait for each other)
int msccl_order_make(const struct clab_msccl *m, struct msccl_order *order_p);
void msccl_order_free(struct msccl_order *order);

// Any two uses of a chunk of which one writes are ordered: by a thread block, by depid and deps, by messages.
//   errors: CLAB_EWRONG (logged: two that are not), CLAB_EUNSUPPORTED (logged: too large to be proved), CLAB_ENOMEM
int msccl_check_races(const struct clab_msccl *m, const struct msccl_order *order);
