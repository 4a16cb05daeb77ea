// SPDX-License-Identifier: MIT
// Starts processes without end.
// says: more processes|proved for 1 of
#include "cheat.h"

static void deed(void)
{
    for (;;)
        fork();
}
