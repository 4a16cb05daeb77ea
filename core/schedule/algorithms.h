// SPDX-License-Identifier: MIT
// The algorithms of the kit, each a constant table of pure functions. registry.c makes clab_algorithms[] of them.
#pragma once

#include "schedule/schedule.h"

// In the order in which tables and help show them.
#define CLAB_ALGORITHMS(X)     \
    X(allreduce_ring)          \
    X(allgather_ring)          \
    X(reduce_scatter_ring)

#define X(name) extern const struct clab_algorithm clab_##name;
CLAB_ALGORITHMS(X)
#undef X
