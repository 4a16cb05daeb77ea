// SPDX-License-Identifier: MIT
// The CPU's conversions between formats of numbers (core/base/numbers/half.h, core/base/numbers/quantize.h).

#include "backends/cpu/inside.h"

#include "core/base/numbers/half.h"
#include "core/base/numbers/quantize.h"

#define CAST(NAME, FROM, TO, CONVERT)                           \
    static void NAME(const void *in_, void *out_, size_t count) \
    {                                                           \
        const FROM *in = in_;                                   \
        TO *out = out_;                                         \
        for (size_t i = 0; i < count; i++)                      \
            out[i] = CONVERT(in[i]);                            \
    }

CAST(f16_to_f32, uint16_t, float, f16_widen)
CAST(bf16_to_f32, uint16_t, float, bf16_widen)
CAST(f32_to_f16, float, uint16_t, f16_narrow)
CAST(f32_to_bf16, float, uint16_t, bf16_narrow)

void clab_host_cast(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count)
{
    if (from == CLAB_F16)
        f16_to_f32(in, out, count);
    else if (from == CLAB_BF16)
        bf16_to_f32(in, out, count);
    else if (to == CLAB_F16)
        f32_to_f16(in, out, count);
    else
        f32_to_bf16(in, out, count);
}

// A block's scale.
static float scale_of(size_t count, const float *in)
{
    float most = 0;
    for (size_t i = 0; i < count; i++)
        most = quantize_most(most, in[i]);
    return quantize_scale(most);
}

void clab_host_quantize(size_t count, size_t block, const float *in, int8_t *out, float *scales)
{
    for (size_t first = 0, b = 0; first < count; first += block, b++) {
        const size_t n = count - first < block ? count - first : block;
        const float scale = scales[b] = scale_of(n, in + first);
        for (size_t i = first; i < first + n; i++)
            out[i] = quantize_one(in[i], scale);
    }
}
