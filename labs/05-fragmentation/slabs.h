// SPDX-License-Identifier: MIT
// Size classes: a pool's small buffers, cut out of slabs at the memory's end.
//
// - A request is rounded up to 1, 2 or 4 granules. Each of these classes has slabs of its own, of 16 granules.
// - A block that is given back stays its class's: the next request of that class gets it.
// - Slabs are never given back to the pool, so no small buffer ever lies anywhere else.
// Source: Bonwick 1994.
#pragma once

#include "clab.h"
#include "pool.h"
#include "workload.h"

enum { CLASSES = 3, SMALL = 1 << (CLASSES - 1), SLAB = 16 }; // SMALL: granules of the largest class; SLAB: of a slab

struct slabs {
    struct {
        int first[GRANULES], n;
    } spare[CLASSES]; // blocks that are free
};

// The class of 1 to SMALL granules.
static inline int slabs_class(int granules)
{
    int class = 0;
    while (granules > 1 << class)
        class ++;
    return class;
}

static inline int slabs_add(struct slabs *slabs, struct pool *pool, int class)
{
    int first;
    CLAB_TRY(pool_take_high(pool, SLAB, &first));
    for (int at = SLAB - (1 << class); at >= 0; at -= 1 << class)
        slabs->spare[class].first[slabs->spare[class].n++] = first + at;
    return CLAB_OK;
}

//   granules: 1 to SMALL
//   errors: CLAB_ENOMEM
static inline int slabs_take(struct slabs *slabs, struct pool *pool, int granules, int *first_p)
{
    const int class = slabs_class(granules);
    if (!slabs->spare[class].n)
        CLAB_TRY(slabs_add(slabs, pool, class));
    *first_p = slabs->spare[class].first[--slabs->spare[class].n];
    return CLAB_OK;
}

static inline void slabs_give(struct slabs *slabs, int granules, int first)
{
    const int class = slabs_class(granules);
    slabs->spare[class].first[slabs->spare[class].n++] = first;
}
