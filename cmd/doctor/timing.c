// SPDX-License-Identifier: MIT
// Causes of noisy or long times on this machine (doctor.h).

#include "cmd/doctor/doctor.h"

#include <string.h>

#include "core/base/machine/machine.h"

static void add_governor(struct doctor *doctor, const struct clab_machine *machine)
{
    if (!*machine->governor) {
        doctor_add(doctor, DOCTOR_OK, "clock speed", "the kernel names no governor");
        return;
    }
    const bool fast = strcmp(machine->governor, "performance") == 0;
    doctor_add(doctor, fast ? DOCTOR_OK : DOCTOR_WARNING, "clock speed", "the %s governor%s", machine->governor,
               fast ? "" : ": cores start slowly, so short runs take too long");
    if (!fast)
        doctor_advise(doctor, "cpupower frequency-set -g performance, as root");
}

static void add_hypervisor(struct doctor *doctor, const struct clab_machine *machine)
{
    if (!*machine->hypervisor) {
        doctor_add(doctor, DOCTOR_OK, "hypervisor", "none");
        return;
    }
    doctor_add(doctor, DOCTOR_WARNING, "hypervisor", "%s: other machines may share these cores, and the host may move them",
               machine->hypervisor);
    doctor_advise(doctor, "compare ratios of interleaved pairs (./commlab lab does), not times of different runs");
}

static void add_load(struct doctor *doctor, const struct clab_machine *machine)
{
    const bool busy = machine->load > machine->cores / 2.0 + 0.5;
    doctor_add(doctor, busy ? DOCTOR_WARNING : DOCTOR_OK, "load", "%.2f processes ran or waited on %d cores, as a mean of the last minute", machine->load,
               machine->cores);
    if (busy)
        doctor_advise(doctor, "wait until other programs have ended before you time anything");
}

// Reading any other clock than the processor's counter is a system call or a slow device.
static void add_clock(struct doctor *doctor)
{
    char source[32];
    static const char *const fast[] = {"tsc", "arch_sys_counter", "hyperv_clocksource_tsc_page", "kvm-clock",
                                       "timebase"};
    if (!doctor_read(doctor, source, sizeof source, "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
        return;
    bool is_fast = false;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        is_fast |= strcmp(source, fast[i]) == 0;
    doctor_add(doctor, is_fast ? DOCTOR_OK : DOCTOR_WARNING, "clock source", "%s%s", source,
               is_fast ? "" : ": reading the clock takes a system call or more");
    if (!is_fast)
        doctor_advise(doctor,
                      "times of a few microseconds come out too long; dmesg says why the kernel does not use tsc");
}

void doctor_timing(struct doctor *doctor)
{
    struct clab_machine machine;
    clab_machine_read(&machine);
    doctor->section = "Noise in times";
    add_governor(doctor, &machine);
    add_hypervisor(doctor, &machine);
    add_load(doctor, &machine);
    add_clock(doctor);
}
