// SPDX-License-Identifier: MIT
#include "cmd/probe/flops.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/transport/backend.h"

enum { SIZE = 256, VALUES = SIZE * SIZE, LEAST_PRODUCTS = 2, MOST_PRODUCTS = 400 };
static const double timed = 0.05; // s

double probe_flops(void)
{
    const struct clab_device *device = clab_backend_find("shm")->device;
    float *x = calloc(3 * VALUES, sizeof *x);
    double best = INFINITY;
    if (!x)
        return NAN;
    for (int i = 0; i < 2 * VALUES; i++)
        x[i] = 1 + (float)(i % 7);
    const struct clab_gemm product = {.m = SIZE, .n = SIZE, .k = SIZE, .a = x, .b = x + VALUES, .c = x + 2 * VALUES};
    const double begin = clab_now();
    for (int i = 0; i < LEAST_PRODUCTS || (i < MOST_PRODUCTS && clab_now() < begin + timed); i++) {
        const double start = clab_now();
        device->gemm(&product);
        best = fmin(best, clab_now() - start);
    }
    free(x);
    return 2.0 * SIZE * SIZE * SIZE / best;
}
