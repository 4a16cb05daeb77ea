// SPDX-License-Identifier: MIT
// What a waiting loop says to its core between two looks: nothing is lost by going slowly.
#pragma once

static inline void clab_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
