// SPDX-License-Identifier: MIT
// Leaves a result of 60 MB.
// says: no result that can be read
#include "cheat.h"

static void deed(void)
{
    const int file = open("schedules", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (ftruncate(file, 60 << 20) == 0)
        _exit(0);
}
