// SPDX-License-Identifier: MIT
// Copying (copy.h). Up to the caches' size the C library's memcpy is as fast as any; above, some choose ordinary
// stores.

#include "core/base/numbers/copy.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "core/base/machine/machine.h"
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

// ---- string instructions -------------------------------------------------------------------------------------

#ifdef __x86_64__
// From how many bytes on the instruction is fast: processors say so by the bits FSRM (any) and ERMS (long ones).
static size_t find_least_string(void)
{
    enum { ERMS_LEAST = 2048 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return SIZE_MAX;
    return d & 1u << 4 ? 1 : b & 1u << 9 ? ERMS_LEAST : SIZE_MAX;
}

static size_t least_string(void)
{
    static atomic_size_t known;
    size_t least = atomic_load_explicit(&known, memory_order_relaxed);
    if (least == 0) {
        least = find_least_string();
        atomic_store_explicit(&known, least, memory_order_relaxed);
    }
    return least;
}

void clab_bytes_copy_string(void *out, const void *in, size_t bytes)
{
    if (bytes >= least_string())
        __asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
    else
        clab_bytes_copy(out, in, bytes);
}
#else
void clab_bytes_copy_string(void *out, const void *in, size_t bytes)
{
    clab_bytes_copy(out, in, bytes);
}
#endif
