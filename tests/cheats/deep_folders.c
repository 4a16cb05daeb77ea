// SPDX-License-Identifier: MIT
// Leaves folders that are hard to remove: deep ones, and one without rights.
// says: missing at the end|not written|wrote|status|left more files
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cheat.h"

static void deed(void)
{
    mkdir("locked", 0700);
    mkdir("locked/inside", 0700);
    chmod("locked", 0);
    for (int i = 0; i < 3000; i++)
        if (mkdir("a-folder-with-a-name-that-is-long", 0700) || chdir("a-folder-with-a-name-that-is-long"))
            break;
    _exit(1);
}
