// SPDX-License-Identifier: MIT
// expects: proof: no power of two
// Doubling among all ranks: one that has no partner does nothing.

#include "labs/homework/h2/h2.h"

static int one_of(const struct h2_problem *problem)
{
    (void)problem;
    return 1;
}

static int none_of(const struct h2_problem *problem)
{
    (void)problem;
    return 0;
}

static int stage(const struct h2_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    (void)lane;
    const int peer = rank ^ 1 << s;
    if (1 << s >= problem->nranks)
        return CLAB_DONE;
    if (peer >= problem->nranks)
        return 0;
    out[0] = send(peer, chunk(0));
    out[1] = recv_reduce(peer, chunk(0));
    return 2;
}

const struct h2_algorithm H2_MINE = {.lanes = one_of, .chunks = one_of, .scratch = none_of, .stage = stage};
