// SPDX-License-Identifier: MIT
// From a schedule to a program of GOAL, one rank after another.
#pragma once

#include "core/schedule/formats/goal_build.h"

struct goal_source {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    size_t element_bytes;
    double reduce_seconds; // a byte
    int calls;
    struct goal_builder *to;
    struct clab_step *steps; // (width)
    int64_t *ends;           // (width) the last operation of each step; GOAL_NOTHING: none
    int64_t *lane_ends;      // (lanes) the last operation of each lane
    int rank, lane;
};

enum { GOAL_NOTHING = -1 };

// errors, of all: CLAB_ENOMEM
int goal_source_open(struct goal_source *s, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     size_t element_bytes, double reduce_seconds, struct goal_builder *to);
void goal_source_close(struct goal_source *s);
int goal_source_add_rank(struct goal_source *s, int rank); // and leave it open
