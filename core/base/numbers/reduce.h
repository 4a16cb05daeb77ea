// SPDX-License-Identifier: MIT
// Elementwise reduction on the CPU: out = a (op) b.
// - out may be a or b exactly, never a part of them; buffers need no alignment beyond their element's.
// - f16 and bf16 are widened to f32, reduced, and rounded to nearest even; integers wrap as two's complement.
// - CLAB_AVG reduces like CLAB_SUM; clab_elements_scale finishes it, once, on the sum.
// - min and max of floats: a NaN on either side gives a NaN (as IEEE 754-2019 minimum and maximum).
#pragma once

#include "core/base/type.h"

// out[i] = a[i] (op) b[i] for i < count elements of `type`.
void clab_elements_reduce(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count);

// The same with stores around the caches (copy.h): for a piece of a result that is larger than the caches.
// clab_elements_reduce does so itself for a whole result of that size that is not in place.
void clab_elements_reduce_nontemporal(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out,
                                      size_t count);

// data[i] = data[i] / divisor; integers truncate towards zero. 0 < divisor <= 2^24, exact as a float.
void clab_elements_scale(enum clab_type type, void *data, size_t count, int divisor);

// The instruction set in use: "avx2" or "portable", the best that this CPU runs.
const char *clab_elements_isa(void);

// Use `name` in this process from now on: for tests, and to see what vectors are worth.
//   errors: CLAB_ENOENT (no such name), CLAB_EUNSUPPORTED (this CPU or build lacks it)
int clab_elements_set_isa(const char *name);
