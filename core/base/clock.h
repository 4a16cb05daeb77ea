// SPDX-License-Identifier: MIT
// The one clock: monotonic, in seconds.
#pragma once

#include <time.h>

// Seconds since an arbitrary start that all processes of this machine share.
static inline double clab_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
