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
        places[i] = PLACES_NOBODY;
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

void places_reset_lane(struct places *places, int rank, int lane)
{
    memset(places->bits + places_word(places, rank, lane), 0, (size_t)places->words * sizeof *places->bits);
}

void places_reset(struct places *places, int rank)
{
    if (!places->in_place)
        for (int lane = 0; lane < places->lanes; lane++)
            places_reset_lane(places, rank, lane);
}

static size_t bring_home(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span)
{
    const uint64_t *beside = places->beside + places_word(places, rank, lane);
    size_t bytes = 0;
    for (int c = span.first; c < span.first + span.count; c++)
        if (places_has(beside, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            places_swap(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1});
            places_write(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1}, false);
        }
    return bytes;
}

size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span)
{
    const uint64_t *bits = places->bits + places_word(places, rank, lane);
    size_t bytes = 0;
    if (span.buffer != CLAB_DATA)
        return 0;
    if (places->in_place)
        return bring_home(places, slices, rank, lane, span);
    for (int c = span.first; c < span.first + span.count; c++) {
        if (c % 64 == 0 && bits[c / 64] == UINT64_MAX)
            c += 63;
        else if (!places_has(bits, c)) {
            bytes += slices_bytes(slices, lane, c, 1);
            places_write(places, rank, lane, (struct clab_span){CLAB_DATA, c, 1}, false);
        }
    }
    return bytes;
}
