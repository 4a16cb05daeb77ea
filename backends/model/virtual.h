// SPDX-License-Identifier: MIT
// Virtual time on shared memory: `--backend sim --net NAME`. Data is real, time is a described network's.
//
// - It wraps shm. A message of a program's own is preceded by a stamp, by which its receiver knows when it would have
//   come in (backends/model/clock.h); it is delivered at once.
// - Collectives do not travel as messages: the communicator's conductor makes the moves of all ranks' schedules in
//   shared memory, and prices them by the simulator (core/comm/coordinator.h). What it needs of shm is here: a board,
//   addresses, and a way to wait that leaves the cores to few ranks of many.
// - CLAB_NET names the network (dgx-h100 if it is not set). CLAB_STRAGGLE=RANK=FACTOR,... makes ranks compute slower.
#pragma once

#include "core/transport/backend.h"
#include "backends/model/clock.h"

extern const struct clab_backend clab_backend_sim;

// The network of a job that begins now.
const char *clab_sim_net_name(void);

struct clab_clock *clab_sim_clock(struct clab_domain *domain);

// As shm/board.h has them.
char *clab_sim_board(struct clab_endpoint *endpoint);
size_t clab_sim_offset(const struct clab_endpoint *endpoint, const void *memory);
char *clab_sim_at(const struct clab_endpoint *endpoint, size_t offset);
void clab_sim_ring(const struct clab_endpoint *endpoint, int member);
