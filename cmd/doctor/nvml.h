// SPDX-License-Identifier: MIT
// The part of NVML, the driver's own query library, that doctor loads by dlopen.
// - The header is not on every machine that has the library. So the functions are declared here, as in nvml.h of CUDA
//   13.0; all of them are older than CUDA 11.
// - Each call answers 0, or an error that `error` names. If the library lacks a call, a stub answers NVML_MISSING.
// - Source: NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api
#pragma once

#include <stdbool.h>

typedef struct nvmlDevice_st *doctor_nvml_device;

enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3, NVML_DRIVER_NOT_LOADED = 9, NVML_VERSION_MISMATCH = 18, NVML_MISSING = 13 };
enum { NVML_CLOCK_SM = 1 };
enum { NVML_PEER_READ = 0 };                          // of peer_status
enum { NVML_REMOTE_GPU = 0, NVML_REMOTE_SWITCH = 2 }; // of link_remote_kind
enum {
    NVML_SAME_BOARD = 0,
    NVML_ONE_SWITCH = 10,
    NVML_SWITCHES = 20,
    NVML_HOST_BRIDGE = 30,
    NVML_NODE = 40,
    NVML_SYSTEM = 50
};
enum { NVML_MOST_LINKS = 36, NVML_TEXT = 96 };

struct doctor_nvml_memory {
    unsigned long long total, free, used; // bytes
};

struct doctor_nvml_pci {
    char short_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32]; // "00000000:1B:00.0"
};

struct doctor_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int);
    int (*driver_version)(char *text, unsigned room);
    int (*cuda_version)(int *version_p); // 13000
    int (*count)(unsigned *count_p);
    int (*device)(unsigned index, doctor_nvml_device *device_p);
    int (*name)(doctor_nvml_device, char *text, unsigned room);
    int (*memory)(doctor_nvml_device, struct doctor_nvml_memory *memory_p);
    int (*capability)(doctor_nvml_device, int *major_p, int *minor_p);
    int (*ecc)(doctor_nvml_device, unsigned *now_p, unsigned *pending_p);
    int (*mig)(doctor_nvml_device, unsigned *now_p, unsigned *pending_p);
    int (*compute_mode)(doctor_nvml_device, unsigned *mode_p);
    int (*clock)(doctor_nvml_device, unsigned kind, unsigned *mhz_p);
    int (*most_clock)(doctor_nvml_device, unsigned kind, unsigned *mhz_p);
    int (*pci)(doctor_nvml_device, struct doctor_nvml_pci *pci_p);
    int (*ancestor)(doctor_nvml_device, doctor_nvml_device, unsigned *level_p);
    int (*peer_status)(doctor_nvml_device, doctor_nvml_device, unsigned what, unsigned *status_p);
    int (*link_state)(doctor_nvml_device, unsigned link, unsigned *active_p);
    int (*link_remote_kind)(doctor_nvml_device, unsigned link, unsigned *kind_p);
    int (*link_remote)(doctor_nvml_device, unsigned link, struct doctor_nvml_pci *pci_p);
};

// Load libnvidia-ml.so.1; false: why (room) has the loader's message. The library stays loaded.
bool doctor_nvml_load(struct doctor_nvml *nvml_p, char *why, unsigned room);
