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

enum { PLACES_NOBODY = -1, PLACES_NOBODY_SUM = -2 }; // has read what was copied there; what was summed there

struct places {
    uint64_t *bits;     // (nranks, lanes, words): written
    uint64_t *beside;   // likewise; in place only
    double *touched;    // (nranks) bytes that the rank's peers have touched so far
    float *read;        // (nranks, lanes, nplaces): `touched` when a peer had read the place; below 0: nobody has, as
                        // PLACES_NOBODY says. NULL: nobody asks
    float *read_beside; // likewise of the other place of the chunk; in place only
    int lanes, words, nchunks, nplaces;
    bool in_place;
};

// nchunks, nscratch: of CLAB_DATA and of CLAB_SCRATCH, in one lane; lends: what peers have read is remembered, 4 bytes
// a place, in place 8.  errors: CLAB_ENOMEM
int places_init(struct places *places, int nranks, int lanes, int nchunks, int nscratch, bool in_place, bool lends);
void places_free(struct places *places);
size_t places_bytes(const struct places *places, int nranks);

// A collective begins: out of place, all of the rank's chunks lie in `in`.
void places_reset(struct places *places, int rank);
// Forget what one lane wrote.
void places_reset_lane(struct places *places, int rank, int lane);
// Bytes of the span that must be copied to lie in `out`; they do then.
size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span);

// ---- what is asked of each message, several times: in line -------------------------------------------------------

static inline size_t places_word(const struct places *places, int rank, int lane)
{
    return ((size_t)rank * (size_t)places->lanes + (size_t)lane) * (size_t)places->words;
}

static inline bool places_has(const uint64_t *bits, int chunk)
{
    return bits[(unsigned)chunk / 64] >> (unsigned)chunk % 64 & 1;
}

static inline uint64_t places_bit(int chunk)
{
    return (uint64_t)1 << (unsigned)chunk % 64;
}

// The first place of a span, in `read` or `read_beside`; NULL: it has none that is written, or nobody asks.
static inline float *places_read(const struct places *places, float *read, int rank, int lane, struct clab_span span)
{
    const size_t lanes = (size_t)rank * (size_t)places->lanes + (size_t)lane;
    const int first = span.buffer == CLAB_SCRATCH ? places->nchunks + span.first : span.first;
    return span.buffer == CLAB_INPUT || !read ? NULL : read + lanes * (size_t)places->nplaces + first;
}

// What was last written to the span is a copy, or a sum.
static inline void places_write(struct places *places, int rank, int lane, struct clab_span span, bool is_sum)
{
    uint64_t *bits = places->bits + places_word(places, rank, lane);
    float *read = places_read(places, places->read, rank, lane, span);
    for (int i = 0; read && i < span.count; i++)
        read[i] = is_sum ? PLACES_NOBODY_SUM : PLACES_NOBODY;
    for (int c = span.first; span.buffer == CLAB_DATA && c < span.first + span.count; c++)
        bits[(unsigned)c / 64] |= places_bit(c);
}

// Whether any chunk of the span has been written.
static inline bool places_is_fresh(const struct places *places, int rank, int lane, struct clab_span span)
{
    const uint64_t *bits = places->bits + places_word(places, rank, lane);
    if (span.buffer != CLAB_DATA)
        return span.buffer == CLAB_SCRATCH;
    for (int c = span.first; c < span.first + span.count; c++)
        if (places_has(bits, c))
            return true;
    return false;
}

// Whether any of the span is a sum, and nobody has read it.
static inline bool places_is_sum(const struct places *places, int rank, int lane, struct clab_span span)
{
    const float *read = places_read(places, places->read, rank, lane, span);
    if (!read || !(places->in_place || places_is_fresh(places, rank, lane, span)))
        return false;
    for (int i = 0; i < span.count; i++)
        if (read[i] == PLACES_NOBODY_SUM)
            return true;
    return false;
}

// The rank's peers touch `bytes` more.
static inline void places_touch(struct places *places, int rank, double bytes)
{
    places->touched[rank] += bytes;
}

// A peer reads the span, and will have touched `bytes` more when it has. `in` out of place is written by nobody.
static inline void places_lend(struct places *places, int rank, int lane, struct clab_span span, double bytes)
{
    float *read = places_read(places, places->read, rank, lane, span);
    if (!read || !(places->in_place || places_is_fresh(places, rank, lane, span)))
        return;
    for (int i = 0; i < span.count; i++)
        read[i] = (float)(places->touched[rank] + bytes);
}

// What peers have touched since one of them read the place that the span is written to; below 0: nobody has read it.
static inline double places_since(const struct places *places, int rank, int lane, struct clab_span span, bool beside)
{
    const float *read = places_read(places, beside ? places->read_beside : places->read, rank, lane, span);
    float last = PLACES_NOBODY;
    for (int i = 0; read && i < span.count; i++)
        last = read[i] > last ? read[i] : last;
    return last < 0 ? last : fmax(0, places->touched[rank] - (double)last);
}

// In place: the span is received in a stage that sends it, too.
static inline void places_swap(struct places *places, int rank, int lane, struct clab_span span)
{
    uint64_t *beside = places->beside + places_word(places, rank, lane);
    float *here = places_read(places, places->read, rank, lane, span);
    float *there = places_read(places, places->read_beside, rank, lane, span);
    for (int i = 0; i < span.count; i++) {
        const int c = span.first + i;
        beside[(unsigned)c / 64] ^= places_bit(c);
        if (!here)
            continue;
        const float read = here[i];
        here[i] = there[i];
        there[i] = read;
    }
}
