// SPDX-License-Identifier: MIT
// Where the chunks of a rank lie, as far as it costs something: a bit or two a chunk, kept as the executor's compiler
// does; and who may have their lines.
// - Out of place, what still lies in `in` at the end, and is wanted in `out`, must be copied there.
// - In place, what is sent and received in one stage lands beside, and back again at the next such stage. After an odd
//   number of them it must be copied home at the end.
// - What a peer has read lies in that peer's cache, until other data drives it out. Who writes it anew must take each
//   line back first. So a rank counts the bytes that its peers touch (as far as it knows: in an exchange as many as it
//   does itself, else those of the messages that it sends), and a place remembers the count at which it was read.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine/slices.h"

enum { CACHE_NOBODY = -1, CACHE_NOBODY_SUM = -2 }; // has read what was copied there; what was summed there

struct cache_state {
    uint64_t *bits;     // (nranks, lanes, words): written
    uint64_t *beside;   // likewise; in place only
    double *touched;    // (nranks) bytes that the rank's peers have touched so far
    float *read;        // (nranks, lanes, nplaces): `touched` when a peer had read the place; below 0: nobody has, as
                        // CACHE_NOBODY says. NULL: nobody asks
    float *read_beside; // likewise of the other place of the chunk; in place only
    int lanes, words, nchunks, nplaces;
    bool in_place;
};

// nchunks, nscratch: of CLAB_DATA and of CLAB_SCRATCH, in one lane; lends: what peers have read is remembered, 4 bytes
// a place, in place 8.  errors: CLAB_ENOMEM
int cache_state_init(struct cache_state *cache, int nranks, int lanes, int nchunks, int nscratch, bool in_place,
                     bool lends);
void cache_state_free(struct cache_state *cache);
size_t cache_state_bytes(const struct cache_state *cache, int nranks);

// A collective begins: out of place, all of the rank's chunks lie in `in`.
void cache_state_reset(struct cache_state *cache, int rank);
// Forget what one lane wrote.
void cache_state_reset_lane(struct cache_state *cache, int rank, int lane);
// Bytes of the span that must be copied to lie in `out`; they do then.
size_t cache_state_bring(struct cache_state *cache, const struct slices *slices, int rank, int lane,
                         struct clab_span span);

// ---- what is asked of each message, several times: in line -------------------------------------------------------

static inline size_t cache_state_word(const struct cache_state *cache, int rank, int lane)
{
    return ((size_t)rank * (size_t)cache->lanes + (size_t)lane) * (size_t)cache->words;
}

static inline bool cache_state_has(const uint64_t *bits, int chunk)
{
    return bits[(unsigned)chunk / 64] >> (unsigned)chunk % 64 & 1;
}

static inline uint64_t cache_state_bit(int chunk)
{
    return (uint64_t)1 << (unsigned)chunk % 64;
}

// The first place of a span, in `read` or `read_beside`; NULL: it has none that is written, or nobody asks.
static inline float *cache_state_read(const struct cache_state *cache, float *read, int rank, int lane,
                                      struct clab_span span)
{
    const size_t lanes = (size_t)rank * (size_t)cache->lanes + (size_t)lane;
    const int first = span.buffer == CLAB_SCRATCH ? cache->nchunks + span.first : span.first;
    return span.buffer == CLAB_INPUT || !read ? NULL : read + lanes * (size_t)cache->nplaces + first;
}

// What was last written to the span is a copy, or a sum.
static inline void cache_state_write(struct cache_state *cache, int rank, int lane, struct clab_span span, bool is_sum)
{
    uint64_t *bits = cache->bits + cache_state_word(cache, rank, lane);
    float *read = cache_state_read(cache, cache->read, rank, lane, span);
    for (int i = 0; read && i < span.count; i++)
        read[i] = is_sum ? CACHE_NOBODY_SUM : CACHE_NOBODY;
    for (int c = span.first; span.buffer == CLAB_DATA && c < span.first + span.count; c++)
        bits[(unsigned)c / 64] |= cache_state_bit(c);
}

// Whether any chunk of the span has been written.
static inline bool cache_state_is_fresh(const struct cache_state *cache, int rank, int lane, struct clab_span span)
{
    const uint64_t *bits = cache->bits + cache_state_word(cache, rank, lane);
    if (span.buffer != CLAB_DATA)
        return span.buffer == CLAB_SCRATCH;
    for (int c = span.first; c < span.first + span.count; c++)
        if (cache_state_has(bits, c))
            return true;
    return false;
}

// Whether any of the span is a sum, and nobody has read it.
static inline bool cache_state_is_sum(const struct cache_state *cache, int rank, int lane, struct clab_span span)
{
    const float *read = cache_state_read(cache, cache->read, rank, lane, span);
    if (!read || !(cache->in_place || cache_state_is_fresh(cache, rank, lane, span)))
        return false;
    for (int i = 0; i < span.count; i++)
        if (read[i] == CACHE_NOBODY_SUM)
            return true;
    return false;
}

// The rank's peers touch `bytes` more.
static inline void cache_state_touch(struct cache_state *cache, int rank, double bytes)
{
    cache->touched[rank] += bytes;
}

// A peer reads the span, and will have touched `bytes` more when it has. `in` out of place is written by nobody.
static inline void cache_state_lend(struct cache_state *cache, int rank, int lane, struct clab_span span, double bytes)
{
    float *read = cache_state_read(cache, cache->read, rank, lane, span);
    if (!read || !(cache->in_place || cache_state_is_fresh(cache, rank, lane, span)))
        return;
    for (int i = 0; i < span.count; i++)
        read[i] = (float)(cache->touched[rank] + bytes);
}

// What peers have touched since one of them read the place that the span is written to; below 0: nobody has read it.
static inline double cache_state_since(const struct cache_state *cache, int rank, int lane, struct clab_span span,
                                       bool beside)
{
    const float *read = cache_state_read(cache, beside ? cache->read_beside : cache->read, rank, lane, span);
    float last = CACHE_NOBODY;
    for (int i = 0; read && i < span.count; i++)
        last = read[i] > last ? read[i] : last;
    return last < 0 ? last : fmax(0, cache->touched[rank] - (double)last);
}

// In place: the span is received in a stage that sends it, too.
static inline void cache_state_swap(struct cache_state *cache, int rank, int lane, struct clab_span span)
{
    uint64_t *beside = cache->beside + cache_state_word(cache, rank, lane);
    float *here = cache_state_read(cache, cache->read, rank, lane, span);
    float *there = cache_state_read(cache, cache->read_beside, rank, lane, span);
    for (int i = 0; i < span.count; i++) {
        const int c = span.first + i;
        beside[(unsigned)c / 64] ^= cache_state_bit(c);
        if (!here)
            continue;
        const float read = here[i];
        here[i] = there[i];
        there[i] = read;
    }
}
