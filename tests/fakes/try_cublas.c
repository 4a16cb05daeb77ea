// SPDX-License-Identifier: MIT
// The fake libcublas: products against sums in float64.

#include "tests/fakes/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>

enum { M = 7, N = 5, K = 11, GAP = 3 }; // GAP: rows of memory beyond each matrix's

static float value(int i)
{
    return (float)((i * 37) % 19 - 9) / 8;
}

static float *upload(int count)
{
    float *host = malloc((size_t)count * sizeof *host), *device;
    assert_non_null(host);
    for (int i = 0; i < count; i++)
        host[i] = value(i);
    MUST(cudaMalloc((void **)&device, (size_t)count * sizeof *host));
    MUST(cudaMemcpy(device, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

// Values are eighths and sums short: float32 is exact.
static void multiply(cublasHandle_t handle, bool ta, bool tb, float beta)
{
    const int lda = (ta ? K : M) + GAP, ldb = (tb ? N : K) + GAP, ldc = M + GAP;
    const float alpha = 2;
    float *a = upload(lda * (ta ? M : K)), *b = upload(ldb * (tb ? K : N)), *c = upload(ldc * N), got[(M + GAP) * N];
    MUST(cublasSgemm(handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, K, &alpha, a, lda, b,
                     ldb, &beta, c, ldc));
    MUST(cudaMemcpy(got, c, sizeof got, cudaMemcpyDeviceToHost));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < ldc; i++) {
            double sum = i < M ? beta * value(j * ldc + i) : value(j * ldc + i);
            for (int k = 0; i < M && k < K; k++)
                sum += 2.0 * value(ta ? i * lda + k : k * lda + i) * value(tb ? k * ldb + j : j * ldb + k);
            if (got[j * ldc + i] != (float)sum)
                try_fail("transposed %d %d, beta %g: (%d, %d) is %g, not %g", ta, tb, beta, i, j, got[j * ldc + i],
                         sum);
        }
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    MUST(cudaFree(c));
}

static void test_sgemm_is_right_for_each_transposition(void **state)
{
    (void)state;
    cublasHandle_t handle;
    MUST(cublasCreate(&handle));
    for (int which = 0; which < 8; which++)
        multiply(handle, which & 1, which & 2, which & 4 ? 0.5f : 0);
    MUST(cublasDestroy(handle));
}

static void test_gemm_ex_takes_halves(void **state)
{
    (void)state;
    const _Float16 a[4] = {1, 2, 3, 4}, b[4] = {(_Float16)0.5, -1, 2, 0}; // columns after columns
    const float one = 1, zero = 0, exact[4] = {-2.5f, -3, 2, 4};
    float c[4], *product;
    _Float16 *of_a, *of_b;
    cublasHandle_t handle;
    MUST(cublasCreate(&handle));
    MUST(cudaMalloc((void **)&of_a, sizeof a));
    MUST(cudaMalloc((void **)&of_b, sizeof b));
    MUST(cudaMalloc((void **)&product, sizeof c));
    MUST(cudaMemcpy(of_a, a, sizeof a, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(of_b, b, sizeof b, cudaMemcpyHostToDevice));
    MUST(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, of_a, CUDA_R_16F, 2, of_b, CUDA_R_16F, 2, &zero,
                      product, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    MUST(cudaMemcpy(c, product, sizeof c, cudaMemcpyDeviceToHost));
    assert_memory_equal(c, exact, sizeof c);
    MUST_BE(CUBLAS_STATUS_INVALID_VALUE,
            cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, product, 1, product, 2, &zero, product, 2));
    MUST_BE(CUBLAS_STATUS_NOT_INITIALIZED, cublasSetStream(0, 0));
    MUST(cudaFree(of_a));
    MUST(cudaFree(of_b));
    MUST(cudaFree(product));
    MUST(cublasDestroy(handle));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgemm_is_right_for_each_transposition),
        cmocka_unit_test(test_gemm_ex_takes_halves),
    };
    return cmocka_run_group_tests(tests, 0, 0);
}
