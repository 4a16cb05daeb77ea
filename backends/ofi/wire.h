// SPDX-License-Identifier: MIT
// How messages are named on the wire and handed to the provider.
//
// - The tag, from its lowest bit: number of the message (12 bits), units taken (12; in a segment, its place
//   among the message's segments), lane (5), source (10), kind (4), and the receiver's mark, 20 bits at most (key.h): a
//   late message to another endpoint that had this address before finds no buffer.
// - The provider's data of a message hold the receiver's key, and with an eager part the call (16 bits).
// - Immediate data (uint64_t immediate) are the call and the message's bytes (48 bits), on which both ends must agree.
//   The eager part of a longer message has its bytes in 8 bytes of its own behind it. Where immediate data have the call,
//   these may hold OFI_ALSO_READY and a number: READY for that message, of the same call, lane and length, the
//   other way. So ranks that exchange long messages need no READY of its own.
// - READY and TAKEN are 8 bytes of immediate data; those of TAKEN are described below.
#pragma once

#include "backends/ofi/endpoint.h"

enum ofi_word {
    OFI_EAGER,       // a whole message
    OFI_READY,       // for the rest of a message
    OFI_TAKEN,       // acknowledges units taken, as every tag does; it carries nothing else but OFI_HAS_MET_ALL
    OFI_BYE,         // the last message
    OFI_HEAD,        // the first bytes of a longer message
    OFI_PACKET,      // several messages of any lanes, each with a head (packets.c); its number is 0
    OFI_SEGMENT = 8, // of a message; goes to the buffer that was posted for it
};

// Immediate data of a TAKEN: the sender is connected with all ranks. The other bits: the sender's address of its
// connection with the receiver (connections.h).
enum { OFI_HAS_MET_ALL = 1 };
enum { OFI_ALSO_READY = 1 << 15 };
enum { OFI_NUMBER_BITS = 12, OFI_NUMBERS = 1 << OFI_NUMBER_BITS, OFI_TAG_BITS = 43 }; // without the mark
enum { OFI_AHEAD = OFI_NUMBERS / 4 }; // messages that a receive may begin before the first of them comes

struct ofi_name {
    enum ofi_word word;
    int source, lane;
    uint32_t number, taken; // modulo OFI_NUMBERS; SEGMENT: taken is its place
};

struct ofi_name ofi_name_of(uint64_t tag);
uint64_t ofi_immediate(uint16_t call, size_t bytes);
size_t ofi_immediate_bytes(uint64_t immediate);
uint16_t ofi_immediate_call(uint64_t immediate);

// How far `number` is ahead of `from`; negative: behind.
static inline int ofi_ahead(uint32_t number, uint32_t from)
{
    const int distance = (int)((number - from) % OFI_NUMBERS);
    return distance < OFI_NUMBERS / 2 ? distance : distance - OFI_NUMBERS;
}

// As many of the `random` bits as a tag of `tag_bits` bits has room for, at their place in it.
uint64_t ofi_mark(uint64_t random, int tag_bits);

// All of these return whether the provider has taken the request. If not, try again after some progress, unless e->err
// is set.

// A control message: immediate data, but no bytes of a transfer.
bool ofi_wire_control(struct ofi_endpoint *e, int peer, enum ofi_word word, int lane, uint32_t number,
                      uint64_t immediate);
// The eager part of message `number`: all of `t`, and small enough to be copied, so that `t` is done.
bool ofi_wire_eager_copy(struct ofi_endpoint *e, const struct clab_transfer *t, uint32_t number);
// The packet of `request`, whose memory holds request->bytes, to `peer`.
bool ofi_wire_packet(struct ofi_endpoint *e, int peer, int lane, struct ofi_request *request);
// The eager part of the message of `op`. Its completion is reported to `op`.
bool ofi_wire_eager(struct ofi_endpoint *e, struct ofi_op *op);
// The next segment of `op`, from op->posted on: sent, or its buffer posted.
bool ofi_wire_segment(struct ofi_endpoint *e, struct ofi_op *op);
// A buffer of the pool, for whatever comes; or that of a segment, once more.
bool ofi_wire_post(struct ofi_endpoint *e, struct ofi_request *request);
