// SPDX-License-Identifier: MIT
// The lesser of two floats. A NaN on either side gives a NaN (IEEE 754-2019 minimum).
#pragma once

#include "core/base/numbers/half.h"

// Where neither is less, the bits are joined: equal zeros give the negative one, and a NaN joined with anything stays a
// NaN. Both comparisons are made always, so that the loop becomes vectors. The maximum of a, b is -minimum(-a, -b).
ANYWHERE float minimum_f32(float a, float b)
{
    bool less = a < b, more = b < a;
    float joined = float_from_bits(float_bits(a) | float_bits(b));
    return less ? a : more ? b : joined;
}

ANYWHERE double minimum_f64(double a, double b)
{
    bool less = a < b, more = b < a;
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    a_bits |= b_bits;
    double joined;
    memcpy(&joined, &a_bits, sizeof joined);
    return less ? a : more ? b : joined;
}
