// SPDX-License-Identifier: MIT
// Calls the functions of your mine.c, and says which of them crashed, or did not come back. harness.c and try.c use it.
//
// - A crash is named on stderr: the function, and what it was asked. Then the program ends by that signal.
// - A call that computes for CALLS_SECONDS does not come back: the program says so, and ends.
// - Each stage is asked twice, since it must depend on its arguments alone.
// - out[] has room behind the steps that a stage may have: so one step too many overwrites nothing, and can be named.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "labs/homework/h2/h2.h"

#ifndef CALLS_SECONDS
#define CALLS_SECONDS 5
#endif

enum { CALLS_ROOM = 1024 }; // steps of out[]

// What runs now.
static struct {
    const struct h2_problem *problem;
    const char *function;            // NULL: none of yours
    int rank, lane, stage;           // of stage(); rank -1: another function
    volatile sig_atomic_t count;     // of calls so far
    volatile sig_atomic_t seen, age; // the call at the last tick, and how many ticks it has lasted
} calls = {.rank = -1};

// ---- what a handler may do: copy text, and write ---------------------------------------------------------------------

struct calls_line {
    char text[500];
    size_t length;
};

static inline void calls_add(struct calls_line *line, const char *text)
{
    while (*text && line->length < sizeof line->text)
        line->text[line->length++] = *text++;
}

static inline void calls_add_number(struct calls_line *line, int number)
{
    char digits[12], *at = digits + sizeof digits - 1;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    *at = 0;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    calls_add(line, number < 0 ? "-" : "");
    calls_add(line, at);
}

static inline void calls_add_place(struct calls_line *line)
{
    calls_add(line, calls.function);
    if (calls.rank >= 0) {
        calls_add(line, " of rank ");
        calls_add_number(line, calls.rank);
        if (calls.problem->lanes > 1) {
            calls_add(line, ", lane ");
            calls_add_number(line, calls.lane);
        }
        calls_add(line, ", stage ");
        calls_add_number(line, calls.stage);
    }
    calls_add(line, ", with ");
    calls_add_number(line, calls.problem->nranks);
    calls_add(line, calls.problem->nranks == 1 ? " rank on " : " ranks on ");
    calls_add_number(line, calls.problem->nhosts);
    calls_add(line, calls.problem->nhosts == 1 ? " host" : " hosts");
}

static inline const char *calls_usual_reason(int signo)
{
    switch (signo) {
    case SIGFPE: return ", often a division by 0, or mod(a, 0)";
    case SIGSEGV:
    case SIGBUS: return ", often an index outside of an array, or a function that calls itself without an end";
    case SIGABRT: return ", often assert() or abort()";
    default: return "";
    }
}

static inline void calls_write(const struct calls_line *line)
{
    if (write(STDERR_FILENO, line->text, line->length) < 0)
        _exit(1);
}

// It is reset to the usual action, which follows as soon as this returns.
static inline void calls_say_crash(int signo)
{
    struct calls_line line = {.length = 0};
    if (!calls.function)
        return;
    calls_add(&line, "crashed in ");
    calls_add_place(&line);
    calls_add(&line, ": signal ");
    calls_add_number(&line, signo);
    calls_add(&line, calls_usual_reason(signo));
    calls_add(&line, "\n");
    calls_write(&line);
}

// Once per second of computing.
static inline void calls_tick(int signo)
{
    struct calls_line line = {.length = 0};
    (void)signo;
    calls.age = calls.function && calls.seen == calls.count ? calls.age + 1 : 0;
    calls.seen = calls.count;
    if (calls.age < CALLS_SECONDS)
        return;
    calls_add_place(&line);
    calls_add(&line, ", has not returned after ");
    calls_add_number(&line, CALLS_SECONDS);
    calls_add(&line, " s of computing: does a loop in it have no end?\n");
    calls_write(&line);
    _exit(1);
}

// ---- watching --------------------------------------------------------------------------------------------------------

// To be called once, before any function of yours runs.
static inline void calls_watch(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char room[1 << 16]; // a stack of its own: yours may be full
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction crash = {.sa_handler = calls_say_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND},
                           tick = {.sa_handler = calls_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
    const struct itimerval second = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &crash, NULL);
    sigaction(SIGPROF, &tick, NULL);
    setitimer(ITIMER_PROF, &second, NULL);
}

static inline void calls_begin(const struct h2_problem *problem, const char *function, int rank, int lane, int stage)
{
    calls.problem = problem;
    calls.rank = rank;
    calls.lane = lane;
    calls.stage = stage;
    calls.count = calls.count == SIG_ATOMIC_MAX ? 0 : calls.count + 1;
    calls.function = function;
}

// One of lanes(), chunks_per_lane() and scratch_buffers().
static inline int calls_number(const struct h2_problem *problem, const char *function,
                               int (*of)(const struct h2_problem *))
{
    calls_begin(problem, function, -1, -1, -1);
    const int number = of(problem);
    calls.function = NULL;
    return number;
}

static inline int calls_lanes(const struct h2_problem *problem)
{
    return calls_number(problem, "lanes()", H2_MINE.lanes);
}

static inline int calls_chunks(const struct h2_problem *problem)
{
    return calls_number(problem, "chunks_per_lane()", H2_MINE.chunks);
}

static inline int calls_scratch(const struct h2_problem *problem)
{
    return calls_number(problem, "scratch_buffers()", H2_MINE.scratch);
}

// ---- stages ----------------------------------------------------------------------------------------------------------

// What stage() returns. Steps that it does not fill in are all zeros.
static inline int calls_stage(const struct h2_problem *problem, int rank, int lane, int stage,
                              struct clab_step out[CALLS_ROOM])
{
    memset(out, 0, H2_MOST_STEPS * sizeof *out);
    calls_begin(problem, "stage()", rank, lane, stage);
    const int n = H2_MINE.stage(problem, rank, lane, stage, out);
    calls.function = NULL;
    return n;
}

static inline bool calls_is_span(struct clab_span a, struct clab_span b)
{
    return a.buffer == b.buffer && a.first == b.first && a.count == b.count;
}

// Whether two steps do the same: what a step does not use may be anything.
static inline bool calls_is_step(const struct clab_step *a, const struct clab_step *b)
{
    return a->op == b->op && (a->op == CLAB_COPY || a->peer == b->peer) &&
           (a->op == CLAB_RECV || calls_is_span(a->src, b->src)) &&
           (a->op == CLAB_SEND || calls_is_span(a->dst, b->dst));
}

// The same, asked twice. False: the two answers differ.
static inline bool calls_stage_twice(const struct h2_problem *problem, int rank, int lane, int stage,
                                     struct clab_step out[CALLS_ROOM], int *n_p)
{
    static struct clab_step again[CALLS_ROOM];
    *n_p = calls_stage(problem, rank, lane, stage, out);
    if (calls_stage(problem, rank, lane, stage, again) != *n_p)
        return false;
    for (int i = 0; i < *n_p && i < H2_MOST_STEPS; i++)
        if (!calls_is_step(&out[i], &again[i]))
            return false;
    return true;
}

// A step that was not filled in. (As a step it would send no chunk, which none does.)
static inline bool calls_is_unfilled(const struct clab_step *step)
{
    const struct clab_step none = {.op = CLAB_SEND};
    return step->peer == 0 && step->dst.count == 0 && calls_is_step(step, &none);
}
