// SPDX-License-Identifier: MIT
// Non-temporal stores, which bypass the caches, on x86-64: the line that they overwrite is not read first.
// - Inline, for copy.c and reduce.c. On other processors they are ordinary stores.
// - Only stream_fence orders them: call it before the data is announced to anyone.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { STREAM_LINE = 64 };

// How far `memory` is below the next line.
static inline size_t stream_gap(const void *memory)
{
    return (size_t)(-(uintptr_t)memory % STREAM_LINE);
}

// Copy `lines` lines to `out`, which is aligned to a line.
static inline void stream_lines(void *out, const void *in, size_t lines)
{
#ifdef __x86_64__
    __m128i *to = out;
    const __m128i *from = in;
    for (size_t i = 0; i < 4 * lines; i += 4) {
        __m128i a = _mm_loadu_si128(from + i), b = _mm_loadu_si128(from + i + 1);
        __m128i c = _mm_loadu_si128(from + i + 2), d = _mm_loadu_si128(from + i + 3);
        _mm_stream_si128(to + i, a);
        _mm_stream_si128(to + i + 1, b);
        _mm_stream_si128(to + i + 2, c);
        _mm_stream_si128(to + i + 3, d);
    }
#else
    memcpy(out, in, lines * STREAM_LINE);
#endif
}

static inline void stream_fence(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}
