// SPDX-License-Identifier: MIT
// The operations of a program in an order in which each comes after all for which it waits, and what each waits for.
#pragma once

#include "core/schedule/formats/goal.h"

// Operation `op` waits until `on` has ended; `begun`: has begun. Both are places in the order, and op > on.
struct goal_wait {
    int op, on;
    bool begun;
};

struct goal_order {
    int *ops;                // (nops) of each rank, in their order: each counts within the rank
    struct goal_wait *waits; // (nwaits) by `op`, each once
    size_t *first;           // (nranks + 1) of each rank's waits
};

// errors: CLAB_ENOMEM
int goal_order_make(const struct clab_goal *goal, struct goal_order *order);
void goal_order_free(struct goal_order *order);
