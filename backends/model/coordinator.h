// SPDX-License-Identifier: MIT
// Collectives in virtual time. A communicator has a coordinator, its member 0: when all have entered a collective, it
// runs the schedules of all ranks (core/program/in_process.h) and prices the same schedules on the network (sim.h),
// each rank from when it entered. So every rank learns when it has left.
//
// - Members share a board in shared memory, with one rank slot per member. A member enters its next collective when it
//   has
//   left the one before: a communicator's collectives are one stream. Its clock waits for a collective only where the
//   program does, so that work between start and wait is hidden behind the network.
// - A collective ends when all have entered it, also for a rank whose part ends earlier.
// - Buffers lie in shm's memory, which all ranks have mapped: others are copied there (core/comm/bounce.h).
#pragma once

#include "core/transport/backend.h"

struct model_endpoint;
struct model_coordinator; // a member's side; member 0's has the cache (cache.h), too

// Of shared memory, zeroed at first.
size_t model_board_bytes(int nranks);
//   out: endpoint->coordinator.  errors: CLAB_ENOMEM
int model_coordinator_create(struct model_endpoint *endpoint, const struct clab_group *group);
void model_coordinator_free(struct model_coordinator *coordinator); // NULL is fine

extern const struct clab_collectives model_collectives;
