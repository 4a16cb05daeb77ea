// SPDX-License-Identifier: MIT
// What a training step computes, in plain loops: the reference, and what there is where no BLAS is.
//
// - Every element's sum has one order, whatever the sizes and the compiler's vectors: no -ffast-math, no fused
//   multiply-add (-std=c11 contracts nothing). So results are the same to the bit on all machines.
// - A product goes by tiles of b, which are copied so that all four transpositions run the same inner loop: one row of
//   a tile times one element of a, into sums that the compiler keeps in registers.

#include "backends/cpu/inside.h"

#include <string.h>

enum { WIDTH = 32, DEPTH = 128 }; // of a tile: 16 KiB, which stays in the first cache

// tile (depth, WIDTH) = what op(b) has from row k0 and column j0 on; columns that it does not have are 0.
static void take_tile(const struct clab_gemm *g, size_t k0, size_t depth, size_t j0, size_t width,
                      float tile[DEPTH][WIDTH])
{
    memset(tile, 0, depth * sizeof *tile);
    for (size_t k = 0; k < depth; k++)
        for (size_t j = 0; j < width; j++)
            tile[k][j] = g->transpose_b ? g->b[(j0 + j) * g->k + k0 + k] : g->b[(k0 + k) * g->n + j0 + j];
}

// c[i][j0 ...] += the part of its products that has to do with `tile`.
static void add_row(const struct clab_gemm *g, size_t i, size_t k0, size_t depth, size_t j0, size_t width,
                    float tile[DEPTH][WIDTH])
{
    const float *a = g->transpose_a ? g->a + k0 * g->m + i : g->a + i * g->k + k0;
    const size_t stride = g->transpose_a ? g->m : 1;
    float sums[WIDTH] = {0}, *c = g->c + i * g->n + j0;
    memcpy(sums, c, width * sizeof *c);
    for (size_t k = 0; k < depth; k++) {
        const float factor = a[k * stride];
        for (size_t j = 0; j < WIDTH; j++)
            sums[j] += factor * tile[k][j];
    }
    memcpy(c, sums, width * sizeof *c);
}

void clab_loops_gemm(const struct clab_gemm *g)
{
    float tile[DEPTH][WIDTH];
    if (!g->add)
        memset(g->c, 0, g->m * g->n * sizeof *g->c);
    for (size_t j0 = 0; j0 < g->n; j0 += WIDTH)
        for (size_t k0 = 0; k0 < g->k; k0 += DEPTH) {
            const size_t width = g->n - j0 < WIDTH ? g->n - j0 : WIDTH, depth = g->k - k0 < DEPTH ? g->k - k0 : DEPTH;
            take_tile(g, k0, depth, j0, width, tile);
            for (size_t i = 0; i < g->m; i++)
                add_row(g, i, k0, depth, j0, width, tile);
        }
}

void clab_loops_set(void *data, int byte, size_t bytes)
{
    if (bytes > 0)
        memset(data, byte, bytes);
}

void clab_loops_add_bias(size_t rows, size_t columns, const float *bias, float *y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            y[i * columns + j] += bias[j];
}

void clab_loops_sum_rows(size_t rows, size_t columns, const float *y, bool add, float *sums)
{
    if (!add)
        memset(sums, 0, columns * sizeof *sums);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            sums[j] += y[i * columns + j];
}

void clab_loops_relu(size_t count, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = y[i] < 0 ? 0 : y[i]; // a NaN stays one
}

void clab_loops_relu_gradient(size_t count, const float *y, float *dy)
{
    for (size_t i = 0; i < count; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}

void clab_loops_axpy(size_t count, float a, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

double clab_loops_squares(size_t count, const float *y, const float *target, float *gradient)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float difference = y[i] - target[i];
        sum += (double)difference * difference;
        gradient[i] = 2 * difference / (float)count;
    }
    return count ? sum / (double)count : 0;
}
