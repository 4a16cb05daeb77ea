// SPDX-License-Identifier: MIT
// GOAL, the text format of LogGOPSim and ATLAHS: each rank's sends, receives and calculations, and their dependences.
//
// - `num_ranks N`, then for each rank, in order, `rank R {` operations and requirements, one per line, `}`:
//   `[LABEL:] send SIZEb to RANK [tag T] [cpu C] [nic N]`, `recv ... from ...`, `calc NANOSECONDS [cpu C]`,
//   `LABEL requires LABEL` (its end), `LABEL irequires LABEL` (its begin); comments are // and /* */.
// - Written: the lane's number is the tag. A stage's operations require the end of the stage before it, which is a
//   calculation of 0 ns that requires them all; a reduction is a calculation that requires its receive alone. Copies
//   take no time, and are not written.
// - Read: a rank's operations become stages if their order stays exactly the same (goal_lower.c says when). Else one
//   line names the first operation that does not fit. A written schedule is read back as the same stages.
// Source: Hoefler, Schneider and Lumsdaine 2010, "LogGOPSim"; the grammar is that of its txt2bin.
#pragma once

#include <stdio.h>

#include "core/schedule/formats/listing.h"

// Write `algorithm` for `problem`, whose count is in elements of `element_bytes`. Reducing a byte takes
// `reduce_seconds`; times are written in whole nanoseconds.
//   errors: CLAB_ENOMEM
int clab_goal_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                    double reduce_seconds, FILE *out);

// Read a schedule; `path` is for messages. It is checked: each message is sent and received, and no ranks wait for each
// other in a circle.
//   errors: CLAB_EPARSE, CLAB_EWRONG (one logged line names file, line and what is wrong), CLAB_ENOMEM
int clab_goal_read(FILE *file, const char *path, struct clab_listing **listing_p);

// ---- between reading and lowering ----------------------------------------------------------------------------

enum clab_goal_type { CLAB_GOAL_SEND, CLAB_GOAL_RECV, CLAB_GOAL_CALC };

struct clab_goal_op {
    enum clab_goal_type type;
    size_t size; // bytes, or ns
    int peer, tag;
    int line;
};

// Operation `op` waits until `on` has ended; `begun`: has begun.
struct clab_goal_need {
    int op, on;
    bool begun;
};

// Operations and needs of a rank; needs are in the order of `op`, and each is for an operation that comes later.
struct clab_goal_rank {
    struct clab_goal_op *ops;
    struct clab_goal_need *needs;
    int nops, nneeds;
};

struct clab_goal {
    const char *path;
    int nranks;
    struct clab_goal_rank *ranks; // (nranks)
    char *head;                   // comments above the first rank, or NULL
};

// errors: as clab_goal_read
int clab_goal_lower(struct clab_goal *goal, struct clab_listing **listing_p);
