// SPDX-License-Identifier: MIT
// From GOAL's operations to stages.
//
// - Operations that depend on each other, or are two ends of a message, are of one lane. Lanes are independent.
// - The operations of a stage begin at the same time. That is exact only if each operation waits for every operation of
//   the stage before its own. A calculation of 0 ns only joins others. A calculation that is the only operation to wait
//   for a receive is part of that receive.
// - Messages of a pair match in the order of their tags' operations, and must not overtake each other.
#pragma once

#include "core/schedule/formats/goal.h"
#include "core/schedule/formats/goal_order.h"

enum { LOWER_LANES = 64 /* at most */, LOWER_NOBODY = -1 };

// An operation among all.
struct lower_node {
    const struct clab_goal_op *op;
    int rank, lane;
    int parent;         // of its tree in the forest of joined operations
    int partner;        // the other end of a message
    int level;          // its stage; of a join, the stage of the operations that wait for it
    int direct, joined; // operations of the stage before that it waits for: itself, and by the best of its joins
    int follower;       // the calculation that is part of this receive, or LOWER_NOBODY
    int dependents;     // operations that wait for it
    bool follows, joins;
    int order; // of emission
};

// A message, where they are sorted.
struct lower_key {
    int src, dst;
    uint32_t kind;
    int order, node;
};

struct lowering {
    const struct clab_goal *goal;
    struct goal_order order;
    struct lower_node *nodes; // (n), rank by rank, each after those for which it waits
    int *first;               // (nranks + 1) of each rank
    int n, nlanes, emitted;
    struct lower_key *sends, *receives;
    int nsends, nreceives;
    size_t unit, longest;
};

// Logs what is wrong with an operation, and answers CLAB_EPARSE.
int lower_fail(const struct lowering *w, int node, const char *what);

// The two ends of each message.  errors: CLAB_EPARSE
int lower_match(struct lowering *w);
// Messages of a pair in a lane come in the order in which they are sent.  errors: CLAB_EPARSE
int lower_check_order(struct lowering *w);
// The lane of each operation.  errors: CLAB_EPARSE, CLAB_ENOMEM
int lower_give_lanes(struct lowering *w);
// The stage of each operation.  errors: CLAB_EPARSE, CLAB_ENOMEM
int lower_find_stages(struct lowering *w);
