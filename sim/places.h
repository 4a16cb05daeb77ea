// SPDX-License-Identifier: MIT
// Which chunks of a rank still lie in the caller's `in`, and which have been written: one bit a chunk.
// - What still lies in `in` at the end, and is wanted in `out`, must be copied there (the executor does; so does the clock).
// - What has just been written lies in its writer's cache, which is what a peer that reads it pays for.
// In place there is nothing to copy, and what a call has written is still fresh in the next.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slices.h"

struct places {
    uint64_t *bits; // (nranks, lanes, words)
    int lanes, words, nchunks;
    bool in_place;
};

// nchunks: of CLAB_DATA, in one lane.  errors: CLAB_ENOMEM
int places_init(struct places *places, int nranks, int lanes, int nchunks, bool in_place);
void places_free(struct places *places);
size_t places_bytes(const struct places *places, int nranks);

// A collective begins: out of place, all of the rank's chunks lie in `in`.
void places_reset(struct places *places, int rank);

void places_write(struct places *places, int rank, int lane, struct clab_span span);
// Whether any chunk of the span has been written.
bool places_is_fresh(const struct places *places, int rank, int lane, struct clab_span span);
// Bytes of the span that have not been written; they now count as written.
size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span);
