// SPDX-License-Identifier: MIT
// How far predictions were off, beside how far a repeated measurement is off.
#pragma once

#include "cmd/bench/time.h"

struct bench;

// How much the same rows differ when they are measured again, as a fraction: the median over at most 12 rows whose
// cores were in the same place both times. NAN: fewer than three are.  first, again: (n), the same rows
double bench_repeat_noise(const struct bench_time first[], const struct bench_time again[], int n);

// Measure some rows again, and print the last lines; collective.  errors: the collectives', CLAB_ENOMEM
int bench_errors_print(struct bench *bench);
