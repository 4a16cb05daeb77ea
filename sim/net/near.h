// SPDX-License-Identifier: MIT
// Files that lie near the program, which is in build/ or below it.
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { NEAR_PATH = PATH_MAX };

// The first of the program's folder and its parents in which `relative` can be read, as a whole path.
bool near_program(const char *relative, char path_p[NEAR_PATH]);
