// SPDX-License-Identifier: MIT
// What runs on the GPU: kernels for the slots of struct clab_device (backend.h), whose comments say what they compute.
//
// - Arguments are numbers and pointers into the GPU's memory. Threads of a grid of any size share the work.
// - Nothing depends on the order of threads: sums of many elements go by sums of each thread, then of each of
//   NCCL_SUMS, which the processor adds up in order.
// - For C they are the addresses by which cudaLaunchKernel knows them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/numbers/expect.h"

enum { NCCL_SUMS = 256, NCCL_SUMMANDS = 256 * NCCL_SUMS }; // threads that add at most

#ifdef __CUDACC__
#define KERNEL __global__
#else
#define KERNEL
#endif

#ifdef __cplusplus
extern "C" {
#endif

// TYPES(X): X(enum, name)
#define NCCL_KERNEL_TYPES(X) \
    X(CLAB_F32, f32)         \
    X(CLAB_F64, f64)         \
    X(CLAB_F16, f16)         \
    X(CLAB_BF16, bf16)       \
    X(CLAB_I8, i8)           \
    X(CLAB_U8, u8)           \
    X(CLAB_I32, i32)         \
    X(CLAB_I64, i64)

#define X(type, name)                                                                                       \
    KERNEL void nccl_reduce_##name(enum clab_op op, const void *a, const void *b, void *out, size_t count); \
    KERNEL void nccl_scale_##name(void *data, size_t count, int divisor);
NCCL_KERNEL_TYPES(X)
#undef X

KERNEL void nccl_fill(struct clab_random random, int rank, uint64_t first, size_t count, void *out);
// counts: (threads), of wrong elements
KERNEL void nccl_check(struct clab_expected expected, struct clab_bound bound, const void *got, double *counts);

KERNEL void nccl_cast_f32_f16(const void *in, void *out, size_t count);
KERNEL void nccl_cast_f32_bf16(const void *in, void *out, size_t count);
KERNEL void nccl_cast_f16_f32(const void *in, void *out, size_t count);
KERNEL void nccl_cast_bf16_f32(const void *in, void *out, size_t count);
// The scales of nccl_quantize.
KERNEL void nccl_scales(size_t count, size_t block, const float *in, float *scales);
KERNEL void nccl_quantize(size_t count, size_t block, const float *in, const float *scales, int8_t *out);

KERNEL void nccl_add_bias(size_t rows, size_t columns, const float *bias, float *y);
KERNEL void nccl_sum_rows(size_t rows, size_t columns, const float *y, int add, float *sums);
KERNEL void nccl_relu(size_t count, float *y);
KERNEL void nccl_relu_gradient(size_t count, const float *y, float *dy);
KERNEL void nccl_axpy(size_t count, float a, const float *x, float *y);
// sums: (threads), of (y - target)^2
KERNEL void nccl_squares(size_t count, const float *y, const float *target, float *gradient, double *sums);

// sums[i] = summands i, i + NCCL_SUMS, ... in this order.  summands: (count); sums: (NCCL_SUMS)
KERNEL void nccl_sum(size_t count, const double *summands, double *sums);

#ifdef __cplusplus
}
#endif
