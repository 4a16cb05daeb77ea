// SPDX-License-Identifier: MIT
// The sizes at which a message changes its way, and how long a waiter spins. The simulator's profile has one segment
// per way, so these numbers are its boundaries, too.
#pragma once

enum {
    SHM_LINE_BYTES = 64,        // a cache line: the unit in which cores exchange data
    SHM_INLINE_BYTES = 48,      // of payload beside a line's header
    SHM_SLOT_BYTES = 8 << 10,   // a fragment of a slot message: copied while the L1 cache still holds it
    SHM_LINES = 8,              // lines, and slots, of a channel: a power of two
    SHM_PULL_SHARED = 2 << 10,  // from here on, data in the file is read in place
    SHM_PULL_READV = 32 << 10,  // from here on, other data is read by process_vm_readv (a system call a message)
    SHM_PULL_BYTES = 64 << 20,  // of a line at most: a waiting sender hears of progress that often
    SHM_READV_BLOCK = 64 << 10, // what is read before it is reduced: half of a small L2
    SHM_SPINS = 2000,           // fruitless looks before the core is given away: about 30 us, a futex wake
    SHM_YIELDS = 2000,          // and before the rank sleeps
};
