// SPDX-License-Identifier: MIT
// Leaves a link to a file of others in place of its result.
// says: no result that can be read
#include "cheat.h"

static void deed(void)
{
    unlink("schedules");
    if (symlink("/etc/passwd", "schedules") == 0)
        _exit(0);
}
