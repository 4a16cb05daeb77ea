// SPDX-License-Identifier: MIT
// The rows of a bench, made before anything is started. A bench that is impossible or too large is refused here.
#pragma once

#include <stddef.h>

#include "cmd/bench/row.h"

struct bench_options;

enum { BENCH_NAME = 64 }; // bytes of an algorithm's name

// An algorithm that the user asked for and that can not run, with the reason.
struct bench_skip {
    enum clab_collective collective;
    char algorithm[BENCH_NAME];
    const char *reason;
};

struct bench_plan {
    struct bench_row *rows;
    struct bench_skip *skips;
    int nrows, nskips, row_room, skip_room;
    int buffers;         // of a rank: two, or one where all calls are in place
    size_t buffer_bytes; // of each
};

//   errors: CLAB_ENOENT (unknown algorithm), CLAB_EINVAL (nothing to measure, too large for memory), CLAB_ENOMEM
int bench_plan_make(const struct bench_options *options, struct bench_plan *plan_p);
void bench_plan_free(struct bench_plan *plan);
