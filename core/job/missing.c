// SPDX-License-Identifier: MIT
// The line about those who did not come (missing.h).

#include "core/job/missing.h"

#include <stddef.h>
#include <stdio.h>

#include "core/base/log.h"

enum { NAMES_BYTES = CLAB_NAMED * 12 + 32 };

// "1, 3 and 2 more"
static const char *names_of(const int *named, int nnamed, int missing, char names[NAMES_BYTES])
{
    size_t used = 0;
    names[0] = 0;
    for (int i = 0; i < nnamed; i++)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, "%s%d", i ? ", " : "", named[i]);
    if (missing > nnamed)
        snprintf(names + used, NAMES_BYTES - used, " and %d more", missing - nnamed);
    return names;
}

void clab_log_awaited(const int *named, int nnamed, int missing, int n, const char *host, int port)
{
    char names[NAMES_BYTES];
    clab_warn("waiting for node%s %s of %d at %s:%d", missing == 1 ? "" : "s", names_of(named, nnamed, missing, names),
              n, host, port);
}

void clab_log_missing(const char *what, const int *named, int missing, int n, double timeout)
{
    char names[NAMES_BYTES];
    names_of(named, missing < CLAB_NAMED ? missing : CLAB_NAMED, missing, names);
    clab_error("rendezvous: %s%s %s of %d did not arrive within %g s (CLAB_TIMEOUT)", what, missing == 1 ? "" : "s",
               names, n, timeout);
}
