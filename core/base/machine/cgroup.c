// SPDX-License-Identifier: MIT
// Limits of this process's control groups (cgroup.h).

#include "core/base/machine/cgroup.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

// The first two numbers of a file, of which there may be fewer: "max" is none. Returns how many.
static int read_numbers(const char *folder, const char *name, double *first_p, double *second_p)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    const int n = file ? fscanf(file, "%lf %lf", first_p, second_p) : 0;
    if (file)
        fclose(file);
    return n;
}

static void limit_cores(struct clab_cgroup *cgroup, double quota, double period)
{
    const double cores = quota / period;
    if (quota > 0 && period > 0 && (cgroup->cores == 0 || cores < cgroup->cores))
        cgroup->cores = cores;
}

// Version 1 says a number near 2^63 where there is no limit.
static void limit_memory(struct clab_cgroup *cgroup, double bytes)
{
    if (bytes > 0 && bytes < (double)(INT64_MAX / 2) &&
        (cgroup->memory_bytes == 0 || bytes < (double)cgroup->memory_bytes))
        cgroup->memory_bytes = (size_t)bytes;
}

// The limits that one group sets, whichever of its files there are: version 2's, then version 1's.
static void add_group(const char *folder, struct clab_cgroup *cgroup)
{
    double first, second, none;
    if (read_numbers(folder, "cpu.max", &first, &second) == 2)
        limit_cores(cgroup, first, second);
    if (read_numbers(folder, "memory.max", &first, &second) == 1)
        limit_memory(cgroup, first);
    if (read_numbers(folder, "cpu.cfs_quota_us", &first, &second) == 1 &&
        read_numbers(folder, "cpu.cfs_period_us", &second, &none) == 1)
        limit_cores(cgroup, first, second);
    if (read_numbers(folder, "memory.limit_in_bytes", &first, &second) == 1)
        limit_memory(cgroup, first);
}

// The group `path` ("/user.slice/job") of what is mounted at `mount`, and all above it.
static void add_groups(const char *mount, const char *path, struct clab_cgroup *cgroup)
{
    char folder[PATH_MAX];
    // A group outside of this process's namespace begins with "/..", and has no folder here.
    const int n = snprintf(folder, sizeof folder, "%s%s", mount, strncmp(path, "/..", 3) ? path : "");
    while (n < PATH_MAX) {
        add_group(folder, cgroup);
        char *end = strrchr(folder + strlen(mount), '/');
        if (!end)
            return;
        *end = '\0';
    }
}

// A line of /proc/self/cgroup: "0::/user.slice/job" of version 2, "4:cpu,cpuacct:/job" of version 1, which is mounted
// once for each of its controllers.
static void add_line(const char *root, char *line, struct clab_cgroup *cgroup)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    controllers++;
    const char *const mounts[] = {*controllers ? NULL : "", *controllers ? NULL : "/unified",
                                  clab_list_has(controllers, "cpu") ? "/cpu" : NULL,
                                  clab_list_has(controllers, "memory") ? "/memory" : NULL};
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        if (!mounts[i] || snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, mounts[i]) >= PATH_MAX)
            continue;
        add_groups(mount, path, cgroup);
    }
}

void clab_cgroup_read(const char *root, struct clab_cgroup *cgroup_p)
{
    char path[PATH_MAX], line[PATH_MAX];
    *cgroup_p = (struct clab_cgroup){0, 0};
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= PATH_MAX)
        return;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        add_line(root, line, cgroup_p);
    if (file)
        fclose(file);
}
