// SPDX-License-Identifier: MIT
// Collectives in virtual time. A communicator of the backend sim has a conductor, its member 0: when all have entered a
// collective, it makes the moves of all ranks' schedules (core/program/in_process.h) and prices the same schedules on the network (sim.h),
// each rank from when it entered; so every rank knows when it has left.
//
// - Members meet on a board in shared memory, each at its own line. A member enters its next collective when it has
//   left the one before: a communicator's collectives are one stream. Its clock waits for a collective only where the
//   program does, so that work between start and wait is hidden behind the network.
// - A collective ends when all have entered it, also for a rank whose part would be over before.
// - Buffers that are not of clab_alloc have copies that are (bounce.h).
// - Prices and programs are kept: of 16 problems, and of 8 patterns of entering each.
#pragma once

#include "core/comm/comm.h"

struct clab_conducted; // a member's side; member 0's has the conductor's, too

size_t clab_conduct_board_bytes(int nranks);
//   errors: CLAB_ENOMEM
int clab_conduct_open(struct clab_comm *comm, struct clab_conducted **conducted_p);
void clab_conduct_close(struct clab_comm *comm); // also after a failure, when the endpoint is gone

// As clab_run_begin and clab_run_advance; work->started is then when this rank entered it, who had to leave the one
// before first, and when it is done, work->due is when this rank has left it.
//   errors: CLAB_ENOMEM, CLAB_EMISMATCH (with comm->other), the simulator's
int clab_conduct_begin(struct clab_comm *comm, struct clab_work *work);
int clab_conduct_advance(struct clab_comm *comm, struct clab_work *work, bool *done_p);

// The first member that has not entered what this one has; false: all have.
bool clab_conduct_waits_for(const struct clab_comm *comm, int *peer_p);
// Grows while something happens.
size_t clab_conduct_moved(const struct clab_comm *comm);
