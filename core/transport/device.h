// SPDX-License-Identifier: MIT
// Where a rank's data lies and what computes on it: the CPU, or a GPU.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/numbers/expect.h"
#include "core/base/type.h"

// A product of matrices of float32: c (m, n) = a (m, k) b (k, n), each row after row without gaps; added to c if `add`.
// A factor that is transposed lies in memory as (k, m), or (n, k). c overlaps neither.
struct clab_gemm {
    size_t m, n, k;
    const float *a, *b;
    float *c;
    bool transpose_a, transpose_b, add;
};

// Compute where the data lives: the device's memory is what the backend's alloc gives.
// - What a training step needs (core/train) is of float32; matrices are (rows, columns), row after row without gaps.
// - Outputs are one of the inputs exactly where it is said, else apart from all of them; counts may be 0. Memory is
//   aligned to its elements; to 16 bytes it is faster.
// - Each call is done when it returns, or is followed in order by the device's other calls and the backend's transfers.
//   A failure meanwhile is logged once, and returned by the next call that can return an error.
// - On one device, the same call with the same data gives the same bits; and on any, but for NaNs' payloads and where
//   it is said.
struct clab_device {
    const char *name;
    // Between memory of any kind that does not overlap: the device's, and the program's own, which no other call takes.
    // With the program's own at either end it is done when it returns.
    void (*copy)(void *out, const void *in, size_t bytes);
    // The same for a part of more than the caches hold: it may be stored around them.
    void (*copy_nontemporal)(void *out, const void *in, size_t bytes);
    // Each of the bytes becomes `byte`: 0 for zeros, 0xff for NaN and -1.
    void (*set)(void *data, int byte, size_t bytes);
    // Wait for all that was given to the device.  errors: CLAB_ENOMEM, CLAB_ESYS (logged): of any call since the last
    int (*finish)(void);
    // Seconds by the device's own clock, where it has one, from the begin to the end of what `work(of)` gives it.
    // NAN: it has failed
    double (*time)(void (*work)(void *of), void *of);

    // Seconds by the same clock that the kernels of communicators take while `work(of)` runs, which starts operations
    // and waits for them. Each operation counts from its first kernel in the first lane to its last one there. The
    // host's time before, between and after operations does not count. NAN: there is no such clock, nothing was
    // started, or the device has failed
    double (*time_calls)(void (*work)(void *of), void *of);

    // Elementwise, of all types, as core/base/numbers/reduce.h says.
    // out = a (op) b.  a, b, out: (count); out may be a or b
    void (*reduce)(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count);
    // data = data / divisor.  data: (count); 0 < divisor <= 2^24
    void (*scale)(enum clab_type type, void *data, size_t count, int divisor);

    // Random data by counter, and the check of results that were computed from it.
    // out = elements [first, first + count) that `rank` gives (core/base/numbers/random.h).  out: (count)
    void (*fill)(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out);
    // How many of the checked elements of `got` differ from the expected ones (core/base/numbers/expect.h); all of them
    // if the device fails.  got: (expected->count)
    size_t (*check)(const struct clab_expected *expected, const void *got);

    // Formats of numbers.
    // out = in, rounded to nearest even. One of the types is CLAB_F32, the other CLAB_F16 or CLAB_BF16.  in, out:
    // (count)
    void (*cast)(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count);
    // Floats as int8 with one scale per `block` of them: code times scale is at most half a scale away
    // (core/base/numbers/quantize.h).
    //   in, out: (count); scales: (count / block, rounded up); block > 0
    void (*quantize)(size_t count, size_t block, const float *in, int8_t *out, float *scales);

    // A training step.
    // c = a b. The order of its sums is the device's.
    void (*gemm)(const struct clab_gemm *gemm);
    // y += bias in each row.  y: (rows, columns); bias: (columns)
    void (*add_bias)(size_t rows, size_t columns, const float *bias, float *y);
    // sums = the sum of all rows of y; added to it if `add`.  sums: (columns)
    void (*sum_rows)(size_t rows, size_t columns, const float *y, bool add, float *sums);
    // y = max(y, 0); and what is left of its gradient dy, by the y that came of it.  y, dy: (count)
    void (*relu)(size_t count, float *y);
    void (*relu_gradient)(size_t count, const float *y, float *dy);
    // y += a x: a step of SGD, with the rate -a and the gradient x.  x, y: (count)
    void (*axpy)(size_t count, float a, const float *x, float *y);
    // gradient = 2 (y - target) / count.  The mean of (y - target)^2, summed in the device's order; NAN: it has failed
    double (*squares)(size_t count, const float *y, const float *target, float *gradient);
};
// The CPU's: products by OpenBLAS, on one thread, where the build has it.
extern const struct clab_device clab_device_cpu;
// Likewise, but by loops alone, which give the same bits on every machine.
extern const struct clab_device clab_device_plain;
// Whose products clab_device_cpu takes: "OpenBLAS 0.3.21" or "plain loops".
const char *clab_device_cpu_products(void);
