// SPDX-License-Identifier: MIT
// What the library counts for a rank, and the file of it.
//
// - The counters are the job's (struct clab_counts in clab.h). core/comm adds to them for communicators, collectives and messages,
//   core/clab/alloc.c for memory and registrations.
// - With CLAB_COUNTS=FILE each rank appends rows at the end of the job: one for each span that has ended, in the order in
//   which they began, and one for the whole job, whose span is "job". All ranks append to one file, one after another; the
//   first one begins with the column names.
// - A rank that does not close its job has no rows.
// - CLAB_POISON=1 fills memory of clab_alloc with NaN.
#pragma once

#include "core/clab.h"

// Open the log that CLAB_COUNTS asks for, and begin to count; both of `job`.  errors: CLAB_EINVAL (CLAB_POISON; logged)
int clab_count_open(struct clab_job *job);
// Write the rows and free the log.  errors: CLAB_EIO (logged), CLAB_ENOMEM (spans were too many to keep)
int clab_count_close(struct clab_job *job);

bool clab_count_poisons(void);

// The larger of each counter.
struct clab_counts clab_counts_most(const struct clab_counts *a, const struct clab_counts *b);

void clab_count_begin(struct clab_job *job, const char *span);
void clab_count_end(struct clab_job *job); // of the innermost that is open

// ---- reading -------------------------------------------------------------------------------------------------

enum { CLAB_SPAN_NAME = 32 };

// A row.
struct clab_count_row {
    int rank;
    char span[CLAB_SPAN_NAME];
    double at; // s: when it began
    struct clab_counts counts;
    char backend[16];
};

// Read the rows of `path`, for the caller to free.
//   errors: those of clab_csv_load, CLAB_EPARSE (logged: no library of this kit has written it), CLAB_ENOMEM
int clab_counts_read(const char *path, struct clab_count_row **rows_p, int *nrows_p);
