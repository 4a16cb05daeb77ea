// SPDX-License-Identifier: MIT
// Elements of any type as bit patterns of 64 bits, unused bits 0, and their values. This
// is independent of the library's own conversions (half.h), and checks them.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/numbers/anywhere.h"
#include "core/base/type.h"

struct clab_format {
    unsigned bytes;
    unsigned mantissa, exponent; // stored bits; 0: an integer
    bool is_signed;
};

ANYWHERE struct clab_format clab_format_of(enum clab_type type)
{
    const struct clab_format f32 = {4, 23, 8, true}, f64 = {8, 52, 11, true}, f16 = {2, 10, 5, true},
                             bf16 = {2, 7, 8, true}, i8 = {1, 0, 0, true}, u8 = {1, 0, 0, false}, i32 = {4, 0, 0, true},
                             i64 = {8, 0, 0, true};
    switch (type) {
    case CLAB_F32: return f32;
    case CLAB_F64: return f64;
    case CLAB_F16: return f16;
    case CLAB_BF16: return bf16;
    case CLAB_I8: return i8;
    case CLAB_U8: return u8;
    case CLAB_I32: return i32;
    default: return i64;
    }
}

ANYWHERE bool clab_is_float(enum clab_type type)
{
    return clab_format_of(type).exponent > 0;
}

// Element `i` of `elements`, whatever their type: they are aligned to it.
ANYWHERE uint64_t clab_pattern_at(const void *elements, uint64_t i, unsigned bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: memcpy(&one, (const uint8_t *)elements + i, 1); return one;
    case 2: memcpy(&two, (const uint16_t *)elements + i, 2); return two;
    case 4: memcpy(&four, (const uint32_t *)elements + i, 4); return four;
    default: memcpy(&eight, (const uint64_t *)elements + i, 8); return eight;
    }
}

ANYWHERE void clab_pattern_put(void *elements, uint64_t i, unsigned bytes, uint64_t bits)
{
    const uint8_t one = (uint8_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint32_t four = (uint32_t)bits;
    switch (bytes) {
    case 1: memcpy((uint8_t *)elements + i, &one, 1); break;
    case 2: memcpy((uint16_t *)elements + i, &two, 2); break;
    case 4: memcpy((uint32_t *)elements + i, &four, 4); break;
    default: memcpy((uint64_t *)elements + i, &bits, 8);
    }
}

// What a pattern means, of an integer type.
ANYWHERE int64_t clab_pattern_integer(uint64_t bits, enum clab_type type)
{
    const struct clab_format f = clab_format_of(type);
    const unsigned unused = 64 - 8 * f.bytes;
    return f.is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)(bits << unused >> unused);
}

ANYWHERE double clab_pattern_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// An f16's exponent and mantissa, moved into those of an f32, are too small by 2^112, subnormal or not; from 2^16 on
// they are infinity's and NaN's, which an exponent of 255 makes.
ANYWHERE double clab_pattern_f16(uint64_t bits)
{
    const uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13;
    const bool special = (bits & 0x7c00) == 0x7c00;
    const double value = special ? clab_pattern_f32(magnitude | 0x7f800000) : clab_pattern_f32(magnitude) * 0x1p112;
    return bits & 0x8000 ? -value : value;
}

// Likewise of a float type.
ANYWHERE double clab_pattern_double(uint64_t bits, enum clab_type type)
{
    double value;
    switch (type) {
    case CLAB_F32: return clab_pattern_f32((uint32_t)bits);
    case CLAB_BF16: return clab_pattern_f32((uint32_t)bits << 16);
    case CLAB_F16: return clab_pattern_f16(bits);
    default: memcpy(&value, &bits, sizeof value); return value;
    }
}
