// SPDX-License-Identifier: MIT
// commlab accuracy: how good predictions are on this machine, and how well the machine can be measured at all.
//
// - accuracy.c        the subcommand: the command line, the order of events.
// - sweep.c           fits the machine, and has everything measured twice, minutes apart.
// - rows.c            the rows of those measurements, with their predictions.
// - judge.c           errors, noise, choices: pure functions of rows.
// - report.c          the tables, and the file that the figure is drawn from.
//
// What is fitted: parameters of messages, copies and reductions, by `commlab fit`, which runs no collective. README.md
// says which rows are held out, and how errors are counted.
#pragma once

#include "cmd/bench/row.h"
#include "cmd/bench/time.h"
#include "core/base/files/csv.h"

enum { ACCURACY_ROUNDS = 2 };

// A row of a bench: one collective by one algorithm of one size and placement, in one of the rounds.
struct accuracy_row {
    struct bench_row what;
    size_t bytes; // 0: a barrier
    int round;
    struct bench_batch batch;
    double seconds;   // measured
    double spread;    // half the interval of that median, as a fraction
    double predicted; // s; from what was fitted, no collective
};

struct accuracy_rows {
    struct accuracy_row *all;
    int n, room;
};

// ---- rows.c --------------------------------------------------------------------------------------------------

// Add those of a CSV file of the bench, without what was refused, and what no schedule was run for.
//   errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_EINVAL (not a bench's; all logged), CLAB_ENOMEM
int accuracy_rows_add(struct accuracy_rows *rows, const char *path, int round);
// The same of a file that has been read.
int accuracy_rows_read(struct accuracy_rows *rows, const struct clab_csv *data, int round);
void accuracy_rows_free(struct accuracy_rows *rows);

// Predict all on `net`, and leave out those that have no prediction.
void accuracy_rows_predict(struct accuracy_rows *rows, const struct clab_net *net);

// ---- judge.c -------------------------------------------------------------------------------------------------

// Whether nothing that is learned from collectives may come from this size: of each two neighbouring powers of two a
// hash holds out one, for each collective another.
bool accuracy_is_held_out(enum clab_collective collective, size_t bytes);

// predicted / measured - 1.
double accuracy_error(const struct accuracy_row *row);

// The same row, measured in the same round; NULL: there is none.
struct accuracy_row *accuracy_same(const struct accuracy_rows *rows, const struct accuracy_row *row);
// The same row in the other round; NULL: there is none.
const struct accuracy_row *accuracy_again(const struct accuracy_rows *rows, const struct accuracy_row *row);
// The distance to the same row in the other round, as a fraction of the lesser. NAN: there is none, or the cores had
// moved.
double accuracy_noise(const struct accuracy_rows *rows, const struct accuracy_row *row);

// Whether its measurement was disturbed: it is unsteady, or its cores were in none of the places that `net` describes.
bool accuracy_is_disturbed(const struct accuracy_row *row, const struct clab_net *net);

// Whether it is worth measuring again: it was disturbed, or a core was slower than when `net` was fitted.
bool accuracy_is_slowed(const struct accuracy_row *row, const struct clab_net *net);
// Which of two measurements of a row counts, by what was seen beside them alone: the one whose cores were in a place
// that `net` describes; else the steady one; else the one whose cores were faster by themselves; else the narrower
// interval.
bool accuracy_is_better(const struct accuracy_row *a, const struct accuracy_row *b, const struct clab_net *net);

struct accuracy_figures {
    int n;
    double median, p95; // of the sizes of errors
    double bias;        // median of the errors
    double noise;       // median of what the same rows are from themselves; NAN: measured once
    double noise_p95;
};

// Of the rows that `is_of` chooses.  errors: CLAB_ENOMEM
typedef bool accuracy_filter(const struct accuracy_row *row, const void *which);
int accuracy_figures(const struct accuracy_rows *rows, accuracy_filter *is_of, const void *which,
                     struct accuracy_figures *figures_p);

// For each collective, size and placement of two algorithms or more: the one that is predicted to be the fastest.
struct accuracy_choices {
    int n;
    int right;            // that is the fastest by measurement, or within `noise` of it
    double regret, worst; // what it takes more than the fastest: mean, most
};
// noise: a fraction; NAN: not known, so that only the fastest is right
struct accuracy_choices accuracy_choices(const struct accuracy_rows *rows, double noise);

// ---- sweep.c -------------------------------------------------------------------------------------------------

struct accuracy_plan {
    const char *backend, *folder; // folder: for what was fitted and measured; it exists
    const char *net;              // predicts; NULL: the machine is fitted first
    int nranks;
    size_t last;    // bytes of the largest size
    double seconds; // a row, placement and round
};

// Fit, and measure all collectives by all algorithms at powers of two from 8 bytes on. *net_p is freed by the caller.
//   errors: CLAB_EUNSUPPORTED (this machine has no such backend), CLAB_EINVAL, CLAB_EPEER (a job failed), CLAB_ENOMEM
int accuracy_sweep(const struct accuracy_plan *plan, struct accuracy_rows *rows_p, struct clab_net **net_p);

// ---- report.c ------------------------------------------------------------------------------------------------

// Tables to stdout, the four closing lines last.  errors: CLAB_ENOMEM
int accuracy_report(const struct accuracy_rows *rows, const struct clab_net *net);

// All rows, as the figure wants them.  errors: CLAB_EIO, CLAB_ENOMEM
int accuracy_write(const struct accuracy_rows *rows, const struct clab_net *net, const char *path);
