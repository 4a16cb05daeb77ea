// SPDX-License-Identifier: MIT
// The fake libcublas: products of matrices on the CPU, in the handle's stream.
//
// - float32 (cublasSgemm), and float16, bfloat16 and float32 that are added as float32 (cublasGemmEx).
// - alpha and beta are the host's, read when the product is asked for; beta = 0 does not read C.

#include <cublas_v2.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/fake.h"

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
};

const char *clab_fake_version(void)
{
    return "fake cuBLAS of commlab: plain loops, no GPU";
}

// ---- handles -------------------------------------------------------------------------------------------------

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle_p)
{
    int devices;
    if (!handle_p || cudaGetDeviceCount(&devices))
        return handle_p ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t handle = calloc(1, sizeof *handle);
    if (!handle)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *handle_p = handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream_p)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *stream_p = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

// A workspace is for speed only.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode_p)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode_p = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

// Scalars are the host's: the device's are refused rather than misread.
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

// Sums here are always in one order.
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    (void)mode;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version_p)
{
    (void)handle;
    *version_p = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType kind, int *value_p)
{
    *value_p = kind == MAJOR_VERSION ? CUBLAS_VER_MAJOR : kind == MINOR_VERSION ? CUBLAS_VER_MINOR : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

static const char *name_of(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "unknown status of the fake cuBLAS";
    }
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return name_of(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return name_of(status);
}

// ---- products ------------------------------------------------------------------------------------------------

// C = alpha op(A) op(B) + beta C, all column after column, as cuBLAS has it.
struct product {
    bool transpose_a, transpose_b;
    int m, n, k, lda, ldb, ldc, device;
    float alpha, beta;
    const void *a, *b;
    void *c;
    cudaDataType type_a, type_b, type_c;
};

static size_t size_of(cudaDataType type)
{
    return type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 0;
}

static float load(const void *data, size_t i, cudaDataType type)
{
    if (type == CUDA_R_32F)
        return ((const float *)data)[i];
    if (type == CUDA_R_16F)
        return (float)((const _Float16 *)data)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// To the nearest, ties to even.
static void store(void *data, size_t i, cudaDataType type, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == CUDA_R_32F)
        ((float *)data)[i] = value;
    else if (type == CUDA_R_16F)
        ((_Float16 *)data)[i] = (_Float16)value;
    else
        ((uint16_t *)data)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// op(A) as float32, column after column without gaps: (m, k). 0: no room.
static float *unpack(const void *data, bool transpose, int rows, int columns, int ld, cudaDataType type)
{
    float *all = malloc((size_t)rows * (size_t)columns * sizeof *all + 1);
    for (int j = 0; all && j < columns; j++)
        for (int i = 0; i < rows; i++) {
            const size_t at = transpose ? (size_t)i * (size_t)ld + (size_t)j : (size_t)j * (size_t)ld + (size_t)i;
            all[(size_t)j * (size_t)rows + (size_t)i] = load(data, at, type);
        }
    return all;
}

// One column of C: the columns of op(A), each times an element of op(B)'s column.
static void column(const struct product *p, const float *a, const float *b, float *sums, void *c, size_t first)
{
    memset(sums, 0, (size_t)p->m * sizeof *sums);
    for (int l = 0; l < p->k; l++) {
        const float *restrict of = a + (size_t)l * (size_t)p->m, factor = b[l];
        for (int i = 0; i < p->m; i++)
            sums[i] += of[i] * factor;
    }
    for (int i = 0; i < p->m; i++) {
        const float old = p->beta != 0 ? p->beta * load(c, first + (size_t)i, p->type_c) : 0;
        store(c, first + (size_t)i, p->type_c, p->alpha * sums[i] + old);
    }
}

// Bytes from the first to the last element.
static size_t extent(int rows, int columns, int ld, cudaDataType type)
{
    return ((size_t)(columns - 1) * (size_t)ld + (size_t)rows) * size_of(type);
}

static void multiply(const struct product *p)
{
    const bool ta = p->transpose_a, tb = p->transpose_b;
    const void *a =
        p->k ? clab_fake_touch(p->device, p->a, extent(ta ? p->k : p->m, ta ? p->m : p->k, p->lda, p->type_a)) : p->c;
    const void *b =
        p->k ? clab_fake_touch(p->device, p->b, extent(tb ? p->n : p->k, tb ? p->k : p->n, p->ldb, p->type_b)) : p->c;
    void *c = clab_fake_touch(p->device, p->c, extent(p->m, p->n, p->ldc, p->type_c));
    if (!a || !b || !c)
        return;
    float *of_a = unpack(a, ta, p->m, p->k, p->lda, p->type_a), *of_b = unpack(b, tb, p->k, p->n, p->ldb, p->type_b);
    float *sums = malloc((size_t)p->m * sizeof *sums);
    if (of_a && of_b && sums)
        for (int j = 0; j < p->n; j++)
            column(p, of_a, of_b + (size_t)j * (size_t)p->k, sums, c, (size_t)j * (size_t)p->ldc);
    else
        clab_fake_fail(p->device, cudaErrorLaunchFailure);
    free(of_a);
    free(of_b);
    free(sums);
}

static void CUDART_CB run(cudaStream_t stream, cudaError_t status, void *data)
{
    (void)stream;
    if (!status)
        multiply(data);
    free(data);
}

static cublasStatus_t put(cublasHandle_t handle, struct product p)
{
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.lda < (p.transpose_a ? p.k : p.m) || p.ldb < (p.transpose_b ? p.n : p.k) ||
        p.ldc < p.m || p.lda < 1 || p.ldb < 1 || p.ldc < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!size_of(p.type_a) || !size_of(p.type_b) || !size_of(p.type_c))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!p.m || !p.n)
        return CUBLAS_STATUS_SUCCESS;
    struct product *kept = malloc(sizeof *kept);
    if (!kept || cudaGetDevice(&p.device)) {
        free(kept);
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *kept = p;
    if (cudaStreamAddCallback(handle->stream, run, kept, 0) == cudaSuccess)
        return CUBLAS_STATUS_SUCCESS;
    free(kept);
    return CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType type_a, int lda, const void *b,
                            cudaDataType type_b, int ldb, const void *beta, void *c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    (void)algorithm;
    if (!alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC &&
        compute != CUBLAS_COMPUTE_32F_FAST_TF32)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return put(handle, (struct product){op_a != CUBLAS_OP_N, op_b != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, 0,
                                        *(const float *)alpha, *(const float *)beta, a, b, c, type_a, type_b, type_c});
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                              int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
                              const float *beta, float *c, int ldc)
{
    return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c, CUDA_R_32F,
                        ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
