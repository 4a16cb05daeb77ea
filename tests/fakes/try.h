// SPDX-License-Identifier: MIT
// What the tests of the fakes share. They are linked against the real libraries, and run over the fakes
// (../test_fakes.sh).
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

// A process that a test has forked ends where it fails: it must not go on with the tests.
static bool try_is_child;

__attribute__((format(printf, 1, 2))) static inline void try_fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!try_is_child)
        fail_msg("%s", text);
    fprintf(stderr, "# %s\n", text);
    _exit(1);
}

// A call must answer this.
#define MUST_BE(result, call)                                                                                     \
    do {                                                                                                          \
        const int result_ = (int)(call);                                                                          \
        if (result_ != (int)(result))                                                                             \
            try_fail("%s:%d: %s is %d, not %d (%s)", __FILE__, __LINE__, #call, result_, (int)(result), #result); \
    } while (0)
#define MUST(call) MUST_BE(0, call)
