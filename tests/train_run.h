// SPDX-License-Identifier: MIT
// What tests of training steps share: a network, a step's buckets, and runs.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net.h"
#include "sim.h"
#include "train_model.h"

#define MS 1e-3

static inline bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static inline struct clab_net *flat(double alpha, double beta)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(alpha, beta, 0, &net), CLAB_OK);
    return net;
}

static inline struct clab_train_result run(const struct clab_train *train)
{
    struct clab_train_result r;
    assert_int_equal(clab_train_run(train, &r), CLAB_OK);
    assert_true(r.least <= r.median && r.median <= r.p95 && r.p95 <= r.p99 && r.p99 <= r.most);
    return r;
}

static inline double step_of(const struct clab_train *train)
{
    struct clab_train_result r = run(train);
    const double median = r.median;
    clab_train_free(&r);
    return median;
}

// Gradients of 1 to 5 MiB, there every 2 ms, the last at 12 ms.
enum { BUCKETS = 5 };

static inline void fill(struct clab_train_bucket buckets[BUCKETS])
{
    for (int i = 0; i < BUCKETS; i++)
        buckets[i] = (struct clab_train_bucket){.ready = (4 + 2 * i) * MS, .bytes = (size_t)(1 + i) << 20};
}
