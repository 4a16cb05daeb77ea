// SPDX-License-Identifier: MIT
// GOAL, the text format of LogGOPSim and ATLAHS: each rank's sends, receives and calculations, and their dependences.
//
// - `num_ranks N`, then for each rank, in any order, `rank R {` operations and requirements, one per line, `}`:
//   `[LABEL:] send SIZEb to RANK [tag T] [cpu C] [nic N]`, `recv SIZEb from RANK|-1 [tag T|-1] ...` (-1: any),
//   `calc NANOSECONDS [cpu C] [nic N]`, `LABEL requires LABEL` (its end), `LABEL irequires LABEL` (its begin), in any
//   order; comments are // and /* */.
// - LogGOPSim's binary form is read, too (goal_binary.h).
// - A *program* is what a file says, and need not be a schedule: the simulator runs it as it is (sim/sim.h).
// - Written: the lane's number is the tag. A stage's operations require the end of the stage before it, which is a
//   calculation of 0 ns that requires them all; a reduction is a calculation that requires its receive alone. Copies
//   take no time, and are not written.
// - Lowered: a rank's operations become stages if their order stays exactly the same (goal_lowering.h says when). Else one
//   line names the first operation that does not fit. A written schedule is lowered to the same stages.
// Source: Hoefler, Schneider and Lumsdaine 2010, "LogGOPSim"; the grammar is that of its txt2bin.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/schedule/formats/listing.h"

// ---- programs ------------------------------------------------------------------------------------------------

enum clab_goal_type { CLAB_GOAL_SEND, CLAB_GOAL_RECV, CLAB_GOAL_CALC };

enum { CLAB_GOAL_ANY_PEER = -1 };
#define CLAB_GOAL_ANY_TAG  UINT32_MAX
#define CLAB_GOAL_SIZE_MAX ((UINT64_C(1) << 56) - 1)

struct clab_goal_op {
    uint64_t type : 2, size : 62; // enum clab_goal_type; bytes, or ns of a calculation
    int32_t peer;
    uint32_t tag;
    uint32_t line; // in its file; 0: of none
    uint8_t cpu, nic;
};

struct clab_goal_rank {
    size_t first;  // of its operations
    uint32_t nops; // < 2^31
};

// Operation i of all is followed by followers[after[i]] to followers[after[i + 1]], each 2 j, where j counts within the
// rank: it waits for the end of i; or 2 j + 1: for its begin. No operation waits for itself in a circle.
struct clab_goal {
    char *path;                   // of its file, for messages; of a schedule, its algorithm's name
    char name[CLAB_LISTING_NAME]; // the file's alone
    int nranks;
    struct clab_goal_rank *ranks; // (nranks)
    struct clab_goal_op *ops;     // (nops)
    uint32_t *after;              // (nops + 1)
    uint32_t *followers;          // (nfollowers)
    size_t nops, nfollowers;
    bool has_any; // a receive takes from any rank, or with any tag
    char *head;   // comments above the first rank, or NULL
};

// Read a file's program; `path` is for messages. Memory: at most a multiple of the file's bytes.
//   errors: CLAB_EPARSE (one logged line names file, line and what is wrong), CLAB_ENOMEM
int clab_goal_read(FILE *file, const char *path, struct clab_goal **goal_p);
void clab_goal_free(struct clab_goal *goal); // NULL is fine

// Its stages. They are checked: each message is sent and received, and no ranks wait for each other in a circle.
//   errors: CLAB_EPARSE, CLAB_EWRONG (likewise), CLAB_ENOMEM
int clab_goal_lower(const struct clab_goal *goal, struct clab_listing **listing_p);

// ---- schedules -----------------------------------------------------------------------------------------------

// The program of so many calls of `algorithm`, one after another, for `problem`, whose count is in elements of
// `element_bytes`. Reducing a byte takes `reduce_seconds`; times are in whole nanoseconds.
//   errors: CLAB_ENOMEM
int clab_goal_of(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                 double reduce_seconds, int calls, struct clab_goal **goal_p);

// Write that program of one call, rank by rank: it is not stored.
//   errors: CLAB_ENOMEM
int clab_goal_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                    double reduce_seconds, FILE *out);
