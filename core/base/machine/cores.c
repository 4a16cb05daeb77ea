// SPDX-License-Identifier: MIT
// The cores of this machine, and one for each rank (machine.h).

#include "core/base/machine/machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/err.h"

static bool pinned;
static cpu_set_t usable_before; // the first pin

static cpu_set_t usable(void)
{
    cpu_set_t set;
    if (pinned)
        return usable_before;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return set;
    CPU_ZERO(&set); // more cores than a cpu_set_t can name: the first ones then
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < CPU_SETSIZE; cpu++)
        CPU_SET(cpu, &set);
    return set;
}

// The lowest number of the hardware threads that share `cpu`'s core: the core's name.
static int core_of(int cpu)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    int core = cpu;
    if (file) {
        if (fscanf(file, "%d", &core) != 1)
            core = cpu;
        fclose(file);
    }
    return core;
}

// Usable cpus in the order of pinning. Returns how many; *physical_p of them are the first of their core.
static int order(int cpus[CPU_SETSIZE], int *physical_p)
{
    const cpu_set_t set = usable();
    bool taken[CPU_SETSIZE] = {false};
    int seconds[CPU_SETSIZE], nfirst = 0, nsecond = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &set))
            continue;
        int core = core_of(cpu);
        if (core < 0 || core >= CPU_SETSIZE || !taken[core])
            cpus[nfirst++] = cpu;
        else
            seconds[nsecond++] = cpu;
        if (core >= 0 && core < CPU_SETSIZE)
            taken[core] = true;
    }
    for (int i = 0; i < nsecond; i++)
        cpus[nfirst + i] = seconds[i];
    *physical_p = nfirst;
    return nfirst + nsecond;
}

int clab_machine_cores(int *physical_p)
{
    int cpus[CPU_SETSIZE], physical, n = order(cpus, &physical);
    if (physical_p)
        *physical_p = physical;
    return n;
}

// The place in the order of `n` cpus; -1: none.
static int place_of(int local_rank, int nlocal, int n)
{
    if (nlocal <= n)
        return local_rank;
    return n > 1 && nlocal % n == 0 ? local_rank / (nlocal / n) : -1;
}

int clab_machine_pin(int local_rank, int nlocal)
{
    int cpus[CPU_SETSIZE], physical, n = order(cpus, &physical);
    const int place = place_of(local_rank, nlocal, n);
    if (local_rank < 0 || local_rank >= nlocal || place < 0)
        return CLAB_EUNSUPPORTED;
    const cpu_set_t before = usable();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[place], &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return CLAB_EUNSUPPORTED;
    usable_before = before;
    pinned = true;
    return CLAB_OK;
}

void clab_machine_follow(int pid)
{
    cpu_set_t set;
    if (sched_getaffinity(pid, sizeof set, &set) == 0)
        sched_setaffinity(0, sizeof set, &set);
}

void clab_machine_short_slices(void)
{
    enum { KEEP_POLICY = 0x08 }; // SCHED_FLAG_KEEP_POLICY
    const struct {               // struct sched_attr of sched_setattr(2), which not every C library has
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period; // ns
    } attributes = {
        .size = sizeof attributes, .flags = KEEP_POLICY, .nice = getpriority(PRIO_PROCESS, 0), .runtime = 100000};
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}
