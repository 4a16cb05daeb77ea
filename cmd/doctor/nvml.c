// SPDX-License-Identifier: MIT
// The table of NVML's functions (nvml.h).

#include "cmd/doctor/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int lacks(void)
{
    return NVML_MISSING;
}

static const char *no_text(int err)
{
    (void)err;
    return "unknown error";
}

// By place in the table, since a void pointer is no function's.
static const struct {
    const char *symbol;
    size_t place;
} functions[] = {
#define AT(member) offsetof(struct doctor_nvml, member)
    {"nvmlInit_v2", AT(init)},
    {"nvmlShutdown", AT(shutdown)},
    {"nvmlErrorString", AT(error)},
    {"nvmlSystemGetDriverVersion", AT(driver_version)},
    {"nvmlSystemGetCudaDriverVersion_v2", AT(cuda_version)},
    {"nvmlDeviceGetCount_v2", AT(count)},
    {"nvmlDeviceGetHandleByIndex_v2", AT(device)},
    {"nvmlDeviceGetName", AT(name)},
    {"nvmlDeviceGetMemoryInfo", AT(memory)},
    {"nvmlDeviceGetCudaComputeCapability", AT(capability)},
    {"nvmlDeviceGetEccMode", AT(ecc)},
    {"nvmlDeviceGetMigMode", AT(mig)},
    {"nvmlDeviceGetComputeMode", AT(compute_mode)},
    {"nvmlDeviceGetClockInfo", AT(clock)},
    {"nvmlDeviceGetMaxClockInfo", AT(most_clock)},
    {"nvmlDeviceGetPciInfo_v3", AT(pci)},
    {"nvmlDeviceGetTopologyCommonAncestor", AT(ancestor)},
    {"nvmlDeviceGetP2PStatus", AT(peer_status)},
    {"nvmlDeviceGetNvLinkState", AT(link_state)},
    {"nvmlDeviceGetNvLinkRemoteDeviceType", AT(link_remote_kind)},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", AT(link_remote)},
#undef AT
};

bool doctor_nvml_load(struct doctor_nvml *nvml_p, char *why, unsigned room)
{
    // The loader's folders first, then those of WSL and some container runtimes.
    static const char *const names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
                                        "/usr/local/nvidia/lib64/libnvidia-ml.so.1"};
    struct doctor_nvml nvml = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names && !nvml.library; i++) {
        nvml.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!nvml.library && i == 0)
            snprintf(why, room, "%s", dlerror());
    }
    if (!nvml.library)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(nvml.library, functions[i].symbol);
        int (*stub)(void) = lacks;
        memcpy((char *)&nvml + functions[i].place, found ? (void *)&found : (void *)&stub, sizeof found);
    }
    const char *(*text)(int) = no_text;
    if (!dlsym(nvml.library, "nvmlErrorString"))
        nvml.error = text;
    *nvml_p = nvml;
    return true;
}
