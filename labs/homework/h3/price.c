// SPDX-License-Identifier: MIT
#include "labs/homework/h3/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/vector.h"
#include "sim/sim.h"

// A collective whose ranks begin together.
struct known {
    size_t count;
    double seconds;
};

struct clock {
    const struct h3_rank *did;
    int at;
    int in_use;     // the layer whose inputs' gradients the pass computes next; -1: none
    double now;     // s since the step began
    double stalled; // s
    double free;    // when its part of the last collective is over
    double *ends;   // (nends) of this step
    int nends, room;
    bool is_finishing, is_done;
};

struct pricing {
    const struct h3_case *c;
    struct clab_net *net;
    const struct clab_algorithm *algorithm;
    int nclocks; // 1 if all ranks do the same at the same time
    struct clock clock[H3_RANKS];
    struct known *known;
    int nknown, room;
};

// ---- one collective ------------------------------------------------------------------------------------------------

static size_t elements(const struct h3_case *c, int first, int count)
{
    size_t sum = 0;
    for (int p = first; p < first + count; p++)
        sum += h3_bytes(c, p) / sizeof(float);
    return sum;
}

static int simulate(struct pricing *p, size_t count, const double *delays, double *ends, double *seconds_p)
{
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = p->c->ranks, .lanes = 1, .count = count};
    const struct clab_sim_options options = {
        .element_bytes = sizeof(float), .in_place = true, .delays = delays, .ends = ends};
    struct clab_sim_result result;
    CLAB_TRY(clab_sim_run(&problem, p->algorithm, p->net, &options, &result));
    *seconds_p = result.seconds;
    return CLAB_OK;
}

static int price_together(struct pricing *p, size_t count, double *seconds_p)
{
    for (int i = 0; i < p->nknown; i++)
        if (p->known[i].count == count) {
            *seconds_p = p->known[i].seconds;
            return CLAB_OK;
        }
    CLAB_TRY(simulate(p, count, NULL, NULL, seconds_p));
    return CLAB_PUSH(p->known, p->nknown, p->room, (struct known){count, *seconds_p});
}

static int end_at(struct clock *k, double end)
{
    k->free = end;
    return CLAB_PUSH(k->ends, k->nends, k->room, end);
}

// Each clock has just started a collective of `count` elements.
static int collect(struct pricing *p, size_t count)
{
    double starts[H3_RANKS], delays[H3_RANKS], ends[H3_RANKS], first = INFINITY, last = 0, seconds;
    for (int i = 0; i < p->nclocks; i++) {
        starts[i] = fmax(p->clock[i].now, p->clock[i].free);
        first = fmin(first, starts[i]);
        last = fmax(last, starts[i]);
    }
    if (first == last) {
        CLAB_TRY(price_together(p, count, &seconds));
        for (int i = 0; i < p->nclocks; i++)
            CLAB_TRY(end_at(&p->clock[i], first + seconds));
        return CLAB_OK;
    }
    for (int i = 0; i < p->nclocks; i++)
        delays[i] = starts[i] - first;
    CLAB_TRY(simulate(p, count, delays, ends, &seconds));
    for (int i = 0; i < p->nclocks; i++)
        CLAB_TRY(end_at(&p->clock[i], first + ends[i]));
    return CLAB_OK;
}

// ---- one rank ------------------------------------------------------------------------------------------------------

static void go_on(const struct h3_case *c, struct clock *k, int parameter)
{
    const int layer = parameter / 2;
    if (k->in_use >= 0)
        k->now += c->layer[k->in_use].inputs_seconds;
    k->in_use = -1;
    if (parameter % 2)
        k->now += c->layer[layer].weights_seconds;
    else if (!h3_is_first_of_branch(c, layer))
        k->in_use = layer;
}

static void wait(struct clock *k, int handle)
{
    const double more = fmax(0, k->ends[handle] - k->now);
    k->now += more;
    if (!k->is_finishing)
        k->stalled += more;
}

// One action, but for reductions.
static void act(const struct h3_case *c, struct clock *k, const struct h3_action *a)
{
    switch (a->kind) {
    case H3_STEP:
        k->now = k->free = 0;
        k->in_use = -1;
        k->nends = 0;
        k->is_finishing = false;
        break;
    case H3_READY: go_on(c, k, a->first); break;
    case H3_FINISH:
        if (k->in_use >= 0) // a branch's first layer, whose inputs' gradients nobody needs, is not in use
            k->now += c->layer[k->in_use].inputs_seconds;
        k->is_finishing = true;
        break;
    case H3_WAIT: wait(k, a->first); break;
    case H3_SCALE: k->now += 2 * sizeof(float) * (double)elements(c, a->first, a->count) * c->memory; break;
    case H3_UPDATE: k->now += 3 * sizeof(float) * (double)elements(c, a->first, a->count) * c->memory; break;
    case H3_DONE: k->is_done = true; break;
    case H3_REDUCE: break;
    }
}

// Until it starts a collective, which *reduce_p then is, or the step is over.
static void advance(const struct h3_case *c, struct clock *k, const struct h3_action **reduce_p)
{
    *reduce_p = NULL;
    while (!k->is_done && k->at < k->did->n) {
        const struct h3_action *a = &k->did->actions[k->at++];
        act(c, k, a);
        if (a->kind == H3_REDUCE) {
            *reduce_p = a;
            return;
        }
    }
}

// ---- a trace -------------------------------------------------------------------------------------------------------

static int run_step(struct pricing *p)
{
    const struct h3_action *reduce = NULL;
    for (int i = 0; i < p->nclocks; i++)
        p->clock[i].is_done = false;
    do {
        for (int i = 0; i < p->nclocks; i++)
            advance(p->c, &p->clock[i], &reduce);
        if (reduce)
            CLAB_TRY(collect(p, elements(p->c, reduce->first, reduce->count)));
    } while (reduce);
    return CLAB_OK;
}

static bool is_alike(const struct h3_case *c, const struct h3_trace *trace)
{
    const struct h3_rank *first = &trace->rank[0];
    for (int rank = 1; rank < c->ranks; rank++) {
        const struct h3_rank *other = &trace->rank[rank];
        if (c->branch || other->n != first->n)
            return false;
        for (int i = 0; i < first->n; i++) {
            const struct h3_action *a = &first->actions[i], *b = &other->actions[i];
            if (a->kind != b->kind || a->first != b->first || a->count != b->count)
                return false;
        }
    }
    return true;
}

// What is counted of rank 0's last step.
static void count(const struct h3_rank *did, struct h3_time *time)
{
    bool is_finishing = false, has_worked = false;
    int works = 0, waited = 0;
    time->collectives = time->early = 0;
    for (int i = 0; i < did->n; i++) {
        const enum h3_kind kind = did->actions[i].kind;
        if (kind == H3_STEP) {
            is_finishing = has_worked = false;
            time->collectives = time->early = works = waited = 0;
        }
        is_finishing = is_finishing || kind == H3_FINISH;
        time->collectives += kind == H3_REDUCE;
        time->early += kind == H3_REDUCE && !is_finishing;
        waited += kind == H3_WAIT;
        has_worked = has_worked || kind == H3_UPDATE;
        works += kind == H3_WAIT && has_worked;
    }
    time->works_late = works == 0 && waited > 1;
}

static int steps_of(const struct h3_rank *did)
{
    int steps = 0;
    for (int i = 0; i < did->n; i++)
        steps += did->actions[i].kind == H3_STEP;
    return steps;
}

static int price_steps(struct pricing *p, struct h3_time *time)
{
    const struct h3_case *c = p->c;
    const int steps = steps_of(p->clock[0].did);
    const double alone = h3_backward(c) + 5 * (double)h3_all_bytes(c) * c->memory;
    for (int step = 0; step < steps; step++) {
        double end = 0, stalled = 0;
        CLAB_TRY(run_step(p));
        for (int i = 0; i < p->nclocks; i++) {
            end = fmax(end, p->clock[i].now);
            stalled = fmax(stalled, p->clock[i].stalled);
            p->clock[i].stalled = 0;
        }
        time->exposed += fmax(0, end - alone) / steps;
        time->stalled += stalled / steps;
    }
    return CLAB_OK;
}

static int open_pricing(const struct h3_case *c, struct pricing *p)
{
    *p = (struct pricing){.c = c, .algorithm = clab_algorithm_find(CLAB_ALLREDUCE, "halving_doubling")};
    return clab_net_create_flat(c->alpha, c->beta, c->gamma, &p->net);
}

static void close_pricing(struct pricing *p)
{
    for (int i = 0; i < H3_RANKS; i++)
        free(p->clock[i].ends);
    free(p->known);
    clab_net_free(p->net);
}

static int price(struct pricing *p, const struct h3_trace *trace, struct h3_time *time_p)
{
    struct h3_time time = {0};
    p->nclocks = is_alike(p->c, trace) ? 1 : p->c->ranks;
    for (int i = 0; i < p->nclocks; i++) {
        double *ends = p->clock[i].ends;
        const int room = p->clock[i].room;
        p->clock[i] = (struct clock){.did = &trace->rank[i], .ends = ends, .room = room};
    }
    CLAB_TRY(price_steps(p, &time));
    count(&trace->rank[0], &time);
    *time_p = time;
    return CLAB_OK;
}

int h3_price(const struct h3_case *c, const struct h3_trace *trace, struct h3_time *time_p)
{
    struct pricing p;
    CLAB_TRY(open_pricing(c, &p));
    const int err = price(&p, trace, time_p);
    close_pricing(&p);
    return err;
}
