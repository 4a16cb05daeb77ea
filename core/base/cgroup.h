// SPDX-License-Identifier: MIT
// What the kernel's groups of processes (cgroups) leave to this one: limits of a container, a batch system, systemd.
// - A limit holds for all groups below its own: the least counts from this process's group up to the root.
// - Both versions are read, and both at once: each line of /proc/self/cgroup is one.
// - Inside a container the root of what is mounted may be its own group, whose path outside nobody can see: then the
//   way up ends there, too.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/, man 7 cgroups.
#pragma once

#include <stddef.h>

struct clab_cgroup {
    double cores;        // of time a second; 0: no limit
    size_t memory_bytes; // 0: no limit
};

// The limits below `root`, where /proc and /sys lie: "" is this machine's. What is not told there is no limit.
void clab_cgroup_read(const char *root, struct clab_cgroup *cgroup_p);
