// SPDX-License-Identifier: MIT
// What qsort's comparisons return.
#pragma once

// -1, 0 or 1: the smaller first. With several keys, the first that differs decides (`a ?: b` is a, or b if a is 0):
//     return CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->begin, y->begin) ?: CLAB_ORDER(y->end, x->end);
#define CLAB_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

// For qsort: doubles, the smallest first.
static inline int clab_order_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return CLAB_ORDER(x, y);
}
