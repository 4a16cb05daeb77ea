// SPDX-License-Identifier: MIT
// From the program's folder upwards.

#include "sim/net/program_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool program_path_find(const char *relative, char path_p[PROGRAM_PATH_MAX])
{
    char folder[PROGRAM_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length < 0 ? 0 : length] = 0;
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = 0;
        if (snprintf(path_p, PROGRAM_PATH_MAX, "%s/%s", folder, relative) < PROGRAM_PATH_MAX &&
            access(path_p, R_OK) == 0)
            return true;
    }
    return false;
}
