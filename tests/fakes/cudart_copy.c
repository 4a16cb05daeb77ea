// SPDX-License-Identifier: MIT
// Copies and memset of the fake libcudart.
//
// - As CUDA's "API synchronization behavior" has it: a copy to or from host memory that CUDA does not know takes its
//   source before it returns, or has filled its destination; one between device memory, and memset, are not waited for
//   by anybody; one with memory of cudaMallocHost is waited for by cudaMemcpy only.
// - The direction must be that of the pointers.

#include "tests/fakes/fake.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    void *to;
    const void *from;
    size_t bytes;
    int device;
    bool to_host, from_host; // memory that CUDA does not know: used as it is
    int value;               // that is set, where there is no `from`
    void *snapshot;          // of a source that may change when the call returns
};

static void run(void *data, cudaError_t status)
{
    const struct copy copy = *(struct copy *)data;
    free(data);
    void *to = status || copy.to_host ? copy.to : clab_fake_touch(copy.device, copy.to, copy.bytes);
    const void *from =
        status || copy.from_host || !copy.from ? copy.from : clab_fake_touch(copy.device, copy.from, copy.bytes);
    if (!status && to && from)
        memmove(to, from, copy.bytes);
    else if (!status && to && !copy.from)
        memset(to, copy.value, copy.bytes);
    free(copy.snapshot);
}

static cudaError_t put(struct copy copy, cudaStream_t stream, struct fake_work **work_p)
{
    copy.device = fake_stream_device(stream);
    struct copy *kept = copy.device < 0 ? 0 : malloc(sizeof *kept);
    if (!kept)
        return fake_error(copy.device < 0 ? cudaErrorInvalidResourceHandle : cudaErrorMemoryAllocation);
    *kept = copy;
    const cudaError_t error = fake_stream_put(stream, run, kept, work_p);
    if (error)
        free(kept);
    return error;
}

static enum cudaMemoryType type_of(const void *address)
{
    struct fake_place place;
    clab_fake_place(address, 0, &place);
    return place.type;
}

static bool agrees(enum cudaMemcpyKind kind, enum cudaMemoryType to, enum cudaMemoryType from)
{
    // Memory that devices and the host reach may be said to be either's.
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return kind == cudaMemcpyDefault ||
           ((to_device ? to != cudaMemoryTypeUnregistered : to != cudaMemoryTypeDevice) &&
            (from_device ? from != cudaMemoryTypeUnregistered : from != cudaMemoryTypeDevice));
}

// `waits`: also for memory that CUDA knows.
static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream,
                        bool waits)
{
    const cudaError_t error = fake_enter();
    if (error || !bytes)
        return error;
    const enum cudaMemoryType to_type = type_of(to), from_type = type_of(from);
    if (!to || !from || kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return fake_error(kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaErrorInvalidValue);
    if (!agrees(kind, to_type, from_type))
        return fake_error(cudaErrorInvalidValue);
    struct copy copy = {to, from, bytes, .to_host = to_type == cudaMemoryTypeUnregistered};
    copy.from_host = from_type == cudaMemoryTypeUnregistered;
    waits = copy.to_host || (waits && !(to_type == cudaMemoryTypeDevice && from_type == cudaMemoryTypeDevice));
    if (copy.from_host && !waits) {
        copy.snapshot = malloc(bytes);
        if (!copy.snapshot)
            return fake_error(cudaErrorMemoryAllocation);
        copy.from = memcpy(copy.snapshot, from, bytes);
    }
    struct fake_work *work = 0;
    const cudaError_t given = put(copy, stream, waits ? &work : 0);
    if (given)
        free(copy.snapshot);
    return given || !work ? given : fake_work_wait(work);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return copy(to, from, bytes, kind, 0, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    const int n = fake_device_count();
    if (to_device < 0 || to_device >= n || from_device < 0 || from_device >= n)
        return fake_error(cudaErrorInvalidDevice);
    return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false);
}

static cudaError_t set(void *to, int value, size_t bytes, cudaStream_t stream)
{
    const cudaError_t error = fake_enter();
    if (error || !bytes)
        return error;
    if (type_of(to) == cudaMemoryTypeUnregistered)
        return fake_error(cudaErrorInvalidValue);
    return put((struct copy){.to = to, .bytes = bytes, .value = value}, stream, 0);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    const cudaError_t error = set(to, value, bytes, 0);
    // Waited for only where the host could look at it.
    return error || type_of(to) == cudaMemoryTypeDevice ? error : cudaStreamSynchronize(0);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return set(to, value, bytes, stream);
}
