// SPDX-License-Identifier: MIT
// What a host compiler lacks to read a file of kernels as C++: a thread's place in its grid. Kernels here are plain
// functions of pointers and numbers, without shared memory and without waiting for each other, so they can run one
// thread after another.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <device_launch_parameters.h>

// Those that the header declares are the same for all threads of the process, but streams run beside each other.
extern thread_local uint3 fake_thread, fake_block;
extern thread_local dim3 fake_block_size, fake_grid_size;
#define threadIdx fake_thread
#define blockIdx  fake_block
#define blockDim  fake_block_size
#define gridDim   fake_grid_size

// So that the list of kernels can be made from the preprocessed file.
#undef __global__
#ifdef FAKE_LIST
#define __global__ fake_kernel
#else
#define __global__
#endif
