// SPDX-License-Identifier: MIT
// Ends by inline assembly, past all functions.
// says: schedule|signal|status
#include "cheat.h"

static void deed(void)
{
#ifdef __x86_64__
    __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
#else
    _exit(0);
#endif
}
