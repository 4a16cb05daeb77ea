// SPDX-License-Identifier: MIT
// The hint that a waiting loop gives its core between two looks: slow down, and save power.
#pragma once

static inline void clab_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
