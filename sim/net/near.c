// SPDX-License-Identifier: MIT
// From the program's folder upwards.

#include "sim/net/near.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool near_program(const char *relative, char path_p[NEAR_PATH])
{
    char folder[NEAR_PATH];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length < 0 ? 0 : length] = 0;
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = 0;
        if (snprintf(path_p, NEAR_PATH, "%s/%s", folder, relative) < NEAR_PATH && access(path_p, R_OK) == 0)
            return true;
    }
    return false;
}
