// SPDX-License-Identifier: MIT
// Which chunks of a rank may have lines in a peer's cache.
//
// - Data that a peer has read stays in the peer's cache until other data evicts it. A later write to that data must
//   first invalidate each of those lines. So each rank counts the bytes that its peers touch, and each chunk's entry
//   records the count at which a peer read it. A rank knows only its own messages: in an exchange it counts as many
//   bytes as it touches itself, else the bytes that it sends.
// - The program's rules say where a chunk lies (core/program/layout.h). A chunk that alternates has two entries: one
//   for its home and one for CLAB_ALT. Nobody writes to the caller's `in`, so `in` has no entries.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/program/layout.h"

enum { CACHE_NOBODY = -1 }; // no peer has read what lies there

// Whether a rank wrote what a peer has read, while it exchanged messages: in this call so far; and not in the one before.
struct cache_takes {
    bool now, spared;
};

struct cache_state {
    double *touched;           // (nranks) bytes that the rank's peers have touched so far
    struct cache_takes *takes; // (nranks)
    float *home; // (nranks, lanes, nslots) `touched` when a peer read the chunk; below 0: one of CACHE_NOBODY...
                 // NULL: no cost depends on it
    float *alt;  // the same for the chunks' copies in CLAB_ALT; NULL: no chunk alternates
    int lanes, nslots;
    size_t at; // the first entry of the current rank and lane
};

// nslots: chunks of a rank in one lane. reads: keep an entry of 4 bytes per chunk; alternates: keep two.
//   errors: CLAB_ENOMEM
int cache_state_init(struct cache_state *cache, int nranks, int lanes, int nslots, bool reads, bool alternates);
void cache_state_free(struct cache_state *cache);
size_t cache_state_bytes(const struct cache_state *cache, int nranks);

// A call of the rank begins, after another.
static inline void cache_state_next_call(const struct cache_state *cache, int rank)
{
    cache->takes[rank] = (struct cache_takes){.spared = !cache->takes[rank].now};
}

// ---- called several times per message, so inline -------------------------------------------------------------
// Spans are of the layout's current rank and lane, whose entries begin at `at`.

// The first entry of a span that lies in `region`; NULL: there are no entries.
static inline float *cache_state_entries(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                         enum clab_region region)
{
    float *entries = region == CLAB_ALT ? cache->alt : cache->home;
    if (!entries || region == CLAB_IN)
        return NULL;
    return entries + cache->at + (layout_chunks(l, span) - l->chunks);
}

// Record a write to the span in `region`.
static inline void cache_state_write(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                     enum clab_region region)
{
    float *entries = cache_state_entries(cache, l, span, region);
    for (int i = 0; entries && i < span.count; i++)
        entries[i] = CACHE_NOBODY;
}

// The entries of the span's first *n_p chunks, which lie in one region; NULL: that region is `in`.
static inline float *cache_state_now(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                     int *n_p)
{
    const struct chunk *chunks = layout_chunks(l, span);
    *n_p = layout_run(chunks, span.count);
    return cache_state_entries(cache, l, span, chunks->region);
}

static inline struct clab_span cache_state_rest(struct clab_span span, int n)
{
    return (struct clab_span){span.buffer, span.first + n, span.count - n};
}

// Count `bytes` more that the rank's peers touch.
static inline void cache_state_touch(const struct cache_state *cache, int rank, double bytes)
{
    cache->touched[rank] += bytes;
}

// Record that a peer reads the span; it touches `bytes` while it does.
static inline void cache_state_lend(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                    double bytes)
{
    if (!cache->home || span.buffer == CLAB_INPUT)
        return;
    for (int n; span.count > 0; span = cache_state_rest(span, n)) {
        float *entries = cache_state_now(cache, l, span, &n);
        for (int i = 0; entries && i < n; i++)
            entries[i] = (float)(cache->touched[l->rank] + bytes);
    }
}

// The bytes that peers have touched since one of them read the span in `region`; below 0: no peer has read it.
static inline double cache_state_since(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                       enum clab_region region)
{
    const float *entries = cache_state_entries(cache, l, span, region);
    float last = CACHE_NOBODY;
    for (int i = 0; entries && i < span.count; i++)
        last = entries[i] > last ? entries[i] : last;
    return last < 0 ? last : fmax(0, cache->touched[l->rank] - (double)last);
}
