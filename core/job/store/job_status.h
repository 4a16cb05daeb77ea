// SPDX-License-Identifier: MIT
// Whose failure decides how a job of several nodes ends: the first one's.
//
// - Ranks hear at once that a peer's connection has ended, and fail of it, maybe before the peer's launcher, on a busy
//   host, has seen how its process has ended. What others' launchers say waits for that one's word, JOB_STATUS_PATIENCE
//   seconds at most: a process may have closed its connection and live on.
#pragma once

#include <math.h>
#include <stdbool.h>

#include "core/job/store/message.h"

#define JOB_STATUS_PATIENCE 1.0 // seconds; those that a launcher gives survivors to report a death

struct store_job_status {
    bool is_decided;
    struct store_message end;  // STORE_END; once it is given
    int awaited;               // the rank that was lost first, whose launcher has not said how; -1: none
    struct store_message held; // what decides if that does not; its status is 0: none
    double until;              // clab_now() then; INFINITY: nothing is held
};

static inline void store_job_status_init(struct store_job_status *job_status)
{
    *job_status = (struct store_job_status){.awaited = -1, .until = INFINITY};
}

// The connection of `rank` has ended, and its launcher will say why.
void store_job_status_await(struct store_job_status *job_status, int rank);

// Rank `rank` of `node` has ended with `status` at `now`.
void store_job_status_report(struct store_job_status *job_status, int node, int rank, int status, double now);

// It is that, unless it was given: `rank` -1: the node is lost; `node` -1, too: all are done.
void store_job_status_decide(struct store_job_status *job_status, int node, int rank, int status);

// It is `now`: nothing is held any longer than it may be.
void store_job_status_poll(struct store_job_status *job_status, double now);
