// SPDX-License-Identifier: MIT
// What a student measured for homework h1: the rows of `bench --matrix`, each with its raw samples.
//
// - matrix.csv has a row per cell; matrix_samples.csv the time of each timed call at each rank. A call takes as long as at
//   its slowest rank.
// - The text is a student's, so nothing in it is trusted: numbers may be missing, rows may be there twice.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/files/csv.h"

enum { H1_BACKEND = 16, H1_WHY = 512, H1_MOST_ROWS = 100, H1_MOST_CALLS = 20000 };

enum h1_status { H1_OK, H1_NOISY, H1_FAILED, H1_SKIPPED, H1_UNKNOWN };

struct h1_row {
    char backend[H1_BACKEND];
    int ranks;
    size_t bytes;
    enum h1_status status;
    const char *reason;
    double usec, low, high, algbw, busbw, wrong, sim; // us, GB/s; NAN: not there
    double calls;                                     // num_iters
    bool oversubscribed;
    double *times; // (ntimes) us: the slowest rank's of each call that is kept
    double *all;   // (nall, ranks) us: of all calls; NAN: missing
    int ntimes, nall;
    int line; // of matrix.csv
};

struct h1_data {
    struct clab_csv matrix, samples;
    char *matrix_text, *samples_text;
    struct h1_row *rows; // of allreduce
    int nrows;
    uint64_t seed; // that the run was made with; 0: it does not say
};

// Read both files.
//   errors: CLAB_EPARSE (`why` says what is wrong, with file and line), CLAB_ENOMEM
int h1_data_read(const char *matrix, size_t matrix_bytes, const char *samples, size_t samples_bytes,
                 struct h1_data *data_p, char why[H1_WHY]);
void h1_data_free(struct h1_data *data);

// The row of that cell; NULL: there is none.
const struct h1_row *h1_data_find(const struct h1_data *data, const char *backend, int ranks, size_t bytes);

bool h1_row_is_measured(const struct h1_row *row); // ok or noisy
// "gloo, 4 ranks, 10 MB"
const char *h1_row_text(const char *backend, int ranks, size_t bytes, char text[64]);
