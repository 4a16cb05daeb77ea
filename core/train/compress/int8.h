// SPDX-License-Identifier: MIT
// Floats as codes of 8 bits with a scale that the caller gives, and sums of codes: loops that become vectors.
// - code = value / scale, rounded to nearest even, at most 127 in magnitude (core/base/numbers/quantize.h); a code read
//   back is at most half a scale away from values up to 127 scales.
// - A value that is no finite number makes the largest magnitude NaN, and so the scale, and all that is read back.
// - All arrays are (count), in the host's memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

float clab_int8_largest(const float *values, size_t count); // magnitude
void clab_int8_encode(const float *values, size_t count, float scale, int8_t *codes);
void clab_int8_decode(const int8_t *codes, size_t count, float scale, float *values);
// sums += codes: 32 bits hold sums of 2^24 ranks.
void clab_int8_add(const int8_t *codes, size_t count, int32_t *sums);
// codes = sums / ranks, rounded to nearest even.  sums: of `ranks` codes each
void clab_int8_mean(const int32_t *sums, size_t count, int ranks, int8_t *codes);
