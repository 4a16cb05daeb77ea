// SPDX-License-Identifier: MIT
// What the parts of a training report share (training.h).
#pragma once

#include <stdbool.h>

#include "cmd/lab/lab.h"
#include "cmd/report/training/training.h"
#include "core/base/machine/machine.h"
#include "core/train/mlp.h"

#define TRAINING_RANK      "--training-rank"
#define TRAINING_ALLREDUCE "halving_doubling"
#define TRAINING_BROADCAST "binomial"
#define TRAINING_BARRIER   "dissemination"
enum { TRAINING_BUCKET = 256 << 10, TRAINING_LAYERS = 6 }; // bytes; a layer is a matrix and a vector

// Whether the kit runs the collectives of that backend itself, by algorithms that the simulator prices.
bool training_is_modelled(const char *backend);

// A library's speed in the table of backends.
struct training_rival {
    const char *name, *title; // NULL: we have no such backend
    double rate, low, high;   // B/s of the gradients' allreduce, busbw; NAN: not measured
    char why[400];            // it was not measured
};
enum { TRAINING_RIVALS = 6 };

// A run of all.
struct training {
    const struct training_request *request;
    const struct clab_backend *backend;
    const char *build;
    int ranks, pairs, cores, width, rows, repeat;
    int widths[TRAINING_LAYERS + 1];
    struct clab_mlp_shape shape;
    struct lab_nets nets;
    struct lab_results results; // of all runs: "after", by numbers of ranks
    struct lab_conf conf;       // what predictions want to know
    struct lab_context context;
    struct training_rival rivals[TRAINING_RIVALS];
    struct clab_machine machine;
};

// ---- runs.c --------------------------------------------------------------------------------------------------

// Pairs of runs, by 1 rank and by all, then one that writes the trace `trace` (NULL: none).
//   errors: CLAB_EWRONG (a run failed, and has said why), CLAB_EPEER (a signal came), CLAB_EIO, CLAB_ENOMEM
int training_run(struct training *training, const char *trace);
// The same allreduce over each backend that there is.  errors: likewise
int training_run_rivals(struct training *training);

// ---- predict.c -----------------------------------------------------------------------------------------------

// Seconds, NAN where the simulator does not say; *why_p (or NULL): the reason.
struct training_prediction {
    double step, alone, exposed; // of a step of all ranks, of one rank by itself, exposed communication
    double allreduce, broadcast, barrier, buckets, latency, message;
    const char *why; // NULL, or why nothing is predicted
};
void training_predict(const struct training *training, struct training_prediction *prediction_p);

// ---- fields.c ------------------------------------------------------------------------------------------------

// Write the fields as CSV and as text; the text also goes to `screen`.
//   errors: CLAB_EIO, CLAB_ENOMEM
int training_fields_write(const struct training *training, const struct training_prediction *prediction, const char *csv,
                          const char *text);
