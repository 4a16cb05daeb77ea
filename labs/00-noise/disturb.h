// SPDX-License-Identifier: MIT
// disturb.h: what a busy machine does to calls, in virtual time, where nothing else disturbs them.
//
// - disturbance_take finds the word `disturbed` at the end of the program's arguments. Without it nothing is disturbed.
// - The machine slows down: each call has a little more to do than the call before it. And a few calls have much more
//   to do, as if another program had the core. What they do is said to virtual time: nothing sleeps.
// - In real time it does nothing: there the machine disturbs by itself.
#pragma once

#include "lab.h"

// Bytes of memory that rank 0 goes over in a call, beside what it is there for.
static const double slower_by = 40e3, held_up_by = 8e6; // more than in the call before; when another has the core

struct disturbance {
    bool is_on;
    int calls; // so far
};

static inline struct disturbance disturbance_take(int *argc, char **argv)
{
    const bool is_on = *argc > 1 && !strcmp(argv[*argc - 1], "disturbed");
    *argc -= is_on;
    return (struct disturbance){.is_on = is_on};
}

// Once in each call that is timed.
static inline void disturb(struct disturbance *disturbance, struct clab_job *job)
{
    const int call = disturbance->calls++;
    const bool is_held_up = call % 11 == 3 || call % 17 == 5;
    if (disturbance->is_on && clab_time_is_exact() && clab_job_rank(job) == 0)
        must(clab_compute(job, CLAB_FP32, 0, slower_by * call + (is_held_up ? held_up_by : 0)));
}
