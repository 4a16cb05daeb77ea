// SPDX-License-Identifier: MIT
// After: the same training job with an arena: size classes for what is small, and a cache of registrations.
//
//   after [-n RANKS] [--backend B] [BYTES STEPS SEED]
//
// - Small buffers come from slabs at the memory's end, each of one size class. They may live as long as they like: none
//   of them ever lies between large ones, which come from the rest as before, and are freed within a step.
// - What is registered stays so: a later buffer at the same place finds it done.
// What the job asks for is in workload.h, and what is around that in training.h, the same as before's.

#include "clab.h"
#include "device.h"
#include "measure.h"
#include "pool.h"
#include "training.h"

enum { CLASSES = 3, SLAB = 16, EXTENT = 16 }; // of 1, 2 and 4 granules; a slab's granules; those registered at once
static const char about[] =
    "A training job that allocates from an arena: size classes for what is small, and a cache of registrations.\n"
    "Reports how many steps found their memory, what was free at the last, and what registration took.";

struct allocator {
    struct pool pool; // large buffers, and slabs
    struct {
        int first[GRANULES], n;
    } spare[CLASSES];                                     // blocks of slabs that are free
    struct clab_registration *extents[GRANULES / EXTENT]; // NULL: not registered yet
};

// The class of so many granules; CLASSES: it is not small.
static int class_of(int granules)
{
    int class = 0;
    while (class < CLASSES && granules > 1 << class)
        class ++;
    return class;
}

static int add_slab(struct allocator *a, int class)
{
    int first;
    CLAB_TRY(pool_take_high(&a->pool, SLAB, &first));
    for (int at = SLAB - (1 << class); at >= 0; at -= 1 << class)
        a->spare[class].first[a->spare[class].n++] = first + at;
    return CLAB_OK;
}

//   errors: CLAB_ENOMEM, which ends the training
static int take(struct allocator *a, struct buffer *b)
{
    const int class = class_of(b->granules);
    if (class == CLASSES)
        return pool_take(&a->pool, b->granules, &b->first);
    if (!a->spare[class].n)
        CLAB_TRY(add_slab(a, class));
    b->first = a->spare[class].first[--a->spare[class].n];
    return CLAB_OK;
}

static void give(struct allocator *a, const struct buffer *b)
{
    const int class = class_of(b->granules);
    if (class == CLASSES)
        pool_give(&a->pool, b->first);
    else
        a->spare[class].first[a->spare[class].n++] = b->first;
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
        clab_unregister(d->job, a->extents[e]);
}

// Sums a buffer over the ranks, where the system lets them, registered.
static void sum(struct allocator *a, const struct device *d, const struct buffer *b, struct cost *cost)
{
    const double start = clab_seconds();
    if (d->registers)
        cost->registered += (double)enroll(a, d, b);
    cost->registering += clab_seconds() - start;
    device_sum(d, b);
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
