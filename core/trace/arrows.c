// SPDX-License-Identifier: MIT
// The messages of a timeline: the ends of all, sorted, and matched one by one.

#include "core/trace/arrows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/vector.h"

// One end of a message.
struct end {
    uint64_t comm;
    uint32_t sequence;
    int lane, src, dst;
    bool is_receive;
    int stage; // of the timeline: in the order in which the pair's messages go
};

struct ends {
    struct end *all;
    size_t n, room;
};

static int by_pair(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return CLAB_ORDER(x->comm, y->comm) ?: CLAB_ORDER(x->sequence, y->sequence) ?: CLAB_ORDER(x->lane, y->lane)
        ?: CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst) ?: CLAB_ORDER(x->is_receive, y->is_receive)
        ?: CLAB_ORDER(x->stage, y->stage);
}

static int add_end(struct ends *ends, struct end end)
{
    return CLAB_PUSH(ends->all, ends->n, ends->room, end);
}

// ---- the ends of a call --------------------------------------------------------------------------------------

static struct clab_problem problem_of(const struct clab_timeline_call *c)
{
    return (struct clab_problem){.collective = (enum clab_collective)c->what,
                                 .nranks = c->nranks,
                                 .root = c->root,
                                 .lanes = c->lanes,
                                 .group = c->group,
                                 .count = (size_t)c->count};
}

static size_t bytes_of(const struct clab_problem *p, const struct clab_algorithm *algorithm, size_t element, int lane,
                       struct clab_span span)
{
    size_t elements = 0, start;
    for (int i = 0; i < span.count; i++)
        elements += clab_problem_elements(p, algorithm->chunks(p), lane, span.first + i, &start);
    return elements * element;
}

static int add_stage(const struct clab_timeline *t, const struct clab_timeline_call *c, int index,
                     struct clab_step steps[], struct clab_arrow_ends *sum, struct ends *ends)
{
    const struct clab_timeline_stage *s = &t->stages[index];
    const struct clab_algorithm *algorithm = clab_algorithms[c->algorithm - 1];
    const struct clab_problem p = problem_of(c);
    const size_t element = clab_type_bytes((enum clab_type)c->type);
    const int n = algorithm->stage(&p, c->rank, s->lane, s->stage, steps);
    for (int i = n - 1; i >= 0; i--) {
        const struct clab_step *step = &steps[i];
        const bool is_receive = step->op == CLAB_RECV || step->op == CLAB_RECV_REDUCE;
        if (step->op >= CLAB_COPY)
            continue;
        *(is_receive ? &sum->from : &sum->to) = step->peer;
        *(is_receive ? &sum->received : &sum->sent) +=
            bytes_of(&p, algorithm, element, s->lane, is_receive ? step->dst : step->src);
        CLAB_TRY(add_end(ends, (struct end){.comm = c->comm,
                                            .sequence = c->sequence,
                                            .lane = s->lane,
                                            .src = is_receive ? step->peer : c->rank,
                                            .dst = is_receive ? c->rank : step->peer,
                                            .is_receive = is_receive,
                                            .stage = index}));
    }
    return CLAB_OK;
}

// The first stage of a call; nstages if there is none.
static int first_stage(const struct clab_timeline *t, const struct clab_timeline_call *c)
{
    int low = 0, high = t->nstages;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct clab_timeline_stage *s = &t->stages[middle];
        if (s->process < c->process || (s->process == c->process && s->serial < c->serial))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct clab_timeline_stage *s, const struct clab_timeline_call *c)
{
    return s->process == c->process && s->serial == c->serial;
}

static int add_call(const struct clab_timeline *t, const struct clab_timeline_call *c, struct clab_arrow_ends *sums,
                    struct ends *ends)
{
    if (c->what >= CLAB_COLLECTIVE_COUNT || c->algorithm == 0)
        return CLAB_OK;
    const struct clab_problem p = problem_of(c);
    struct clab_step *steps = malloc(((size_t)clab_algorithms[c->algorithm - 1]->width(&p) + 1) * sizeof *steps);
    int err = steps ? CLAB_OK : CLAB_ENOMEM;
    for (int i = first_stage(t, c); !err && i < t->nstages && is_of(&t->stages[i], c); i++)
        err = add_stage(t, c, i, steps, &sums[i], ends);
    free(steps);
    return err;
}

// ---- matching ------------------------------------------------------------------------------------------------

static bool is_same_pair(const struct end *a, const struct end *b)
{
    return a->comm == b->comm && a->sequence == b->sequence && a->lane == b->lane && a->src == b->src &&
           a->dst == b->dst;
}

// The ends of a pair, n of them: sends, then as many receives, or some are not there.
static void match(const struct end *ends, size_t n, struct clab_arrows *a)
{
    size_t sends = 0;
    while (sends < n && !ends[sends].is_receive)
        sends++;
    if (2 * sends != n)
        return;
    for (size_t i = 0; i < sends; i++)
        a->arrows[a->n++] = (struct clab_arrow){ends[i].stage, ends[sends + i].stage};
}

static int match_all(struct ends *ends, struct clab_arrows *a)
{
    if (!(a->arrows = malloc((ends->n + 1) * sizeof *a->arrows)))
        return CLAB_ENOMEM;
    if (ends->n)
        qsort(ends->all, ends->n, sizeof *ends->all, by_pair);
    for (size_t i = 0, n; i < ends->n; i += n) {
        for (n = 1; i + n < ends->n && is_same_pair(&ends->all[i], &ends->all[i + n]);)
            n++;
        match(&ends->all[i], n, a);
    }
    return CLAB_OK;
}

int clab_arrows_find(const struct clab_timeline *timeline, struct clab_arrows *arrows_p)
{
    struct clab_arrows arrows = {.ends = malloc(((size_t)timeline->nstages + 1) * sizeof *arrows.ends)};
    struct ends ends = {0};
    int err = arrows.ends ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; !err && i < timeline->nstages; i++)
        arrows.ends[i] = (struct clab_arrow_ends){-1, -1, 0, 0};
    for (int i = 0; !err && i < timeline->ncalls; i++)
        err = add_call(timeline, &timeline->calls[i], arrows.ends, &ends);
    if (!err)
        err = match_all(&ends, &arrows);
    free(ends.all);
    if (err)
        clab_arrows_free(&arrows);
    else
        *arrows_p = arrows;
    return err;
}

void clab_arrows_free(struct clab_arrows *arrows)
{
    free(arrows->ends);
    free(arrows->arrows);
    *arrows = (struct clab_arrows){0};
}
