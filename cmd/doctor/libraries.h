// SPDX-License-Identifier: MIT
// Find a shared library of CUDA's on this machine, in every place where a build or the loader would look.
#pragma once

#include <limits.h>

enum { DOCTOR_MOST_LIBRARIES = 32 };

struct doctor_library {
    char path[PATH_MAX]; // as found; two paths of one file are listed once
    const char *where;   // "LD_LIBRARY_PATH", "CUDA toolkit", "system" or "Python package"
};

// Libraries whose name matches `pattern` ("libnccl.so.2"), in the order of search, each file once. Returns
// how many.
int doctor_libraries(const char *pattern, struct doctor_library libraries[DOCTOR_MOST_LIBRARIES]);
