// SPDX-License-Identifier: MIT
// Schedules from files: what --goal and --msccl name.
#pragma once

#include "core/schedule/formats/goal.h"
#include "core/schedule/formats/listing.h"

// The schedule of the file `goal`, or else of the file `msccl`.
//   errors: CLAB_EINVAL (both are given), CLAB_ENOENT, CLAB_EPARSE, CLAB_EWRONG, CLAB_EUNSUPPORTED, CLAB_ENOMEM; one
//           logged line says what is wrong
int load_listing(const char *goal, const char *msccl, struct clab_listing **listing_p);

// A file of GOAL as it is: it need not be a schedule, and may be larger than memory would hold as text.
//   errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_ENOMEM, logged
int load_goal(const char *path, struct clab_goal **goal_p);
