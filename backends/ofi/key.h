// SPDX-License-Identifier: MIT
// The key by which a rank recognises messages of members. Each endpoint draws a random key when it opens, and gives it
// to the members in the bootstrap's exchange. A member puts the receiver's key into each message.
//
// - Any process that reaches a rank's port can send to it, and libfabric delivers every message that fits a posted
//   buffer. The key is checked before all else (progress.c). A message without it changes only a counter.
// - It keeps out a process that can connect, but not one that can read the network: key and data are not encrypted.
// - All members use one key: it does not tell one member from another.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { OFI_CALL_BITS = 16 };

struct ofi_key {
    uint64_t word; // travels beside each message; its lowest OFI_CALL_BITS are left for the call, and the rest is not 0
    uint64_t mark; // the highest bits of each tag: a message with others stays with the provider, without a buffer
};

// For tags of `tag_bits` bits.
//   errors: CLAB_ESYS, logged
int ofi_key_draw(int tag_bits, struct ofi_key *key_p);

// Messages without the key, over all endpoints of a rank. The first is reported to the user at once, later ones in
// growing intervals.
struct ofi_refusals {
    unsigned long unreported;
    double since, pause; // s: the time of the last report, and the interval until the next
};

void ofi_refusals_add(struct ofi_refusals *refusals, double now);
// The job ends: report the messages that have not been reported.
void ofi_refusals_finish(struct ofi_refusals *refusals);
