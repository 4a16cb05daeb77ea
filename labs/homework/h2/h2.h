// SPDX-License-Identifier: MIT
// Homework h2: what your mine.c defines. An allreduce: each rank has an array of numbers, and all get the sum.
//
// You write functions of (problem, rank, lane, stage), as the kit's own algorithms do. core/schedule/algorithms/ring.c has a
// short one: its first function, allreduce. There, P is the number of ranks: problem->nranks here.
// core/schedule/schedule.h has the five rules of a schedule. Words to write steps with:
//
//     out[0] = send(peer, chunk(3));            // chunk 3 to that rank
//     out[1] = recv(peer, chunks(4, 2));        // chunks 4 and 5 become what that rank sends
//     out[2] = recv_reduce(peer, chunk(0));     // chunk 0 = chunk 0 + what that rank sends
//     out[3] = copy(chunk(1), scratch(0, 1));   // data chunk 1 becomes scratch chunk 0
//     mod(-1, 4) is 3; min(a, b), max(a, b)
//
// - chunks(4, 2) names two chunks. How many chunks there are says your function chunks_per_lane(), of starter/mine.c.
// - A stage's steps happen at the same time: sends see the data as they were when the stage began. A rank's next stage
//   begins when they are done. A stage writes a chunk once at most.
// - The functions must depend on their arguments alone: no variables that remember something between calls.
#pragma once

#include <stddef.h>

#include "core/schedule/build.h"

// The kit's own algorithms begin with STAGE(name), and know P. Yours get another problem.
#undef STAGE
#define STAGE(name)                                                                                                         \
    _Static_assert(0, "STAGE is for the kit's own algorithms. Write the function as starter/mine.c does: P is problem->nranks"); \
    static int name(const struct h2_problem *problem, int P, int rank, int lane, int s, struct clab_step out[])
#pragma GCC diagnostic error "-Wincompatible-pointer-types" // a stage function of another kind would read the wrong numbers

enum { H2_MOST_STEPS = 64 }; // of a stage: out[] has room for so many

// One allreduce. A host is a computer; its ranks talk fast with each other, and slowly with ranks of other hosts.
struct h2_problem {
    int nranks;      // 1 to 16
    int nhosts;      // 1 to 4
    const int *host; // (nranks) the host of each rank, 0 to nhosts-1. Each host has a rank or more, in any order
    size_t bytes;    // of the array
    int lanes;       // what your lanes() returned; while that runs, 1
};

struct h2_algorithm {
    int (*lanes)(const struct h2_problem *problem);   // into how many parts the array is cut that go on side by side, 1 to 16
    int (*chunks)(
        const struct h2_problem *problem); // chunks_per_lane(): into how many chunks a lane's part is cut, 1 to 256
    int (*scratch)(const struct h2_problem
                       *problem); // scratch_buffers(): how many more buffers of so many chunks you need, 0 to 8
    // Fill out[] with the steps of a stage, 0, 1, 2, ..., and return how many they are; CLAB_DONE behind the last stage.
    int (*stage)(const struct h2_problem *problem, int rank, int lane, int stage, struct clab_step out[]);
};

// What you hand in.
extern const struct h2_algorithm H2_MINE;
