// SPDX-License-Identifier: MIT
// After: the same training job with an arena: size classes for what is small, and a cache of registrations.
//
//   after [-n RANKS] [--backend B] [BYTES STEPS SEED]
//
// - Small buffers come from slabs at the memory's end, each of one size class. They may live as long as they like: none
//   of them ever lies between large ones, which come from the rest as before, and are freed within a step.
// - What is registered stays so: a later buffer at the same place finds it done.

#include "clab.h"
#include "pool.h"
#include "training.h"

enum { CLASSES = 3, SLAB = 16, EXTENT = 16 }; // of 1, 2 and 4 granules; a slab's granules; those registered at once
static const char about[] =
    "A training job that allocates from an arena: size classes for what is small, and a cache of registrations.\n"
    "Reports how many steps found their memory, what was free at the last, and what registration took.";

struct arena {
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

static int add_slab(struct device *d, int class)
{
    struct arena *arena = d->arena;
    int first;
    CLAB_TRY(pool_take_high(&d->pool, SLAB, &first));
    for (int at = SLAB - (1 << class); at >= 0; at -= 1 << class)
        arena->spare[class].first[arena->spare[class].n++] = first + at;
    return CLAB_OK;
}

static int take(struct device *d, struct buffer *b)
{
    struct arena *arena = d->arena;
    const int class = class_of(b->granules);
    if (class == CLASSES)
        return pool_take(&d->pool, b->granules, &b->first);
    if (!arena->spare[class].n)
        CLAB_TRY(add_slab(d, class));
    b->first = arena->spare[class].first[--arena->spare[class].n];
    return CLAB_OK;
}

static void give(struct device *d, struct buffer *b)
{
    struct arena *arena = d->arena;
    const int class = class_of(b->granules);
    if (class == CLASSES)
        pool_give(&d->pool, b->first);
    else
        arena->spare[class].first[arena->spare[class].n++] = b->first;
}

static size_t enroll(struct device *d, struct buffer *b)
{
    struct arena *arena = d->arena;
    const size_t bytes = EXTENT * d->granule;
    size_t registered = 0;
    for (int e = b->first / EXTENT; e * EXTENT < b->first + b->granules; e++)
        if (!arena->extents[e]) {
            must(clab_register(d->job, d->memory + (size_t)e * bytes, bytes, &arena->extents[e]));
            registered += bytes;
        }
    return registered;
}

static void expel(struct device *d, struct buffer *b)
{
    (void)d, (void)b; // it stays, for the next one there
}

static void finish(struct device *d)
{
    struct arena *arena = d->arena;
    for (int e = 0; e < GRANULES / EXTENT; e++)
        clab_unregister(d->job, arena->extents[e]);
}

int main(int argc, char **argv)
{
    static const struct allocator with_classes = {take, give, enroll, expel, finish};
    static struct arena arena;
    return training(argc, argv, about, &with_classes, &arena);
}
