// SPDX-License-Identifier: MIT
// Products of matrices by cuBLAS, in float32.
#pragma once

#include <cuda_runtime_api.h>

#include "core/transport/backend.h"

// Give `gemm` to the stream; m, n and k > 0.
//   errors: CLAB_ENOMEM, CLAB_ESYS, CLAB_EUNSUPPORTED (more rows or columns than an int counts), logged
int nccl_blas_gemm(const struct clab_gemm *gemm, cudaStream_t stream);
// After the last.
void nccl_blas_close(void);
