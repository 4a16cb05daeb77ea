// SPDX-License-Identifier: MIT
// Opening a file with a schedule.

#include "load.h"

#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "schedule/goal.h"
#include "schedule/msccl.h"

int load_listing(const char *goal, const char *msccl, struct clab_listing **listing_p)
{
    const char *path = goal ? goal : msccl;
    if (goal && msccl) {
        clab_error("--goal %s --msccl %s: one schedule at a time", goal, msccl);
        return CLAB_EINVAL;
    }
    FILE *file = fopen(path, "r");
    if (!file) {
        clab_error("%s: it can not be read: %m", path);
        return CLAB_ENOENT;
    }
    int err = goal ? clab_goal_read(file, path, listing_p) : clab_msccl_read(file, path, listing_p);
    fclose(file);
    return err;
}
