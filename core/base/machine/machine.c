// SPDX-License-Identifier: MIT
// What the kernel says about this machine, and the manifest of a measurement (machine.h).

#include "core/base/machine/machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/machine/cgroup.h"
#include "core/base/err.h"
#include "core/base/numbers/reduce.h"
#include "core/base/units.h"
#include "core/base/variables.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

// The build defines these for this file; a compilation by hand has nothing to say.
#ifndef CLAB_BUILD_COMPILER
#define CLAB_BUILD_COMPILER "unknown"
#endif
#ifndef CLAB_BUILD_FLAGS
#define CLAB_BUILD_FLAGS "unknown"
#endif
#ifndef CLAB_BUILD_VERSION
#define CLAB_BUILD_VERSION "unknown"
#endif
#ifndef CLAB_BUILD_COMMIT
#define CLAB_BUILD_COMMIT "unknown"
#endif

enum { LITTLE_MEMORY = 1 << 30 };

// The first line of a file, "" where there is none.
static void read_line(const char *path, char *out, size_t room)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(out, (int)room, file))
        *out = '\0';
    if (file)
        fclose(file);
    out[strcspn(out, "\n")] = '\0';
}

// The value of the first `key : value` line of a file such as /proc/cpuinfo, "" where there is none.
static void read_value(const char *path, const char *key, char *out, size_t room)
{
    char line[256];
    FILE *file = fopen(path, "re");
    *out = '\0';
    while (file && !*out && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, room, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (file)
        fclose(file);
}

// ---- caches and memory ---------------------------------------------------------------------------------------

// One cache of cpu 0: its size in bytes if it holds data of `level`, else 0.
static size_t cache_at(int index, int level)
{
    char path[96], text[32];
    size_t bytes;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", index);
    read_line(path, text, sizeof text);
    if (atoi(text) != level)
        return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", index);
    read_line(path, text, sizeof text);
    if (strcmp(text, "Instruction") == 0)
        return 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    read_line(path, text, sizeof text);
    return clab_parse_size(text, &bytes) == CLAB_OK ? bytes : 0;
}

static size_t cache_bytes(int level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int index = 0; index < 8; index++) {
        size_t bytes = cache_at(index, level);
        if (bytes > 0)
            return bytes;
    }
    long known = sysconf(names[level - 1]); // from the CPU itself, where the kernel tells nothing
    return known > 0 ? (size_t)known : 0;
}

size_t clab_machine_last_cache_bytes(void)
{
    for (int level = 3; level > 0; level--) {
        size_t bytes = cache_bytes(level);
        if (bytes > 0)
            return bytes;
    }
    return 0;
}

static size_t meminfo_bytes(const char *root, const char *key)
{
    char text[32], path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    read_value(path, key, text, sizeof text);
    return (size_t)strtoull(text, NULL, 10) << 10; // "23456 kB"
}

// The machine's memory, or what a container leaves of it.
static size_t memory_bytes(const char *root)
{
    const size_t bytes =
        *root ? meminfo_bytes(root, "MemTotal") : (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    struct clab_cgroup cgroup;
    clab_cgroup_read(root, &cgroup);
    return cgroup.memory_bytes && (cgroup.memory_bytes < bytes || !bytes) ? cgroup.memory_bytes : bytes;
}

size_t clab_machine_available_bytes_below(const char *root)
{
    const size_t available = meminfo_bytes(root, "MemAvailable"), most = memory_bytes(root);
    const size_t bytes = available ? available + meminfo_bytes(root, "SwapFree") : 0;
    return bytes < most ? bytes : most;
}

size_t clab_machine_available_bytes(void)
{
    return clab_machine_available_bytes_below("");
}

unsigned long clab_machine_oom_kills(void)
{
    unsigned long kills = 0;
    char line[128];
    FILE *file = fopen("/proc/vmstat", "re");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "oom_kill %lu", &kills);
    if (file)
        fclose(file);
    return kills;
}

// ---- the system ----------------------------------------------------------------------------------------------

static void read_cpu(char *out, size_t room)
{
    read_value("/proc/cpuinfo", "model name", out, room);
    if (!*out)
        read_line("/proc/device-tree/model", out, room); // boards whose processor has no name
    if (!*out)
        snprintf(out, room, "unknown processor");
}

static void read_hypervisor(const char *kernel, char *out, size_t room)
{
    char vendor[13] = "";
#ifdef __x86_64__
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 31)) { // the bit that no bare machine sets
        __cpuid(0x40000000, a, b, c, d);
        memcpy(vendor, &b, 4);
        memcpy(vendor + 4, &c, 4);
        memcpy(vendor + 8, &d, 4);
    }
#endif
    const char *wsl = strstr(kernel, "microsoft") ? "WSL2" : "";
    snprintf(out, room, "%s%s%s", vendor, *vendor && *wsl ? ", " : "", wsl);
}

void clab_machine_read(struct clab_machine *machine_p)
{
    struct clab_machine m = {.l1d_bytes = cache_bytes(1), .l2_bytes = cache_bytes(2), .l3_bytes = cache_bytes(3)};
    struct utsname system;
    read_cpu(m.cpu, sizeof m.cpu);
    m.cores = clab_machine_cores(&m.physical_cores);
    m.memory_bytes = memory_bytes("");
    if (uname(&system) == 0)
        snprintf(m.kernel, sizeof m.kernel, "%.16s %.60s %.16s", system.sysname, system.release, system.machine);
    read_hypervisor(m.kernel, m.hypervisor, sizeof m.hypervisor);
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", m.governor, sizeof m.governor);
    if (getloadavg(&m.load, 1) != 1)
        m.load = 0;
    *machine_p = m;
}

// ---- the manifest --------------------------------------------------------------------------------------------

static int add_hardware(const struct clab_machine *m, struct clab_manifest *manifest)
{
    char l1d[CLAB_TEXT], l2[CLAB_TEXT], l3[CLAB_TEXT], memory[CLAB_TEXT];
    CLAB_TRY(clab_manifest_add(manifest, "machine", "%s, %d cores (%d physical)", m->cpu, m->cores, m->physical_cores));
    CLAB_TRY(clab_manifest_add(manifest, "caches", "L1d %s, L2 %s, L3 %s", clab_size_text(m->l1d_bytes, l1d),
                               clab_size_text(m->l2_bytes, l2), clab_size_text(m->l3_bytes, l3)));
    CLAB_TRY(clab_manifest_add(manifest, "memory", "%s", clab_size_text(m->memory_bytes, memory)));
    CLAB_TRY(clab_manifest_add(manifest, "kernel", "%s", m->kernel));
    CLAB_TRY(clab_manifest_add(manifest, "hypervisor", "%s", *m->hypervisor ? m->hypervisor : "none"));
    CLAB_TRY(clab_manifest_add(manifest, "governor", "%s", *m->governor ? m->governor : "unknown"));
    return clab_manifest_add(manifest, "load", "%.2f", m->load);
}

static int add_environment(struct clab_manifest *manifest)
{
    for (enum clab_variable i = 0; i < CLAB_VARIABLES_COUNT; i++)
        if (clab_variable_is_written(i) && clab_variable_is_set(i))
            CLAB_TRY(clab_manifest_add(manifest, "environment", "%s=%s", clab_variable_name(i), clab_variable_text(i)));
    return CLAB_OK;
}

int clab_machine_describe_build(struct clab_manifest *manifest)
{
    CLAB_TRY(clab_manifest_add(manifest, "compiler", "%s", CLAB_BUILD_COMPILER));
    CLAB_TRY(clab_manifest_add(manifest, "flags", "%s", CLAB_BUILD_FLAGS));
    CLAB_TRY(clab_manifest_add(manifest, "version", "%s", CLAB_BUILD_VERSION));
    return clab_manifest_add(manifest, "commit", "%s", CLAB_BUILD_COMMIT);
}

int clab_machine_describe_as(const struct clab_machine *machine, struct clab_manifest *manifest)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    CLAB_TRY(clab_manifest_add(manifest, "date", "%s", date));
    CLAB_TRY(add_hardware(machine, manifest));
    CLAB_TRY(clab_manifest_add(manifest, "vectors", "%s", clab_elements_isa()));
    CLAB_TRY(clab_machine_describe_build(manifest));
    return add_environment(manifest);
}

int clab_machine_describe(struct clab_manifest *manifest)
{
    struct clab_machine machine;
    clab_machine_read(&machine);
    return clab_machine_describe_as(&machine, manifest);
}

int clab_machine_warn(const struct clab_machine *m, int nranks, struct clab_manifest *manifest)
{
    static const char *const key = "warning";
    char memory[CLAB_TEXT];
    if (nranks > m->cores)
        CLAB_TRY(
            clab_manifest_add(manifest, key, "%d ranks share %d cores, times include the scheduler", nranks, m->cores));
    else if (nranks > m->physical_cores)
        CLAB_TRY(clab_manifest_add(manifest, key, "%d ranks on %d physical cores, hardware threads share them", nranks,
                                   m->physical_cores));
    const int idle = m->cores > nranks ? m->cores - nranks : 0; // cores that others may keep busy
    if (m->load > idle + 0.5)
        CLAB_TRY(clab_manifest_add(manifest, key, "the machine was busy in the last minute (load %.2f)", m->load));
    if (strcmp(m->governor, "powersave") == 0)
        CLAB_TRY(
            clab_manifest_add(manifest, key, "the powersave governor, cpupower frequency-set -g performance ends it"));
    if (m->memory_bytes < LITTLE_MEMORY)
        CLAB_TRY(clab_manifest_add(manifest, key, "little memory (%s)", clab_size_text(m->memory_bytes, memory)));
    return CLAB_OK;
}
