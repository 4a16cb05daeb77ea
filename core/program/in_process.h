// SPDX-License-Identifier: MIT
// The in-process executor: one process runs the programs (program.h) of all ranks, on memory that it reaches.
//
// - It works as core/comm/run.c does, rank by rank: a stage's copies, its messages, its unpacking. Lanes and ranks go
//   on in any order that messages allow. A message moves straight from its sender's place to its receiver's, and the
//   sender's stage lasts until then. So no order can change what is added to what.
// - No rank waits, so none is woken: a message costs its bytes and a few nanoseconds. Two processes that share a core
//   would switch for each message.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/program/program.h"

// What one rank brings to a call.
struct clab_rank_arguments {
    const struct clab_program *program;
    const char *in; // NULL: none
    char *out;
};

// The memory that is kept from call to call; zeroed at first.
struct clab_in_process {
    struct clab_in_process_lane *lanes;       // (nranks, lanes)
    bool *landed;                             // (nranks, lanes, width)
    int *ready;                               // a stack of lanes that may go on
    struct clab_in_process_message *messages; // messages that have not been taken
    char *scratch;                            // all ranks'
    size_t lane_room, landed_room, ready_room, message_room, scratch_room;
    int nmessages, spare;
};

// Run the programs of (nranks) `ranks`, which are of one problem. beat: counts on meanwhile.
//   errors: CLAB_ENOMEM, CLAB_EDEADLOCK (logged)
int clab_in_process_run(struct clab_in_process *memory, const struct clab_rank_arguments ranks[], int nranks,
                        enum clab_type type, enum clab_op op, _Atomic uint32_t *beat);
void clab_in_process_free(struct clab_in_process *memory);
