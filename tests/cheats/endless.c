// SPDX-License-Identifier: MIT
// Computes without end.
// says: took longer
#include "cheat.h"

static void deed(void)
{
    for (volatile int i = 0;; i++)
        ;
}
