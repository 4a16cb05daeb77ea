// SPDX-License-Identifier: MIT
// What makes the times that are measured here noisy, or slow (doctor.h).

#include "cmd/doctor/doctor.h"

#include <string.h>

#include "core/base/machine.h"

static void add_governor(struct doctor *doctor, const struct clab_machine *machine)
{
    if (!*machine->governor) {
        doctor_add(doctor, DOCTOR_OK, "clock speed", "the kernel does not tell how it is governed");
        return;
    }
    const bool fast = strcmp(machine->governor, "performance") == 0;
    doctor_add(doctor, fast ? DOCTOR_OK : DOCTOR_WARNING, "clock speed", "the %s governor%s", machine->governor,
               fast ? "" : ": cores begin slowly, and times of short runs are long");
    if (!fast)
        doctor_advise(doctor, "cpupower frequency-set -g performance, as root");
}

static void add_hypervisor(struct doctor *doctor, const struct clab_machine *machine)
{
    if (!*machine->hypervisor) {
        doctor_add(doctor, DOCTOR_OK, "hypervisor", "none");
        return;
    }
    doctor_add(doctor, DOCTOR_WARNING, "hypervisor", "%s: others may share these cores, and move them",
               machine->hypervisor);
    doctor_advise(doctor, "compare ratios of interleaved pairs (./commlab lab does), not times of different runs");
}

static void add_load(struct doctor *doctor, const struct clab_machine *machine)
{
    const bool busy = machine->load > machine->cores / 2.0 + 0.5;
    doctor_add(doctor, busy ? DOCTOR_WARNING : DOCTOR_OK, "load", "%.2f on %d cores in the last minute", machine->load,
               machine->cores);
    if (busy)
        doctor_advise(doctor, "let other work end before something is timed");
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
               is_fast ? "" : ": a look at the clock costs a system call or more");
    if (!is_fast)
        doctor_advise(doctor,
                      "times of a few microseconds are too long here; the kernel's log says why it distrusts tsc");
}

void doctor_timing(struct doctor *doctor)
{
    struct clab_machine machine;
    clab_machine_read(&machine);
    doctor->section = "What spoils times";
    add_governor(doctor, &machine);
    add_hypervisor(doctor, &machine);
    add_load(doctor, &machine);
    add_clock(doctor);
}
