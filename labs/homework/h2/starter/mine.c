// SPDX-License-Identifier: MIT
// Homework h2: an allreduce for my own cluster (work/h2/network.net). The task: labs/homework/h2/h2.md.
//
// Name and ID:
// How it works, in at most ten lines:
// Which time I expect on my cluster, and how I computed it (formula, then numbers):
// What the grader says, and why it differs:

#include "labs/homework/h2/h2.h"

// The n-th rank of a host, counted from 0; -1: the host has fewer ranks. (Yours to use, or not.)
static inline int rank_of(const struct h2_problem *problem, int host, int n)
{
    for (int rank = 0; rank < problem->nranks; rank++)
        if (problem->host[rank] == host && n-- == 0)
            return rank;
    return -1;
}

static int lanes(const struct h2_problem *problem)
{
    (void)problem;
    return 1;
}

static int chunks_per_lane(const struct h2_problem *problem)
{
    (void)problem;
    return 1;
}

static int scratch_buffers(const struct h2_problem *problem)
{
    (void)problem;
    return 0;
}

// What `rank` does in stage s = 0, 1, 2, ...: fill out[], and return the number of steps. Behind the last stage: CLAB_DONE.
static int stage(const struct h2_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    (void)problem, (void)rank, (void)lane, (void)s, (void)out;
    // TODO: until you write this, no rank gets anything from another.
    return CLAB_DONE;
}

const struct h2_algorithm H2_MINE = {
    .lanes = lanes, .chunks = chunks_per_lane, .scratch = scratch_buffers, .stage = stage};
