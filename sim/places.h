// SPDX-License-Identifier: MIT Where the chunks of a rank lie, as far as it costs something: a bit or two a chunk, kept
// as the executor's compiler does.
// - Out of place, what still lies in `in` at the end, and is wanted in `out`, must be copied there.
// - What has just been written lies in its writer's cache, which is what a peer that reads it pays for.
// - In place, what is sent and received in one stage lands beside, and back again at the next such stage. After an odd
//   number of them it must be copied home at the end. What a call has written is still fresh in the next.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slices.h"

struct places {
    uint64_t *bits;   // (nranks, lanes, words): written
    uint64_t *beside; // likewise; in place only
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
// Forget what one lane wrote.
void places_reset_lane(struct places *places, int rank, int lane);
// Whether any chunk of the span has been written.
bool places_is_fresh(const struct places *places, int rank, int lane, struct clab_span span);
// In place: the span is received in a stage that sends it, too.
void places_swap(struct places *places, int rank, int lane, struct clab_span span);
// Bytes of the span that must be copied to lie in `out`; they do then.
size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span);
