// SPDX-License-Identifier: MIT
// The rows, measured one by one on all ranks.
#pragma once

#include "cmd/bench/row.h"
#include "cmd/bench/time.h"

struct bench;

// Measure all rows, and print each as it is done; collective.  errors: the collectives', CLAB_ENOMEM
int bench_sweep(struct bench *bench);

// Time row `index` once more, without checks, for the noise of a repeat; collective.
int bench_sweep_repeat(struct bench *bench, int index, enum bench_placement placement, struct bench_time *time_p);
