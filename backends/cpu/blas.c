// SPDX-License-Identifier: MIT
// Products of matrices by OpenBLAS, on one thread, since every rank has a core of its own at most.
//
// - The library is loaded with the first product, not linked: most programs here multiply nothing, and loading it
//   starts threads unless its environment forbids that beforehand.
// - If it can not be loaded, one line says so, and the loops go on.

#include "backends/cpu/inside.h"

#include "core/base/log.h"

#ifdef HAVE_OPENBLAS

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __typeof__(&cblas_sgemm) sgemm; // NULL: it could not be loaded
static char products[64] = "plain loops";

// "OpenBLAS 0.3.21 ...": of the library's own account of itself, the name and the version.
static void name_products(void *library)
{
    char *(*get_config)(void) = NULL;
    *(void **)&get_config = dlsym(library, "openblas_get_config");
    const char *config = get_config ? get_config() : "OpenBLAS";
    const char *end = strchr(config, ' ');
    end = end ? strchr(end + 1, ' ') : NULL;
    snprintf(products, sizeof products, "%.*s", end ? (int)(end - config) : (int)sizeof products - 1, config);
}

static void load(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void (*set_threads)(int) = NULL;
    if (library) {
        *(void **)&sgemm = dlsym(library, "cblas_sgemm");
        *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    }
    if (!sgemm) {
        clab_warn("can not load OpenBLAS, which this was built with: %s; plain loops multiply instead", dlerror());
        return;
    }
    if (set_threads)
        set_threads(1);
    name_products(library);
}

void clab_blas_gemm(const struct clab_gemm *g)
{
    pthread_once(&once, load);
    if (!sgemm) {
        clab_loops_gemm(g);
        return;
    }
    sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans,
          (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)(g->transpose_a ? g->m : g->k), g->b,
          (int)(g->transpose_b ? g->k : g->n), g->add, g->c, (int)g->n);
}

const char *clab_device_cpu_products(void)
{
    pthread_once(&once, load);
    return products;
}

#else

void clab_blas_gemm(const struct clab_gemm *g)
{
    clab_loops_gemm(g);
}

const char *clab_device_cpu_products(void)
{
    return "plain loops";
}

#endif
