// SPDX-License-Identifier: MIT
// Errors of the fake libcudart: the last one of each thread, those of devices that stay, their names and texts.

#include "tests/fakes/fake.h"

#include <stdatomic.h>

static _Thread_local cudaError_t last;
static atomic_int sticky[FAKE_MAX_GPUS];

cudaError_t fake_error(cudaError_t error)
{
    if (error)
        last = error;
    return error;
}

cudaError_t fake_sticky(int device)
{
    return device < 0 ? cudaSuccess : (cudaError_t)atomic_load(&sticky[device]);
}

// The first error stays.
void clab_fake_fail(int device, cudaError_t error)
{
    int none = 0;
    atomic_compare_exchange_strong(&sticky[device], &none, (int)error);
}

cudaError_t cudaPeekAtLastError(void)
{
    const cudaError_t stays = fake_sticky(fake_device());
    return stays ? stays : last;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = cudaPeekAtLastError();
    last = cudaSuccess;
    return error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

static int find(cudaError_t error)
{
    const int n = (int)(sizeof errors / sizeof *errors);
    for (int i = 0; i < n; i++)
        if (errors[i].error == error)
            return i;
    return -1;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const int i = find(error);
    return i < 0 ? "unrecognized error code" : errors[i].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    const int i = find(error);
    return i < 0 ? "unrecognized error code" : errors[i].text;
}
