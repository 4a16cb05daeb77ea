// SPDX-License-Identifier: MIT
// The machine that a measurement ran on: what it is, what may disturb the measurement, and where ranks are pinned.
// - Everything comes from the kernel's files (/proc, /sys). What they do not say is 0 or "", and never an error.
// - Cores are those that this process may use: its affinity before clab_machine_pin narrowed it.
#pragma once

#include <stddef.h>

#include "core/base/files/manifest.h"

struct clab_machine {
    char cpu[96];              // "AMD EPYC 9654 96-Core Processor"
    int cores, physical_cores; // usable; fewer physical ones where hardware threads share a core
    size_t l1d_bytes, l2_bytes, l3_bytes;
    size_t memory_bytes; // the machine's, or a container's limit if that is less
    char kernel[96];     // "Linux 6.1.0-18-amd64 x86_64"
    char hypervisor[32]; // "KVMKVMKVM", "Microsoft Hv, WSL2"; "" on bare metal
    char governor[32];   // "performance"
    double load;         // the last minute's average
};

void clab_machine_read(struct clab_machine *machine_p);

// Add this machine, or the one that the caller describes, and how this library was built, to the manifest.
//   errors: CLAB_ENOMEM
int clab_machine_describe(struct clab_manifest *manifest);
int clab_machine_describe_as(const struct clab_machine *machine, struct clab_manifest *manifest);
// Only how this library was built, for results that do not depend on a machine.
int clab_machine_describe_build(struct clab_manifest *manifest);

// Add what may disturb a measurement of `nranks` ranks here, under the key "warning": too few cores, hardware threads,
// other work, a slow clock, little memory.  errors: CLAB_ENOMEM
int clab_machine_warn(const struct clab_machine *machine, int nranks, struct clab_manifest *manifest);

// The last-level cache, 0 where unknown.
size_t clab_machine_last_cache_bytes(void);

// Memory that is available now, counting caches and swap space, within the limit of a container; 0 where unknown.
size_t clab_machine_available_bytes(void);
// The same of the machine whose /proc and /sys are below the folder `root`.
size_t clab_machine_available_bytes_below(const char *root);

// The number of processes that this system has ended for lack of memory since it started; 0 where unknown.
unsigned long clab_machine_oom_kills(void);

// Usable cores; *physical_p (or NULL) counts hardware threads of one core once.
int clab_machine_cores(int *physical_p);

// Pin the calling thread to the core of rank `local_rank` of `nlocal` on this host: physical cores in order first, then
// their second threads. More ranks than cores share them in equal blocks: neighbours are on one core, and the scheduler
// moves no rank. Without equal blocks ranks stay unpinned, so that the scheduler can share the cores fairly.
//   errors: CLAB_EUNSUPPORTED (no equal blocks, or one core only, or the system refuses), not logged; nothing changes
int clab_machine_pin(int local_rank, int nlocal);

// Let the calling thread run where process `pid` may: a helper of a pinned rank runs where its launcher may. If the
// system refuses, nothing changes.
void clab_machine_follow(int pid);

// Let the calling thread have the core often and briefly, for 0.1 ms at a time, beside others that want it. Linux 6.12
// has slices per thread; on other kernels and policies this changes nothing. The scheduling policy stays as it is.
void clab_machine_short_slices(void);
