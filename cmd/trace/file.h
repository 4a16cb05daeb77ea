// SPDX-License-Identifier: MIT
// Trace files, read again: checked, summed up, and put into one.
#pragma once

#include <stddef.h>

struct trace_file; // what a file holds, or several put together

// What a process did.
struct trace_process {
    char name[64];                 // "rank 3 (measured)"
    int calls, stages, arrows;     // arrows: that end here
    double seconds;                // from its first to its last thing
    double communication, exposed; // s: core/trace/timeline.h
};

// Read `path`, and hold it to what viewers take for granted: durations are not negative, slices of a row do not overlap
// unless one holds the other, arrows have two ends.
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_ENOENT, CLAB_EIO, CLAB_EPARSE (logged: which event, and
//           what is wrong), CLAB_ENOMEM
int trace_file_load(const char *path, struct trace_file **file_p);
// The same of what is in memory; `path` is what it is called.
int trace_file_read(const char *text, size_t bytes, const char *path, struct trace_file **file_p);
void trace_file_free(struct trace_file *file);

// What it says about itself under `key`, or the i-th of the files that were put together in it; NULL: nothing.
const char *trace_file_about(const struct trace_file *file, size_t i, const char *key);
// How many were put together in it; 1: it is as it was written.
size_t trace_file_parts(const struct trace_file *file);

// Its processes, by number. Freed by the caller.  errors: CLAB_ENOMEM
int trace_file_sum_up(const struct trace_file *file, struct trace_process **processes_p, int *n_p);

// Add what `other` holds: processes of the same number get another one, so that two measured runs can be compared.
// What each says about itself (otherData) is kept, in otherData.files[].
//   errors: CLAB_ENOMEM
int trace_file_add(struct trace_file *file, const struct trace_file *other);
//   errors: CLAB_EIO
int trace_file_write(const struct trace_file *file, const char *path);
