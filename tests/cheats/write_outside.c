// SPDX-License-Identifier: MIT
// Writes a file elsewhere.
// says: could not write
#include "cheat.h"

static void deed(void)
{
    const int file = open("/tmp/commlab-cheat-was-here", O_WRONLY | O_CREAT, 0600);
    fprintf(stderr, file < 0 ? "could not write\n" : "GOT IT\n");
    abort();
}
