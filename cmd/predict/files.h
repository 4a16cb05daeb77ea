// SPDX-License-Identifier: MIT
// The student's files of predictions in work/NN: predict.txt, and the locked copy that counts.
//
// - The first run of a lab with predictions copies predict.txt to predict.locked.txt, which nobody can write. Later edits
//   of predict.txt do not count. A command of which all was blank then is locked by its own first run.
// - `commlab predict NN --again` renames the locked copy to predict.locked.1.txt, or the next number.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "cmd/predict/predictions.h"

struct predict_files {
    char folder[PATH_MAX], given[PATH_MAX], locked[PATH_MAX]; // work/07, its predict.txt and predict.locked.txt
};

// Those of unit `id` below `root`.  errors: CLAB_EINVAL (longer than a path may be; logged)
int predict_files(const char *root, const char *id, struct predict_files *files_p);

// Copy `from` to `to` whole. mode: of `to`.  errors: CLAB_ENOENT, CLAB_EIO, logged
int predict_copy(const char *from, const char *to, unsigned mode);

// errors: CLAB_EIO, logged
int predict_set_mode(const char *path, unsigned mode);

// Rename the locked copy to the next number that is free.  out: kept_p: its new path
//   errors: CLAB_EIO, logged
int predict_unlock(const struct predict_files *files, char kept_p[PATH_MAX]);

// Put `answer` behind the "=" of line `line`; comments stay.  errors: CLAB_EIO, CLAB_ENOENT, logged; CLAB_ENOMEM
int predict_write_answer(const char *path, int line, const char *answer);
