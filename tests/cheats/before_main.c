// SPDX-License-Identifier: MIT
// Runs before main, and becomes another program.
// says: schedule
#include "cheat.h"

__attribute__((constructor)) static void deed(void)
{
    execl("/bin/true", "true", (char *)NULL);
}
