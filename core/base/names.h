// SPDX-License-Identifier: MIT
// A kind of names, such as the collectives', and which of them a text means.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clab_names {
    int count;
    const char *const *words; // (count), or
    const char *(*name)(int); // each, by its number
};

// Names that are written out: &CLAB_NAMES("0", "1", "both")
#define CLAB_NAMES(...)                                                                     \
    ((const struct clab_names){sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), \
                               (const char *const[]){__VA_ARGS__}, NULL})

// The number of the name that is `text`, as the value of an enum at `enum_p`.  errors: CLAB_ENOENT, not logged
int clab_names_parse(const struct clab_names *names, const char *text, void *enum_p);
// The number of the name that is the first `length` characters of `text`; -1 after one line that names the flag, the
// nearest name and all names.
int clab_names_find(const struct clab_names *names, const char *flag, const char *text, size_t length);
// Names with commas between them, or "all".  out: chosen (names->count)
//   errors: CLAB_EINVAL, logged
int clab_names_take(const struct clab_names *names, const char *flag, const char *text, bool chosen[]);
