// SPDX-License-Identifier: MIT
// Reads the reference while it runs, to compile it then.
// says: no reference
#include "cheat.h"

static void deed(void)
{
    fprintf(stderr, open("@KIT@/tests/homework/h2/reference.c", O_RDONLY) < 0 ? "no reference\n" : "GOT IT\n");
    abort();
}
