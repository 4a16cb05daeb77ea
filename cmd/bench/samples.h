// SPDX-License-Identifier: MIT
// The raw samples of a bench, for --samples: what each rank measured in each batch, so that others can recompute what
// the rows say.
#pragma once

#include <stdbool.h>

#include "cmd/bench/row.h"
#include "core/base/files/table.h"

struct bench;

struct bench_samples {
    struct clab_table table;
    const struct bench_row *row; // whose batches come next; NULL: they are not kept
    enum bench_placement placement;
    double *seconds; // (batches of this row, nranks) per call; at rank 0
    int n, room;
};

void bench_samples_init(struct bench_samples *samples_p);
void bench_samples_free(struct bench_samples *samples);

// The batches that follow are of this row; NULL: they are not kept.
void bench_samples_begin(struct bench *bench, const struct bench_row *row, enum bench_placement placement);

// This rank's seconds per call in batch number `batch`, from 0. A batch that comes again replaces the first, and all
// behind it. Collective.  errors: the communicator's, CLAB_ENOMEM
int bench_samples_take(struct bench *bench, int batch, double seconds);

// Of a row of the table: its batch, whether that counts, and the rank's time per call in us.
int bench_samples_batch(const struct clab_table *table, int row);
bool bench_samples_kept(const struct clab_table *table, int row);
double bench_samples_usec(const struct clab_table *table, int row);

// The row's batches are over: so many calls in each, `kept` (n) says which count. At rank 0.  errors: CLAB_ENOMEM
int bench_samples_end(struct bench *bench, int calls, const bool kept[], int n);
