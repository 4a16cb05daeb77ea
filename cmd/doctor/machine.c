// SPDX-License-Identifier: MIT
// The machine: cores, memory, a container's limits and the system's (doctor.h).

#include "cmd/doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/machine/cgroup.h"
#include "core/base/machine/machine.h"
#include "core/base/units.h"

static const size_t little_memory = (size_t)1 << 30, little_shm = (size_t)256 << 20, little_lock = (size_t)64 << 20;
enum { LITTLE_FILES = 1024 };

static void add_cores(struct doctor *doctor, const struct clab_machine *machine)
{
    const bool few = machine->cores < 2;
    doctor_add(doctor, few ? DOCTOR_WARNING : DOCTOR_OK, "cores", "%s, %d usable (%d physical)", machine->cpu,
               machine->cores, machine->physical_cores);
    doctor_mark_fact(doctor);
    if (few)
        doctor_advise(doctor,
                      "ranks take turns on one core: counted bytes and --backend sim stay right, times do not");
}

// Memory of the other processor is slower, and a rank's pages lie where it touched them first.
static void add_numa(struct doctor *doctor)
{
    char **names;
    int nodes = 0;
    const int n = doctor_names(doctor, "/sys/devices/system/node", &names);
    for (int i = 0; i < n; i++)
        nodes += strncmp(names[i], "node", 4) == 0 && names[i][4] >= '0' && names[i][4] <= '9';
    doctor_names_free(names, n);
    if (nodes < 2)
        return;
    doctor_add(doctor, DOCTOR_OK, "NUMA", "%d nodes: a rank, its GPU and its network card should be on one; ranks are pinned unless "
               "--no-pin, and of other programs numactl --cpunodebind=0 --membind=0 binds one", nodes);
    doctor_mark_fact(doctor);
}

// ---- containers ----------------------------------------------------------------------------------------------

static void add_container(struct doctor *doctor, const struct clab_machine *machine)
{
    struct clab_cgroup cgroup;
    char text[CLAB_TEXT];
    clab_cgroup_read(doctor->root, &cgroup);
    const double cores = cgroup.cores;
    const size_t bytes = cgroup.memory_bytes;
    if (cores > 0 && cores < machine->cores) {
        doctor_add(doctor, DOCTOR_WARNING, "container",
                   "its quota is %.3g cores of %d: when ranks have used it up, the kernel stops them, and times are wrong", cores,
                   machine->cores);
        doctor_advise(doctor, "ask for whole cores (docker --cpuset-cpus), or use no more than %d ranks",
                      cores < 2 ? 1 : (int)cores);
    } else if (cores > 0) {
        doctor_add(doctor, DOCTOR_OK, "container", "its quota of cores is %.3g", cores);
    }
    if (bytes > 0)
        doctor_add(doctor, DOCTOR_OK, "container", "its memory limit is %s", clab_size_text(bytes, text));
    if (!(cores > 0) && bytes == 0)
        doctor_add(doctor, DOCTOR_OK, "container", "no limit of cores or memory is set (cgroup)");
}

static void add_memory(struct doctor *doctor, const struct clab_machine *machine)
{
    char all[CLAB_TEXT], free_now[CLAB_TEXT];
    const size_t available = clab_machine_available_bytes();
    const bool little = available > 0 && available < little_memory;
    doctor_add(doctor, little ? DOCTOR_WARNING : DOCTOR_OK, "memory", "%s, of which %s are free now",
               clab_size_text(machine->memory_bytes, all), available ? clab_size_text(available, free_now) : "?");
    doctor_mark_fact(doctor);
    if (little)
        doctor_advise(doctor, "close large programs, or take smaller sizes (-e 1M)");
}

// Our own launcher shares memory files without a folder. Other launchers, MPI and NCCL need /dev/shm.
static void add_shm(struct doctor *doctor)
{
    struct statvfs shm;
    char path[4096], text[CLAB_TEXT];
    snprintf(path, sizeof path, "%s/dev/shm", doctor->root);
    if (statvfs(path, &shm) != 0) {
        doctor_add(doctor, DOCTOR_WARNING, "/dev/shm", "%s; shm under mpirun or srun, MPI and NCCL need it",
                   strerror(errno));
        doctor_advise(doctor, "mount a tmpfs there");
        return;
    }
    const size_t bytes = (size_t)shm.f_blocks * shm.f_frsize;
    doctor_add(doctor, bytes < little_shm ? DOCTOR_WARNING : DOCTOR_OK, "/dev/shm", "%s", clab_size_text(bytes, text));
    if (bytes < little_shm)
        doctor_advise(doctor, "NCCL and MPI may run out of it: docker run --shm-size=1g (or --ipc=host)");
}

// ---- limits --------------------------------------------------------------------------------------------------

static const char *limit_text(rlim_t limit, char text[CLAB_TEXT])
{
    return limit == RLIM_INFINITY ? "unlimited" : clab_size_text((size_t)limit, text);
}

static void add_limits(struct doctor *doctor)
{
    struct rlimit limit;
    char text[CLAB_TEXT];
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
        const bool little = geteuid() != 0 && limit.rlim_cur < little_lock;
        doctor_add(doctor, little ? DOCTOR_WARNING : DOCTOR_OK, "locked memory", "%s (ulimit -l)",
                   limit_text(limit.rlim_cur, text));
        if (little)
            doctor_advise(doctor, "registering more memory fails (lab 05, InfiniBand): ulimit -l unlimited, or memlock in "
                                  "/etc/security/limits.conf, or docker run --ulimit memlock=-1");
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        const bool few = limit.rlim_cur < LITTLE_FILES;
        doctor_add(doctor, few ? DOCTOR_WARNING : DOCTOR_OK, "open files", "%llu (ulimit -n)",
                   (unsigned long long)limit.rlim_cur);
        if (few)
            doctor_advise(doctor, "jobs of many ranks need more: ulimit -n 4096");
    }
}

void doctor_machine(struct doctor *doctor)
{
    struct clab_machine machine;
    clab_machine_read(&machine);
    doctor->section = "Machine";
    add_cores(doctor, &machine);
    add_numa(doctor);
    add_memory(doctor, &machine);
    add_container(doctor, &machine);
    add_shm(doctor);
    add_limits(doctor);
}
