// SPDX-License-Identifier: MIT
// Takes 100 GB.
// says: memory|signal|status
#include "cheat.h"

static void deed(void)
{
    for (int i = 0; i < 1000; i++) {
        char *piece = malloc(100 << 20);
        if (!piece)
            abort();
        memset(piece, 1, 100 << 20);
    }
}
