// SPDX-License-Identifier: MIT
// The 16-bit floats, one value at a time: f16 is IEEE 754 binary16, bf16 is the upper half of a binary32.
// - Inline and without branches, so that loops over them become vectors (reduce.c).
// - Narrowing rounds to nearest even. A NaN stays a NaN: quiet, with the payload that fits. Minimum and maximum of a
//   NaN are NaN.
// - Correct even if the caller's program flushes subnormals to zero: no subnormal float is an operand that matters.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/numbers/anywhere.h"

ANYWHERE uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ANYWHERE float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ANYWHERE float bf16_widen(uint16_t half)
{
    return float_from_bits((uint32_t)half << 16);
}

// Half of the last kept bit, less one where that bit is 0, carries exactly when nearest-even rounds up. A NaN must have
// no payload in the lower half, where rounding could carry out of it: so it is with what comes of bf16 operands.
ANYWHERE uint16_t bf16_round(float value)
{
    uint32_t bits = float_bits(value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

ANYWHERE uint16_t bf16_narrow(float value)
{
    return value != value ? (uint16_t)(float_bits(value) >> 16 | 0x40) : bf16_round(value);
}

// binary16 is 1 sign, 5 exponent (bias 15), 10 fraction bits; binary32 is 1, 8 (bias 127), 23.
ANYWHERE float f16_widen(uint16_t half)
{
    const uint32_t rebias = (127 - 15) << 23, infinite = 0x1f << 23;
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t normal = magnitude + rebias;
    uint32_t special = normal + rebias; // exponent 31 becomes 255
    // A subnormal is fraction * 2^-24: put the exponent of 2^-14 before the fraction, and subtract 2^-14.
    uint32_t small = float_bits(float_from_bits(normal + (1 << 23)) - 0x1p-14f);
    uint32_t bits = magnitude < 1 << 23 ? small : magnitude >= infinite ? special : normal;
    return float_from_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

ANYWHERE uint16_t f16_narrow(float value)
{
    const uint32_t rebias = (127 - 15) << 23, infinite = 0xff << 23;
    uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13; // carries into infinity from 65520 on
    // Below 2^-14: the last bit of a float at 0.5 weighs 2^-24 as that of a subnormal half does, so the addition
    // rounds.
    uint32_t small = float_bits(float_from_bits(magnitude) + 0.5f) - float_bits(0.5f);
    uint32_t special = magnitude > infinite ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t half = magnitude < float_bits(0x1p-14f) ? small : magnitude >= float_bits(0x1p16f) ? special : normal;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

// The lesser of two halves of either format, whose infinity is given, without widening: the bits of a float below its
// sign order like integers, turned around where the sign is set. A NaN is less than all.
ANYWHERE uint16_t half_minimum(uint16_t a, uint16_t b, uint16_t infinity)
{
    int16_t a_order = (int16_t)(a & 0x8000 ? a ^ 0x7fff : a), b_order = (int16_t)(b & 0x8000 ? b ^ 0x7fff : b);
    bool a_nan = (a & 0x7fff) > infinity, b_nan = (b & 0x7fff) > infinity;
    return a_nan | (!b_nan & (a_order < b_order)) ? a : b;
}

ANYWHERE uint16_t half_maximum(uint16_t a, uint16_t b, uint16_t infinity)
{
    return half_minimum(a ^ 0x8000, b ^ 0x8000, infinity) ^ 0x8000;
}
