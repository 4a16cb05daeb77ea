// SPDX-License-Identifier: MIT
// What the parts of the conformance suite share: a rank's sweep over all that its backend must do.
// - A part adds to `failed` what was wrong, and says it on standard error; what can not be begun ends the process.
// - `memory` may be a device's: fill, look_at and is_filled go by way of `seen`, which is the host's.
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/conformance/expect.h"

enum { GUARD = 16 }; // bytes behind a buffer that nothing may write

// What all ranks of a job see.
struct shared {
    _Atomic int entered; // how often a rank has come to a barrier
    _Atomic int parts;   // the last part that a rank has begun; negative: the first one that none begins (time.c)
};

// What a rank needs for all cases.  memory, seen, expected: room for in and out of all ranks, and guards
struct sweep {
    struct clab_job *job;
    struct clab_comm *comm;
    int n, rank;
    char *memory[2], *seen, *expected; // of clab_alloc, of malloc; of malloc
    unsigned seed;
    struct shared *shared;
    bool all;        // of CLAB_CONFORMANCE=all
    double deadline; // s of clab_now; INFINITY: none
    int failed, barriers, parts;
};

// ---- the parts -----------------------------------------------------------------------------------------------

// Run one case in memory at `memory`, which may be a device's: `seen` is what it holds. Computes at `expected` what
// must be there. All have room for in, out and guards. Returns 0, or 1 if it failed.
int conform_case(struct clab_job *job, const struct kase *k, char *memory, char *seen, char *expected);

// Every collective by the automatic choice; of every type and operation; by every algorithm. `large` counts most.
void conform_choices(struct sweep *s, size_t large);
void conform_types(struct sweep *s);
void conform_algorithms(struct sweep *s, size_t large);

// Messages, all at once, many, and beside a collective, in either memory.
void conform_messages(struct sweep *s);

// Works that are waited for in another order, communicators that are split and used crosswise.
void conform_communicators(struct sweep *s);

// When no part has time any more, by CLAB_CONFORMANCE_SECONDS, which begins now.
double conform_deadline(void);

// Whether there is time for the next part: all ranks get the same answer. If not, rank 0 says so, once.
//   what, by: a collective and its algorithm, or what else this part checks and NULL
bool conform_has_time(struct sweep *s, const char *what, const char *by);

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
