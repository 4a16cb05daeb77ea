// SPDX-License-Identifier: MIT
// Who may have the lines of a rank's chunks in its cache.
//
// - What a peer has read lies in that peer's cache, until other data drives it out. Who writes it anew must take each
//   line back first. So a rank counts the bytes that its peers touch (as far as it knows: in an exchange as many as it
//   does itself, else those of the messages that it sends), and a place remembers the count at which it was read.
// - The program's rules say where a chunk lies (core/program/layout.h). A chunk that alternates has two places: its
//   home and CLAB_ALT. The caller's `in` is written by nobody, so nothing is remembered of it.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/program/layout.h"

enum { CACHE_NOBODY = -1, CACHE_NOBODY_SUM = -2 }; // has read what was copied there; what was summed there

struct cache_state {
    double *touched; // (nranks) bytes that the rank's peers have touched so far
    float *home;     // (nranks, lanes, nplaces) `touched` when a peer had read the place; below 0: nobody has, as
                     // CACHE_NOBODY says. NULL: nobody asks
    float *alt;      // likewise of the chunks' other places; NULL: no chunk alternates
    int lanes, nplaces;
    size_t at; // the first place of the rank and lane at hand
};

// nplaces: chunks of a rank in one lane; reads: remember what peers have read, 4 bytes per chunk; alternates: 4 more.
//   errors: CLAB_ENOMEM
int cache_state_init(struct cache_state *cache, int nranks, int lanes, int nplaces, bool reads, bool alternates);
void cache_state_free(struct cache_state *cache);
size_t cache_state_bytes(const struct cache_state *cache, int nranks);

// ---- what is asked of each message, several times: in line -------------------------------------------------------
// The chunks are those of the layout's rank and lane at hand, which begin at `at`.

// The first place of a span that lies in `region`; NULL: nobody asks.
static inline float *cache_state_places(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                        enum clab_region region)
{
    float *places = region == CLAB_ALT ? cache->alt : cache->home;
    if (!places || region == CLAB_IN)
        return NULL;
    return places + cache->at + (layout_chunks(l, span) - l->chunks);
}

// What is written to the span in `region` is a copy, or a sum.
static inline void cache_state_write(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                     enum clab_region region, bool is_sum)
{
    float *places = cache_state_places(cache, l, span, region);
    for (int i = 0; places && i < span.count; i++)
        places[i] = is_sum ? CACHE_NOBODY_SUM : CACHE_NOBODY;
}

// The places where the first chunks of a span lie now, *n_p of them; NULL: in `in`.
static inline float *cache_state_now(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                     int *n_p)
{
    const struct chunk *chunks = layout_chunks(l, span);
    *n_p = layout_run(chunks, span.count);
    return cache_state_places(cache, l, span, chunks->region);
}

static inline struct clab_span cache_state_rest(struct clab_span span, int n)
{
    return (struct clab_span){span.buffer, span.first + n, span.count - n};
}

// Whether any of the span is a sum, and nobody has read it.
static inline bool cache_state_is_sum(const struct cache_state *cache, const struct layout *l, struct clab_span span)
{
    if (!cache->home || span.buffer == CLAB_INPUT)
        return false;
    for (int n; span.count > 0; span = cache_state_rest(span, n)) {
        const float *places = cache_state_now(cache, l, span, &n);
        for (int i = 0; places && i < n; i++)
            if (places[i] == CACHE_NOBODY_SUM)
                return true;
    }
    return false;
}

// The rank's peers touch `bytes` more.
static inline void cache_state_touch(const struct cache_state *cache, int rank, double bytes)
{
    cache->touched[rank] += bytes;
}

// A peer reads the span, and will have touched `bytes` more when it has.
static inline void cache_state_lend(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                    double bytes)
{
    if (!cache->home || span.buffer == CLAB_INPUT)
        return;
    for (int n; span.count > 0; span = cache_state_rest(span, n)) {
        float *places = cache_state_now(cache, l, span, &n);
        for (int i = 0; places && i < n; i++)
            places[i] = (float)(cache->touched[l->rank] + bytes);
    }
}

// What peers have touched since one of them read the span's places in `region`; below 0: nobody has read them.
static inline double cache_state_since(const struct cache_state *cache, const struct layout *l, struct clab_span span,
                                       enum clab_region region)
{
    const float *places = cache_state_places(cache, l, span, region);
    float last = CACHE_NOBODY;
    for (int i = 0; places && i < span.count; i++)
        last = places[i] > last ? places[i] : last;
    return last < 0 ? last : fmax(0, cache->touched[l->rank] - (double)last);
}
