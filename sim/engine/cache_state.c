// SPDX-License-Identifier: MIT
// The bits of cache_state.h.

#include "sim/engine/cache_state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

// Places that nobody has read; NULL: there is no memory.
static float *new_places(size_t n)
{
    float *places = malloc(n * sizeof *places);
    for (size_t i = 0; places && i < n; i++)
        places[i] = CACHE_NOBODY;
    return places;
}

int cache_state_init(struct cache_state *cache, int nranks, int lanes, int nchunks, int nscratch, bool in_place,
                     bool lends)
{
    *cache = (struct cache_state){.lanes = lanes,
                                  .words = (nchunks + 63) / 64,
                                  .nchunks = nchunks,
                                  .nplaces = nchunks + nscratch,
                                  .in_place = in_place};
    const size_t all = (size_t)nranks * (size_t)lanes, words = all * (size_t)cache->words + 1;
    cache->bits = calloc(words, sizeof *cache->bits);
    cache->beside = in_place ? calloc(words, sizeof *cache->beside) : NULL;
    cache->touched = calloc((size_t)nranks, sizeof *cache->touched);
    cache->read = lends ? new_places(all * (size_t)cache->nplaces + 1) : NULL;
    cache->read_beside = lends && in_place ? new_places(all * (size_t)cache->nplaces + 1) : NULL;
    const bool complete = cache->bits && cache->touched && (cache->read || !lends);
    const bool has_other = cache->beside && (cache->read_beside || !lends);
    return complete && (has_other || !in_place) ? CLAB_OK : CLAB_ENOMEM;
}

void cache_state_free(struct cache_state *cache)
{
    free(cache->bits);
    free(cache->beside);
    free(cache->touched);
    free(cache->read);
    free(cache->read_beside);
    *cache = (struct cache_state){0};
}

size_t cache_state_bytes(const struct cache_state *cache, int nranks)
{
    if (!cache->bits)
        return 0;
    const size_t read = cache->read ? (size_t)cache->nplaces * sizeof *cache->read : 0;
    const size_t lane = (size_t)cache->words * sizeof *cache->bits + read;
    const size_t rank = (size_t)cache->lanes * lane * (cache->in_place ? 2 : 1) + sizeof *cache->touched;
    return (size_t)nranks * rank;
}

void cache_state_reset_lane(struct cache_state *cache, int rank, int lane)
{
    memset(cache->bits + cache_state_word(cache, rank, lane), 0, (size_t)cache->words * sizeof *cache->bits);
}

void cache_state_reset(struct cache_state *cache, int rank)
{
    if (!cache->in_place)
        for (int lane = 0; lane < cache->lanes; lane++)
            cache_state_reset_lane(cache, rank, lane);
}

static size_t bring_home(struct cache_state *cache, const struct slices *slices, int rank, int lane,
                         struct clab_span span)
{
    const uint64_t *beside = cache->beside + cache_state_word(cache, rank, lane);
    size_t bytes = 0;
    for (int c = span.first; c < span.first + span.count; c++)
        if (cache_state_has(beside, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            cache_state_swap(cache, rank, lane, (struct clab_span){CLAB_DATA, c, 1});
            cache_state_write(cache, rank, lane, (struct clab_span){CLAB_DATA, c, 1}, false);
        }
    return bytes;
}

size_t cache_state_bring(struct cache_state *cache, const struct slices *slices, int rank, int lane,
                         struct clab_span span)
{
    const uint64_t *bits = cache->bits + cache_state_word(cache, rank, lane);
    size_t bytes = 0;
    if (span.buffer != CLAB_DATA)
        return 0;
    if (cache->in_place)
        return bring_home(cache, slices, rank, lane, span);
    for (int c = span.first; c < span.first + span.count; c++) {
        if (c % 64 == 0 && bits[c / 64] == UINT64_MAX)
            c += 63;
        else if (!cache_state_has(bits, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            cache_state_write(cache, rank, lane, (struct clab_span){CLAB_DATA, c, 1}, false);
        }
    }
    return bytes;
}
