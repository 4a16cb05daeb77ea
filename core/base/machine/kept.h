// SPDX-License-Identifier: MIT
// How long a thread waited for a core because others had it: what a busy machine adds to the thread's times.
// - The kernel counts it (Linux, Documentation/scheduler/sched-stats.rst: run_delay). It does not count sleep.
// - A hypervisor that takes a virtual machine's core away is not seen.
#pragma once

// Seconds that the calling thread has been ready to run since it began, and did not run; NaN: the kernel does not say.
// It costs half a microsecond.
double clab_kept(void);
