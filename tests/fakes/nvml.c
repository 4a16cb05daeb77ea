// SPDX-License-Identifier: MIT
// libnvidia-ml.so.1 of a machine that is not there: what `commlab doctor` asks, answered from the environment.
//
// - CLAB_FAKE_GPUS devices (8; 0: none), called "fake GPU N", at PCI addresses 0000:1b:00.0, 0000:2b:00.0 ...
// - CLAB_FAKE_NVML: "switch" (unless told): NVSwitch, 18 links each; "pairs": two by two joined by 4 links; "pci":
//   none, and devices of different halves may not read each other; "hang", "crash", "mismatch": init does so; "lost":
//   device 1 is; "modes": device 0 is in MIG mode, 1 prohibited, 2 exclusive.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, MISMATCH = 18, LOST = 15 };
enum { SWITCH_LINKS = 18, PAIR_LINKS = 4, MOST = 32 };
enum { PIX = 10, PXB = 20, NODE = 40, SYSTEM = 50 };

struct nvmlDevice_st {
    unsigned index;
};
typedef struct nvmlDevice_st *device;
struct memory {
    unsigned long long total, free, used;
};
struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
};

static int is(const char *kind)
{
    const char *told = getenv("CLAB_FAKE_NVML");
    return !strcmp(told && *told ? told : "switch", kind);
}

static unsigned devices(void)
{
    const char *told = getenv("CLAB_FAKE_GPUS");
    const int n = told ? atoi(told) : 8;
    return n < 0 ? 0 : n > MOST ? MOST : (unsigned)n;
}

static int copy(char *text, unsigned room, const char *value)
{
    snprintf(text, room, "%s", value);
    return OK;
}

static int locate(unsigned index, struct pci *pci_p)
{
    memset(pci_p, 0, sizeof *pci_p);
    pci_p->bus = 0x1b + 0x10 * (index % 14);
    pci_p->device = index / 14;
    snprintf(pci_p->text, sizeof pci_p->text, "%08X:%02X:%02X.0", pci_p->domain, pci_p->bus, pci_p->device);
    return OK;
}

const char *clab_fake_version(void)
{
    return "fake NVML";
}

int nvmlInit_v2(void)
{
    if (is("hang"))
        for (;;)
            pause();
    if (is("crash"))
        abort();
    return is("mismatch") ? MISMATCH : OK;
}

int nvmlShutdown(void)
{
    return OK;
}

const char *nvmlErrorString(int err)
{
    return err == MISMATCH ? "Driver/library version mismatch" : err == LOST ? "GPU is lost" : "Not Supported";
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    return copy(text, room, "580.0.fake");
}

int nvmlSystemGetCudaDriverVersion_v2(int *version_p)
{
    *version_p = 13000;
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count_p)
{
    *count_p = devices();
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *device_p)
{
    static struct nvmlDevice_st all[MOST];
    if (index >= devices())
        return NOT_FOUND;
    if (is("lost") && index == 1)
        return LOST;
    all[index].index = index;
    *device_p = &all[index];
    return OK;
}

int nvmlDeviceGetName(device d, char *text, unsigned room)
{
    snprintf(text, room, "fake GPU %u", d->index);
    return OK;
}

int nvmlDeviceGetMemoryInfo(device d, struct memory *memory_p)
{
    (void)d;
    *memory_p = (struct memory){.total = 80ULL << 30, .free = 79ULL << 30, .used = 1ULL << 30};
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(device d, int *major_p, int *minor_p)
{
    (void)d;
    *major_p = 9;
    *minor_p = 0;
    return OK;
}

int nvmlDeviceGetEccMode(device d, unsigned *now_p, unsigned *pending_p)
{
    (void)d;
    *now_p = *pending_p = 1;
    return OK;
}

int nvmlDeviceGetMigMode(device d, unsigned *now_p, unsigned *pending_p)
{
    *now_p = *pending_p = is("modes") && d->index == 0;
    return OK;
}

int nvmlDeviceGetComputeMode(device d, unsigned *mode_p)
{
    *mode_p = !is("modes") ? 0 : d->index == 1 ? 2 : d->index == 2 ? 3 : 0;
    return OK;
}

int nvmlDeviceGetClockInfo(device d, unsigned kind, unsigned *mhz_p)
{
    (void)d, (void)kind;
    *mhz_p = 345;
    return OK;
}

int nvmlDeviceGetMaxClockInfo(device d, unsigned kind, unsigned *mhz_p)
{
    (void)d, (void)kind;
    *mhz_p = 1980;
    return OK;
}

int nvmlDeviceGetPciInfo_v3(device d, struct pci *pci_p)
{
    return locate(d->index, pci_p);
}

// Two share a switch, four are below switches of one bridge, the halves are of two processors.
int nvmlDeviceGetTopologyCommonAncestor(device a, device b, unsigned *level_p)
{
    *level_p = a->index / 2 == b->index / 2 ? PIX : a->index / 4 == b->index / 4 ? PXB : SYSTEM;
    return OK;
}

int nvmlDeviceGetP2PStatus(device a, device b, unsigned what, unsigned *status_p)
{
    (void)what;
    *status_p = is("pci") && a->index / 4 != b->index / 4 ? 5 : 0;
    return OK;
}

int nvmlDeviceGetNvLinkState(device d, unsigned link, unsigned *active_p)
{
    (void)d;
    if (is("pci") || link >= SWITCH_LINKS)
        return NOT_SUPPORTED;
    *active_p = !is("pairs") || link < PAIR_LINKS;
    return OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(device d, unsigned link, unsigned *kind_p)
{
    (void)d, (void)link;
    *kind_p = is("pairs") ? 0 : 2;
    return OK;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device d, unsigned link, struct pci *pci_p)
{
    (void)link;
    return locate(d->index ^ 1, pci_p);
}
