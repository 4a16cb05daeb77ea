// SPDX-License-Identifier: MIT
// Faults at random points of random collectives, and what must come of each.
//
// - faults.c   the program: draws faults from a seed, injects them one by one, sums up.
// - rank.c     what a rank of such a job does: collectives until one fails, then goes on without the victim if it can.
// - judge.c    whether survivors returned the right error in time, and nothing is left behind.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { MAX_RANKS = 6 };

enum fault_kind {
    FAULT_KILL,    // SIGKILL, from outside
    FAULT_CRASH,   // SIGSEGV, from outside
    FAULT_STOP,    // SIGSTOP, from outside: alive, and silent
    FAULT_EXIT,    // the rank ends with status 0, in the midst of the job
    FAULT_FAIL,    // with status 3
    FAULT_LEAVE,   // the rank closes its job as if it were done
    FAULT_CLOSE,   // the rank closes its sockets, and goes on
    FAULT_NOMEM,   // the rank can not have memory, says so, and ends
    FAULT_COUNT,   // the rank calls with another count
    FAULT_OP,      // with another operation
    FAULT_ANOTHER, // another collective
    FAULT_KINDS
};
const char *fault_name(enum fault_kind kind);
bool fault_silences(enum fault_kind kind); // the victim says no more: the others can go on without it

struct fault {
    enum fault_kind kind;
    uint32_t seed; // of the collectives
    int nranks, victim;
    double delay;  // s after all ranks are at it, for faults from outside
    int iteration; // of the victim, for faults from inside
};

// What ranks tell: in memory that all of them share with the program.
struct scene {
    struct fault fault;
    _Atomic int ready;
    _Atomic pid_t pids[MAX_RANKS];
    _Atomic int iterations[MAX_RANKS];
    double injected;               // clab_now
    double returned[MAX_RANKS];    // clab_now of the call that failed
    _Atomic int errs[MAX_RANKS];   // its error; 0: none yet
    _Atomic int shrunk[MAX_RANKS]; // 1 + the error of going on among the survivors; 0: not tried
};

// The body of a rank; never returns.
void fault_rank(struct scene *scene, int rank);

// Whether every survivor did as it must; what was wrong is printed to `out`. *detection_p is how long the slowest took.
bool fault_judge(const struct scene *scene, double timeout, FILE *out, double *detection_p);

// Whether there are descendants of this program, which is a subreaper; and how many files of ours in shared memory.
bool fault_left_processes(void);
int fault_left_files(void);
