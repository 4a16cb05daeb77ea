// SPDX-License-Identifier: MIT
// One call of a row's collective, and the buffers it takes. In place as in nccl-tests: a rank's own block lies where it
// belongs in the whole buffer.
#pragma once

#include "cmd/bench/row.h"

struct clab_comm;
struct clab_work;

// A rank's input and output: parts of two buffers, or of one.
struct bench_buffers {
    char *in, *out;
};
struct bench_buffers bench_place(const struct bench_row *row, int rank, enum bench_placement placement,
                                 struct bench_buffers whole);

// One call.  errors: the collective's
int bench_call(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers buffers);
// The same, not waiting. works: (2) to be waited for, in this order; the second may be NULL.
int bench_call_start(struct clab_comm *comm, const struct bench_row *row, struct bench_buffers buffers,
                     struct clab_work *works[2]);
