// SPDX-License-Identifier: MIT
// Copying, with or without the caches.
// - An ordinary store reads the line that it overwrites. Where the output is too large to be found in a cache later,
//   stores around the caches save that read: a third of the traffic of a copy.
// - clab_bytes_copy decides by the size of the copy. Who copies a large thing in pieces knows better, and says _stream.
// - Not for overlapping memory. Complete on return, also in the eyes of other processes.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CLAB_STREAM_LEAST = 1 << 20 }; // no smaller output is ever streamed, so that small ones need not ask

// The size from which outputs are streamed: half of the last cache (16 MiB where its size is unknown). Asks the system
// once.
size_t clab_stream_bytes(void);

static inline bool clab_streams(size_t bytes)
{
    return bytes >= CLAB_STREAM_LEAST && bytes >= clab_stream_bytes();
}

// Whether outputs are streamed, in pieces of any size from CLAB_STREAM_LEAST on, where each of `ranks` reads and writes
// `bytes`: all of it together is twice what the last cache holds. (Of one copy, its output is half of what is touched,
// and nothing else is.)
static inline bool clab_streams_all(size_t bytes, int ranks)
{
    return bytes >= CLAB_STREAM_LEAST && bytes * (size_t)ranks / 4 >= clab_stream_bytes();
}

void clab_bytes_copy(void *out, const void *in, size_t bytes);
void clab_bytes_copy_stream(void *out, const void *in, size_t bytes);
