// SPDX-License-Identifier: MIT
// The bits of places.h.

#include "places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const float nobody = -1, nobody_sum = -2; // has read what was copied there; what was summed there

// Places that nobody has read; NULL: there is no memory.
static float *new_places(size_t n)
{
    float *places = malloc(n * sizeof *places);
    for (size_t i = 0; places && i < n; i++)
        places[i] = nobody;
    return places;
}

int places_init(struct places *places, int nranks, int lanes, int nchunks, int nscratch, bool in_place, bool lends)
{
    *places = (struct places){.lanes = lanes,
                              .words = (nchunks + 63) / 64,
                              .nchunks = nchunks,
                              .nplaces = nchunks + nscratch,
                              .in_place = in_place};
    const size_t all = (size_t)nranks * (size_t)lanes, words = all * (size_t)places->words + 1;
    places->bits = calloc(words, sizeof *places->bits);
    places->beside = in_place ? calloc(words, sizeof *places->beside) : NULL;
    places->touched = calloc((size_t)nranks, sizeof *places->touched);
    places->read = lends ? new_places(all * (size_t)places->nplaces + 1) : NULL;
    places->read_beside = lends && in_place ? new_places(all * (size_t)places->nplaces + 1) : NULL;
    const bool complete = places->bits && places->touched && (places->read || !lends);
    const bool has_other = places->beside && (places->read_beside || !lends);
    return complete && (has_other || !in_place) ? CLAB_OK : CLAB_ENOMEM;
}

void places_free(struct places *places)
{
    free(places->bits);
    free(places->beside);
    free(places->touched);
    free(places->read);
    free(places->read_beside);
    *places = (struct places){0};
}

size_t places_bytes(const struct places *places, int nranks)
{
    if (!places->bits)
        return 0;
    const size_t read = places->read ? (size_t)places->nplaces * sizeof *places->read : 0;
    const size_t lane = (size_t)places->words * sizeof *places->bits + read;
    const size_t rank = (size_t)places->lanes * lane * (places->in_place ? 2 : 1) + sizeof *places->touched;
    return (size_t)nranks * rank;
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

// The first place of a span, in `read` or `read_beside`; NULL: it has none that is written, or nobody asks.
static float *read_of(const struct places *places, float *read, int rank, int lane, struct clab_span span)
{
    const size_t lanes = (size_t)rank * (size_t)places->lanes + (size_t)lane;
    const int first = span.buffer == CLAB_SCRATCH ? places->nchunks + span.first : span.first;
    return span.buffer == CLAB_INPUT || !read ? NULL : read + lanes * (size_t)places->nplaces + first;
}

void places_write(struct places *places, int rank, int lane, struct clab_span span)
{
    uint64_t *bits = bits_of(places, rank, lane);
    float *read = read_of(places, places->read, rank, lane, span);
    for (int i = 0; read && i < span.count; i++)
        read[i] = nobody;
    for (int c = span.first; span.buffer == CLAB_DATA && c < span.first + span.count; c++)
        bits[c / 64] |= (uint64_t)1 << c % 64;
}

void places_sum(struct places *places, int rank, int lane, struct clab_span span)
{
    float *read = read_of(places, places->read, rank, lane, span);
    for (int i = 0; read && i < span.count; i++)
        read[i] = nobody_sum;
}

bool places_is_sum(const struct places *places, int rank, int lane, struct clab_span span)
{
    const float *read = read_of(places, places->read, rank, lane, span);
    if (!read || !(places->in_place || places_is_fresh(places, rank, lane, span)))
        return false;
    for (int i = 0; i < span.count; i++)
        if (read[i] == nobody_sum)
            return true;
    return false;
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
    float *here = read_of(places, places->read, rank, lane, span);
    float *there = read_of(places, places->read_beside, rank, lane, span);
    for (int i = 0; i < span.count; i++) {
        const int c = span.first + i;
        beside[c / 64] ^= (uint64_t)1 << c % 64;
        if (!here)
            continue;
        const float read = here[i];
        here[i] = there[i];
        there[i] = read;
    }
}

void places_touch(struct places *places, int rank, double bytes)
{
    places->touched[rank] += bytes;
}

void places_lend(struct places *places, int rank, int lane, struct clab_span span, double bytes)
{
    float *read = read_of(places, places->read, rank, lane, span);
    if (!read || !(places->in_place || places_is_fresh(places, rank, lane, span)))
        return;
    for (int i = 0; i < span.count; i++)
        read[i] = (float)(places->touched[rank] + bytes);
}

double places_since(const struct places *places, int rank, int lane, struct clab_span span, bool beside)
{
    const float *read = read_of(places, beside ? places->read_beside : places->read, rank, lane, span);
    float last = nobody;
    for (int i = 0; read && i < span.count; i++)
        last = read[i] > last ? read[i] : last;
    return last < 0 ? last : fmax(0, places->touched[rank] - (double)last);
}

static size_t bring_home(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span)
{
    const uint64_t *beside = places->beside + word_of(places, rank, lane);
    size_t bytes = 0;
    for (int c = span.first; c < span.first + span.count; c++)
        if (is_set(beside, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            places_swap(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1});
            places_write(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1});
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
