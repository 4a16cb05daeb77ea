// SPDX-License-Identifier: MIT
// Memory of one NUMA node, copied by a core of another.
//
// - Linux gives a page to the node of the core that first writes it. So a thread that moves to a core, writes an array,
//   and moves to another core then copies memory of the first node.
// - Arrays are far larger than caches. The best of some copies counts: others are disturbed.
// Source: Documentation/admin-guide/mm/numa_memory_policy.rst of the Linux kernel (local allocation).

#include "cmd/device/numa.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"

enum { MOST_CPUS = CPU_SETSIZE, FEWEST_COPIES = 3 };

// ---- which there are -----------------------------------------------------------------------------------------

// The first processor of a list such as "2-5,8" that this thread may use; -1: none.
static int first_usable(const char *list, const cpu_set_t *usable)
{
    for (int length; *list; list += length + (list[length] == ',')) {
        int low, high;
        if (sscanf(list, "%d-%d%n", &low, &high, &length) != 2) {
            if (sscanf(list, "%d%n", &low, &length) != 1)
                return -1;
            high = low;
        }
        for (int cpu = low; cpu <= high && cpu >= 0 && cpu < MOST_CPUS; cpu++)
            if (CPU_ISSET(cpu, usable))
                return cpu;
    }
    return -1;
}

static int cpu_of(const char *folder, int node, const cpu_set_t *usable)
{
    char path[512], list[4096] = "";
    snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    const bool is_read = fgets(list, sizeof list, file);
    fclose(file);
    list[strcspn(list, "\n")] = '\0';
    return is_read ? first_usable(list, usable) : -1;
}

int numa_find(const char *folder, struct numa_node nodes[NUMA_NODES])
{
    cpu_set_t usable;
    int n = 0;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return 0;
    for (int node = 0; node < 1024 && n < NUMA_NODES; node++) {
        const int cpu = cpu_of(folder, node, &usable);
        if (cpu >= 0)
            nodes[n++] = (struct numa_node){node, cpu};
    }
    return n;
}

// ---- one copy ------------------------------------------------------------------------------------------------

static int move_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        return CLAB_OK;
    clab_error("device: processor %d can not be used: %s", cpu, strerror(errno));
    return CLAB_ESYS;
}

// s of the fastest copy
static double copy_for(double seconds, const char *in, char *out, size_t bytes)
{
    const double end = clab_now() + seconds;
    double least = 0;
    for (int n = 0; n < FEWEST_COPIES || clab_now() < end; n++) {
        const double start = clab_now();
        memcpy(out, in, bytes);
        const double took = clab_now() - start;
        least = n && least < took ? least : took;
        __asm__ volatile("" ::"r"(out) : "memory"); // it is wanted
    }
    return least;
}

static int copy_at(const struct numa_node *home, const struct numa_node *at, char *memory, size_t bytes, double seconds,
                   double *rate_p)
{
    CLAB_TRY(move_to(home->cpu));
    memset(memory, 1, 2 * bytes);
    CLAB_TRY(move_to(at->cpu));
    *rate_p = (double)bytes / copy_for(seconds, memory, memory + bytes, bytes);
    return CLAB_OK;
}

int numa_copy(const struct numa_node *home, const struct numa_node *at, size_t bytes, double seconds, double *rate_p)
{
    cpu_set_t before;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return CLAB_ESYS;
    char *memory = malloc(2 * bytes);
    const int err = memory ? copy_at(home, at, memory, bytes, seconds, rate_p) : CLAB_ENOMEM;
    free(memory);
    sched_setaffinity(0, sizeof before, &before);
    return err;
}

// ---- the table -----------------------------------------------------------------------------------------------

static int measure_all(const struct numa_node nodes[], int n, size_t bytes, double seconds, FILE *out)
{
    char size[CLAB_TEXT];
    fprintf(out, "# copies of %s by one core, in GB/s: memory of the row's NUMA node, a core of the column's\n#           ",
            clab_size_text(bytes, size));
    for (int at = 0; at < n; at++)
        fprintf(out, "  core of %d", nodes[at].number);
    for (int home = 0; home < n; home++) {
        fprintf(out, "\n  memory of %d", nodes[home].number);
        for (int at = 0; at < n; at++) {
            double rate;
            CLAB_TRY(numa_copy(&nodes[home], &nodes[at], bytes, seconds, &rate));
            fprintf(out, " %10.2f", 1e-9 * rate);
        }
    }
    fprintf(out, "\n");
    return CLAB_OK;
}

int numa_measure(size_t bytes, double seconds, FILE *out)
{
    struct numa_node nodes[NUMA_NODES];
    const int n = numa_find("/sys/devices/system/node", nodes);
    if (n > 1)
        return measure_all(nodes, n, bytes, seconds, out);
    fprintf(out, "NUMA: not measured, because this machine has %s\n",
            n ? "one NUMA node whose cores this process may use" : "no list of NUMA nodes in /sys/devices/system/node");
    return CLAB_OK;
}
