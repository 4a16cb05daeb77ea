// SPDX-License-Identifier: MIT
// How far the result of a collective may be off (expect.h).

#include "core/base/numbers/expect.h"

#include <math.h>

struct clab_bound clab_bound_of(enum clab_type type, enum clab_op op, int nranks)
{
    const struct clab_format f = clab_format_of(type);
    const double by_f32 = f.bytes == 2 ? 0x1p-23 : 0;                   // 16 bits are rounded twice
    const double u = ldexp(1, -(int)f.mantissa - 1) + by_f32 + 0x1p-53; // and the reference is rounded, too
    const double subnormal = ldexp(1, 2 - (1 << (f.exponent - 1)) - (int)f.mantissa);
    const double sum = (nranks - 1) * u;
    switch (op) {
    case CLAB_PROD:
        return (struct clab_bound){CLAB_RANDOM_MANY * u, 0}; // more than (1 + u)^(MANY - 1) - 1: a factor of 1 is exact
    case CLAB_MIN:
    case CLAB_MAX: return (struct clab_bound){0, 0};
    case CLAB_AVG: return (struct clab_bound){(sum + u * (1 + sum)) / nranks, subnormal};
    default: return (struct clab_bound){sum, 0};
    }
}
