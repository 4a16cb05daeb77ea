// SPDX-License-Identifier: MIT
// Starts the kernels of sample.cu; each answers cudaGetLastError.
#pragma once

#include <cuda_runtime_api.h>

int sample_start_axpy(float *y, const float *x, float a, size_t n, cudaStream_t stream);
int sample_start_cells(int *cells, int rows, int columns, cudaStream_t stream);
int sample_start_cast(const float *x, float *by_half, float *by_bf16, size_t n, cudaStream_t stream);
int sample_start_without_host_version(int *cell);
