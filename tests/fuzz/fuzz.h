// SPDX-License-Identifier: MIT
// What the fuzzing targets share. A target is one file, fuzz_NAME.c, that hands arbitrary bytes to one parser and
// checks what a parse must fulfil; drive.c, or libFuzzer, makes up the bytes.
//
// - LLVMFuzzerTestOneInput answers 0 and leaves nothing behind; must_hold ends the program, and the input is kept.
// - What the code under test logs comes to log.c instead of the screen: a refusal owes its reader one line.
//
// Source: LLVM, libFuzzer: a library for coverage-guided fuzz testing, for the interface.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// log.c: what has been logged since the last fuzz_log_clear: how many lines were errors, and the last of them.
extern int fuzz_log_errors;
extern char fuzz_log_last[4096];
void fuzz_log_clear(void);

#define must_hold(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

static inline _Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    if (fuzz_log_errors)
        fprintf(stderr, "what was logged last: %s\n", fuzz_log_last);
    abort();
}

// ---- input ---------------------------------------------------------------------------------------------------

// The input as text that ends in a zero, with not a byte of room behind it. Freed by the caller.
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must_hold(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

// The input as a file. Closed by the caller.
static inline FILE *fuzz_file(const void *data, size_t size)
{
    // fmemopen's own byte for size 0 would be read, too.
    FILE *file = size ? fmemopen((void *)data, size, "r") : fopen("/dev/null", "r");
    must_hold(file);
    return file;
}

// The same as a file that has been read whole. Closed by the caller.
static inline struct clab_input fuzz_input(const uint8_t *data, size_t size)
{
    struct clab_input input = {.text = fuzz_text(data, size), .bytes = size};
    input.file = fuzz_file(input.text, size);
    return input;
}

// ---- what was said -------------------------------------------------------------------------------------------

// The last error is the only one, names the place and is one line.
static inline void must_say_once(const char *place)
{
    must_hold(fuzz_log_errors == 1);
    must_hold(strncmp(fuzz_log_last, place, strlen(place)) == 0);
    must_hold(fuzz_log_last[strlen(place)]); // and says something
}
