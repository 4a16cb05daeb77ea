// SPDX-License-Identifier: MIT
// expects: You let go what is registered in every step
// Half-mended: an arena, whose cache of registrations is emptied after each step.

#include "clab.h"
#include "device.h"
#include "measure.h"
#include "pool.h"
#include "slabs.h"
#include "training.h"

enum { EXTENT = 16 }; // granules that are registered at once
static const char about[] =
    "A training job that allocates from an arena: size classes for what is small, and a cache of registrations.\n"
    "Reports how many steps found their memory, what was free at the last, and what registration took.";

struct allocator {
    struct pool pool; // large buffers, and slabs
    struct slabs slabs;
    struct clab_registration *extents[GRANULES / EXTENT]; // NULL: not registered yet
};

//   errors: CLAB_ENOMEM, which ends the training
static int take(struct allocator *a, struct buffer *b)
{
    return b->granules <= SMALL ? slabs_take(&a->slabs, &a->pool, b->granules, &b->first)
                                : pool_take(&a->pool, b->granules, &b->first);
}

static void give(struct allocator *a, const struct buffer *b)
{
    if (b->granules <= SMALL)
        slabs_give(&a->slabs, b->granules, b->first);
    else
        pool_give(&a->pool, b->first);
}

// Registers the extents that a buffer lies in, but those that are. Returns the bytes that it registered.
static size_t enroll(struct allocator *a, const struct device *d, const struct buffer *b)
{
    const size_t bytes = EXTENT * d->granule;
    size_t registered = 0;
    for (int e = b->first / EXTENT; e * EXTENT < b->first + b->granules; e++)
        if (!a->extents[e]) {
            must(clab_register(d->job, device_at(d, e * EXTENT), bytes, &a->extents[e]));
            registered += bytes;
        }
    return registered;
}

static void let_go(struct allocator *a, const struct device *d)
{
    for (int e = 0; e < GRANULES / EXTENT; e++)
        clab_unregister(d->job, a->extents[e]), a->extents[e] = NULL;
}

// Sums a buffer over the ranks, where the system lets them, registered.
static void sum(struct allocator *a, const struct device *d, const struct buffer *b, struct cost *cost)
{
    const double start = clab_seconds();
    if (d->registers)
        cost->registered += (double)enroll(a, d, b);
    const double ready = clab_seconds();
    device_sum(d, b);
    const double summed = clab_seconds();
    cost->registering += ready - start + clab_seconds() - summed;
}

// Until a buffer finds no memory, or the last step is done.
static void train(struct training *t, struct allocator *a)
{
    for (const struct event *e = t->workload.events; e < t->workload.events + t->workload.n; e++) {
        struct buffer *b = training_begin(t, e, &a->pool);
        const double start = clab_seconds();
        if (e->kind == TAKE && take(a, b) != CLAB_OK)
            return;
        if (e->kind == SUM)
            sum(a, &t->device, b, measure_cost(&t->measure, e->step));
        if (e->kind == GIVE)
            give(a, b);
        if (e->kind == GIVE && b->granules == FLAT)
            let_go(a, &t->device);
        training_end(t, e, clab_seconds() - start);
    }
}

int main(int argc, char **argv)
{
    struct training t;
    struct allocator a = {0};
    training_open(argc, argv, about, &t);
    must(pool_create(GRANULES, &a.pool));
    train(&t, &a);
    let_go(&a, &t.device);
    measure_report(&t.measure, &t.device);
    pool_destroy(&a.pool);
    training_close(&t);
    return 0;
}
