// SPDX-License-Identifier: MIT
// What goes wrong before there is a schedule to prove: the environment's ODD says which of these this program does. One
// build tries all.

#include <stdlib.h>
#include <string.h>

#include "labs/homework/h2/h2.h"

// A build with sanitizers ends by their report before the processor sees the division.
#define PLAIN __attribute__((no_sanitize("undefined")))

static volatile int zero;

static int is_odd(const char *what)
{
    const char *odd = getenv("ODD");
    return odd && !strcmp(odd, what);
}

PLAIN static int lanes(const struct h2_problem *problem)
{
    (void)problem;
    return is_odd("lanes") ? 0 : is_odd("lanes crash") ? 7 / zero : 1;
}

static int chunks_per_lane(const struct h2_problem *problem)
{
    (void)problem;
    return is_odd("chunks") ? 300 : 1;
}

static int scratch_buffers(const struct h2_problem *problem)
{
    (void)problem;
    return 0;
}

static int deep(int n)
{
    volatile int room[1000];
    room[n % 1000] = n;
    return zero ? 0 : deep(n + 1) + room[n % 1000];
}

static int many(int n, struct clab_step out[])
{
    for (int i = 0; i < n; i++)
        out[i] = send(1, chunk(0));
    return n;
}

// What rank 0 does in its stage 2.
PLAIN static int go_wrong(struct clab_step out[])
{
    static int calls;
    if (is_odd("divide"))
        return 7 / zero;
    if (is_odd("deep"))
        return deep(1);
    if (is_odd("abort"))
        abort();
    while (is_odd("endless"))
        zero = 0;
    if (is_odd("counter"))
        return ++calls % 2;
    if (is_odd("gap")) {
        out[1] = send(1, chunk(0));
        return 1;
    }
    if (is_odd("span"))
        out[0] = recv_reduce(1, chunks(0, 3));
    if (is_odd("span"))
        return 1;
    return is_odd("many") ? many(70, out) : is_odd("very many") ? many(900, out) : CLAB_DONE;
}

// Stage 0 is empty; in stage 1 rank 0 sends its chunk to all others.
static int stage(const struct h2_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    (void)lane;
    if (s == 0)
        return 0;
    if (s > 1)
        return rank == 0 && s == 2 ? go_wrong(out) : CLAB_DONE;
    for (int i = 1; rank == 0 && i < problem->nranks; i++)
        out[i - 1] = send(i, chunk(0));
    if (rank > 0)
        out[0] = recv_reduce(0, chunk(0));
    return rank == 0 ? problem->nranks - 1 : 1;
}

const struct h2_algorithm H2_MINE = {
    .lanes = lanes, .chunks = chunks_per_lane, .scratch = scratch_buffers, .stage = stage};
