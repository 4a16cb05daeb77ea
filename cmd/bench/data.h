// SPDX-License-Identifier: MIT
// The data of a call: each rank's input, drawn from a seed, and the check of what a collective made of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cmd/bench/row.h"

struct clab_device;

// Elements [first, first + count) of the input of `rank`. They follow from `seed` alone.  out: (count)
void bench_data_fill(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                     size_t first, size_t count, void *out);

// A check of `rank` looks at one window of 512 elements out of this many, so that it stays cheap where `crowd` ranks
// share a core. 1: it looks at every element.
size_t bench_data_stride(const struct bench_row *row, int rank, int crowd);

// The number of wrong elements in `out`, among those that the check looks at.
//   out: (clab_problem_out_blocks, count). Integers and moved data must be equal, float sums and products within
//   bounds.
size_t bench_data_check(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                        const void *out, size_t stride);

// The same for `in`, which no call may have written to.  in: (clab_problem_in_blocks, count)
size_t bench_data_check_input(const struct clab_device *device, uint64_t seed, const struct bench_row *row, int rank,
                              const void *in, size_t stride);
