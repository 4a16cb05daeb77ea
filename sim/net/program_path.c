// SPDX-License-Identifier: MIT
// From the program's folder upwards to the top of its own kit, the folder that has sim/nets: what lies above that belongs
// to another kit, as when one is installed below the sources of one.

#include "sim/net/program_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool has(const char *folder, const char *relative, char path_p[PROGRAM_PATH_MAX])
{
    return snprintf(path_p, PROGRAM_PATH_MAX, "%s/%s", folder, relative) < PROGRAM_PATH_MAX && access(path_p, R_OK) == 0;
}

bool program_path_find(const char *relative, char path_p[PROGRAM_PATH_MAX])
{
    char folder[PROGRAM_PATH_MAX], nets[PROGRAM_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length < 0 ? 0 : length] = 0;
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = 0;
        if (has(folder, relative, path_p))
            return true;
        if (has(folder, "sim/nets", nets))
            return false;
    }
    return false;
}
