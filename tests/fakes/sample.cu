// SPDX-License-Identifier: MIT
// Kernels of the fakes' own tests, and what launches them.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>

// y += a x, of n elements
extern "C" __global__ void sample_axpy(float *y, const float *x, float a, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        y[i] += a * x[i];
}

// Each element of a grid of two dimensions once: cells[row][column] = 100 row + column
extern "C" __global__ void sample_cells(int *cells, int rows, int columns)
{
    const int row = (int)(blockIdx.y * blockDim.y + threadIdx.y), column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row < rows && column < columns)
        cells[row * columns + column] = 100 * row + column;
}

// half and bf16 = x, and back: what is lost of each.
extern "C" __global__ void sample_cast(const float *x, float *by_half, float *by_bf16, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        by_half[i] = __half2float(__float2half(x[i]));
        by_bf16[i] = __bfloat162float(__float2bfloat16(x[i]));
    }
}

#ifdef __CUDACC__
extern "C" __global__ void sample_without_host_version(int *cell)
{
    *cell = 1;
}

extern "C" {
int sample_start_axpy(float *y, const float *x, float a, size_t n, cudaStream_t stream)
{
    sample_axpy<<<4, 64, 0, stream>>>(y, x, a, n);
    return cudaGetLastError();
}

int sample_start_cells(int *cells, int rows, int columns, cudaStream_t stream)
{
    const dim3 threads(8, 4), blocks((columns + 7) / 8, (rows + 3) / 4);
    sample_cells<<<blocks, threads, 0, stream>>>(cells, rows, columns);
    return cudaGetLastError();
}

int sample_start_cast(const float *x, float *by_half, float *by_bf16, size_t n, cudaStream_t stream)
{
    sample_cast<<<2, 32, 0, stream>>>(x, by_half, by_bf16, n);
    return cudaGetLastError();
}

int sample_start_without_host_version(int *cell)
{
    sample_without_host_version<<<1, 1>>>(cell);
    return cudaGetLastError();
}
}
#endif
