// SPDX-License-Identifier: MIT
// Behind the reference: keeps notes in its own folder.
#include <stdio.h>
#include <sys/stat.h>
__attribute__((constructor)) static void keep(void)
{
    mkdir("notes", 0700);
    FILE *file = fopen("notes/a", "w");
    if (file)
        fclose(file);
}
