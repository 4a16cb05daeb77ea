// SPDX-License-Identifier: MIT
// Copying (copy.h). Up to the caches' size the C library's memcpy is as fast as any; above, some choose ordinary
// stores.

#include "core/base/numbers/copy.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/machine.h"
#include "core/base/numbers/stream.h"

size_t clab_nontemporal_bytes(void)
{
    static atomic_size_t known;
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        size_t cache = clab_machine_last_cache_bytes();
        bytes = cache > 0 ? cache / 2 : (size_t)16 << 20;
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

void clab_bytes_copy_nontemporal(void *out, const void *in, size_t bytes)
{
    const size_t head = stream_gap(out);
    if (bytes < head + STREAM_LINE) {
        if (bytes > 0)
            memcpy(out, in, bytes);
        return;
    }
    const size_t lines = (bytes - head) / STREAM_LINE, tail = head + lines * STREAM_LINE;
    memcpy(out, in, head);
    stream_lines((char *)out + head, (const char *)in + head, lines);
    memcpy((char *)out + tail, (const char *)in + tail, bytes - tail);
    stream_fence();
}

void clab_bytes_copy(void *out, const void *in, size_t bytes)
{
    if (clab_is_nontemporal(bytes))
        clab_bytes_copy_nontemporal(out, in, bytes);
    else if (bytes > 0)
        memcpy(out, in, bytes);
}
