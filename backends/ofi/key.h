// SPDX-License-Identifier: MIT
// By what a rank knows the messages of members: a random key, which each endpoint draws when it opens, and tells the
// members in the bootstrap's exchange. Whoever sends to it puts the key into each message.
//
// - Any process that reaches a rank's port can send to it, and libfabric hands over what fits a posted buffer. The key
//   is looked at before anything else of a message (progress.c); one without it changes nothing but a counter.
// - It keeps out those who can connect. It does not keep out those who read the network: key and data travel in clear.
// - One key for all members: it does not tell one member from another.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { OFI_CALL_BITS = 16 };

struct ofi_key {
    uint64_t word; // travels beside each message; its lowest OFI_CALL_BITS are left for the call, and the rest is not 0
    uint64_t mark; // the highest bits of each tag: what has others stays with the provider, and takes no buffer of ours
};

// For tags of `tag_bits` bits.
//   errors: CLAB_ESYS, logged
int ofi_key_draw(int tag_bits, struct ofi_key *key_p);

// Messages that have come without the key, of all endpoints of a rank. The user hears of the first at once, and of
// later ones with pauses that grow.
struct ofi_refusals {
    unsigned long unsaid;
    double since, pause; // s: when the user heard of some last, and for how long no more is said
};

void ofi_refusals_add(struct ofi_refusals *refusals, double now);
// The job ends: the user hears of those that nothing was said of.
void ofi_refusals_finish(struct ofi_refusals *refusals);
