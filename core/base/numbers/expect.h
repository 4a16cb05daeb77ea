// SPDX-License-Identifier: MIT
// What a collective must have made of random elements (random.h), element by element, and the allowed error.
// - Integers, and data that was only moved, must be equal to the bit; integers wrap.
// - A float sum, in any order, of P values x: |result - reference| <= (P - 1) u sum |x|, with the unit roundoff u of
//   the type. Source: Higham 2002, section 4.2; without its second order terms Jeannerod and Rump 2013.
// - Large results are checked in windows: every `stride`-th, and those at both ends.
#pragma once

#include <math.h>

#include "core/base/numbers/random.h"

enum { CLAB_ALL_RANKS = -1, CLAB_WINDOW = 512 }; // elements

// What a buffer must hold: elements [first, first + count) of what `rank` gives, or of what all give, reduced by `op`.
struct clab_expected {
    struct clab_random random;
    int rank; // or CLAB_ALL_RANKS
    enum clab_op op;
    uint64_t first, count;
    uint64_t stride, shift; // windows w are looked at where (w + shift) % stride is 0; 1, 0: all are
};

// How far a float result may be from the reference: `relative` to the sum of all |x|, or to the |product|, and `least`.
struct clab_bound {
    double relative, least;
};
struct clab_bound clab_bound_of(enum clab_type type, enum clab_op op, int nranks);

ANYWHERE bool clab_window_is_looked_at(const struct clab_expected *e, uint64_t window)
{
    const uint64_t last = (e->count - 1) / CLAB_WINDOW;
    return e->stride == 1 || window == 0 || window == last || (window + e->shift) % e->stride == 0;
}

ANYWHERE int64_t clab_combine_integers(enum clab_op op, int64_t a, int64_t b)
{
    switch (op) {
    case CLAB_PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    case CLAB_MIN: return a < b ? a : b;
    case CLAB_MAX: return a < b ? b : a;
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

ANYWHERE double clab_combine_floats(enum clab_op op, double a, double b)
{
    switch (op) {
    case CLAB_PROD: return a * b;
    case CLAB_MIN: return a < b ? a : b;
    case CLAB_MAX: return a < b ? b : a;
    default: return a + b;
    }
}

// The pattern that an integer result must have. combined: of all ranks
ANYWHERE uint64_t clab_integer_result(enum clab_op op, enum clab_type type, int nranks, int64_t combined)
{
    const uint64_t used = UINT64_MAX >> (64 - 8 * clab_format_of(type).bytes);
    if (op == CLAB_AVG) // a sum wraps before it is divided
        combined = clab_pattern_integer((uint64_t)combined & used, type) / nranks;
    return (uint64_t)combined & used;
}

// Whether a float result is wrong: a NaN is. sizes: what the bound is relative to
ANYWHERE bool clab_float_is_wrong(double got, double expected, double sizes, struct clab_bound bound)
{
    return !(fabs(got - expected) <= bound.relative * sizes + bound.least);
}
