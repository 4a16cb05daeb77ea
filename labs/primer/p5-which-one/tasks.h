// SPDX-License-Identifier: MIT
// tasks.h: what p5's programs share: the data of nine tasks, and what they must have done.
//
// - tasks_main calls `solve` for each task, or for the one in its argument, and prints one line per task: right, or the
//   first wrong element of the lowest rank that has one.
// - Behind the data of a rank, `in` holds -1, which no result may have: so a count that is too large shows.
// - What a task does not say must stay as it was: `in` as it is, and elements of `out` that nobody asked for NaN, which
//   is called "nothing" here.
// - The file gives each task's result, not the call that makes it.
#pragma once

#include <math.h>

#include "lab.h"

enum { TASKS = 9, BLOCK = 3 }; // a block has BLOCK elements

// What a rank has, and what it should get. Arrays: (RANKS x RANKS x BLOCK).
struct tasks {
    struct clab_job *job;
    struct clab_comm *comm;
    int rank, ranks, room;
    float *in, *out, *expected;
};

// Element i of rank r's data.
static inline float tasks_value(int r, int i)
{
    return (float)(100 * (r + 1) + i);
}

// The sum of all ranks' element i.
static inline float tasks_sum(const struct tasks *t, int i)
{
    float sum = 0;
    for (int r = 0; r < t->ranks; r++)
        sum += tasks_value(r, i);
    return sum;
}

// ---- data ----------------------------------------------------------------------------------------------------

// Whether this rank has data in `in`, and how many elements.
static inline int tasks_given(const struct tasks *t, int task)
{
    const int whole = t->ranks * BLOCK;
    const int given[1 + TASKS] = {0,     BLOCK, t->rank ? 0 : BLOCK, BLOCK, BLOCK, BLOCK, t->rank ? 0 : whole, whole,
                                  whole, 0};
    return given[task];
}

// Element i of what rank `rank` is to have in `out` after the task; NaN: nothing.
static inline float tasks_expected(const struct tasks *t, int task, int i)
{
    const bool in_block = i < BLOCK, in_whole = i < t->ranks * BLOCK, is_root = t->rank == 0;
    const int owner = i / BLOCK, place = i % BLOCK, mine = t->rank * BLOCK + i;
    switch (task) {
    case 1: return in_block ? tasks_sum(t, i) : NAN;
    case 2: return in_block ? tasks_value(0, i) : NAN;
    case 3: return in_block && is_root ? tasks_sum(t, i) : NAN;
    case 4: return in_whole && is_root ? tasks_value(owner, place) : NAN;
    case 5: return in_whole ? tasks_value(owner, place) : NAN;
    case 6: return in_block ? tasks_value(0, mine) : NAN;
    case 7: return in_block ? tasks_sum(t, mine) : NAN;
    case 8: return in_whole ? tasks_value(owner, t->rank * BLOCK + place) : NAN;
    default: return NAN;
    }
}

static inline void tasks_fill(struct tasks *t, int task)
{
    const int given = tasks_given(t, task);
    for (int i = 0; i < t->room; i++) {
        t->in[i] = i < given ? tasks_value(t->rank, i) : given ? -1 : NAN;
        t->out[i] = NAN;
        t->expected[i] = tasks_expected(t, task, i);
    }
}

// ---- one task ------------------------------------------------------------------------------------------------

// The first element of `out` that is not as expected; `room` if all are.
static inline int tasks_first_wrong(const struct tasks *t)
{
    int i = 0;
    while (i < t->room && (t->out[i] == t->expected[i] || (isnan(t->out[i]) && isnan(t->expected[i]))))
        i++;
    return i;
}

static inline const char *tasks_text(float value, char text[32])
{
    snprintf(text, 32, isnan(value) ? "nothing" : "%.9g", value);
    return text;
}

// How many seconds before the last rank came the first one left, and who that is.
static inline double tasks_early(const struct tasks *t, double came, double left, int *rank_p)
{
    double ends[t->ranks];
    int first = 0;
    must(clab_allgather(t->comm, &left, ends, 1, CLAB_F64));
    must(clab_allreduce(t->comm, &came, &came, 1, CLAB_F64, CLAB_MAX));
    for (int rank = 1; rank < t->ranks; rank++)
        first = ends[rank] < ends[first] ? rank : first;
    *rank_p = first;
    return came - ends[first];
}

// Rank 0 says whether every rank went on only after the last one had come. Returns that.
static inline bool tasks_judge_wait(const struct tasks *t, int task, double came, double left)
{
    int rank;
    const double early = tasks_early(t, came, left, &rank);
    if (t->rank == 0 && early > 0)
        fprintf(stderr, "commlab: error: rank %d went on %.3g us before the last rank had come (task %d): %s\n", rank,
                early * 1e6, task, clab_strerror(CLAB_EWRONG));
    else if (t->rank == 0)
        printf("task %d: right\n", task);
    return early <= 0;
}

// Rank 0 prints the first wrong element of the lowest rank that has one. Returns whether there is none.
static inline bool tasks_judge(const struct tasks *t, int task)
{
    const int first = tasks_first_wrong(t), i = first < t->room ? first : 0;
    const float mine[] = {(float)first, t->out[i], t->expected[i]};
    float all[t->ranks][3];
    char got[32], expected[32];
    int rank = 0;
    must(clab_allgather(t->comm, mine, all, 3, CLAB_F32));
    while (rank < t->ranks && (int)all[rank][0] == t->room)
        rank++;
    if (t->rank == 0 && rank < t->ranks)
        fprintf(stderr, "rank %d, index %d: got %s, expected %s (task %d)\n", rank, (int)all[rank][0],
                tasks_text(all[rank][1], got), tasks_text(all[rank][2], expected), task);
    else if (t->rank == 0 && task < TASKS)
        printf("task %d: right\n", task);
    return rank == t->ranks;
}

static inline bool tasks_do(struct tasks *t, int task, int (*solve)(struct clab_comm *, int, const float *, float *))
{
    tasks_fill(t, task);
    must(clab_barrier(t->comm));
    if (task == TASKS) // in virtual time, a rank comes the later, the higher it is
        must(clab_compute(t->job, CLAB_FP32, 0, 1e6 * t->rank));
    lab_span_begin(t->job, "task %d", task);
    const double came = clab_seconds();
    must(solve(t->comm, task, t->in, t->out));
    const double left = clab_seconds();
    clab_span_end(t->job);
    return tasks_judge(t, task) && (task < TASKS || tasks_judge_wait(t, task, came, left));
}

// ---- all -----------------------------------------------------------------------------------------------------

// The wrong tasks of all ranks, at rank 0: it alone ends with a failure, after all others have done their last call. (A
// rank that fails while others still communicate is reported as dead by them.)
static inline int tasks_end(struct tasks *t, int wrong)
{
    float all = (float)wrong;
    must(clab_reduce(t->comm, &all, &all, 1, CLAB_F32, CLAB_MAX, 0));
    must(clab_report(t->comm, "wrong", "1", &(double){wrong}, 1));
    free(t->expected);
    clab_free(t->job, t->out);
    clab_free(t->job, t->in);
    clab_comm_destroy(t->comm);
    must(clab_job_close(t->job));
    return wrong && t->rank == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int tasks_main(int argc, char **argv, int (*solve)(struct clab_comm *, int, const float *, float *))
{
    struct tasks t;
    int wrong = 0;
    must(clab_job_open(&argc, argv, &t.job));
    must(clab_comm_create(t.job, &t.comm));
    t.rank = clab_comm_rank(t.comm), t.ranks = clab_comm_ranks(t.comm), t.room = t.ranks * t.ranks * BLOCK;
    must(clab_alloc(t.job, (size_t)t.room * sizeof *t.in, (void **)&t.in));
    must(clab_alloc(t.job, (size_t)t.room * sizeof *t.out, (void **)&t.out));
    must((t.expected = malloc((size_t)t.room * sizeof *t.expected)) ? CLAB_OK : CLAB_ENOMEM);
    const int only = argc > 1 ? clab_must_count(t.job, argv[1], TASKS, "give the number of a TASK, 1 to 9") : 0;
    for (int task = 1; task <= TASKS; task++)
        wrong += (only == 0 || task == only) && !tasks_do(&t, task, solve);
    return tasks_end(&t, wrong);
}
