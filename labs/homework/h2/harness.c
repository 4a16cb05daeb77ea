// SPDX-License-Identifier: MIT
// How the grader runs your mine.c: this program asks it for the steps of every rank, and writes them down. It runs apart,
// without access to other files, and what it writes is only data: the grader proves and prices them in another process.
// You need not read it. To see what your code does, use try.c.
//
//   harness ASK SCHEDULES
//
// - ASK has a line for each problem: ranks, hosts, bytes, and the host of each rank.
// - SCHEDULES gets, for each problem, 32-bit numbers: wire.h says which. It is complete after each problem, so that
//   those before a crash count.
// - calls.h names a function that crashes or does not return, on stderr.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/homework/h2/calls.h"
#include "labs/homework/h2/h2.h"
#include "labs/homework/h2/wire.h"

static void put(FILE *file, int32_t word)
{
    fwrite(&word, sizeof word, 1, file);
}

static void put_span(FILE *file, struct clab_span span)
{
    put(file, (int32_t)span.buffer);
    put(file, span.first);
    put(file, span.count);
}

static void put_step(FILE *file, const struct clab_step *step)
{
    put(file, (int32_t)step->op);
    put(file, step->peer);
    put_span(file, step->src);
    put_span(file, step->dst);
}

// All stages of a rank in a lane.
static void put_program(FILE *file, const struct h2_problem *problem, int rank, int lane)
{
    static struct clab_step out[CALLS_ROOM];
    for (int s = 0, n; s < WIRE_MOST_STAGES; s++) {
        const bool is_steady = calls_stage_twice(problem, rank, lane, s, out, &n);
        if (!is_steady || n < 0 || n > H2_MOST_STEPS) {
            put(file, !is_steady ? WIRE_UNSTEADY : n == CLAB_DONE ? WIRE_DONE : WIRE_BAD_COUNT);
            put(file, n);
            return;
        }
        put(file, n);
        for (int i = 0; i < n; i++)
            put_step(file, &out[i]);
    }
    put(file, WIRE_ENDLESS);
    put(file, 0);
}

static void put_schedule(FILE *file, struct h2_problem *problem)
{
    problem->lanes = 1;
    problem->lanes = calls_lanes(problem);
    const int chunks = calls_chunks(problem), scratch = calls_scratch(problem);
    put(file, WIRE_MAGIC);
    put(file, problem->nranks);
    put(file, problem->lanes);
    put(file, chunks);
    put(file, scratch);
    if (!wire_is_shape(problem->lanes, chunks, scratch))
        return;
    for (int rank = 0; rank < problem->nranks; rank++)
        for (int lane = 0; lane < problem->lanes; lane++)
            put_program(file, problem, rank, lane);
}

// False: there are no more.
static int next_problem(FILE *ask, struct h2_problem *problem_p, int host[])
{
    if (fscanf(ask, "%d %d %zu", &problem_p->nranks, &problem_p->nhosts, &problem_p->bytes) != 3)
        return 0;
    for (int i = 0; i < problem_p->nranks && i < WIRE_MOST_RANKS; i++)
        if (fscanf(ask, "%d", &host[i]) != 1)
            return 0;
    problem_p->host = host;
    return problem_p->nranks <= WIRE_MOST_RANKS;
}

int main(int argc, char **argv)
{
    FILE *ask = argc == 3 ? fopen(argv[1], "r") : NULL, *file = ask ? fopen(argv[2], "wb") : NULL;
    struct h2_problem problem;
    int host[WIRE_MOST_RANKS];
    if (!file) {
        fprintf(stderr, "usage: harness ASK SCHEDULES; both are files\n");
        return EXIT_FAILURE;
    }
    calls_watch();
    while (next_problem(ask, &problem, host)) {
        put_schedule(file, &problem);
        fflush(file);
    }
    fclose(ask);
    return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
