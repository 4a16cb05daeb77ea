// SPDX-License-Identifier: MIT
// Values of flags: each is read whole, or refused in one line that names the flag and what it takes.
// Errors of all: CLAB_EINVAL (logged).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MOST_SECONDS = 3600 }; // per row

// The names that a flag takes.
struct bench_names {
    int count;
    const char *(*name)(int);
};
// The number of the name in the first `length` characters of `text`; -1 after one line that lists all names.
int bench_find_name(struct bench_names names, const char *flag, const char *text, size_t length);
// Names with commas between them, or "all".  out: chosen (names.count)
int bench_take_list(struct bench_names names, const char *flag, const char *text, bool chosen[]);
// One of two or more words, ended by NULL: its number.
int bench_take_word(const char *flag, const char *text, const char *const words[], int *number_p);
int bench_take_int(const char *flag, const char *text, int low, int high, int *value_p);
int bench_take_size(const char *flag, const char *text, size_t *bytes_p); // above 0
int bench_take_seconds(const char *text, double *seconds_p); // with or without a unit, up to BENCH_MOST_SECONDS
int bench_take_seed(const char *text, uint64_t *seed_p);
