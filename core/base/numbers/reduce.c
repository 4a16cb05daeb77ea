// SPDX-License-Identifier: MIT
// Elementwise reduction (reduce.h). The loops are compiled once for each instruction set (reduce_loops.h), and the best
// that this CPU runs is chosen at first use from a table: ifuncs would do so too, but sanitizers start after them.

#include "core/base/numbers/reduce.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/numbers/copy.h"
#include "core/base/err.h"
#include "core/base/numbers/half.h"
#include "core/base/numbers/minimum.h"
#include "core/base/numbers/stream.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef void reduce_fn(const void *a, const void *b, void *out, size_t count);
typedef void scale_fn(void *data, size_t count, int divisor);

struct isa {
    const char *name;
    reduce_fn *reduce[CLAB_TYPE_COUNT][CLAB_OP_COUNT];
    scale_fn *scale[CLAB_TYPE_COUNT];
};

// ---- the loops, by instruction set ---------------------------------------------------------------------------

#define ISA portable
#define TARGET
#include "core/base/numbers/reduce_loops.h"

#ifdef __x86_64__

#define ISA                avx2
#define TARGET             __attribute__((target("avx2,f16c")))
#define F16_WIDEN(in, out) _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in))))
#define F16_NARROW(in, out) \
    _mm_storeu_si128((__m128i *)(out), _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT))
#include "core/base/numbers/reduce_loops.h"

static bool has_avx2(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

#endif

static bool always(void)
{
    return true;
}

// Best first.
static const struct {
    const struct isa *isa;
    bool (*runs)(void);
} isas[] = {
#ifdef __x86_64__
    {&isa_avx2, has_avx2},
#endif
    {&isa_portable, always},
};

enum { ISA_COUNT = sizeof isas / sizeof *isas };

static _Atomic(const struct isa *) chosen;

static const struct isa *current(void)
{
    const struct isa *isa = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (isa)
        return isa;
    int best = 0;
    while (!isas[best].runs())
        best++;
    atomic_store_explicit(&chosen, isas[best].isa, memory_order_relaxed);
    return isas[best].isa;
}

const char *clab_elements_isa(void)
{
    return current()->name;
}

int clab_elements_set_isa(const char *name)
{
    for (int i = 0; i < ISA_COUNT; i++) {
        if (strcmp(name, isas[i].isa->name) != 0)
            continue;
        if (!isas[i].runs())
            return CLAB_EUNSUPPORTED;
        atomic_store_explicit(&chosen, isas[i].isa, memory_order_relaxed);
        return CLAB_OK;
    }
    return CLAB_ENOENT;
}

// Strip by strip through the nearest cache, so that the loops themselves use ordinary stores.
void clab_elements_reduce_nontemporal(enum clab_type type, enum clab_op op, const void *a_, const void *b_, void *out_,
                                      size_t count)
{
    enum { STRIP_BYTES = 1024 };
    _Alignas(STREAM_LINE) char strip[STRIP_BYTES];
    const char *a = a_, *b = b_;
    char *out = out_;
    const size_t bytes = clab_type_bytes(type), per_strip = STRIP_BYTES / bytes, gap = stream_gap(out);
    const size_t head = gap % bytes == 0 ? gap / bytes : count; // no line begins with an element: an odd buffer
    reduce_fn *reduce = current()->reduce[type][op];
    size_t i = head < count ? head : count; // elements done
    reduce(a, b, out, i);
    for (; i + per_strip <= count; i += per_strip) {
        reduce(a + i * bytes, b + i * bytes, strip, per_strip);
        stream_lines(out + i * bytes, strip, STRIP_BYTES / STREAM_LINE);
    }
    reduce(a + i * bytes, b + i * bytes, out + i * bytes, count - i);
    stream_fence();
}

void clab_elements_reduce(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count)
{
    const bool in_place = out == a || out == b; // its lines are read anyhow
    if (!in_place && clab_is_nontemporal(count * clab_type_bytes(type)))
        clab_elements_reduce_nontemporal(type, op, a, b, out, count);
    else
        current()->reduce[type][op](a, b, out, count);
}

void clab_elements_scale(enum clab_type type, void *data, size_t count, int divisor)
{
    current()->scale[type](data, count, divisor);
}
