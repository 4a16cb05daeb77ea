// SPDX-License-Identifier: MIT
// The status of a job of several nodes: that of its first failure.
//
// - If a rank dies, its peers see at once that its connection has ended, and fail. Their launchers may report that
//   before the launcher of the first rank, on a busy host, has seen how it ended. So the other reports wait for that
//   launcher's, but at most JOB_STATUS_PATIENCE: a process may close its connection and go on.
#pragma once

#include <math.h>
#include <stdbool.h>

#include "core/job/store/message.h"

#define JOB_STATUS_PATIENCE 1.0 // seconds; as long as a launcher lets survivors report a death

struct store_job_status {
    bool is_decided;
    struct store_message end;  // STORE_END; once it is given
    int awaited;               // the first lost rank, while its launcher has not reported how it ended; -1: none
    struct store_message held; // the report that decides if that launcher stays silent; status 0: none
    double until;              // clab_now() then; INFINITY: nothing is held
};

static inline void store_job_status_init(struct store_job_status *job_status)
{
    *job_status = (struct store_job_status){.awaited = -1, .until = INFINITY};
}

// The connection of `rank` has ended; its launcher will report why.
void store_job_status_await(struct store_job_status *job_status, int rank);

// The launcher of `node` reports that `rank` has ended with `status`; it is `now`.
void store_job_status_report(struct store_job_status *job_status, int node, int rank, int status, double now);

// Set the status unless it is decided. rank -1: the node is lost; node -1, too: all are done.
void store_job_status_decide(struct store_job_status *job_status, int node, int rank, int status);

// It is `now`: decide what has been held for long enough.
void store_job_status_poll(struct store_job_status *job_status, double now);
