// SPDX-License-Identifier: MIT
// Products of matrices by cuBLAS (blas.h).
//
// - cuBLAS lies its matrices out column after column: what it takes for c is c', which is b' a'. So the factors change
//   places, and nothing is transposed.
// - In pedantic mode products are of float32, not of the shorter TF32 and its like: a GPU and a CPU agree within the
//   rounding of float32. Without atomics, and on one stream, the same call gives the same bits.
// - The library is loaded and started with the first product. To load it takes a tenth of a second and 80 MB of memory,
//   to start it at least as long: ranks that only communicate do without.

#include "backends/nccl/blas.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>

#include "core/base/log.h"

#define QUOTED(x)  #x
#define TEXT_OF(x) QUOTED(x) // of what a macro stands for

static const char name[] = "libcublas.so." TEXT_OF(CUBLAS_VER_MAJOR);
static cublasHandle_t handle; // NULL: not started
static struct {
    __typeof__(cublasGetStatusString) *text_of;
    __typeof__(cublasCreate) *create;
    __typeof__(cublasDestroy) *destroy;
    __typeof__(cublasSetMathMode) *set_math_mode;
    __typeof__(cublasSetStream) *set_stream;
    __typeof__(cublasSgemm) *sgemm;
} blas; // all NULL: not loaded

// A function's address is found as an object's; C11 has no other way to say that.
static bool find(void *library, const char *symbol, void *function_p)
{
    return (*(void **)function_p = dlsym(library, symbol)) != NULL;
}

// It stays for as long as this plugin does: to the end.
static int load(void)
{
    if (blas.sgemm)
        return CLAB_OK;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find(library, TEXT_OF(cublasGetStatusString), &blas.text_of) ||
        !find(library, TEXT_OF(cublasCreate), &blas.create) || !find(library, TEXT_OF(cublasDestroy), &blas.destroy) ||
        !find(library, TEXT_OF(cublasSetMathMode), &blas.set_math_mode) ||
        !find(library, TEXT_OF(cublasSetStream), &blas.set_stream) ||
        !find(library, TEXT_OF(cublasSgemm), &blas.sgemm)) {
        clab_error("cuBLAS: %s; name its folder in LD_LIBRARY_PATH", dlerror());
        return CLAB_EUNSUPPORTED;
    }
    return CLAB_OK;
}

static int error_of(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return CLAB_OK;
    clab_error("cuBLAS: %s: %s", what, blas.text_of(status));
    return status == CUBLAS_STATUS_ALLOC_FAILED ? CLAB_ENOMEM : CLAB_ESYS;
}

void nccl_blas_close(void)
{
    if (handle)
        blas.destroy(handle);
    handle = NULL;
}

static int start(cudaStream_t stream)
{
    if (handle)
        return CLAB_OK;
    CLAB_TRY(load());
    CLAB_TRY(error_of(blas.create(&handle), "cublasCreate"));
    int err = error_of(blas.set_math_mode(handle, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    if (!err)
        err = error_of(blas.set_stream(handle, stream), "cublasSetStream");
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
    return error_of(blas.sgemm(handle, g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                               g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)g->n, (int)g->m, (int)g->k, &one, g->b,
                               (int)(g->transpose_b ? g->k : g->n), g->a, (int)(g->transpose_a ? g->m : g->k), &added,
                               g->c, (int)g->n),
                    "cublasSgemm");
}
