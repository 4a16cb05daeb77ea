// SPDX-License-Identifier: MIT
// The line about those who did not come (missing.h).

#include "job/missing.h"

#include <stddef.h>
#include <stdio.h>

#include "base/log.h"

void clab_log_missing(const char *what, const int *named, int missing, int n, double timeout)
{
    char names[CLAB_NAMED * 12 + 32] = "";
    size_t used = 0;
    for (int i = 0; i < missing && i < CLAB_NAMED; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%d", i ? ", " : "", named[i]);
    if (missing > CLAB_NAMED)
        snprintf(names + used, sizeof names - used, " and %d more", missing - CLAB_NAMED);
    clab_error("rendezvous: %s%s %s of %d did not arrive within %g s (CLAB_TIMEOUT)", what, missing == 1 ? "" : "s",
               names, n, timeout);
}
