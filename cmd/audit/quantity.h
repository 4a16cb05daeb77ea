// SPDX-License-Identifier: MIT
// Quantities with units, and arithmetic with them: "45 GB/s", "2 * (n - 1) / n * bytes / rate".
//
// - A quantity counts in bytes and seconds: 100 Gb/s is 12.5e9 B/s, 45 % is 0.45. kB, MB, GB are powers of 1000; KiB, MiB,
//   GiB of 1024; kb, Mb, Gb are bits.
// - A value is a list of quantities of one dimension: "12 us, 124.3 us". An operator takes lists element by element, and a
//   single quantity with each element. sum, product, mean, max and min make one of a list.
// - To add or compare different dimensions is refused: bytes are no seconds.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { AUDIT_LIST = 32, AUDIT_WHY = 192, AUDIT_STEPS = 10000 };

struct audit_value {
    int n;
    double v[AUDIT_LIST]; // bytes^bytes seconds^seconds
    int bytes, seconds;
    bool percent; // it was written with %
};

// What a name in an expression means.
//   errors: CLAB_ENOENT (nobody has said so), those of audit_eval
struct audit_names {
    int (*find)(const struct audit_names *names, const char *name, struct audit_value *value_p, char why[AUDIT_WHY]);
    const void *of;
    int depth;  // of names in names
    int *steps; // uses of names that are left: a = b + b, b = c + c, ... doubles them at each line
};

// The value of `text`.
//   errors: CLAB_EPARSE, with `why` in words
int audit_eval(const char *text, const struct audit_names *names, struct audit_value *value_p, char why[AUDIT_WHY]);

// Whether both count the same thing.
bool audit_is_alike(const struct audit_value *a, const struct audit_value *b);

// Element i for people: "5.6 GB/s", "360 %", "2.4 ms".
const char *audit_text(const struct audit_value *value, int i, char *out, size_t room);
