// SPDX-License-Identifier: MIT
// A hint that a line of memory will be written soon: the core asks for it now, so that a later store need not wait.
#pragma once

static inline void clab_prefetch_to_write(const void *at)
{
#if defined(__x86_64__) || defined(__i386__)
    // Not __builtin_prefetch(at, 1): without -mprfchw it asks for a copy to read, which a store has to wait for again.
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}
