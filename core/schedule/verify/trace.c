// SPDX-License-Identifier: MIT
// Recording: the verifier's observer notes all there is, then one pass gives everything its time.

#include "core/schedule/verify/trace.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/vector.h"
#include "core/schedule/formats/listing.h"

struct recorder {
    struct clab_trace trace;
    size_t message_room, change_room;
    int err;
};

// ---- noting --------------------------------------------------------------------------------------------------

static void note_message(void *context, const struct clab_message *message)
{
    struct recorder *r = context;
    struct clab_trace *t = &r->trace;
    if (!r->err)
        r->err = CLAB_PUSH(t->messages, t->nmessages, r->message_room, *message);
}

int clab_trace_lane_cells(const struct clab_trace *trace, enum clab_buffer buffer)
{
    const struct clab_problem *p = &trace->problem;
    int a_lane = trace->cells / p->lanes;
    if (buffer == CLAB_INPUT)
        return clab_problem_has_input(p) ? a_lane : 0;
    return buffer == CLAB_DATA ? a_lane : trace->algorithm->scratch(p) * trace->algorithm->chunks(p);
}

static bool has(const uint64_t *set, int rank)
{
    return set[rank / 64] >> rank % 64 & 1;
}

// The inputs in `set` that `chunk` of `rank` is to be made of.
static int count_inputs(const struct clab_trace *trace, int rank, int chunk, const uint64_t *set)
{
    int block = chunk / trace->algorithm->chunks(&trace->problem), input_block, inputs = 0;
    int origin = clab_problem_origin(&trace->problem, rank, block, &input_block);
    for (int i = 0; i < trace->problem.nranks; i++)
        inputs += has(set, i) && (origin == CLAB_EVERYONE || origin == i);
    return inputs;
}

static void note_change(void *context, const struct clab_write *write)
{
    struct recorder *r = context;
    struct clab_trace *t = &r->trace;
    if (r->err)
        return;
    const struct clab_change change = {
        .lane = write->lane,
        .rank = write->rank,
        .stage = write->stage,
        .buffer = write->buffer,
        .cell = write->lane * clab_trace_lane_cells(t, write->buffer) + write->chunk,
        .inputs = write->buffer == CLAB_DATA ? count_inputs(t, write->rank, write->chunk, write->set) : 0,
        .block = write->identity / t->algorithm->chunks(&t->problem),
        .set = write->set[0],
    };
    r->err = CLAB_PUSH(t->changes, t->nchanges, r->change_room, change);
}

// ---- timing --------------------------------------------------------------------------------------------------

// Where a rank's lane stands: its stage, and when that began and, as far as is known, ends.
struct progress {
    int stage;
    long began, ends;
};

struct clock {
    const struct clab_trace *trace;
    struct progress *progress; // (lanes, P)
    long *out_free, *in_free;  // (P): when a rank's ways are free
};

static struct progress *enter(const struct clock *clock, int lane, int rank, int stage)
{
    struct progress *p = &clock->progress[lane * clock->trace->problem.nranks + rank];
    if (p->stage < stage) {
        p->stage = stage;
        p->began = p->ends;
    }
    return p;
}

static long later(long a, long b)
{
    return a > b ? a : b;
}

static long *stage_end(const struct clab_trace *trace, int lane, int rank, int stage)
{
    return &trace->ends[(size_t)(lane * trace->problem.nranks + rank) * (size_t)trace->stages + (size_t)stage];
}

static void end_no_sooner(const struct clock *clock, int lane, int rank, struct progress *p, long time)
{
    p->ends = later(p->ends, time);
    *stage_end(clock->trace, lane, rank, p->stage) = p->ends;
}

// The next message by the order in which they land.
static void time_message(const struct clock *clock, struct clab_message *m)
{
    struct progress *src = enter(clock, m->lane, m->src, m->src_stage),
                    *dst = enter(clock, m->lane, m->dst, m->dst_stage);
    m->leaves = later(src->began, clock->out_free[m->src]);
    m->lands = later(m->leaves, later(dst->began, clock->in_free[m->dst])) + 1;
    clock->out_free[m->src] = m->leaves + 1;
    clock->in_free[m->dst] = m->lands;
    end_no_sooner(clock, m->lane, m->src, src, m->leaves + 1);
    end_no_sooner(clock, m->lane, m->dst, dst, m->lands);
}

long clab_trace_stage_end(const struct clab_trace *trace, int lane, int rank, int stage)
{
    if (stage >= trace->stages)
        stage = trace->stages - 1;
    while (stage > 0 && *stage_end(trace, lane, rank, stage) == 0)
        stage--;
    return *stage_end(trace, lane, rank, stage);
}

static int by_landing(const void *a, const void *b)
{
    const struct clab_message *x = a, *y = b;
    return CLAB_ORDER(x->lands, y->lands) ?: CLAB_ORDER(x->lane, y->lane) ?: CLAB_ORDER(x->leaves, y->leaves)
        ?: CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst);
}

static int by_leaving(const void *a, const void *b)
{
    const struct clab_message *x = a, *y = b;
    return CLAB_ORDER(x->leaves, y->leaves) ?: CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->lane, y->lane);
}

static int by_time(const void *a, const void *b)
{
    const struct clab_change *x = a, *y = b;
    return CLAB_ORDER(x->time, y->time) ?: CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->buffer, y->buffer)
        ?: CLAB_ORDER(x->cell, y->cell) ?: CLAB_ORDER(x->stage, y->stage);
}

static void sort(void *array, size_t n, size_t each, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(array, n, each, compare);
}

static int last_stage(const struct clab_trace *trace)
{
    int last = 0;
    for (size_t i = 0; i < trace->nmessages; i++) {
        const struct clab_message *m = &trace->messages[i];
        last = m->src_stage > last ? m->src_stage : last;
        last = m->dst_stage > last ? m->dst_stage : last;
    }
    return last;
}

static void run_clock(const struct clock *clock, struct clab_trace *trace)
{
    sort(trace->messages, trace->nmessages, sizeof *trace->messages, by_landing);
    for (size_t i = 0; i < trace->nmessages; i++)
        time_message(clock, &trace->messages[i]);
    for (size_t i = 0; i < trace->nmessages; i++)
        trace->rounds = later(trace->rounds, trace->messages[i].lands);
    for (size_t i = 0; i < trace->nchanges; i++)
        trace->changes[i].time = clab_trace_stage_end(trace, trace->changes[i].lane, trace->changes[i].rank,
                                                      trace->changes[i].stage);
    sort(trace->messages, trace->nmessages, sizeof *trace->messages, by_leaving);
    sort(trace->changes, trace->nchanges, sizeof *trace->changes, by_time);
}

static int give_times(struct clab_trace *trace)
{
    size_t ranks = (size_t)trace->problem.nranks, programs = ranks * (size_t)trace->problem.lanes;
    struct clock clock = {.trace = trace};
    trace->stages = last_stage(trace) + 1;
    clock.progress = calloc(programs, sizeof *clock.progress);
    clock.out_free = calloc(ranks, sizeof *clock.out_free);
    clock.in_free = calloc(ranks, sizeof *clock.in_free);
    trace->ends = calloc(programs * (size_t)trace->stages, sizeof *trace->ends);
    bool ok = clock.progress && clock.out_free && clock.in_free && trace->ends;
    if (ok)
        run_clock(&clock, trace);
    free(clock.progress);
    free(clock.out_free);
    free(clock.in_free);
    return ok ? CLAB_OK : CLAB_ENOMEM;
}

// ---- interface -----------------------------------------------------------------------------------------------

static int replay(struct recorder *recorder)
{
    struct clab_trace *trace = &recorder->trace;
    const struct clab_observer observer = {recorder, note_message, note_change};
    struct clab_verifier *verifier;
    CLAB_TRY(clab_verifier_create(&verifier));
    int err = clab_verify_observed(verifier, &trace->problem, trace->algorithm, &observer, &trace->result);
    clab_verifier_free(verifier);
    if (err == CLAB_EWRONG)
        clab_error("%s %s is flawed: %s: %s", clab_collective_name(trace->problem.collective), trace->algorithm->name,
                   clab_flaw_text(trace->result.flaw), trace->result.text);
    return err ? err : recorder->err;
}

int clab_trace_record(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                      struct clab_trace *trace_p)
{
    struct recorder recorder = {.trace = {.problem = *problem, .algorithm = algorithm}};
    struct clab_trace *trace = &recorder.trace;
    trace->cells = problem->lanes * clab_problem_blocks(problem) * algorithm->chunks(problem);
    int err = replay(&recorder);
    if (err == CLAB_OK)
        err = give_times(trace);
    if (err != CLAB_OK) {
        clab_trace_free(trace);
        return err;
    }
    *trace_p = *trace;
    return CLAB_OK;
}

void clab_trace_free(struct clab_trace *trace)
{
    free(trace->messages);
    free(trace->changes);
    free(trace->ends);
}

int clab_trace_complete(const struct clab_trace *trace)
{
    int input_block;
    if (clab_listing_is_custom(trace->problem.listing))
        return trace->problem.listing->most;
    return clab_problem_origin(&trace->problem, 0, 0, &input_block) == CLAB_EVERYONE ? trace->problem.nranks : 1;
}

void clab_trace_start(const struct clab_trace *trace, int inputs[])
{
    const struct clab_problem *p = &trace->problem;
    int a_lane = clab_trace_lane_cells(trace, CLAB_DATA), a_block = a_lane / clab_problem_blocks(p);
    for (int rank = 0; rank < p->nranks; rank++)
        for (int cell = 0; cell < trace->cells; cell++) {
            int block = cell % a_lane / a_block, input_block,
                origin = clab_problem_origin(p, rank, block, &input_block);
            bool needed = origin == CLAB_EVERYONE || origin == rank;
            inputs[rank * trace->cells + cell] = needed && clab_problem_holds(p, rank, block);
        }
}

void clab_trace_advance(const struct clab_trace *trace, long time, size_t *next_p, int inputs[])
{
    for (; *next_p < trace->nchanges && trace->changes[*next_p].time <= time; ++*next_p) {
        const struct clab_change *change = &trace->changes[*next_p];
        if (change->buffer == CLAB_DATA)
            inputs[change->rank * trace->cells + change->cell] = change->inputs;
    }
}
