// SPDX-License-Identifier: MIT
// Devices of the fake libcudart: CLAB_FAKE_GPUS of them (8), each with CLAB_FAKE_MEMORY bytes (1 GiB); which of them a
// process sees, CUDA_VISIBLE_DEVICES says as it does to the real one.
//
// - CLAB_FAKE_GPUS=0: a driver without a device; none: no driver.
// - A process that forks after its first call has no device in the child, as with the real one.

#include "tests/fakes/fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int count, ordinals[FAKE_MAX_GPUS]; // of those that are seen: which of the machine's each is
static cudaError_t lacking;                // why there are none
static bool is_forked;
static _Thread_local int current;
static atomic_bool reaches[FAKE_MAX_GPUS][FAKE_MAX_GPUS];

size_t fake_setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    const char *const unit = *end ? strchr("KMG", *end) : "";
    if (unit && *unit)
        value *= (double)(1ull << (10 * (strchr("KMG", *end++) - "KMG" + 1)));
    if (end == text || *end || value < 0) {
        fprintf(stderr, "fake CUDA: %s=%s is not a number, such as 8, 512M or 1G\n", name, text);
        exit(2);
    }
    return (size_t)value;
}

static void forked(void)
{
    is_forked = true;
}

// Devices after the first that does not exist are not seen, says CUDA's programming guide.
static void see(int machine_has)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        for (count = 0; count < machine_has; count++)
            ordinals[count] = count;
        return;
    }
    char *end;
    for (const char *at = visible; count < FAKE_MAX_GPUS; at = end + 1) {
        const long ordinal = strtol(at, &end, 10);
        if (end == at || ordinal < 0 || ordinal >= machine_has)
            return;
        ordinals[count++] = (int)ordinal;
        if (*end != ',')
            return;
    }
}

static void start(void)
{
    pthread_atfork(0, 0, forked);
    const char *gpus = getenv("CLAB_FAKE_GPUS");
    if (gpus && !strcmp(gpus, "none")) {
        lacking = cudaErrorInsufficientDriver;
        return;
    }
    const size_t machine_has = fake_setting("CLAB_FAKE_GPUS", 8);
    see((int)(machine_has < FAKE_MAX_GPUS ? machine_has : FAKE_MAX_GPUS));
    lacking = count ? cudaSuccess : cudaErrorNoDevice;
}

static cudaError_t ready(void)
{
    pthread_once(&once, start);
    return fake_error(is_forked ? cudaErrorInitializationError : lacking);
}

cudaError_t fake_enter(void)
{
    const cudaError_t error = ready();
    return error ? error : fake_error(fake_sticky(current));
}

int fake_device(void)
{
    return current;
}

int fake_device_count(void)
{
    return ready() ? 0 : count;
}

size_t fake_memory_limit(void)
{
    return fake_setting("CLAB_FAKE_MEMORY", (size_t)1 << 30);
}

const char *clab_fake_version(void)
{
    return "fake CUDA runtime of commlab: the CPU's memory, no GPU";
}

cudaError_t cudaGetDeviceCount(int *count_p)
{
    const cudaError_t error = ready();
    if (error)
        return error;
    *count_p = count;
    return cudaSuccess;
}

static cudaError_t check(int device)
{
    const cudaError_t error = ready();
    return error ? error : fake_error(device < 0 || device >= count ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    const cudaError_t error = check(device);
    if (error)
        return error;
    current = device;
    return fake_error(fake_sticky(device));
}

cudaError_t cudaGetDevice(int *device_p)
{
    const cudaError_t error = ready();
    if (error)
        return error;
    *device_p = current;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned flags, unsigned how)
{
    (void)flags, (void)how;
    return check(device);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return fake_enter();
}

// Buses in the order of ordinals, from 1 on.
static int bus_of(int device)
{
    return ordinals[device] + 1;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    const cudaError_t error = check(device);
    if (error)
        return error;
    return fake_error(snprintf(text, (size_t)bytes, "0000:%02X:00.0", bus_of(device)) < bytes ? cudaSuccess
                                                                                              : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device_p, const char *text)
{
    unsigned domain = 0, bus = 0;
    if (sscanf(text, "%x:%x:", &domain, &bus) != 2)
        return fake_error(cudaErrorInvalidValue);
    for (int device = 0; device < fake_device_count(); device++)
        if (domain == 0 && (int)bus == bus_of(device)) {
            *device_p = device;
            return cudaSuccess;
        }
    return fake_error(cudaErrorInvalidDevice);
}

// 9.0 has all that kernels here may ask for.
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties_p, int device)
{
    const cudaError_t error = check(device);
    if (error)
        return error;
    *properties_p = (struct cudaDeviceProp){
        .totalGlobalMem = fake_memory_limit(),
        .warpSize = 32,
        .maxThreadsPerBlock = 1024,
        .maxThreadsDim = {1024, 1024, 64},
        .maxGridSize = {0x7fffffff, 65535, 65535},
        .major = 9,
        .multiProcessorCount = 4,
        .maxThreadsPerMultiProcessor = 2048,
        .unifiedAddressing = 1,
        .canMapHostMemory = 1,
        .asyncEngineCount = 2,
        .pciBusID = bus_of(device),
    };
    snprintf(properties_p->name, sizeof properties_p->name, "fake GPU %d", ordinals[device]);
    memcpy(properties_p->uuid.bytes, "fake GPU of lab", 15);
    properties_p->uuid.bytes[15] = (char)ordinals[device];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value_p, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp has;
    const cudaError_t error = cudaGetDeviceProperties(&has, device);
    if (error)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value_p = has.maxThreadsPerBlock; break;
    case cudaDevAttrMaxGridDimX: *value_p = has.maxGridSize[0]; break;
    case cudaDevAttrWarpSize: *value_p = has.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value_p = has.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value_p = has.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value_p = has.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value_p = has.minor; break;
    case cudaDevAttrUnifiedAddressing: *value_p = has.unifiedAddressing; break;
    case cudaDevAttrCanMapHostMemory: *value_p = has.canMapHostMemory; break;
    case cudaDevAttrAsyncEngineCount: *value_p = has.asyncEngineCount; break;
    case cudaDevAttrPciBusId: *value_p = has.pciBusID; break;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId: *value_p = 0; break;
    default: return fake_error(cudaErrorNotSupported);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can_p, int device, int peer)
{
    cudaError_t error = check(device);
    error = error ? error : check(peer);
    if (error)
        return error;
    *can_p = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    const cudaError_t error = check(peer);
    if (error)
        return error;
    if (flags || peer == current)
        return fake_error(flags ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    return fake_error(atomic_exchange(&reaches[current][peer], true) ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    const cudaError_t error = check(peer);
    if (error)
        return error;
    return fake_error(atomic_exchange(&reaches[current][peer], false) ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaMemGetInfo(size_t *free_p, size_t *total_p)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    *total_p = fake_memory_limit();
    *free_p = *total_p - fake_memory_used(current);
    return cudaSuccess;
}

// Without a driver it is 0, and that is no error.
cudaError_t cudaDriverGetVersion(int *version_p)
{
    *version_p = ready() == cudaErrorInsufficientDriver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version_p)
{
    *version_p = CUDART_VERSION;
    return cudaSuccess;
}
