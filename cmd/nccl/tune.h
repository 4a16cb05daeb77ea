// SPDX-License-Identifier: MIT
// A table for the tuner that NCCL loads (sim/nccl/rows.h), made of times: which algorithm and protocol is best from which
// size on, and what that gains over NCCL's own choice.
//
// - tune.c         the subcommand.
// - tune_model.c   times that NCCL's own model believes in.
// - tune_run.c     times measured here: a run of the bench for each algorithm and protocol.
// - tune_read.c    times out of files: our bench's, nccl-tests', or a table that names algorithms itself.
// - tune_choose.c  from times to rows.
// - tune_print.c   the screen and the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/nccl/given.h"
#include "core/base/input.h"
#include "sim/nccl/rows.h"

enum { TUNE_UNKNOWN = -1 };

// What a call took.
struct tune_time {
    int function, nodes, ranks;
    int algorithm, protocol, channels; // channels: CLAB_NCCL_ANY: NCCL's own
    bool is_own;                       // NCCL chose by itself: algorithm and protocol may be unknown
    size_t bytes;                      // of the whole buffer
    double usec;
};

struct tune_times {
    struct tune_time *all;
    int n, room;
};
//   errors: CLAB_ENOMEM
int tune_times_add(struct tune_times *times, struct tune_time time);
void tune_times_free(struct tune_times *times);

// ---- tune_choose.c -------------------------------------------------------------------------------------------

// A range of sizes with the same choice.
struct tune_choice {
    struct clab_nccl_row row;
    bool is_own;                     // NCCL's own is as good: no row
    int own_algorithm, own_protocol; // at the first size; or unknown
    double gain, least;              // own time / this time: geometric mean and least over sizes; NAN: own unknown
    int nsizes;
};

struct tune_rule {
    double
        margin; // what another choice must be faster by, 1.03: 3 %: NCCL's own stays, or the choice of the size below
    bool pins;  // choose where NCCL's own is as good, too
    int registered; // what rows say of memory: 0 or 1, as it was when it was measured; or CLAB_NCCL_ANY: unknown
};

//   times: sorted by this; several of a kind count by the least
//   out:   *choices_p (n), freed by the caller
//   errors: CLAB_ENOMEM
int tune_choose(struct tune_times *times, struct tune_rule rule, struct tune_choice **choices_p, int *n_p);

// ---- where times come from -----------------------------------------------------------------------------------

enum { TUNE_SMALLEST_LOG2 = 0, TUNE_LARGEST_LOG2 = 34 };

// Of every power of two from 1 byte to 16 GiB. functions: (CLAB_NCCL_FUNCTIONS), those that are wanted
//   errors: as nccl_given_costs
int tune_model(const struct nccl_given *given, const bool functions[], struct tune_times *times);

// What a file is of, where it does not say so itself.
struct tune_label {
    bool is_own; // no label: NCCL chose by itself
    int algorithm, protocol, channels;
};
// "ring/ll" or "ring/ll/4".  errors: CLAB_EPARSE (not logged)
int tune_label_read(const char *text, struct tune_label *label_p);

// Add the times of a file; those of other collectives than NCCL's tuner knows are left out. nodes: where the file has
// no column of that name
//   errors: CLAB_ENOENT, CLAB_EPARSE (logged with file and line), CLAB_ENOMEM
int tune_read(const char *path, struct tune_label label, int nodes, struct tune_times *times);
// The same of a file that is open. Its text may be taken apart.
int tune_read_input(struct clab_input *input, const char *path, struct tune_label label, int nodes,
                    struct tune_times *times);

struct tune_run {
    const char *backend;
    const char *ranks, *first, *last, *factor, *seconds; // as the bench has them
    int nodes;
};
// Measure here.  out: *status_p, of the bench that could not measure even NCCL's own choice, which has said why; else 0
//   errors: CLAB_ENOMEM, CLAB_EIO, CLAB_ESYS, and those of tune_read
int tune_run(const struct tune_run *run, const bool functions[], struct tune_times *times, int *status_p);
// Whether what is measured here registers its memory with NCCL: 0 or 1, as CLAB_NCCL_REGISTER is.
int tune_run_registers(void);

// ---- tune_print.c --------------------------------------------------------------------------------------------

//   errors: CLAB_ENOMEM
int tune_print(const struct tune_choice *choices, int n);
// source: of what the times are.  errors: CLAB_EIO, CLAB_ENOMEM (logged)
int tune_write(const struct tune_choice *choices, int n, const char *source, const char *path);
