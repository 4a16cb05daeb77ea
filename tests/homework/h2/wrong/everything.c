// SPDX-License-Identifier: MIT
// expects: bytes: go there more than once?
// Rank 0 gets the arrays of all ranks, and sends all the sum.

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
    const int others = problem->nranks - 1;
    if (rank > 0) {
        out[0] = s == 0 ? send(0, chunk(0)) : recv(0, chunk(0));
        return s < 2 ? 1 : CLAB_DONE;
    }
    for (int i = 0; s == others && i < others; i++)
        out[i] = send(i + 1, chunk(0));
    if (s >= others)
        return s == others ? others : CLAB_DONE;
    out[0] = recv_reduce(s + 1, chunk(0));
    return 1;
}

const struct h2_algorithm H2_MINE = {.lanes = one_of, .chunks = one_of, .scratch = none_of, .stage = stage};
