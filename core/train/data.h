// SPDX-License-Identifier: MIT
// Data that the kit makes: sample i of a seed is the same whoever asks for it, in any order, on every machine.
//
// - A regression that a network of max(0, x) can learn: inputs are uniform in [-1, 1), target j is the larger of the
//   inputs j and j + 1, modulo their number.
// - Step s of a run takes samples s B ... (s + 1) B - 1: one global batch of B, whatever the number of ranks. Rank r
//   of P has the rows r B/P ... (r + 1) B/P - 1 of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clab_job;

struct clab_data {
    uint64_t seed;
    int inputs, outputs; // numbers a sample
};

// The rows of rank `rank` of `nranks` in step `step`, whose global batch is nranks * rows samples.
//   x: (rows, inputs), targets: (rows, outputs); rank 0 of 1 with nranks * rows gets what all ranks get together.
void clab_data_share(const struct clab_data *data, uint64_t step, int rows, int rank, int nranks, float *x,
                     float *targets);
// The same into memory of clab_alloc, and again and again until (all) rows are filled; all >= rows.
//   errors: CLAB_ENOMEM, of clab_copy
int clab_data_load(struct clab_job *job, const struct clab_data *data, uint64_t step, int rows, int all, int rank,
                   int nranks, float *x, float *targets);
