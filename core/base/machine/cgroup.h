// SPDX-License-Identifier: MIT
// The limits of this process's control groups (cgroups), which containers, batch systems and systemd set.
// - A limit holds for all groups below its own: the lowest one on the way up to the root counts.
// - Both versions of cgroups are read, also at once: each line of /proc/self/cgroup belongs to one of them.
// - Inside a container the mounted root may be the container's own group, whose path outside is not visible. Then the
//   way up ends there.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, man 7 cgroups.
#pragma once

#include <stddef.h>

struct clab_cgroup {
    double cores;        // core seconds per second; 0: no limit
    size_t memory_bytes; // 0: no limit
};

// The limits that /proc and /sys below the folder `root` name; "": this machine's. Without a limit, it is 0.
void clab_cgroup_read(const char *root, struct clab_cgroup *cgroup_p);
