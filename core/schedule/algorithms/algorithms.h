// SPDX-License-Identifier: MIT
// The algorithms of the kit, each a constant table of pure functions. registry.c makes clab_algorithms[] of them.
#pragma once

#include "core/schedule/schedule.h"

// In the order in which tables and help show them.
#define CLAB_ALGORITHMS(X)         \
    X(allreduce_naive)             \
    X(allreduce_star)              \
    X(allreduce_ring)              \
    X(allreduce_tree)              \
    X(allreduce_double_tree)       \
    X(allreduce_doubling)          \
    X(allreduce_halving_doubling)  \
    X(allreduce_hierarchical)      \
    X(allreduce_leaders)           \
    X(broadcast_flat)              \
    X(broadcast_chain)             \
    X(broadcast_binomial)          \
    X(broadcast_scatter_allgather) \
    X(reduce_flat)                 \
    X(reduce_binomial)             \
    X(reduce_rs_gather)            \
    X(allgather_ring)              \
    X(allgather_doubling)          \
    X(allgather_bruck)             \
    X(reduce_scatter_ring)         \
    X(reduce_scatter_halving)      \
    X(reduce_scatter_pairwise)     \
    X(alltoall_flat)               \
    X(alltoall_pairwise)           \
    X(alltoall_bruck)              \
    X(gather_flat)                 \
    X(gather_binomial)             \
    X(scatter_flat)                \
    X(scatter_binomial)            \
    X(barrier_central)             \
    X(barrier_dissemination)       \
    X(barrier_tree)                \
    X(sendrecv_shift)

#define X(name) extern const struct clab_algorithm clab_##name;
CLAB_ALGORITHMS(X)
#undef X
