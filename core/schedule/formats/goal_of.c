// SPDX-License-Identifier: MIT
// A schedule's stages as operations that require each other.

#include "core/schedule/formats/goal_of.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"

static size_t span_bytes(const struct goal_source *s, struct clab_span span)
{
    if (clab_listing_is_loose(s->problem->listing))
        return (size_t)span.count * s->problem->listing->unit;
    return clab_span_elements(s->problem, s->algorithm->chunks(s->problem), s->lane, span) * s->element_bytes;
}

// The last operation that was added.
static int64_t last_of(const struct goal_source *s)
{
    return (int64_t)goal_build_count(s->to) - 1;
}

// The last operation is after `earlier`; GOAL_NOTHING: after nothing.
static int require(struct goal_source *s, int64_t earlier)
{
    if (earlier == GOAL_NOTHING)
        return CLAB_OK;
    return goal_build_need(s->to, (uint32_t)last_of(s), (uint32_t)earlier, false);
}

static int add_calc(struct goal_source *s, double nanoseconds, int64_t earlier)
{
    const struct clab_goal_op op = {
        .type = CLAB_GOAL_CALC, .size = (uint64_t)nearbyint(nanoseconds), .peer = CLAB_GOAL_ANY_PEER};
    CLAB_TRY(goal_build_add(s->to, &op));
    return require(s, earlier);
}

static int add_message(struct goal_source *s, const struct clab_step *step, int64_t earlier)
{
    const bool sends = step->op == CLAB_SEND;
    const struct clab_goal_op op = {.type = sends ? CLAB_GOAL_SEND : CLAB_GOAL_RECV,
                                    .size = span_bytes(s, sends ? step->src : step->dst),
                                    .peer = step->peer,
                                    .tag = (uint32_t)s->lane};
    CLAB_TRY(goal_build_add(s->to, &op));
    return require(s, earlier);
}

// A calculation follows the step before it, *chain_p, or, if that is -1, begins with the stage.
static int add_calc_step(struct goal_source *s, int i, int64_t earlier, int *chain_p)
{
    const struct clab_span time = s->steps[i].src;
    const bool is_chained = *chain_p >= 0;
    CLAB_TRY(add_calc(s, 1e9 * time.first + time.count, is_chained ? s->ends[*chain_p] : earlier));
    s->ends[i] = last_of(s);
    if (!is_chained)
        return CLAB_OK;
    s->ends[*chain_p] = GOAL_NOTHING;
    *chain_p = i;
    return CLAB_OK;
}

// Step i of a stage that begins after `earlier`. What is reduced or calculated comes after its receive, which is the
// step before it; *chain_p is that one, or -1.
static int add_step(struct goal_source *s, int i, int64_t earlier, int *chain_p)
{
    const struct clab_step *step = &s->steps[i];
    if (step->op == CLAB_CALC)
        return add_calc_step(s, i, earlier, chain_p);
    const bool reduces = step->op == CLAB_RECV_REDUCE || step->op == CLAB_COMBINE;
    const double nanoseconds = reduces ? (double)span_bytes(s, step->dst) * s->reduce_seconds * 1e9 : 0;
    if (step->op == CLAB_COMBINE) { // beside the messages, of what has been received before
        if (nanoseconds < 0.5)
            return CLAB_OK;
        CLAB_TRY(add_calc(s, nanoseconds, earlier));
        s->ends[i] = last_of(s);
        return CLAB_OK;
    }
    CLAB_TRY(add_message(s, step, earlier));
    if (nanoseconds >= 0.5)
        CLAB_TRY(add_calc(s, nanoseconds, last_of(s)));
    s->ends[i] = last_of(s);
    *chain_p = step->op == CLAB_SEND ? -1 : i;
    return CLAB_OK;
}

// A stage's operations, all after *earlier_p, then its end, which is after all of them; *earlier_p becomes the end.
static int add_stage(struct goal_source *s, int nsteps, int64_t *earlier_p)
{
    const int64_t first = last_of(s);
    int chain = -1;
    for (int i = 0; i < nsteps; i++) {
        s->ends[i] = GOAL_NOTHING;
        if (s->steps[i].op != CLAB_COPY)
            CLAB_TRY(add_step(s, i, *earlier_p, &chain));
    }
    if (last_of(s) == first)
        return CLAB_OK;
    CLAB_TRY(add_calc(s, 0, GOAL_NOTHING));
    for (int i = 0; i < nsteps; i++)
        CLAB_TRY(require(s, s->ends[i]));
    *earlier_p = last_of(s);
    return CLAB_OK;
}

// A lane's stages, which begin after `earlier`.
static int add_lane(struct goal_source *s, int64_t earlier)
{
    int n;
    for (int stage = 0; (n = s->algorithm->stage(s->problem, s->rank, s->lane, stage, s->steps)) != CLAB_DONE; stage++)
        CLAB_TRY(add_stage(s, n, &earlier));
    s->lane_ends[s->lane] = earlier;
    return CLAB_OK;
}

// What the next call begins after: the ends of all lanes, in one calculation of 0 ns.
static int join_lanes(struct goal_source *s, int64_t *earlier_p)
{
    *earlier_p = s->lane_ends[0];
    if (s->problem->lanes == 1)
        return CLAB_OK;
    CLAB_TRY(add_calc(s, 0, GOAL_NOTHING));
    for (int lane = 0; lane < s->problem->lanes; lane++)
        CLAB_TRY(require(s, s->lane_ends[lane]));
    *earlier_p = last_of(s);
    return CLAB_OK;
}

int goal_source_open(struct goal_source *s, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     size_t element_bytes, double reduce_seconds, struct goal_builder *to)
{
    const size_t width = (size_t)algorithm->width(problem) + 1;
    *s = (struct goal_source){.problem = problem,
                              .algorithm = algorithm,
                              .element_bytes = element_bytes,
                              .reduce_seconds = reduce_seconds,
                              .to = to,
                              .steps = calloc(width, sizeof *s->steps),
                              .calls = 1,
                              .ends = calloc(width, sizeof *s->ends),
                              .lane_ends = calloc((size_t)problem->lanes, sizeof *s->lane_ends)};
    return s->steps && s->ends && s->lane_ends ? CLAB_OK : CLAB_ENOMEM;
}

void goal_source_close(struct goal_source *s)
{
    free(s->steps);
    free(s->ends);
    free(s->lane_ends);
}

int goal_source_add_rank(struct goal_source *s, int rank)
{
    int64_t earlier = GOAL_NOTHING;
    s->rank = rank;
    CLAB_TRY(goal_build_rank(s->to, rank, 0));
    for (int call = 0; call < s->calls; call++) {
        if (call > 0)
            CLAB_TRY(join_lanes(s, &earlier));
        for (s->lane = 0; s->lane < s->problem->lanes; s->lane++)
            CLAB_TRY(add_lane(s, earlier));
    }
    return CLAB_OK;
}

static int add_ranks(struct goal_source *s, int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        CLAB_TRY(goal_source_add_rank(s, rank));
        CLAB_TRY(goal_build_end_rank(s->to));
    }
    return goal_build_end(s->to, nranks, 0);
}

int clab_goal_of(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                 double reduce_seconds, int calls, struct clab_goal **goal_p)
{
    struct goal_builder builder;
    struct goal_source source = {0};
    int err = goal_build_begin(&builder, algorithm->name);
    if (!err)
        err = goal_source_open(&source, problem, algorithm, element_bytes, reduce_seconds, &builder);
    source.calls = calls;
    if (!err)
        err = add_ranks(&source, problem->nranks);
    if (!err) {
        *goal_p = builder.goal;
        builder.goal = NULL;
    }
    goal_source_close(&source);
    goal_build_free(&builder);
    return err;
}
