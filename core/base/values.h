// SPDX-License-Identifier: MIT
// Values that a user gives: taken whole within their range, or refused in one line that names the flag and what it
// takes.
// errors of all: CLAB_EINVAL, logged; then nothing is written
#pragma once

#include <stddef.h>
#include <stdint.h>

// Log "FLAG 'TEXT' is not EXPECTED".  Always CLAB_EINVAL
int clab_refuse(const char *flag, const char *text, const char *expected);

int clab_take_int(const char *flag, const char *text, int low, int high, int *value_p);
int clab_take_size(const char *flag, const char *text, size_t low, size_t *bytes_p); // bytes
// With its unit, or just 0.  low: DBL_MIN for above 0
int clab_take_seconds(const char *flag, const char *text, double low, double high, double *seconds_p);
int clab_take_bare_seconds(const char *flag, const char *text, double high,
                           double *seconds_p);                             // with or without a unit
int clab_take_cost(const char *flag, const char *text, double *seconds_p); // per byte, at most 1 s, or just 0
int clab_take_percent(const char *flag, const char *text, double high, double *part_p); // "5%" is 0.05; above 0
int clab_take_number(const char *flag, const char *text, double low, double high, double *value_p); // without a unit
int clab_take_seed(const char *flag, const char *text, uint64_t *seed_p);
