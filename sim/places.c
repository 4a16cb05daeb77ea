// SPDX-License-Identifier: MIT
// The bits of places.h.

#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int places_init(struct places *places, int nranks, int lanes, int nchunks, bool in_place)
{
    *places = (struct places){.lanes = lanes, .words = (nchunks + 63) / 64, .nchunks = nchunks, .in_place = in_place};
    size_t words = (size_t)nranks * (size_t)lanes * (size_t)places->words + 1;
    places->bits = calloc(words, sizeof *places->bits);
    places->beside = in_place ? calloc(words, sizeof *places->beside) : NULL;
    return places->bits && (places->beside || !in_place) ? CLAB_OK : CLAB_ENOMEM;
}

void places_free(struct places *places)
{
    free(places->bits);
    free(places->beside);
    *places = (struct places){0};
}

size_t places_bytes(const struct places *places, int nranks)
{
    return (size_t)nranks * (size_t)places->lanes * (size_t)places->words * sizeof *places->bits *
           (places->in_place ? 2 : 1);
}

static size_t word_of(const struct places *places, int rank, int lane)
{
    return ((size_t)rank * (size_t)places->lanes + (size_t)lane) * (size_t)places->words;
}

static uint64_t *bits_of(const struct places *places, int rank, int lane)
{
    return places->bits + word_of(places, rank, lane);
}

static bool is_set(const uint64_t *bits, int chunk)
{
    return bits[chunk / 64] >> chunk % 64 & 1;
}

void places_reset(struct places *places, int rank)
{
    if (!places->in_place)
        memset(bits_of(places, rank, 0), 0, (size_t)places->lanes * (size_t)places->words * sizeof *places->bits);
}

void places_reset_lane(struct places *places, int rank, int lane)
{
    memset(bits_of(places, rank, lane), 0, (size_t)places->words * sizeof *places->bits);
}

void places_write(struct places *places, int rank, int lane, struct clab_span span)
{
    uint64_t *bits = bits_of(places, rank, lane);
    for (int c = span.first; span.buffer == CLAB_DATA && c < span.first + span.count; c++)
        bits[c / 64] |= (uint64_t)1 << c % 64;
}

bool places_is_fresh(const struct places *places, int rank, int lane, struct clab_span span)
{
    const uint64_t *bits = bits_of(places, rank, lane);
    if (span.buffer != CLAB_DATA)
        return span.buffer == CLAB_SCRATCH;
    for (int c = span.first; c < span.first + span.count; c++)
        if (is_set(bits, c))
            return true;
    return false;
}

void places_swap(struct places *places, int rank, int lane, struct clab_span span)
{
    uint64_t *beside = places->beside + word_of(places, rank, lane);
    for (int c = span.first; c < span.first + span.count; c++)
        beside[c / 64] ^= (uint64_t)1 << c % 64;
}

static size_t bring_home(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span)
{
    const uint64_t *beside = places->beside + word_of(places, rank, lane);
    size_t bytes = 0;
    for (int c = span.first; c < span.first + span.count; c++)
        if (is_set(beside, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            places_swap(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1});
        }
    return bytes;
}

size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span)
{
    const uint64_t *bits = bits_of(places, rank, lane);
    size_t bytes = 0;
    if (span.buffer != CLAB_DATA)
        return 0;
    if (places->in_place)
        return bring_home(places, slices, rank, lane, span);
    for (int c = span.first; c < span.first + span.count; c++) {
        if (c % 64 == 0 && bits[c / 64] == UINT64_MAX)
            c += 63;
        else if (!is_set(bits, c))
            bytes += slices_bytes(slices, lane, c, 1);
    }
    places_write(places, rank, lane, span);
    return bytes;
}
