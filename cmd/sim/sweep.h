// SPDX-License-Identifier: MIT
// commlab sim sweep: the best algorithm, over ranks and bytes.
//
// - sweep.c            the command line, the order of events, the figure.
// - sweep_price.c      the grid, priced on all cores, and the sizes where the best algorithm changes.
// - sweep_table.c      the printed table, and the CSV.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/base/files/manifest.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum { SWEEP_ALGORITHMS = 24, SWEEP_NETS = 16, SWEEP_NOBODY = -1 };

// A competitor: an algorithm, or a reduction by the switches.
struct sweep_entry {
    const char *name;
    const struct clab_algorithm *algorithm; // NULL: the switches
};

// All entries' times at one size.
struct sweep_cell {
    size_t count;                                     // elements of a block
    struct clab_sim_result results[SWEEP_ALGORITHMS]; // seconds: NaN for those left out
    double messages[SWEEP_ALGORITHMS];                // of those left out: how many they would simulate
    int best, second;                                 // entries; SWEEP_NOBODY: there is none
    const char *chosen_name;                          // the library's choice by its table; NULL: none
    double chosen_seconds;                            // NaN: not known
};

// One collective of some ranks on one net, over all sizes.
struct sweep_line {
    enum clab_collective collective;
    const struct clab_net *net;
    int nranks;
    struct sweep_entry entries[SWEEP_ALGORITHMS];
    int nentries;
    struct sweep_cell *cells; // (ncells), by rising count: sizes of the grid, and where the best changes
    int ncells, room;
    const char *left_out; // the reason why there are no cells; or NULL
};

struct sweep {
    enum clab_type type;
    double messages_at_most; // cases that need more are left out
    struct sweep_line *lines;
    int nlines;
};

size_t sweep_bytes(const struct sweep *sweep, const struct sweep_line *line, size_t count);

// ---- sweep_price.c -------------------------------------------------------------------------------------------

// Fill the cells of all lines, whose counts the caller has set. Add a cell where the best algorithm changes: at the
// least count at which the next one wins. If that would take long to simulate, at the next count that all ranks can
// share equally.
//   errors: CLAB_ENOMEM, and those of clab_sim_run
int sweep_price(struct sweep *sweep);

// ---- sweep_table.c -------------------------------------------------------------------------------------------

// errors of all: CLAB_ENOMEM, CLAB_EIO
int sweep_print(const struct sweep *sweep);
void sweep_print_left_out(const struct sweep *sweep);
int sweep_add_left_out(const struct sweep *sweep, struct clab_manifest *manifest);
int sweep_write_csv(const struct sweep *sweep, const struct clab_manifest *manifest, const char *path);
