// SPDX-License-Identifier: MIT
// The memory of cache_state.h.

#include "sim/engine/cache_state.h"

#include <stdlib.h>

#include "core/base/err.h"

// Entries of chunks that no peer has read; NULL: out of memory.
static float *new_entries(size_t n)
{
    float *entries = malloc((n + 1) * sizeof *entries);
    for (size_t i = 0; entries && i < n; i++)
        entries[i] = CACHE_NOBODY;
    return entries;
}

int cache_state_init(struct cache_state *cache, int nranks, int lanes, int nslots, bool reads, bool alternates)
{
    const size_t all = (size_t)nranks * (size_t)lanes * (size_t)nslots;
    *cache = (struct cache_state){.lanes = lanes, .nslots = nslots};
    cache->touched = calloc((size_t)nranks, sizeof *cache->touched);
    cache->takes = calloc((size_t)nranks, sizeof *cache->takes);
    cache->home = reads ? new_entries(all) : NULL;
    cache->alt = reads && alternates ? new_entries(all) : NULL;
    return cache->touched && cache->takes && (cache->home || !reads) && (cache->alt || !reads || !alternates) ? CLAB_OK : CLAB_ENOMEM;
}

void cache_state_free(struct cache_state *cache)
{
    free(cache->touched);
    free(cache->takes);
    free(cache->home);
    free(cache->alt);
    *cache = (struct cache_state){0};
}

size_t cache_state_bytes(const struct cache_state *cache, int nranks)
{
    const size_t place = (cache->home ? sizeof *cache->home : 0) + (cache->alt ? sizeof *cache->alt : 0);
    const size_t rank = (size_t)cache->lanes * (size_t)cache->nslots * place + sizeof *cache->touched + sizeof *cache->takes;
    return cache->touched ? (size_t)nranks * rank : 0;
}
