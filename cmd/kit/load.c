// SPDX-License-Identifier: MIT
// Opening a file with a schedule, or with a program of operations.

#include "cmd/kit/load.h"

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/schedule/formats/msccl.h"

int load_goal(const char *path, struct clab_goal **goal_p)
{
    FILE *file;
    CLAB_TRY(clab_input_stream(path, &file));
    const int err = clab_goal_read(file, path, goal_p);
    fclose(file);
    return err;
}

static int load_stages(const char *path, struct clab_listing **listing_p)
{
    struct clab_goal *goal;
    CLAB_TRY(load_goal(path, &goal));
    const int err = clab_goal_lower(goal, listing_p);
    clab_goal_free(goal);
    return err;
}

static int load_msccl(const char *path, struct clab_listing **listing_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SCHEDULE, &input));
    const int err = clab_msccl_read(input.file, path, listing_p);
    clab_input_close(&input);
    return err;
}

int load_listing(const char *goal, const char *msccl, struct clab_listing **listing_p)
{
    if (goal && msccl) {
        clab_error("--goal %s --msccl %s: one schedule at a time", goal, msccl);
        return CLAB_EINVAL;
    }
    return goal ? load_stages(goal, listing_p) : load_msccl(msccl, listing_p);
}
