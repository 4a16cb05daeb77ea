// SPDX-License-Identifier: MIT
// The message sizes at which the protocol changes, and how long a waiter polls before it sleeps. The simulator's
// profile has one segment per protocol, so these numbers are its boundaries, too.
//
// - up to what the provider injects (info->tx_attr->inject_size; 128 bytes on tcp): copied by the sender, done at once;
// - up to OFI_EAGER_BYTES: sent at once, lands in a pool, and is copied or reduced out of it;
// - up to OFI_JOINED_BYTES: where calls that only send follow each other, several are sent as one (packets.c);
// - above: OFI_HEAD_BYTES go ahead, and the rest follows in segments once the receiver has posted buffers for them.
//
// On the loopback TCP sends pieces of 65483 bytes, and each costs about 4 us, however short it is. With libfabric's 32
// bytes, a segment of 511 KiB fills eight of them, and a packet two; 512 and 128 KiB would need one more.
#pragma once

enum {
    OFI_EAGER_BYTES = 64 << 10,    // of a message that is sent before it is received
    OFI_HEAD_BYTES = 4 << 10,      // of a longer one that go ahead; a multiple of every element
    OFI_SEGMENT_BYTES = 511 << 10, // of the rest: reduced while the cache still holds it
    OFI_SEGMENTS = 4,              // of a message whose buffers are posted at once
    OFI_UNIT_BYTES = 1 << 10,      // in which eager parts are counted, each rounded up
    OFI_WINDOW = 1024,             // units of a lane that may be sent ahead; half where ranks share cores
    OFI_PACKET_BYTES = 130880,     // of several messages together, such as three of 32 KiB with their heads
    OFI_JOINED_BYTES = 32 << 10,   // the longest message of a packet; half where ranks share cores
    OFI_JOINED = 128,              // messages of a packet
    OFI_PACKETS = 4,               // packets of an endpoint that are filled or under way
    OFI_POOL = 8,                  // buffers for eager parts, for each peer up to OFI_POOL_PEERS
    OFI_POOL_PEERS = 8,
    OFI_SPINS = 200,        // fruitless polls, of about 0.5 us, before the rank yields its core
    OFI_SPINS_CROWDED = 10, // the same, where ranks share cores and the awaited rank is on another core
    OFI_VAIN_POLLS = 2,     // polls between starting something and yielding the core
    OFI_YIELDS = 1000,      // fruitless polls after that, before the rank sleeps
};
