// SPDX-License-Identifier: MIT
// A row of the bench's table: one collective by one algorithm, of one size and element type. Bytes are counted as
// nccl-tests does: the whole buffer, that is all blocks where each rank has one.
//
// Source: nccl-tests, doc/PERFORMANCE.md, for algbw and busbw.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/type.h"
#include "core/schedule/schedule.h"

enum bench_placement { BENCH_OUT_OF_PLACE, BENCH_IN_PLACE, BENCH_PLACEMENTS };

const char *bench_placement_name(enum bench_placement placement); // "out of place", "in place"

// Everything but the measurement.
struct bench_row {
    struct clab_problem problem;            // with the lanes that are run
    const struct clab_algorithm *algorithm; // the one that runs; may be clab_native_algorithm (comm.h)
    bool automatic;                         // the library chose it
    enum clab_type type;
    enum clab_op op;
};

bool bench_has_data(enum clab_collective collective); // a barrier has none
bool bench_has_in_place(const struct clab_problem *problem);

// The size of the problem as nccl-tests counts it: all blocks together.
size_t bench_bytes(const struct bench_row *row);
// busbw = algbw * this factor: what a link must carry, whatever the number of ranks.
double bench_bus_factor(enum clab_collective collective, int nranks);
// The same of a row: 1 of a collective of a file's own.
double bench_row_factor(const struct bench_row *row);

// Names for people and files: "none" where the row has no element type or operation, -1 where it has no root.
const char *bench_type_name(const struct bench_row *row);
const char *bench_op_name(const struct bench_row *row);
int bench_root(const struct bench_row *row);
