// SPDX-License-Identifier: MIT
// A file that is written whole or not at all.
// - Bytes go to a temporary file beside the target. It takes the target's name when it is closed without an error.
// - A pipe, a device or our own stdout (/dev/stdout) can not be replaced, so it is written directly. A symbolic link is
//   followed.
// - Every failure logs one line with the path and the system's reason.
#pragma once

#include <stdio.h>

struct clab_output {
    FILE *file; // write here
    char *path; // the target, links resolved
    char *temp; // NULL when the target is written straight
};

// Whether `path` could be opened now, without touching it: call it before a long measurement.
//   errors: CLAB_EIO, CLAB_ENOMEM
int clab_output_check(const char *path);
// The same for results that somebody may want to keep, once for a file: if there are some, a line says that they will be
// replaced, and their date.
int clab_output_announce(const char *path);

// Begin to write `path`.
//   out:    *output_p, on success only; it ends in exactly one of close and abandon
//   errors: CLAB_EIO, CLAB_ENOMEM
int clab_output_open(const char *path, struct clab_output *output_p);

// Put the file in place.  errors: CLAB_EIO (a full disk, a failed write): the target is then as it was before.
int clab_output_close(struct clab_output *output);

// Leave the target as it was.
void clab_output_abandon(struct clab_output *output);

// Remove the file, and what a writer of it that was killed left beside it: all that is called `path`, a dot and six
// letters. For names that only this program makes, while nobody writes them.
void clab_output_remove(const char *path);
