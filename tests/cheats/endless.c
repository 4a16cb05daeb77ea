// SPDX-License-Identifier: MIT
// Computes without end, and turns off the harness's own clock: the time of the sandbox is over.
// says: took longer
#include "cheat.h"

static void deed(void)
{
    signal(SIGPROF, SIG_IGN);
    for (volatile int i = 0;; i++)
        ;
}
