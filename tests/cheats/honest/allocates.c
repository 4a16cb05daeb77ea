// SPDX-License-Identifier: MIT
// Behind the reference: uses 500 MB of memory.
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void allocate(void)
{
    char *much = malloc(500 << 20);
    if (much)
        memset(much, 1, 500 << 20);
    free(much);
}
