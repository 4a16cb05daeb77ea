// SPDX-License-Identifier: MIT
// The GPU as a device: struct clab_device, and functions for the rest of the backend.
//
// - All operations of the device go to one stream, in order. Code that uses its results in another stream, or gives it
//   inputs from one, orders that by events.
#pragma once

#include <cuda_runtime_api.h>

#include "core/transport/backend.h"

extern const struct clab_device nccl_device;

// For the current GPU of this process: once before the first operation, and after the last.
//   errors: CLAB_ENOMEM, CLAB_ESYS, logged
int nccl_device_open(void);
void nccl_device_close(void);

cudaStream_t nccl_device_stream(void);
// Let the device wait for what `other` has been given up to now.  errors: of nccl_cuda_error
int nccl_device_follow(cudaStream_t other);
// The slot reduce, in a stream of the caller's instead.
void nccl_device_reduce(cudaStream_t stream, enum clab_type type, enum clab_op op, const void *a, const void *b,
                        void *out, size_t count);
// How many operations the device has been given: equal numbers mean that there is nothing new to wait for.
unsigned long nccl_device_given(void);
// How many of them are known to be over: no caller need wait for these.
unsigned long nccl_device_finished(void);
// The error since the last call of this, which has been logged: for the next operation that can return it.
int nccl_device_error(void);
