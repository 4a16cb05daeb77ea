// SPDX-License-Identifier: MIT
// What tests of the fit share: samples of machines that are made up, in seconds and seconds a byte.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "capture.h"
#include "fit.h"
#include "needs.h"
#include "sim.h"

#define assert_close(value, expected) assert_true(fabs((value) - (expected)) <= 1e-9 * fabs(expected) + 1e-18)

static const double call = 70e-9, stage = 9e-9, lane = 15e-9;

struct samples {
    struct clab_sample all[512];
    int n;
};

static inline void add(struct samples *s, enum clab_probe probe, size_t bytes, enum clab_touch touch,
                       enum clab_load load, double seconds)
{
    s->all[s->n++] = (struct clab_sample){probe, bytes, 0, touch, load, seconds};
}

// Likewise, of a level; messages are a quarter of it.
static inline void add_to_level(struct samples *s, enum clab_probe probe, size_t bytes, enum clab_touch touch,
                                enum clab_load load, double seconds)
{
    s->all[s->n++] = (struct clab_sample){probe, bytes, 4 * bytes, touch, load, seconds};
}

// The costs of the level of messages of `bytes`: any that differ.
static inline double cost(size_t bytes, int what, int touch, int load)
{
    return 1e-12 * (double)(10 + 7 * what + 50 * touch + 3 * load) * (bytes > 1 << 20 ? 2 : 1);
}
