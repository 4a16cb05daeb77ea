// SPDX-License-Identifier: MIT
// 16-bit floats told by their values: a reference that shares nothing with core/base/half.h.
// - A format is the table of what each pattern is worth; narrowing searches it for the nearest, of two the even one.
// - fill_formats is a group set-up of cmocka: it fills both tables.
// Source: IEEE 754-2019, sections 3.4 and 4.3.1.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/type.h"

struct format {
    enum clab_type type;
    int fraction_bits, bias;
    uint16_t infinity;
    double values[0x7f81]; // by pattern; that of infinity is what would come next, so that rounding to it is rounding
};

static struct format f16 = {.type = CLAB_F16, .fraction_bits = 10, .bias = 15, .infinity = 0x7c00};
static struct format bf16 = {.type = CLAB_BF16, .fraction_bits = 7, .bias = 127, .infinity = 0x7f80};

static inline double value_of(const struct format *f, uint16_t magnitude)
{
    const int exponent = magnitude >> f->fraction_bits, fraction = magnitude & ((1 << f->fraction_bits) - 1);
    return exponent == 0 ? ldexp(fraction, 1 - f->bias - f->fraction_bits)
                         : ldexp(fraction + (1 << f->fraction_bits), exponent - f->bias - f->fraction_bits);
}

static inline int fill_formats(void **state)
{
    (void)state;
    for (int i = 0; i <= f16.infinity; i++)
        f16.values[i] = value_of(&f16, (uint16_t)i);
    for (int i = 0; i <= bf16.infinity; i++)
        bf16.values[i] = value_of(&bf16, (uint16_t)i);
    return 0;
}

static inline double widened(const struct format *f, uint16_t bits)
{
    const uint16_t magnitude = bits & 0x7fff;
    const double value = magnitude > f->infinity ? NAN : magnitude == f->infinity ? INFINITY : f->values[magnitude];
    return bits & 0x8000 ? -value : value;
}

// The pattern nearest to a number, of two that are as near the even one, found by halving.
static inline uint16_t narrowed(const struct format *f, double value)
{
    const double magnitude = fabs(value);
    int low = 0, high = f->infinity; // values[low] <= magnitude < values[high], or magnitude is beyond
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *(f->values[middle] <= magnitude ? &low : &high) = middle;
    }
    const double below = magnitude - f->values[low], above = f->values[high] - magnitude;
    const int nearest = below < above || (below == above && low % 2 == 0) ? low : high;
    return (uint16_t)(nearest | (signbit(value) ? 0x8000 : 0));
}

static inline bool is_nan16(const struct format *f, uint16_t bits)
{
    return (bits & 0x7fff) > f->infinity;
}
