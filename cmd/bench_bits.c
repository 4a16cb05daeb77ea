// SPDX-License-Identifier: MIT
// Elements of any type as bit patterns of 64 bits, and what they mean: apart from the library's own conversions, which
// are what is being checked.

#include "bench.h"

#include <string.h>

const struct bench_format bench_formats[CLAB_TYPE_COUNT] = {
    [CLAB_F32] = {23, 8, true}, [CLAB_F64] = {52, 11, true}, [CLAB_F16] = {10, 5, true}, [CLAB_BF16] = {7, 8, true},
    [CLAB_I8] = {0, 0, true},   [CLAB_U8] = {0, 0, false},   [CLAB_I32] = {0, 0, true},  [CLAB_I64] = {0, 0, true},
};

bool bench_is_float(enum clab_type type)
{
    return bench_formats[type].exponent > 0;
}

void bench_widen(const void *from, size_t n, size_t bytes, uint64_t bits[])
{
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++)
            bits[i] = ((const uint8_t *)from)[i];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            bits[i] = ((const uint16_t *)from)[i];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            bits[i] = ((const uint32_t *)from)[i];
        break;
    default: memcpy(bits, from, n * sizeof *bits);
    }
}

void bench_narrow(const uint64_t bits[], size_t n, size_t bytes, void *to)
{
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = (uint8_t)bits[i];
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = (uint16_t)bits[i];
        break;
    case 4:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)to)[i] = (uint32_t)bits[i];
        break;
    default: memcpy(to, bits, n * sizeof *bits);
    }
}

static unsigned unused_bits(enum clab_type type)
{
    return 64 - 8 * (unsigned)clab_type_bytes(type);
}

void bench_cut(uint64_t bits[], size_t n, enum clab_type type)
{
    const uint64_t used = UINT64_MAX >> unused_bits(type);
    for (size_t i = 0; i < n; i++)
        bits[i] &= used;
}

void bench_as_integers(const uint64_t bits[], size_t n, enum clab_type type, int64_t values[])
{
    const unsigned unused = unused_bits(type);
    if (bench_formats[type].is_signed)
        for (size_t i = 0; i < n; i++)
            values[i] = (int64_t)(bits[i] << unused) >> unused;
    else
        for (size_t i = 0; i < n; i++)
            values[i] = (int64_t)(bits[i] << unused >> unused);
}

static double from_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// An f16's exponent and mantissa, moved into those of an f32, are too small by 2^112, subnormal or not.
static double from_f16(uint64_t bits)
{
    const double magnitude = from_f32((uint32_t)(bits & 0x7fff) << 13) * 0x1p112;
    const double value = magnitude < 0x1p16 ? magnitude : (bits & 0x3ff) ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
}

void bench_as_doubles(const uint64_t bits[], size_t n, enum clab_type type, double values[])
{
    switch (type) {
    case CLAB_F32:
        for (size_t i = 0; i < n; i++)
            values[i] = from_f32((uint32_t)bits[i]);
        break;
    case CLAB_BF16:
        for (size_t i = 0; i < n; i++)
            values[i] = from_f32((uint32_t)bits[i] << 16);
        break;
    case CLAB_F16:
        for (size_t i = 0; i < n; i++)
            values[i] = from_f16(bits[i]);
        break;
    default: memcpy(values, bits, n * sizeof *values);
    }
}
