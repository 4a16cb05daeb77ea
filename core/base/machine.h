// SPDX-License-Identifier: MIT
// The machine that numbers were measured on: what it is, what may spoil them, and where ranks are pinned.
// - All is read from the kernel's files (/proc, /sys); what is not told there is 0 or "", and never an error.
// - Cores are those that this process may use: its affinity, as it was before clab_machine_pin narrowed it.
#pragma once

#include <stddef.h>

#include "core/base/manifest.h"

struct clab_machine {
    char cpu[96];              // "AMD EPYC 9654 96-Core Processor"
    int cores, physical_cores; // usable; fewer physical ones where hardware threads share a core
    size_t l1d_bytes, l2_bytes, l3_bytes;
    size_t memory_bytes; // a container's limit, if that is less than the machine's
    char kernel[96];     // "Linux 6.1.0-18-amd64 x86_64"
    char hypervisor[32]; // "KVMKVMKVM", "Microsoft Hv, WSL2"; "" on bare metal
    char governor[32];   // "performance"
    double load;         // the last minute's average
};

void clab_machine_read(struct clab_machine *machine_p);

// Add the machine (this one, or as the caller knows it), and how this library was built, to the manifest.
//   errors: CLAB_ENOMEM
int clab_machine_describe(struct clab_manifest *manifest);
int clab_machine_describe_as(const struct clab_machine *machine, struct clab_manifest *manifest);
// How it was built alone, for results that are no machine's.
int clab_machine_describe_build(struct clab_manifest *manifest);

// Add what will spoil a measurement of `nranks` ranks here, under the key "warning": too few cores, hardware threads,
// other work, a slow clock, little memory.  errors: CLAB_ENOMEM
int clab_machine_warn(const struct clab_machine *machine, int nranks, struct clab_manifest *manifest);

// The last-level cache, 0 where unknown.
size_t clab_machine_last_cache_bytes(void);

// Memory that could be had now, by giving up caches and swapping; 0 where unknown.
size_t clab_machine_available_bytes(void);

// Processes that this system has ended for lack of memory, ever; 0 where unknown.
unsigned long clab_machine_oom_kills(void);

// Usable cores; *physical_p (NULL: not wanted) counts those that share hardware once.
int clab_machine_cores(int *physical_p);

// Pin the calling thread to the core of rank `local_rank` of `nlocal` on this host: physical cores in order first, then
// their second threads. More ranks than cores share them in blocks, if all cores get the same number: neighbours meet
// on a core, and the scheduler moves nobody. Else they stay free, so that it can share the cores out fairly.
//   errors: CLAB_EUNSUPPORTED (no equal blocks, or only one core for them, or the system refuses), not logged; nothing
//   has changed then
int clab_machine_pin(int local_rank, int nlocal);

// The calling thread may run where process `pid` may: a helper of a pinned rank, where its launcher may. If the system
// refuses, nothing changes.
void clab_machine_follow(int pid);
