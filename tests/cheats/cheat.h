// SPDX-License-Identifier: MIT
// What cheats against homework h2 share: a solution that does nothing but its deed, at the first call.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "labs/homework/h2/h2.h"

static void deed(void);

static int lanes(const struct h2_problem *problem)
{
    (void)problem;
    deed();
    return 1;
}
static int chunks_per_lane(const struct h2_problem *problem)
{
    return problem->lanes;
}
static int scratch_buffers(const struct h2_problem *problem)
{
    return problem->lanes - 1;
}
static int stage(const struct h2_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    (void)problem, (void)rank, (void)lane, (void)s, (void)out;
    return CLAB_DONE;
}
const struct h2_algorithm H2_MINE = {
    .lanes = lanes, .chunks = chunks_per_lane, .scratch = scratch_buffers, .stage = stage};
