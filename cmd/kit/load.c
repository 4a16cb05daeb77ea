// SPDX-License-Identifier: MIT
// Opening a file with a schedule.

#include "cmd/kit/load.h"

#include "core/base/err.h"
#include "core/base/input.h"
#include "core/base/log.h"
#include "core/schedule/formats/goal.h"
#include "core/schedule/formats/msccl.h"

int load_listing(const char *goal, const char *msccl, struct clab_listing **listing_p)
{
    const char *path = goal ? goal : msccl;
    if (goal && msccl) {
        clab_error("--goal %s --msccl %s: one schedule at a time", goal, msccl);
        return CLAB_EINVAL;
    }
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SCHEDULE, &input));
    int err = goal ? clab_goal_read(input.file, path, listing_p) : clab_msccl_read(input.file, path, listing_p);
    clab_input_close(&input);
    return err;
}
