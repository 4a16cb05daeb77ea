// SPDX-License-Identifier: MIT
// Behind the reference: writes much to stderr.
#include <stdio.h>
__attribute__((constructor)) static void talk(void)
{
    for (int i = 0; i < 20000; i++)
        fprintf(stderr, "line %d\n", i);
}
