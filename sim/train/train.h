// SPDX-License-Identifier: MIT
// A step of data parallel training: what it takes, and how much of the communication can be seen.
//
// - All ranks begin a step together: `accumulate` times a forward and a backward pass over the rank's own samples, the
//   reduction of all gradients, the optimiser's update.
// - Gradients travel in *buckets*, one after another in the order given: communication is one stream. In the last micro
//   step a bucket is *ready* when its last gradient is there. It begins when it is ready and the stream is free.
// - A rank's computation is slowed by its *factor*: that of a straggler, times that of the jitter of this step. Random
//   numbers are functions of (seed, step, rank), so that a step is the same whoever asks, and in any order.
// - What a bucket costs is the simulator's price of the collective that runs it, on the network given.
// - Buckets come from a described model (model.h), or from whoever has measured them.
//
// It does not know: that communication slows computation; skew that is left over from the step before; sharded states.
// Source: Li et al. 2020, PyTorch Distributed: Experiences on Accelerating Data Parallel Training (buckets, overlap).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schedule/schedule.h"

struct clab_net;

// What runs beside what.
enum clab_train_overlap {
    CLAB_TRAIN_NONE,   // nothing: all buckets after the backward pass, then the update
    CLAB_TRAIN_BUCKET, // buckets beside the backward pass; the update when all are there (PyTorch's DDP)
    CLAB_TRAIN_FULL,   // also the update: each bucket's as soon as it is there and the backward pass has ended
    CLAB_TRAIN_OVERLAPS
};
const char *clab_train_overlap_name(enum clab_train_overlap overlap); // "none", "bucket", "full"

// What is sent of a gradient (codec.c has bytes, work and sources).
enum clab_train_codec {
    CLAB_TRAIN_WHOLE,    // as it is
    CLAB_TRAIN_FP16,     // 2 B an element
    CLAB_TRAIN_BF16,     // likewise
    CLAB_TRAIN_INT8,     // 1 B an element: exchanged, summed, and gathered
    CLAB_TRAIN_POWERSGD, // two thin matrices of `rank` columns
    CLAB_TRAIN_CODECS
};
const char *clab_train_codec_name(enum clab_train_codec codec); // "none", "fp16", "bf16", "int8", "powersgd"

// Gradients that are reduced together. Of `rows`, `columns` and `vectors`, which PowerSGD alone reads, all may be 0:
// then they count as one square matrix.
struct clab_train_bucket {
    double ready;         // s after the last micro step began, on a rank that nothing slows
    size_t bytes;         // of gradients
    size_t rows, columns; // sums over its matrices
    size_t vectors;       // elements that are not in matrices
    int first_layer, last_layer; // that it holds, from first_layer down to last_layer; only a plan says so (model.h)
};

// How a rank's computation varies from step to step: its time is multiplied by a factor.
enum clab_train_jitter {
    CLAB_TRAIN_STEADY,    // 1
    CLAB_TRAIN_NORMAL,    // 1 + amount * Z, but not below 0; Z is standard normal
    CLAB_TRAIN_LOGNORMAL, // exp(amount * Z): median 1
    CLAB_TRAIN_EXP,       // 1 + amount * E; E is exponential of mean 1
    CLAB_TRAIN_PARETO,    // 1 + amount * (shape - 1) * (U^(-1/shape) - 1): a heavy tail whose mean is 1 + amount
    CLAB_TRAIN_JITTERS
};

struct clab_train_straggler {
    int rank;
    double factor; // >= 0; 1.5: it computes half as long again
};

enum { CLAB_TRAIN_STEPS = 100000 }; // at most

// By which algorithm an allreduce of at most so many bytes goes.
struct clab_train_choice {
    size_t up_to; // bytes; SIZE_MAX: all that are larger
    const char *algorithm;
};

// One question. Times in s; all that is a pointer is the caller's.
struct clab_train {
    const struct clab_net *net;
    int nranks;
    size_t element_bytes;                    // of a gradient
    const char *algorithm;                   // of the allreduce; NULL or "auto": for each bucket the fastest by price
    const struct clab_train_choice *choices; // by rising up_to, to SIZE_MAX; instead of `algorithm`, unless NULL
    const struct clab_train_bucket *buckets; // (nbuckets), ready in this order
    int nbuckets;
    double compute; // of a forward and a backward pass
    double update;  // of the optimiser, of all parameters
    double memory;  // s/B of a rank's own memory, for codecs; 0: they cost nothing
    int accumulate; // micro steps to a reduction; 0 is 1
    enum clab_train_overlap overlap;
    enum clab_train_codec codec;
    int codec_rank; // of PowerSGD
    // What disturbs it.
    const struct clab_train_straggler *stragglers;
    int nstragglers;
    double slow_part, slow_factor; // so large a part of the ranks, chosen by the seed, is slower by this factor
    enum clab_train_jitter jitter;
    double amount, shape; // of the jitter
    uint64_t seed;
    int steps; // 0 is 1
};

// What became of a bucket, in a step.
struct clab_train_time {
    double ready;          // s after the step began, on the slowest rank
    double begin, end;     // of its communication, codecs included, on the last rank to do so
    double encode, decode; // s of that
    const char *algorithm; // of the largest part; NULL: there was nothing to send
    size_t sent;           // bytes that the busiest rank sends
};

struct clab_train_result {
    double median, mean, p95, p99, least, most; // s of a step
    double *seconds;                            // (steps), freed by clab_train_free
    // Of the step that is nearest to the median; step = computation + exposed + update.
    double computation;   // until the slowest rank's backward pass has ended
    double undisturbed;   // the same of a rank that nothing slows
    double communication; // sum over buckets, all ranks beginning together
    double exposed;       // communication that nothing hides
    double update;
    double alone;                    // a step of one rank that nothing slows
    size_t sent;                     // bytes that the busiest rank sends in a step
    struct clab_train_time *buckets; // (nbuckets), freed by clab_train_free
    int nbuckets;
    bool exact;      // ranks began each bucket when they could; else all with the slowest of them
    const char *how; // in words
};

// Steps of `train`, by the simulator.
//   errors: CLAB_EINVAL (logged), CLAB_ENOMEM, and those of clab_sim_run
int clab_train_run(const struct clab_train *train, struct clab_train_result *result_p);
void clab_train_free(struct clab_train_result *result);

// The factor of `rank`'s computation in `step`. 0 <= rank < nranks, 0 <= step
double clab_train_factor(const struct clab_train *train, int step, int rank);
