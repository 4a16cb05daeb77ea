// SPDX-License-Identifier: MIT
// The cores that are near a GPU: those of the NUMA node of its PCI slot, by the kernel's files.
//
// - A rank that may use only some of the machine's cores stays on those of them that are near; if none is, it is
//   logged.

#include "backends/nccl/endpoint.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>

#include "core/base/log.h"

// A list of the kernel's: "0-15,32-47".
static bool read_cores(FILE *file, cpu_set_t *cores)
{
    int first, last;
    CPU_ZERO(cores);
    for (int next = ','; next == ',' && fscanf(file, "%d", &first) == 1;) {
        last = first;
        next = fgetc(file);
        if (next == '-') {
            if (fscanf(file, "%d", &last) != 1)
                return false;
            next = fgetc(file);
        }
        for (int core = first; core >= 0 && core <= last && core < CPU_SETSIZE; core++)
            CPU_SET(core, cores);
    }
    return CPU_COUNT(cores) > 0;
}

static bool find_near(int device, cpu_set_t *near)
{
    char bus[32], path[96];
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess)
        return false;
    for (char *c = bus; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", bus);
    FILE *file = fopen(path, "re");
    const bool found = file && read_cores(file, near);
    if (file)
        fclose(file);
    return found;
}

void nccl_move_near(int device)
{
    cpu_set_t near, mine, both;
    if (!find_near(device, &near) || sched_getaffinity(0, sizeof mine, &mine) != 0)
        return;
    CPU_AND(&both, &near, &mine);
    if (CPU_COUNT(&both) == 0)
        clab_warn("GPU %d is on another part of this machine than the %d cores that this rank was given", device,
                  CPU_COUNT(&mine));
    else if (CPU_COUNT(&both) < CPU_COUNT(&mine) && sched_setaffinity(0, sizeof both, &both) != 0)
        clab_debug("this rank could not be moved near GPU %d", device);
}
