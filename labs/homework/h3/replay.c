// SPDX-License-Identifier: MIT
// Replaying actions (replay.h). Ranks take turns: one goes on until it waits for a collective that others have not
// started yet, or its step is over.

#include "labs/homework/h3/replay_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

// ---- collectives ---------------------------------------------------------------------------------------------------

static bool is_range(const struct replay *r, int first, int count)
{
    const int n = h3_parameters(r->c);
    return first >= 0 && count >= 1 && first < n && count <= n - first;
}

// All ranks have started it: add up. While they travel, gradients are NaN.
static void add_up(struct replay *r, const struct collective *k)
{
    for (int p = k->first; p < k->first + k->count; p++) {
        r->sums[p] = (struct thin_parameter){{0}};
        r->factors[p] = r->rank[0].held[p].factor;
        for (int rank = 0; rank < r->c->ranks; rank++) {
            struct thin_parameter *g = &r->rank[rank].thin.gradients[p];
            for (int i = 0; i < thin_count(p); i++)
                r->sums[p].v[i] += g->v[i];
            if (r->rank[rank].held[p].factor != r->factors[p])
                r->factors[p] = NAN;
            memset(g, 0xff, sizeof *g);
        }
    }
}

static bool start(struct replay *r, int rank, int first, int count)
{
    struct replayed_rank *me = &r->rank[rank];
    const int handle = me->started;
    if (!is_range(r, first, count))
        return why_range(r, rank, "step_reduce", first, count);
    for (int p = first + count - 1; p >= first; p--)
        if (me->held[p].state != LOCAL)
            return why_reduced(r, rank, p, first, count);
    if (handle == r->nall)
        r->all[r->nall++] = (struct collective){.first = first, .count = count, .by = rank};
    struct collective *k = &r->all[handle];
    if (k->first != first || k->count != count)
        return why_other(r, rank, handle, first, count);
    for (int p = first; p < first + count; p++) {
        me->held[p].state = TRAVELS;
        me->held[p].handle = handle;
    }
    me->started++;
    if (++k->started == r->c->ranks)
        add_up(r, k);
    return true;
}

// False also if others have not started it yet; then the rank is hung.
static bool wait(struct replay *r, int rank, int handle)
{
    struct replayed_rank *me = &r->rank[rank];
    if (handle < 0 || handle >= me->started)
        return why_handle(r, rank, handle);
    const struct collective *k = &r->all[handle];
    if (me->held[k->first].state != TRAVELS)
        return why_handle(r, rank, handle);
    if (k->started < r->c->ranks) {
        me->hung = handle;
        return false;
    }
    me->hung = -1;
    for (int p = k->first; p < k->first + k->count; p++) {
        me->held[p].state = SUMMED;
        me->held[p].factor = r->factors[p];
        me->thin.gradients[p] = r->sums[p];
    }
    return true;
}

// ---- work on gradients ---------------------------------------------------------------------------------------------

static bool scale(struct replay *r, int rank, const struct h3_action *a)
{
    struct replayed_rank *me = &r->rank[rank];
    if (!is_range(r, a->first, a->count))
        return why_range(r, rank, "step_scale", a->first, a->count);
    for (int p = a->first + a->count - 1; p >= a->first; p--) {
        if (me->held[p].state == TRAVELS || me->held[p].state == ABSENT)
            return why_scaled(r, rank, p);
        me->held[p].factor *= a->factor;
        for (int i = 0; i < thin_count(p); i++)
            me->thin.gradients[p].v[i] *= a->factor;
    }
    return true;
}

static bool update(struct replay *r, int rank, const struct h3_action *a)
{
    struct replayed_rank *me = &r->rank[rank];
    if (!is_range(r, a->first, a->count))
        return why_range(r, rank, "step_update", a->first, a->count);
    for (int p = a->first + a->count - 1; p >= a->first; p--) {
        const struct held *held = &me->held[p];
        if (held->state != SUMMED)
            return why_updated(r, rank, p);
        if (p == 2 * me->in_use)
            return why_in_use(r, rank, p);
        if (!(fabs(held->factor * r->c->ranks - 1) < 1e-9))
            return why_factor(r, rank, p, held->factor);
        thin_update(&me->thin, p);
        me->held[p].state = UPDATED;
    }
    return true;
}

// ---- the pass ------------------------------------------------------------------------------------------------------

static void begin_step(struct replay *r, int rank)
{
    struct replayed_rank *me = &r->rank[rank];
    me->begun = me->at;
    me->step++;
    me->started = 0;
    me->in_use = me->last_ready = me->hung = -1;
    me->is_done = false;
    for (int p = 0; p < h3_parameters(r->c); p++)
        me->held[p] = (struct held){.state = ABSENT, .factor = 1, .handle = -1};
    thin_forward(&me->thin, rank, me->step);
}

// The pass goes on until the gradient of a parameter is there.
static void go_on(struct replay *r, int rank, int parameter)
{
    struct replayed_rank *me = &r->rank[rank];
    const int layer = parameter / 2;
    if (me->in_use >= 0)
        thin_backward_inputs(&me->thin, me->in_use);
    me->in_use = -1;
    if (parameter % 2) // biases come first
        thin_backward(&me->thin, layer, &me->coming[0], &me->coming[1]);
    me->thin.gradients[parameter] = me->coming[parameter % 2];
    me->held[parameter].state = LOCAL;
    me->last_ready = parameter;
    if (parameter % 2 == 0 && !h3_is_first_of_branch(r->c, layer))
        me->in_use = layer;
}

// The rank's next action. False: it is wrong, or hung.
static bool act(struct replay *r, int rank)
{
    struct replayed_rank *me = &r->rank[rank];
    const struct h3_action *a = &me->did->actions[me->at];
    switch (a->kind) {
    case H3_STEP: begin_step(r, rank); return true;
    case H3_READY: go_on(r, rank, a->first); return true;
    case H3_FINISH: me->last_ready = h3_parameters(r->c); return true;
    case H3_DONE: me->is_done = true; return true;
    case H3_REDUCE: return start(r, rank, a->first, a->count);
    case H3_WAIT: return wait(r, rank, a->first);
    case H3_SCALE: return scale(r, rank, a);
    case H3_UPDATE: return update(r, rank, a);
    }
    return false;
}

// ---- a step --------------------------------------------------------------------------------------------------------

// False: something is wrong.
static bool run_rank(struct replay *r, int rank, bool *has_moved_p)
{
    struct replayed_rank *me = &r->rank[rank];
    while (!me->is_done) {
        if (me->at == me->did->n)
            return why_ended(r, rank);
        if (!act(r, rank))
            return !r->verdict->why[0];
        me->at++;
        *has_moved_p = true;
    }
    return true;
}

// All ranks, once. If several do something wrong, the first one of them has the message.
static bool run_ranks(struct replay *r, bool *has_moved_p)
{
    bool is_right = true;
    for (int rank = r->c->ranks - 1; rank >= 0; rank--) {
        const struct h3_verdict before = *r->verdict;
        r->verdict->why[0] = 0;
        is_right = run_rank(r, rank, has_moved_p) && is_right;
        if (!r->verdict->why[0])
            *r->verdict = before;
    }
    return is_right;
}

static bool check_step(struct replay *r)
{
    for (int rank = 0; rank < r->c->ranks; rank++)
        for (int p = h3_parameters(r->c) - 1; p >= 0; p--) {
            const enum state state = r->rank[rank].held[p].state;
            if (state == TRAVELS)
                return why_unwaited(r, rank, p);
            if (state != UPDATED)
                return why_left(r, rank, p);
        }
    return true;
}

static bool run_step(struct replay *r)
{
    bool has_moved = true, is_done = false;
    r->nall = 0;
    for (int rank = 0; rank < r->c->ranks; rank++)
        r->rank[rank].is_done = false;
    while (!is_done) {
        if (!has_moved)
            return why_hung(r);
        has_moved = false;
        is_done = true;
        if (!run_ranks(r, &has_moved))
            return false;
        for (int rank = 0; rank < r->c->ranks; rank++)
            is_done = is_done && r->rank[rank].is_done;
    }
    return check_step(r);
}

// ---- all of it -----------------------------------------------------------------------------------------------------

// By how much of its way a parameter may be off.
static bool is_near(double got, double expected, double start)
{
    return fabs(got - expected) <= 1e-6 * fabs(expected - start) + 1e-13;
}

static bool compare(struct replay *r)
{
    struct thin *begin = malloc(2 * sizeof *begin), *expected = begin + 1;
    bool is_same = begin;
    if (!begin)
        return why_not(r, 0, "there is no memory to compare parameters");
    thin_begin(begin, r->c);
    thin_expected(r->c, H3_STEPS, expected);
    for (int rank = 0; rank < r->c->ranks && is_same; rank++)
        for (int p = h3_parameters(r->c) - 1; p >= 0 && is_same; p--)
            for (int i = 0; i < thin_count(p) && is_same; i++) {
                const double got = r->rank[rank].thin.values[p].v[i], want = expected->values[p].v[i];
                if (!is_near(got, want, begin->values[p].v[i]))
                    is_same = why_numbers(r, rank, p, got, want);
            }
    free(begin);
    return is_same;
}

int h3_replay(const struct h3_case *c, const struct h3_trace *trace, struct h3_verdict *verdict_p)
{
    struct replay *r = calloc(1, sizeof *r);
    *verdict_p = (struct h3_verdict){0};
    if (r)
        *r = (struct replay){.c = c, .verdict = verdict_p, .rank = calloc((size_t)c->ranks, sizeof *r->rank)};
    if (!r || !r->rank) {
        free(r);
        return CLAB_ENOMEM;
    }
    bool is_right = true;
    for (int rank = 0; rank < c->ranks; rank++) {
        r->rank[rank].did = &trace->rank[rank];
        r->rank[rank].step = -1;
        thin_begin(&r->rank[rank].thin, c);
    }
    for (int step = 0; step < H3_STEPS && is_right; step++)
        is_right = run_step(r);
    for (int rank = 0; rank < c->ranks && is_right; rank++)
        is_right = trace->rank[rank].end == H3_ENDED || why_ended(r, rank);
    verdict_p->is_right = is_right && compare(r);
    free(r->rank);
    free(r);
    return CLAB_OK;
}
