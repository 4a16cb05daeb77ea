// SPDX-License-Identifier: MIT
// Copying, with or without the caches.
// - An ordinary store first reads the line that it overwrites. If the output is too large to stay in a cache, a
//   non-temporal store saves that read: a third of a copy's memory traffic.
// - clab_bytes_copy decides by the size of the copy. A caller that copies something large in pieces calls
//   clab_bytes_copy_nontemporal.
// - The memory may not overlap. A copy is complete on return, for other processes too.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CLAB_NONTEMPORAL_LEAST = 1 << 20 }; // bytes: no smaller output goes around the caches

// Outputs from this size on are stored around the caches: half of the last cache (16 MiB where its size is unknown).
// Asks the system once.
size_t clab_nontemporal_bytes(void);

static inline bool clab_is_nontemporal(size_t bytes)
{
    return bytes >= CLAB_NONTEMPORAL_LEAST && bytes >= clab_nontemporal_bytes();
}

// Whether a call stores its outputs around the caches, in pieces from CLAB_NONTEMPORAL_LEAST on: each of `ranks` reads
// and writes `bytes`, together twice the last cache. (One copy writes half of what it touches.)
static inline bool clab_are_nontemporal(size_t bytes, int ranks)
{
    return bytes >= CLAB_NONTEMPORAL_LEAST && bytes * (size_t)ranks / 4 >= clab_nontemporal_bytes();
}

// By the processor's string instruction, where that is fast: it takes over a line without reading it first. For pieces of
// 0.1 to 64 KiB into memory that another core has just read: core/comm/PERFORMANCE.md.
void clab_bytes_copy_string(void *out, const void *in, size_t bytes);

void clab_bytes_copy(void *out, const void *in, size_t bytes);
void clab_bytes_copy_nontemporal(void *out, const void *in, size_t bytes);
