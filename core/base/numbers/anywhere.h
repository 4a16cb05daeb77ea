// SPDX-License-Identifier: MIT
// Small functions that the processor and a GPU compile from the same source, so that both get the same bits.
// - They are C and C++, and call only each other and memcpy. They never contract a multiplication and an addition into
//   one rounding (-std=c11; nvcc --fmad=false; g++ -ffp-contract=off).
#pragma once

#ifdef __CUDACC__
#define ANYWHERE __host__ __device__ static inline
#else
#define ANYWHERE static inline
#endif
