// SPDX-License-Identifier: MIT
// From GOAL's operations to a listing of stages.

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/schedule/formats/goal_lowering.h"

enum { MOST_OPS = 1 << 26 };

int lower_fail(const struct lowering *w, int node, const char *what)
{
    clab_error("%s:%u: rank %d: %s", w->goal->path, w->nodes[node].op->line, w->nodes[node].rank, what);
    return CLAB_EPARSE;
}

// ---- the listing ---------------------------------------------------------------------------------------------

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t c = a % b;
        a = b;
        b = c;
    }
    return a;
}

static int measure(struct lowering *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->nodes[i].op->type != CLAB_GOAL_CALC) {
            size_t size = w->nodes[i].op->size;
            w->unit = gcd(w->unit, size);
            w->longest = size > w->longest ? size : w->longest;
        }
    w->unit = w->unit ? w->unit : 1;
    if (w->longest / w->unit <= INT_MAX / (LOWER_LANES * 4))
        return CLAB_OK;
    for (int i = 0; i < w->n; i++)
        if (w->nodes[i].op->type != CLAB_GOAL_CALC && w->nodes[i].op->size == w->longest)
            return lower_fail(w, i, "too many bytes for sizes that have no greater common divisor: round them");
    return CLAB_OK;
}

static struct clab_step step_of(const struct lowering *w, const struct lower_node *node)
{
    const struct clab_goal_op *op = node->op;
    struct clab_span span = {CLAB_DATA, 0, (int)(op->size / w->unit)};
    switch (op->type) {
    case CLAB_GOAL_SEND: return (struct clab_step){.op = CLAB_SEND, .peer = op->peer, .src = span};
    case CLAB_GOAL_RECV: return (struct clab_step){.op = CLAB_RECV, .peer = op->peer, .dst = span};
    default:
        return (struct clab_step){.op = CLAB_CALC,
                                  .src = {CLAB_DATA, (int)(op->size / 1000000000), (int)(op->size % 1000000000)}};
    }
}

static int by_stage(const void *a, const void *b)
{
    const struct lower_node *x = *(struct lower_node *const *)a, *y = *(struct lower_node *const *)b;
    const bool x_calcs = x->op->type == CLAB_GOAL_CALC, y_calcs = y->op->type == CLAB_GOAL_CALC;
    return CLAB_ORDER(x->lane, y->lane) ?: CLAB_ORDER(x->level, y->level)
        ?: CLAB_ORDER(y_calcs, x_calcs) // what begins with the stage comes first
        ?: CLAB_ORDER(x, y);
}

static int emit(struct lowering *w, struct lower_node *node, struct clab_listing *listing)
{
    struct clab_step step = step_of(w, node);
    node->order = w->emitted++;
    CLAB_TRY(clab_listing_add(listing, &step));
    if (node->follower == LOWER_NOBODY)
        return CLAB_OK;
    step = step_of(w, &w->nodes[node->follower]);
    return clab_listing_add(listing, &step);
}

// sorted: room for a rank's operations
static int list_rank(struct lowering *w, int rank, struct lower_node **sorted, struct clab_listing *listing)
{
    int n = 0, at = 0;
    for (int i = w->first[rank]; i < w->first[rank + 1]; i++)
        if (!w->nodes[i].joins && !w->nodes[i].follows)
            sorted[n++] = &w->nodes[i];
    if (n)
        qsort(sorted, (size_t)n, sizeof *sorted, by_stage);
    for (int lane = 0; lane < w->nlanes; lane++) {
        for (int level = LOWER_NOBODY; at < n && sorted[at]->lane == lane; at++) {
            if (sorted[at]->level != level)
                CLAB_TRY(clab_listing_begin_stage(listing));
            level = sorted[at]->level;
            CLAB_TRY(emit(w, sorted[at], listing));
        }
        clab_listing_end_program(listing);
    }
    return CLAB_OK;
}

static int list(struct lowering *w, struct clab_listing *listing)
{
    struct lower_node **sorted = malloc(((size_t)w->n + 1) * sizeof *sorted);
    int err = sorted ? CLAB_OK : CLAB_ENOMEM;
    for (int rank = 0; rank < w->goal->nranks && !err; rank++)
        err = list_rank(w, rank, sorted, listing);
    free(sorted);
    if (!err)
        err = lower_check_order(w);
    if (!err && w->goal->head && !(listing->head = strdup(w->goal->head)))
        err = CLAB_ENOMEM;
    return err ? err : clab_listing_close(listing, w->goal->path);
}

static int make_listing(struct lowering *w, struct clab_listing **listing_p)
{
    struct clab_listing *listing;
    struct clab_problem problem = {.collective = CLAB_BARRIER, .nranks = w->goal->nranks, .lanes = w->nlanes};
    CLAB_TRY(measure(w));
    int chunks = w->longest ? (int)(w->longest / w->unit) : 1;
    problem.count = w->unit * (size_t)chunks * (size_t)w->nlanes;
    CLAB_TRY(clab_listing_create(&problem, w->goal->name, &listing));
    listing->loose = true;
    listing->unit = w->unit;
    listing->chunks = chunks;
    int err = list(w, listing);
    if (err)
        clab_listing_free(listing);
    else
        *listing_p = listing;
    return err;
}

// ---- interface -----------------------------------------------------------------------------------------------

static int refuse_operation(const struct clab_goal *goal, const struct clab_goal_op *op, const char *why)
{
    clab_error(
        "%s:%u: a schedule of stages %s; `commlab sim --goal` runs the file as it is, without --why, --trace, --calls and --engine",
        goal->path, op->line, why);
    return CLAB_EPARSE;
}

static int check_rank(const struct clab_goal *goal, int rank)
{
    const struct clab_goal_op *op = goal->ops + goal->ranks[rank].first;
    for (uint32_t i = 0; i < goal->ranks[rank].nops; i++, op++) {
        if (op->type == CLAB_GOAL_CALC && !op->cpu && !op->nic)
            continue;
        if (op->cpu || op->nic)
            return refuse_operation(goal, op, "has one cpu and one nic per rank, both 0");
        if (op->peer == CLAB_GOAL_ANY_PEER || op->tag == CLAB_GOAL_ANY_TAG)
            return refuse_operation(goal, op, "knows which message it receives, not any");
        if (op->peer == rank)
            return refuse_operation(goal, op, "has no message of a rank to itself");
    }
    return CLAB_OK;
}

// What stages have no place for, and how much of it.
static int check_operations(struct lowering *w)
{
    const struct clab_goal *goal = w->goal;
    if (goal->nops > MOST_OPS) {
        clab_error("%s: %zu operations, and at most %d become stages; `commlab sim --goal` runs them as they are",
                   w->goal->path, goal->nops, MOST_OPS);
        return CLAB_EPARSE;
    }
    for (int rank = 0; rank < goal->nranks; rank++)
        CLAB_TRY(check_rank(goal, rank));
    return CLAB_OK;
}

static int set_up(struct lowering *w)
{
    const struct clab_goal *goal = w->goal;
    CLAB_TRY(check_operations(w));
    w->nodes = calloc(goal->nops + 1, sizeof *w->nodes);
    w->first = calloc((size_t)goal->nranks + 1, sizeof *w->first);
    w->sends = calloc(goal->nops + 1, sizeof *w->sends);
    w->receives = calloc(goal->nops + 1, sizeof *w->receives);
    if (!w->nodes || !w->first || !w->sends || !w->receives)
        return CLAB_ENOMEM;
    CLAB_TRY(goal_order_make(goal, &w->order));
    for (int rank = 0; rank < goal->nranks; rank++) {
        const struct clab_goal_rank *r = &goal->ranks[rank];
        w->first[rank] = w->n;
        for (uint32_t i = 0; i < r->nops; i++, w->n++)
            w->nodes[w->n] = (struct lower_node){.op = &goal->ops[r->first + (size_t)w->order.ops[r->first + i]],
                                                 .rank = rank,
                                                 .parent = w->n,
                                                 .partner = LOWER_NOBODY,
                                                 .follower = LOWER_NOBODY};
    }
    w->first[goal->nranks] = w->n;
    return CLAB_OK;
}

static int lower(struct lowering *w, struct clab_listing **listing_p)
{
    CLAB_TRY(set_up(w));
    CLAB_TRY(lower_match(w));
    CLAB_TRY(lower_give_lanes(w));
    CLAB_TRY(lower_find_stages(w));
    return make_listing(w, listing_p);
}

int clab_goal_lower(const struct clab_goal *goal, struct clab_listing **listing_p)
{
    struct lowering w = {.goal = goal, .nlanes = 1};
    int err = lower(&w, listing_p);
    if (err == CLAB_ENOMEM)
        clab_error("%s: its stages need more memory than there is", goal->path);
    goal_order_free(&w.order);
    free(w.nodes);
    free(w.first);
    free(w.sends);
    free(w.receives);
    return err;
}
