// SPDX-License-Identifier: MIT
// Functions of the host in streams of the fake libcudart.

#include "tests/fakes/fake.h"

#include <stdlib.h>

struct call {
    cudaHostFn_t function;         // called unless the device has failed
    cudaStreamCallback_t callback; // or this one, always
    cudaStream_t stream;
    void *data;
};

static void run(void *data, cudaError_t status)
{
    const struct call call = *(struct call *)data;
    free(data);
    if (call.callback)
        call.callback(call.stream, status, call.data);
    else if (!status)
        call.function(call.data);
}

static cudaError_t put(struct call call)
{
    struct call *kept = malloc(sizeof *kept);
    if (!kept)
        return fake_error(cudaErrorMemoryAllocation);
    *kept = call;
    const cudaError_t error = fake_stream_put(call.stream, run, kept, 0);
    if (error)
        free(kept);
    return error;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return function ? put((struct call){.function = function, .stream = stream, .data = data})
                    : fake_error(cudaErrorInvalidValue);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    return callback && !flags ? put((struct call){.callback = callback, .stream = stream, .data = data})
                              : fake_error(cudaErrorInvalidValue);
}
