// SPDX-License-Identifier: MIT
// Fills the disk, with files that each are as large as a file may be.
// says: more files than it may|proved for 1 of
#include "cheat.h"

static void deed(void)
{
    static char block[1 << 20];
    for (int i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "file-%d", i);
        const int file = open(name, O_WRONLY | O_CREAT, 0600);
        for (int j = 0; j < 60; j++)
            if (write(file, block, sizeof block) < 0)
                abort();
        close(file);
    }
}
