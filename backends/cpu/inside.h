// SPDX-License-Identifier: MIT
// What the CPU computes, as the slots of struct clab_device (backend.h) say.
#pragma once

#include "core/transport/backend.h"

// By OpenBLAS, or, without it, as clab_loops_gemm.
void clab_blas_gemm(const struct clab_gemm *gemm);

// Each sum is taken one product after another, from k = 0 on: the same bits wherever floats are IEEE 754's.
void clab_loops_gemm(const struct clab_gemm *gemm);

void clab_loops_set(void *data, int byte, size_t bytes);
void clab_loops_add_bias(size_t rows, size_t columns, const float *bias, float *y);
void clab_loops_sum_rows(size_t rows, size_t columns, const float *y, bool add, float *sums);
void clab_loops_relu(size_t count, float *y);
void clab_loops_relu_gradient(size_t count, const float *y, float *dy);
void clab_loops_axpy(size_t count, float a, const float *x, float *y);
double clab_loops_squares(size_t count, const float *y, const float *target, float *gradient);

// ---- data.c, cast.c ----------------------------------------------------------------------------------------

void clab_host_fill(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out);
size_t clab_host_check(const struct clab_expected *expected, const void *got);
void clab_host_cast(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count);
void clab_host_quantize(size_t count, size_t block, const float *in, int8_t *out, float *scales);
