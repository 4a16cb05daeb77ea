// SPDX-License-Identifier: MIT
#include "labs/homework/h3/start.h"

#include <limits.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/grade/seed.h"
#include "labs/homework/h3/price.h"

static int write_network(const struct h3_case *c, const char *folder, int which)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/network-%d.net", folder, which + 1);
    FILE *file = fopen(path, "w");
    if (!file) {
        clab_error("%s can not be written: is the disk full, or the folder read only?", path);
        return CLAB_ENOENT;
    }
    h3_write_network(c, file);
    if (fclose(file)) {
        clab_error("%s can not be written: is the disk full?", path);
        return CLAB_ENOENT;
    }
    printf("  work/h3/network-%d.net (%s: %d ranks)\n", which + 1, c->name, c->ranks);
    return CLAB_OK;
}

int h3_start(const char *student, const char *folder)
{
    struct h3_case c;
    struct h3_bounds bounds;
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, "h3 networks", &seed));
    for (int which = 0; which < H3_NETWORKS; which++) {
        CLAB_TRY(h3_choose_network(which, seed, &c, &bounds));
        CLAB_TRY(write_network(&c, folder, which));
    }
    return CLAB_OK;
}
