// SPDX-License-Identifier: MIT
// Building a program of GOAL: rank by rank, in any order, each with its operations and what they wait for.
#pragma once

#include "core/schedule/formats/goal.h"

// Operation `op` waits for the end of `on`, or, `begun`, for its begin. Both count within the rank.
struct goal_need {
    uint32_t op, on; // on: twice the operation, and one more if begun
};

struct goal_block {
    int rank;
    uint32_t line; // where it begins
    struct clab_goal_rank operations;
};

struct goal_builder {
    struct clab_goal *goal;
    const char *path;          // for messages
    struct goal_block *blocks; // (nblocks) the ranks so far
    struct goal_need *needs;   // (nneeds) of the rank at hand
    size_t nblocks, block_room, nneeds, need_room, op_room, after_room, follower_room;
};

// errors, of all: CLAB_ENOMEM (not logged), or as stated
int goal_build_begin(struct goal_builder *b, const char *path);
int goal_build_rank(struct goal_builder *b, int rank, uint32_t line);
int goal_build_add(struct goal_builder *b, const struct clab_goal_op *op); // CLAB_EPARSE: too many
int goal_build_need(struct goal_builder *b, uint32_t op, uint32_t on, bool begun);
// Ends the rank at hand.  errors: CLAB_EPARSE (logged): an operation waits for itself
int goal_build_end_rank(struct goal_builder *b);
// All ranks are there. `line`: the file's last.  errors: CLAB_EPARSE (logged): one is missing, or there twice
int goal_build_end(struct goal_builder *b, int nranks, uint32_t line);
void goal_build_free(struct goal_builder *b); // and its program, unless somebody took it

// Operations of the rank at hand.
static inline uint32_t goal_build_count(const struct goal_builder *b)
{
    return b->blocks[b->nblocks - 1].operations.nops;
}
