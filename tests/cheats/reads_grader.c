// SPDX-License-Identifier: MIT
// Opens the memory of the grader, and of all that started it, to read it and to write into it.
// says: no memory
#include "cheat.h"

// 0: there is none.
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file) && strrchr(line, ')'))
        sscanf(strrchr(line, ')'), ") %*c %d", &parent);
    if (file)
        fclose(file);
    return parent;
}

static void deed(void)
{
    for (pid_t pid = getppid(); pid > 1; pid = parent_of(pid)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
        if (open(path, O_RDONLY) >= 0 || open(path, O_RDWR) >= 0)
            fprintf(stderr, "GOT IT: process %d\n", (int)pid);
    }
    fprintf(stderr, "no memory\n");
    abort();
}
