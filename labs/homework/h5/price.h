// SPDX-License-Identifier: MIT
// Homework h5: what a step of a job takes under a plan, by the simulator; and a time that no plan can be much below.
#pragma once

#include "labs/homework/h5/job.h"
#include "labs/homework/h5/plan.h"

struct h5_time {
    double step, computation, communication, exposed, update; // s; step = computation + exposed + update
    int buckets, accumulate;
    double encode;                // s of compressing, of all buckets
    const char *last_algorithm;   // of the last bucket
    size_t last_bytes;            // of its gradients
};

// The step of `job` under `plan`, which h5_plan_read has taken for it.
//   errors: CLAB_EINVAL (an algorithm can not do it; logged), CLAB_ENOMEM, those of the simulator
int h5_price(const struct h5_job *job, const struct h5_plan *plan, struct h5_time *time_p);

// The job as it runs now.  errors: as above
void h5_plan_now(const struct h5_job *job, struct h5_plan *plan_p);

// For each thing that can be rented within the budget, and each compression that converges: computation and update, or what
// all gradients take as one bucket behind the first gradient, whichever is longer. The least of these, in seconds.
//   errors: as above
int h5_bound(const struct h5_job *job, double *seconds_p);
