// SPDX-License-Identifier: MIT
// The CPU as a device: where the data of host backends lives. Two tables, which differ in who multiplies matrices.
//
// - blas.c        has OpenBLAS, loops.c the loops.

#include "core/transport/backend.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/base/numbers/copy.h"
#include "core/base/numbers/reduce.h"
#include "backends/cpu/inside.h"

// It is never behind, and never fails.
static int finish(void)
{
    return CLAB_OK;
}

static double time_work(void (*work)(void *of), void *of)
{
    const double start = clab_now();
    work(of);
    return clab_now() - start;
}

static double time_no_calls(void (*work)(void *of), void *of)
{
    work(of);
    return NAN;
}

static void copy_nontemporal(void *out, const void *in, size_t bytes)
{
    (bytes < CLAB_NONTEMPORAL_LEAST ? clab_bytes_copy : clab_bytes_copy_nontemporal)(out, in, bytes);
}

#define CPU_DEVICE(NAME, GEMM)                                                                                  \
    {                                                                                                           \
        .name = NAME, .copy = clab_bytes_copy, .copy_nontemporal = copy_nontemporal, .set = clab_loops_set,     \
        .finish = finish, .time = time_work, .time_calls = time_no_calls, .reduce = clab_elements_reduce,       \
        .scale = clab_elements_scale, .fill = clab_host_fill, .check = clab_host_check, .cast = clab_host_cast, \
        .quantize = clab_host_quantize, .gemm = GEMM, .add_bias = clab_loops_add_bias,                          \
        .sum_rows = clab_loops_sum_rows, .relu = clab_loops_relu, .relu_gradient = clab_loops_relu_gradient,    \
        .axpy = clab_loops_axpy, .squares = clab_loops_squares,                                                 \
    }

const struct clab_device clab_device_cpu = CPU_DEVICE("cpu", clab_blas_gemm);
const struct clab_device clab_device_plain = CPU_DEVICE("plain", clab_loops_gemm);
