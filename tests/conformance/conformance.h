// SPDX-License-Identifier: MIT
// What the parts of the conformance suite share: a rank's sweep over all that its backend must do.
// - A part adds to `failed` what was wrong, and says it on standard error; what can not be begun ends the process.
// - `memory` may be a device's: fill, look_at and is_filled go by way of `seen`, which is the host's.
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

enum { GUARD = 16 }; // bytes behind a buffer that nothing may write

// What a rank needs for all cases.  memory, seen, expected: room for in and out of all ranks, and guards
struct sweep {
    struct clab_job *job;
    struct clab_comm *comm;
    int n, rank;
    char *memory[2], *seen, *expected; // of clab_alloc, of malloc; of malloc
    unsigned seed;
    _Atomic int *entered; // how often a rank of this job has come to a barrier; all of them see it
    bool all;             // of CLAB_CONFORMANCE=all
    int failed, barriers;
};

// ---- the parts -----------------------------------------------------------------------------------------------

// Run one case in memory at `memory`, which may be a device's: `seen` is what it holds. Computes at `expected` what
// must be there. All have room for in, out and guards. Returns 0, or 1 if it failed.
int conform_case(struct clab_job *job, const struct kase *k, char *memory, char *seen, char *expected);

// Every collective by every algorithm, by the automatic choice, and of every type and operation; `large` counts most.
void conform_collectives(struct sweep *s, size_t large);

// Messages, all at once, many, and beside a collective, in either memory.
void conform_messages(struct sweep *s);

// Works that are waited for in another order, communicators that are split and used crosswise.
void conform_communicators(struct sweep *s);

// ---- what they share -----------------------------------------------------------------------------------------

static inline void check(struct sweep *s, bool right, const char *what)
{
    if (!right)
        fprintf(stderr, "rank %d of %d: %s\n", s->rank, s->n, what);
    s->failed += !right;
}

// What `data`, which may be a device's, holds: a host's array.
static inline int32_t *look_at(struct sweep *s, const int32_t *data, size_t count)
{
    must(clab_copy(s->job, s->seen, data, count * sizeof *data));
    return (int32_t *)(void *)s->seen;
}

static inline void fill(struct sweep *s, int32_t *data, size_t count, int rank, unsigned seed)
{
    int32_t *here = (int32_t *)(void *)s->seen;
    for (size_t i = 0; i < count; i++)
        here[i] = rank * 1000 + number(rank, i, seed);
    must(clab_copy(s->job, data, here, count * sizeof *data));
}

static inline bool is_filled(struct sweep *s, const int32_t *data, size_t count, int rank, unsigned seed)
{
    const int32_t *here = look_at(s, data, count);
    for (size_t i = 0; i < count; i++)
        if (here[i] != rank * 1000 + number(rank, i, seed))
            return false;
    return true;
}
