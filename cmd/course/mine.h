// SPDX-License-Identifier: MIT
// The student's file of a unit, work/NN/mine.c: made from the unit's before.c, and never lost.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "core/base/files/input.h"
#include "cmd/course/unit.h"

// Write `text` to a file that is not there yet; one that is there stays, which is no error.
//   out:    *is_there_p
//   errors: CLAB_EIO (logged)
int mine_write_new(const char *path, const struct clab_input *text, bool *is_there_p);

// Copy before.c to work/NN/mine.c.
//   errors: CLAB_EINVAL (mine.c is there already: it stays as it is), CLAB_ENOENT (no before.c), CLAB_EIO; one line is
//           logged; CLAB_ENOMEM
int mine_start(const struct course *course, const struct course_unit *unit);

// Keep a copy of mine.c as mine.1.c, or the next number that is free; then put before.c in its place.
//   out:    kept_p: the path of the copy
//   errors: CLAB_ENOENT (no mine.c, no before.c), CLAB_EIO; one line is logged, and mine.c is as it was; CLAB_ENOMEM
int mine_reset(const struct course *course, const struct course_unit *unit, char kept_p[PATH_MAX]);
