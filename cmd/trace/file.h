// SPDX-License-Identifier: MIT
// Read trace files, check them, sum them up, and join them.
#pragma once

#include <stddef.h>

struct trace_file; // one file, or several joined

// The totals of a process.
struct trace_process {
    char name[64];                 // "rank 3 (measured)"
    int calls, stages, arrows;     // arrows that end here
    double seconds;                // from the begin of its first event to the end of its last
    double communication, exposed; // s: core/trace/timeline.h
};

// Read `path`, and check the rules of viewers: durations are not negative, slices of a row nest or do not overlap, arrows
// have two ends.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_ENOENT, CLAB_EIO, CLAB_EPARSE (logged, with the
//           event and its error), CLAB_ENOMEM
int trace_file_load(const char *path, struct trace_file **file_p);
// The same of text in memory; messages call it `path`.
int trace_file_read(const char *text, size_t bytes, const char *path, struct trace_file **file_p);
void trace_file_free(struct trace_file *file);

// Its own text under `key`, or that of the i-th file joined in it; NULL: none.
const char *trace_file_about(const struct trace_file *file, size_t i, const char *key);
// The number of files joined in it; 1: it is as it was written.
size_t trace_file_parts(const struct trace_file *file);

// Its processes, by number. Freed by the caller.  errors: CLAB_ENOMEM
int trace_file_sum_up(const struct trace_file *file, struct trace_process **processes_p, int *n_p);

// Add the events of `other`. Processes with the same number get a new one, so that two measured runs can be compared.
// The otherData of each is kept in otherData.files[].
//   errors: CLAB_ENOMEM
int trace_file_add(struct trace_file *file, const struct trace_file *other);
//   errors: CLAB_EIO
int trace_file_write(const struct trace_file *file, const char *path);
