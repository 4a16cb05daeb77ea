// SPDX-License-Identifier: MIT
// What a mended p5 must show: each task is done, at each rank, and by the collective that is made for it.
// before: Votes: every rank needs the sum

#include <stdio.h>

#include "cmd/course/check.h"

static const struct {
    const char *title, *advice;
    enum clab_collective collective;
} tasks[] = {
    {"task 1: the sum of all votes, at every rank",
     "Votes: every rank needs the sum of all blocks. Which call adds, and gives the sum to all?", CLAB_ALLREDUCE},
    {"task 2: the settings of rank 0, at every rank",
     "Settings: only rank 0 has them, and every rank needs the same block. Nothing is added.", CLAB_BROADCAST},
    {"task 3: the sum of all errors, at rank 0 only",
     "Errors: rank 0 prints the sum. No other rank needs it, so none should get it.", CLAB_REDUCE},
    {"task 4: the picture, at rank 0 only",
     "Picture: rank 0 needs all blocks side by side, not added. No other rank needs them.", CLAB_GATHER},
    {"task 5: the whole sky, at every rank", "Stars: every rank needs all blocks side by side, not added.",
     CLAB_ALLGATHER},
    {"task 6: block r of rank 0's exams, at rank r",
     "Exams: only rank 0 has them. Each rank needs its own block, and no other.", CLAB_SCATTER},
    {"task 7: block r of the sum, at rank r",
     "Cities: each rank needs one block of the sum. It should not get the other blocks.", CLAB_REDUCE_SCATTER},
    {"task 8: the letters of all ranks for rank r, at rank r",
     "Letters: each rank has something else for each rank. Nothing is added.", CLAB_ALLTOALL},
    {"task 9: no rank goes on before the last one has come",
     "Files: no data moves; all ranks wait until the last one has come. There is a call for just that.", CLAB_BARRIER},
};

static const char count[] =
    "Elements that follow the first ones are wrong. Is the count that of one block, BLOCK? The library knows by itself "
    "how many blocks there are. If it is, read the task again: who needs how many blocks?";
static const char arguments[] =
    "Look at the arguments: (comm, in, out, BLOCK, CLAB_F32), then CLAB_SUM if it adds, then the root 0 if it has one.";
static const char everybody[] =
    "Every rank makes the same call with the same count, type and root. Leave out `if (rank ...)`: the root is an "
    "argument.";

// The task was done by one call of its own collective.
static void require_call(struct check *c, const struct check_run *run, int i)
{
    char span[32];
    snprintf(span, sizeof span, "task %d", i + 1);
    for (int rank = 0; rank < check_ranks(run); rank++) {
        const struct clab_counts n = check_span(run, rank, span, 0);
        const size_t others = check_collectives(&n) + n.collectives[CLAB_BARRIER] - n.collectives[tasks[i].collective];
        check_require(c, n.collectives[tasks[i].collective] == 1 && others + n.sends + n.receives == 0, tasks[i].advice,
                      "rank %d, %s: the result is right, but not by one call of the collective that is made for it",
                      rank, span);
    }
}

static void check(struct check *c)
{
    check_advise(c, CHECK_CRASHES, arguments);
    check_advise(c, CHECK_HANGS, everybody);
    check_advise(c, CHECK_MISMATCH, everybody);
    check_advise_when(c, CHECK_WRONG, "got [0-9.]*(\\.|e)", arguments); // all right values are whole numbers
    check_advise_when(c, CHECK_WRONG, "got -[0-9]|index (1|2): got nothing|index ([3-9]|[1-9][0-9]+): got [0-9].*nothing", count);
    for (int i = 0; i < (int)(sizeof tasks / sizeof *tasks); i++) {
        char task[16];
        snprintf(task, sizeof task, "%d", i + 1);
        check_advise(c, CHECK_WRONG, tasks[i].advice);
        if (!check_case(c, tasks[i].title))
            continue;
        check_run(c, "shm", NULL, 3, task);
        require_call(c, check_run(c, "sim", "1gbe", 4, task), i);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
