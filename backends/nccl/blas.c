// SPDX-License-Identifier: MIT
// Products of matrices by cuBLAS (blas.h).
//
// - cuBLAS lies its matrices out column after column: what it takes for c is c', which is b' a'. So the factors change
//   places, and nothing is transposed.
// - In pedantic mode products are of float32, not of the shorter TF32 and its like: a GPU and a CPU agree within the
//   rounding of float32. Without atomics, and on one stream, the same call gives the same bits.
// - The library is started with the first product, which takes a tenth of a second or more.

#include "backends/nccl/blas.h"

#include <cublas_v2.h>
#include <limits.h>

#include "core/base/log.h"

static cublasHandle_t handle; // NULL: not started

static int error_of(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return CLAB_OK;
    clab_error("cuBLAS: %s: %s", what, cublasGetStatusString(status));
    return status == CUBLAS_STATUS_ALLOC_FAILED ? CLAB_ENOMEM : CLAB_ESYS;
}

void nccl_blas_close(void)
{
    if (handle)
        cublasDestroy(handle);
    handle = NULL;
}

static int start(cudaStream_t stream)
{
    if (handle)
        return CLAB_OK;
    CLAB_TRY(error_of(cublasCreate(&handle), "cublasCreate"));
    int err = error_of(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    if (!err)
        err = error_of(cublasSetStream(handle, stream), "cublasSetStream");
    if (err) // half of what it should be: not for the next product, either
        nccl_blas_close();
    return err;
}

int nccl_blas_gemm(const struct clab_gemm *g, cudaStream_t stream)
{
    const float one = 1, added = g->add;
    if (g->m > INT_MAX || g->n > INT_MAX || g->k > INT_MAX) {
        clab_error("cuBLAS: a product of (%zu, %zu) by (%zu, %zu): it takes %d rows and columns at most", g->m, g->k,
                   g->k, g->n, INT_MAX);
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(start(stream));
    return error_of(cublasSgemm(handle, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                                g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m, (int)g->k, &one, g->b,
                                (int)(g->transpose_b ? g->k : g->n), g->a, (int)(g->transpose_a ? g->m : g->k), &added,
                                g->c, (int)g->n),
                    "cublasSgemm");
}
