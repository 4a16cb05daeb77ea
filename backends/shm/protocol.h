// SPDX-License-Identifier: MIT
// The message sizes at which the protocol changes, and how long a waiter spins. The simulator's profile has one segment
// per protocol, so these numbers are its boundaries, too.
#pragma once

enum {
    SHM_LINE_BYTES = 64,         // a cache line: the unit in which cores exchange data
    SHM_INLINE_BYTES = 48,       // of payload beside a line's header
    SHM_INLINE_MOST = 144,       // bytes of a message that goes in lines alone: three of them
    SHM_SLOT_BYTES = 8 << 10,    // a fragment of a slot message: copied while the L1 cache still holds it
    SHM_LINES = 256,             // lines of a channel: a power of two
    SHM_SLOTS = 8,               // slots of a channel: a power of two
    SHM_STREAM = 8,              // sends, and no receive among them: a stream in one direction
    SHM_AHEAD = 4,               // lines that the sender of a stream asks for ahead
    SHM_BEHIND = 16,             // lines that wait for a receiver: it is behind
    SHM_PULL_SHARED = 4 << 10,   // from here on, data in the file is read in place
    SHM_PULL_CROWDED = 16 << 10, // the same where ranks outnumber cores: a sender that waits gives its core away
    SHM_LONG = 32 << 10,         // from here on, a send waits for its receiver in any case
    SHM_PULL_BYTES = 64 << 20,   // of a line at most, so that a waiting sender learns of progress
    SHM_SPINS = 2000,  // fruitless polls before the rank yields its core: about 30 us, as long as a futex wake
    SHM_YIELDS = 2000, // fruitless polls after that, before the rank sleeps
};
