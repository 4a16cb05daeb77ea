// SPDX-License-Identifier: MIT
// A program: one rank's schedule of one problem, compiled once and replayed.
//
// The compiler is the only place where chunks become places in memory (layout.h). A message is one
// contiguous piece: a span whose chunks lie apart is packed before it is sent, and unpacked after. What does not lie
// in `out` at the end is copied there: `finish`.
#pragma once

#include "core/base/type.h"
#include "core/schedule/schedule.h"

// Where data can lie. IN and OUT are the caller's; the others are cut out of the communicator's scratch memory.
enum clab_region {
    CLAB_IN,
    CLAB_OUT,
    CLAB_TEMP,         // chunks that this rank does not want
    CLAB_ALT,          // the other place of a chunk that is sent while it is received
    CLAB_SCRATCH_TEMP, // CLAB_SCRATCH chunks
    CLAB_SCRATCH_ALT,
    CLAB_PACK, // messages whose chunks lie apart
    CLAB_REGION_COUNT
};

struct clab_place {
    enum clab_region region;
    size_t start; // in elements
};

// A compiled step. SEND: src. RECV: dst. RECV_REDUCE: dst = src (op) received. COPY: dst = src, or, when it `combines`,
// dst = src (op) other: a COMBINE, or what was received into CLAB_PACK.
struct clab_move {
    enum clab_step_op op;
    bool combines;
    int peer;
    struct clab_place src, dst, other;
    size_t count; // elements
};

// moves[first ...]: `before` local copies, then `transfers`, then `after` local moves once all transfers are done.
struct clab_stage {
    int first, before, transfers, after;
};

struct clab_lane {
    int first_stage, nstages; // of program->stages
    int aside, naside;        // copies from `in` to `out` that nothing waits for: done while the first messages travel
    int finish, nfinish;      // copies to `out` at the end
};

struct clab_program {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm;
    bool in_place;
    int rank;
    unsigned fingerprint; // of what all ranks must agree on: algorithm, lanes, root

    struct clab_lane lanes[CLAB_MAX_LANES]; // problem.lanes of them
    struct clab_stage *stages;
    struct clab_move *moves;
    int nstages, nmoves, width;                        // width: most transfers of a stage
    size_t region_elements[CLAB_REGION_COUNT];         // scratch memory this program needs; 0 for IN and OUT
    size_t messages, elements_sent, elements_received; // by this rank, a run
    size_t elements_across;                            // of elements_sent; 0 unless clab_program_count_across was called
    size_t elements_touched;                           // of its `in` and `out`
};

// Compile what `rank` does. In place: `in` and `out` are the same memory (clab.h defines it per collective).
//   errors: CLAB_ENOMEM; CLAB_EUNSUPPORTED (a stage computes, or would write what it is reading; logged)
int clab_program_compile(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank,
                         bool in_place, struct clab_program **program_p);
void clab_program_free(struct clab_program *program);

// Count what it sends to ranks of other hosts.  hosts: (problem.nranks)
void clab_program_count_across(struct clab_program *program, const int hosts[]);
