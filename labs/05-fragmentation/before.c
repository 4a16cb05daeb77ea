// SPDX-License-Identifier: MIT
// Before: a training job that allocates each buffer from one memory, and registers it each time it communicates.
//
//   before [-n RANKS] [--backend B] [BYTES STEPS SEED]
//
// - Large and small, for a moment or for long: all buffers come from the same free blocks, by best fit, with splitting
//   and coalescing (pool.h). The job itself is in training.h and workload.h, the same as after's.

#include "clab.h"
#include "pool.h"
#include "training.h"

static const char about[] =
    "A training job that allocates each buffer from one memory, and registers it each time it communicates.\n"
    "Reports how many steps found their memory, what was free at the last, and what registration took.";

static int take(struct device *d, struct buffer *b)
{
    return pool_take(&d->pool, b->granules, &b->first);
}

static void give(struct device *d, struct buffer *b)
{
    pool_give(&d->pool, b->first);
}

static size_t enroll(struct device *d, struct buffer *b)
{
    const size_t bytes = (size_t)b->granules * d->granule;
    must(clab_register(d->job, d->memory + (size_t)b->first * d->granule, bytes, &b->registration));
    return bytes;
}

static void expel(struct device *d, struct buffer *b)
{
    clab_unregister(d->job, b->registration);
}

static void finish(struct device *d)
{
    (void)d;
}

int main(int argc, char **argv)
{
    static const struct allocator best_fit = {take, give, enroll, expel, finish};
    return training(argc, argv, about, &best_fit, NULL);
}
