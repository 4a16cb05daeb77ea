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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slices.h"

struct places {
    uint64_t *bits;   // (nranks, lanes, words): written
    uint64_t *beside; // likewise; in place only
    double *touched;  // (nranks) bytes that the rank's peers have touched so far
    float *read;      // (nranks, lanes, nplaces): `touched` when a peer had read the place; below 0: nobody has, since
                      // it was copied there (-1) or summed (-2). NULL: nobody asks
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

void places_write(struct places *places, int rank, int lane, struct clab_span span);
// What was last written to the span is a sum; whether any of it is one, and nobody has read it.
void places_sum(struct places *places, int rank, int lane, struct clab_span span);
bool places_is_sum(const struct places *places, int rank, int lane, struct clab_span span);
// Forget what one lane wrote.
void places_reset_lane(struct places *places, int rank, int lane);
// Whether any chunk of the span has been written.
bool places_is_fresh(const struct places *places, int rank, int lane, struct clab_span span);
// In place: the span is received in a stage that sends it, too.
void places_swap(struct places *places, int rank, int lane, struct clab_span span);

// The rank's peers touch `bytes` more.
void places_touch(struct places *places, int rank, double bytes);
// A peer reads the span, and will have touched `bytes` more when it has. `in` out of place is written by nobody.
void places_lend(struct places *places, int rank, int lane, struct clab_span span, double bytes);
// What peers have touched since one of them read the place that the span is written to; below 0: nobody has read it.
double places_since(const struct places *places, int rank, int lane, struct clab_span span, bool beside);

// Bytes of the span that must be copied to lie in `out`; they do then.
size_t places_bring(struct places *places, const struct slices *slices, int rank, int lane, struct clab_span span);
