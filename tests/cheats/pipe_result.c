// SPDX-License-Identifier: MIT
// Leaves a pipe that nobody writes to in place of its result.
// says: no result that can be read
#include "cheat.h"

static void deed(void)
{
    unlink("schedules");
    if (mkfifo("schedules", 0644) == 0)
        _exit(0);
}
