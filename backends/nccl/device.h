// SPDX-License-Identifier: MIT
// The GPU as a device: struct clab_device, and what the rest of the backend needs of it.
//
// - All that the device is given goes to one stream, in order. Who uses its results elsewhere, or gives it some, orders
//   that by events.
#pragma once

#include <cuda_runtime_api.h>

#include "core/transport/backend.h"

extern const struct clab_device nccl_device;

// For the current GPU of this process: once before the first operation, and after the last.
//   errors: CLAB_ENOMEM, CLAB_ESYS, logged
int nccl_device_open(void);
void nccl_device_close(void);

cudaStream_t nccl_device_stream(void);
// The slot reduce, in a stream of the caller's instead.
void nccl_device_reduce(cudaStream_t stream, enum clab_type type, enum clab_op op, const void *a, const void *b,
                        void *out, size_t count);
// How many operations the device has been given: equal numbers mean that there is nothing new to wait for.
unsigned long nccl_device_given(void);
// How many of them are known to be over: nobody need wait for these.
unsigned long nccl_device_finished(void);
// What has failed since this was last asked, which has been logged: for the next call that can tell.
int nccl_device_error(void);
