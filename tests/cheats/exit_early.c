// SPDX-License-Identifier: MIT
// Ends with success before the harness has written.
// says: schedule
#include "cheat.h"

static void deed(void)
{
    _exit(0);
}
