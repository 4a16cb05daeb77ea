// SPDX-License-Identifier: MIT
// The probes of `commlab fit`, which two ranks time. sim/fit/fit.h states the purpose of each.
// - Rank 0 reads the clock, and tells rank 1 the number of turns.
#pragma once

#include "sim/fit/fit.h"
#include "cmd/fit/turns.h"

// A probe with its size, as it is timed.
struct fit_task {
    const struct fit_probe *how;
    size_t bytes; // of a message or copy
    size_t level; // the footprint; 0: none
};

// How large messages and buffers may be.
struct fit_reach {
    const struct clab_protocols *protocols;
    size_t largest; // bytes of a buffer
    size_t longest; // bytes of a message on a wire
};

// All probes of a round. Freed by the caller.  errors: CLAB_ENOMEM
int fit_tasks_make(const struct fit_reach *reach, struct fit_task **tasks_p, int *n_p);

// Three buffers of `room` bytes, and the clock.  errors: CLAB_ENOMEM, the communicator's
int fit_ranks_open(struct clab_comm *comm, struct clab_job *job, size_t room, struct fit_ranks *ranks_p);
void fit_ranks_close(struct fit_ranks *ranks, struct clab_job *job);

// How a task is timed in a round: for about so long. Each round has its data in other pages.
struct fit_effort {
    double seconds;
    int round;
    bool hurried; // caches are warmed less
};

// Time one task; collective. *sample_p is set at rank 0; *probed_p is the placement of the cores, if it matters
// (cmd/probe/placement.h), or zeros.
//   errors: the backend's
int fit_task_run(struct fit_ranks *ranks, const struct fit_task *task, const struct fit_effort *effort,
                 struct clab_sample *sample_p, struct clab_placement_sample *probed_p);
