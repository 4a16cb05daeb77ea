// SPDX-License-Identifier: MIT
// A table of choices, made of times: the best algorithm per range of sizes, and its gain over the default choice. For the
// tuner that NCCL loads (sim/nccl/rows.h), or on any other backend for our own `auto` (core/comm/table.h).
//
// - tune.c         the subcommand.
// - tune_model.c   times by NCCL's own model.
// - tune_run.c     times measured here: one run of the bench per algorithm and protocol.
// - tune_read.c    times out of files: our bench's, nccl-tests', or a table with NCCL's names of algorithms.
// - tune_choose.c  from times to rows.
// - tune_print.c   the screen and the file.
// - tune_ours.c    the kit's own algorithms, measured on any backend.
// - tune_regret.c  what each choice costs, compared with the best: the default's, NCCL's model's, the table's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cmd/nccl/given.h"
#include "core/base/files/input.h"
#include "sim/nccl/rows.h"

enum { TUNE_UNKNOWN = -1 };

// The time of a call.
struct tune_time {
    int function, nodes, ranks;
    int algorithm, protocol, channels; // channels: CLAB_NCCL_ANY: NCCL's own
    bool is_own;                       // NCCL chose by itself: algorithm and protocol may be unknown
    size_t bytes;                      // of the whole buffer
    double usec;
    int round; // in which it was measured
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
        margin; // another choice must be faster by this factor (1.03: 3 %) than NCCL's own, and than that of the size below
    bool pins;  // choose also if NCCL's own choice is as good
    int registered; // whether the measured memory was registered: 0, 1, or CLAB_NCCL_ANY: unknown
};

//   times: sorted by this; several of a kind count by the least
//   out:   *choices_p (n), freed by the caller
//   errors: CLAB_ENOMEM
int tune_choose(struct tune_times *times, struct tune_rule rule, struct tune_choice **choices_p, int *n_p);

// ---- where times come from -----------------------------------------------------------------------------------

enum { TUNE_SMALLEST_LOG2 = 0, TUNE_LARGEST_LOG2 = 34 };

// For every power of two from 1 byte to 16 GiB. functions: (CLAB_NCCL_FUNCTIONS), the wanted ones
//   errors: as nccl_given_costs
int tune_model(const struct nccl_given *given, const bool functions[], struct tune_times *times);

// The label of a file, for values that the file does not state.
struct tune_label {
    bool is_own; // no label: NCCL chose by itself
    int algorithm, protocol, channels;
};
// "ring/ll" or "ring/ll/4".  errors: CLAB_EPARSE (not logged)
int tune_label_read(const char *text, struct tune_label *label_p);

// What a file may not say; function -1 and ranks 0: not known either.
struct tune_missing {
    int function, ranks, nodes;
};
// Add the times of a file, but for collectives that NCCL's tuner does not know.
//   errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_EINVAL (it says other ranks) (logged with file and line), CLAB_ENOMEM
int tune_read(const char *path, struct tune_label label, struct tune_missing missing, struct tune_times *times);
// The same for an open file, whose text this may change.
int tune_read_input(struct clab_input *input, const char *path, struct tune_label label, struct tune_missing missing,
                    struct tune_times *times);

struct tune_run {
    const char *backend;
    const char *ranks, *first, *last, *factor, *seconds; // flags of the bench
    int nodes;
};
// Measure here.  out: *status_p: of the bench, if it could not measure NCCL's own choice, and has logged why; else 0
//   errors: CLAB_ENOMEM, CLAB_EIO, CLAB_ESYS, and those of tune_read
int tune_run(const struct tune_run *run, const bool functions[], struct tune_times *times, int *status_p);
// Whether the bench registers its memory with NCCL: 0 or 1, by CLAB_NCCL_REGISTER.
int tune_run_registers(void);

// ---- tune_print.c --------------------------------------------------------------------------------------------

// What the numbers of a tune_time mean, and how a row of them is written.
struct tune_words {
    const char *library;                // whose own choice is compared with: "NCCL"
    const char *(*collective)(int function);
    const char *(*algorithm)(int algorithm);
    const char *(*protocol)(int protocol); // NULL: there are none
    void (*heading)(bool gains, FILE *out);
    void (*row)(const struct clab_nccl_row *row, double gain, FILE *out);
};
extern const struct tune_words tune_words_nccl, tune_words_ours;

//   errors: CLAB_ENOMEM
int tune_print(const struct tune_choice *choices, int n, const struct tune_words *words);
// source: the origin of the times.  errors: CLAB_EIO, CLAB_ENOMEM (logged)
int tune_write(const struct tune_choice *choices, int n, const struct tune_words *words, const char *source,
               const char *path);

// ---- tune_ours.c ---------------------------------------------------------------------------------------------

// The kit's own: function is an enum clab_collective, algorithm an index of clab_algorithms; there are no protocols.
struct tune_ours {
    const char *backend, *net, *emulate;                 // net, emulate: NULL: none
    const char *ranks, *first, *last, *factor, *seconds; // flags of the bench, or NULL
    bool collectives[CLAB_COLLECTIVE_COUNT];
    int rounds; // all is measured so often; in virtual time once
};
// Measure all algorithms and the default choice, in turns.
//   out:    *status_p: of a bench that failed, and has logged why; else 0
//   errors: CLAB_ENOMEM, CLAB_EIO, CLAB_ESYS, CLAB_EPARSE
int tune_ours_measure(const struct tune_ours *ours, struct tune_times *times, int *status_p);

// ---- tune_regret.c -------------------------------------------------------------------------------------------

// Print for each size and in all what the choices cost: time of the choice / time of the best in the same round. The
// table's choice is made from the other rounds, so that it can not profit from their noise.
//   times: as of tune_ours_measure, and sorted by tune_choose
//   given: the machine of NCCL's model; NULL: that column is left out
//   errors: CLAB_ENOMEM, those of nccl_given_costs
int tune_regret_print(const struct tune_times *times, struct tune_rule rule, const struct nccl_given *given);
