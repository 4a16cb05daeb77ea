// SPDX-License-Identifier: MIT
// Files for trace viewers (Perfetto, chrome://tracing): processes with rows of slices, and arrows between slices.
//
// - Events are written one by one, so a long trace needs no memory. The file appears whole or not at all (output.h). It
//   needs jansson (json.h).
// - Times are seconds here. In the file they are microseconds, rounded down to multiples of 2^-10 us. Slices of a row may
//   not overlap, unless one contains the other.
// - Processes and rows are numbered from 0 here, and from 1 in the file: some viewers take 0 for "none".
// - clab_viewer_close reports all errors.
//
// Source: "Trace Event Format", Google 2016: events X (a slice), s and f (an arrow's ends), M (names).
#pragma once

#include <stdbool.h>

#include "core/base/files/cell.h"
#include "core/base/files/manifest.h"

struct clab_viewer;

// A key and value that the viewer shows beside an event.
struct clab_viewer_arg {
    const char *key;
    struct clab_cell value;
};

enum { CLAB_VIEWER_FIRST = 1 }; // the number in the file of process 0, and of row 0

//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO, CLAB_ENOMEM
int clab_viewer_open(const char *path, struct clab_viewer **viewer_p);
// Names. The viewer sorts processes and rows by number.
void clab_viewer_name_process(struct clab_viewer *viewer, int process, const char *name);
void clab_viewer_name_row(struct clab_viewer *viewer, int process, int row, const char *name);
//   category: a word by which viewers filter; args: (nargs), of which those whose value is nothing are left out
void clab_viewer_slice(struct clab_viewer *viewer, int process, int row, const char *category, const char *name,
                       double begin, double end, const struct clab_viewer_arg args[], int nargs);
// One end of an arrow; both ends have the same `id`. The end belongs to the slice that is in the row at `when`.
void clab_viewer_arrow(struct clab_viewer *viewer, bool is_end, const char *id, int process, int row, double when,
                       const char *name);
// Put the file in place, with the manifest `about` (or NULL).  errors: CLAB_EIO, CLAB_ENOMEM
int clab_viewer_close(struct clab_viewer *viewer, const struct clab_manifest *about);
void clab_viewer_abandon(struct clab_viewer *viewer);
