// SPDX-License-Identifier: MIT
// An allocator as frameworks have it: best fit over one memory, with splitting and coalescing.
//
// - A request gets the smallest free block that is large enough, the lowest of those; what is left of it stays free.
// - What is given back becomes one with its free neighbours, so two free blocks never touch.
// - In granules. Its list lies outside of the memory, as that of a device's memory must.
// Source: Knuth, The Art of Computer Programming 1, section 2.5; TensorFlow's bfc_allocator works so.
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "clab.h"

struct block {
    int first, count;
    bool used;
    struct block *next; // by address
};

struct pool {
    struct block *blocks;
};

static inline int pool_create(int granules, struct pool *pool_p)
{
    struct block *all = calloc(1, sizeof *all);
    if (!all)
        return CLAB_ENOMEM;
    all->count = granules;
    pool_p->blocks = all;
    return CLAB_OK;
}

static inline void pool_destroy(struct pool *pool)
{
    for (struct block *b = pool->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

// Cut a block in two; the second part begins at its granule `at`.
static inline int pool_split(struct block *b, int at)
{
    struct block *rest = malloc(sizeof *rest);
    if (!rest)
        return CLAB_ENOMEM;
    *rest = (struct block){b->first + at, b->count - at, false, b->next};
    b->count = at;
    b->next = rest;
    return CLAB_OK;
}

//   errors: CLAB_ENOMEM (also where enough is free, but not in one piece)
static inline int pool_take(struct pool *pool, int count, int *first_p)
{
    struct block *best = NULL;
    for (struct block *b = pool->blocks; b; b = b->next)
        if (!b->used && b->count >= count && (!best || b->count < best->count))
            best = b;
    if (!best || (best->count > count && pool_split(best, count)))
        return CLAB_ENOMEM;
    best->used = true;
    *first_p = best->first;
    return CLAB_OK;
}

// The end of the highest free block that is large enough.
static inline int pool_take_high(struct pool *pool, int count, int *first_p)
{
    struct block *high = NULL;
    for (struct block *b = pool->blocks; b; b = b->next)
        if (!b->used && b->count >= count)
            high = b;
    if (!high)
        return CLAB_ENOMEM;
    if (high->count > count) {
        CLAB_TRY(pool_split(high, high->count - count));
        high = high->next;
    }
    high->used = true;
    *first_p = high->first;
    return CLAB_OK;
}

static inline void pool_absorb_next(struct block *b)
{
    struct block *next = b->next;
    b->count += next->count;
    b->next = next->next;
    free(next);
}

static inline void pool_give(struct pool *pool, int first)
{
    struct block *before = NULL, *b = pool->blocks;
    for (; b->first != first; b = b->next)
        before = b;
    b->used = false;
    if (b->next && !b->next->used)
        pool_absorb_next(b);
    if (before && !before->used)
        pool_absorb_next(before);
}

// How many granules are free, and how many of them in the largest block.
static inline void pool_look(const struct pool *pool, int *free_p, int *largest_p)
{
    *free_p = *largest_p = 0;
    for (const struct block *b = pool->blocks; b; b = b->next)
        if (!b->used) {
            *free_p += b->count;
            *largest_p = b->count > *largest_p ? b->count : *largest_p;
        }
}
