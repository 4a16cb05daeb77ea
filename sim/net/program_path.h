// SPDX-License-Identifier: MIT
// Files of the source tree, found from the program, which lies in build/ or below it.
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { PROGRAM_PATH_MAX = PATH_MAX };

// The first of the program's folder and its parents, up to the top of its kit, in which `relative` can be read, as a whole
// path.
bool program_path_find(const char *relative, char path_p[PROGRAM_PATH_MAX]);
