// SPDX-License-Identifier: MIT
// One process makes the moves of all ranks: their programs (program.h) on memory that it reaches.
//
// - As the executor, rank by rank: a stage's copies, its messages, its unpacking; lanes and ranks go on in any order
//   that messages allow. A message is taken from where its sender has it straight to its receiver's place, and its
//   sender's stage lasts until then, so that no order can change what is added to what.
// - Nobody waits, so nobody is woken: a message costs its bytes and a few nanoseconds, where two processes that share
//   a core would change places for each.
#pragma once

#include <stdatomic.h>

#include "core/program/program.h"

// A rank's part in a call.
struct clab_part {
    const struct clab_program *program;
    const char *in; // NULL where it has none
    char *out;
};

// Memory of a player, kept from call to call; zeroed at first.
struct clab_player {
    struct clab_play_lane *lanes; // (nranks, lanes)
    bool *landed;                 // (nranks, lanes, width)
    int *ready;                   // a stack of lanes that may go on
    struct clab_play_post *posts; // messages that have not been taken
    char *scratch;                // all ranks'
    size_t lane_room, landed_room, ready_room, post_room, scratch_room;
    int nposts, spare;
};

// Make all moves of (nranks) `parts`, whose programs are of one problem. beat: counts on meanwhile.
//   errors: CLAB_ENOMEM, CLAB_EDEADLOCK (logged)
int clab_play(struct clab_player *player, const struct clab_part parts[], int nranks, enum clab_type type,
              enum clab_op op, const struct clab_device *device, _Atomic uint32_t *beat);
void clab_player_free(struct clab_player *player);
