// SPDX-License-Identifier: MIT
// Floats as int8 with one scale per block: a quarter of the bytes, and a bounded error.
// - The scale is the block's largest |x| over 127; q is x over the scale, rounded to nearest even, -127 to 127.
// - The value read back, q times the scale, is at most (1/2 + 2^-16) scale + 2^-142 away from x: |x| / 254 for the
//   largest. The second term covers scales so small that they are no normal floats.
// - A block with an infinity or a NaN has the scale NaN, and reads back as NaNs, so an overflow stays visible.
// Source: Dettmers et al. 2022 (block-wise quantization), with a linear code.
#pragma once

#include "core/base/numbers/half.h"

// The larger of `most` and |x|, or NaN once one of them is not finite.
ANYWHERE float quantize_most(float most, float x)
{
    const float size = float_from_bits(float_bits(x) & 0x7fffffff);
    const float finite = size < float_from_bits(0x7f800000) ? size : float_from_bits(0x7fc00000);
    return most != most || finite != finite ? float_from_bits(0x7fc00000) : finite > most ? finite : most;
}

ANYWHERE float quantize_scale(float most)
{
    return most / 127;
}

// Adding and subtracting 1.5 * 2^23 rounds to an integer, as every addition rounds: to nearest even.
ANYWHERE int8_t quantize_one(float x, float scale)
{
    const float ratio = scale > 0 ? x / scale : 0; // 0 for the scale NaN, too
    const float within = ratio > 127 ? 127 : ratio < -127 ? -127 : ratio;
    return (int8_t)(within + 0x1.8p23f - 0x1.8p23f);
}
