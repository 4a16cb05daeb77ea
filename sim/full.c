// SPDX-License-Identifier: MIT
// The dataflow engine: every rank runs through its stages until a message is missing; who sends it wakes it.
//
// - A stage begins with its copies and sends; then it waits until all of its messages have been sent, receives them in
//   the order of their arrival, and ends when its own sends have left (or have been fetched, where senders wait).
// - One lane: ranks run in any order, since a clock depends on messages only. Several: the earliest goes first, since
//   lanes share the rank's core and ports.
// - Where senders wait, collecting a whole stage may close a circle that real ranks, which receive one by one, would
//   not close. When all are stuck, what has arrived is received out of turn (release); if there is nothing, it is a
//   deadlock.
//
// It does not know links that more than two ranks share, nor ranks that share a core.

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "engine.h"
#include "full.h"

struct arrival {
    double head;
    int step;
    int32_t message;
};

void full_wake(struct full *s, int rank, int lane)
{
    agenda_push(&s->agenda, full_lane(s, rank, lane)->when, rank * s->problem->lanes + lane);
}

// ---- calls ---------------------------------------------------------------------------------------------------

static void begin_call(struct full *s, int rank, double when)
{
    struct rank_state *r = &s->ranks[rank];
    double begin = s->net->call > 0 ? price_core(r, when, s->net->call, PART_LATENCY) : when;
    r->lanes_left = s->problem->lanes;
    r->call_end = begin;
    r->sends = r->receives = false;
    for (int lane = 0; lane < s->problem->lanes && s->aside && r->call == 0; lane++)
        s->aside[rank * s->problem->lanes + lane] = price_aside(s, rank, lane);
    if (s->has_places)
        places_reset(&s->places, rank);
    for (int lane = 0; lane < s->problem->lanes; lane++) {
        *full_lane(s, rank, lane) = (struct lane_state){.clock = begin, .when = begin};
        full_wake(s, rank, lane);
    }
}

static void end_lane(struct full *s, int rank, int lane)
{
    struct rank_state *r = &s->ranks[rank];
    struct lane_state *l = full_lane(s, rank, lane);
    price_finish(s, rank, lane);
    l->phase = PHASE_IDLE;
    r->call_end = fmax(r->call_end, l->clock);
    if (--r->lanes_left > 0)
        return;
    s->finish[r->call] = fmax(s->finish[r->call], r->call_end);
    if (++r->call < s->calls)
        begin_call(s, rank, r->call_end);
}

// ---- stages --------------------------------------------------------------------------------------------------

// The steps of a stage. Both directions are busy if it has both, or if lanes that run beside each other have.
static bool compute_stage(struct full *s, int rank, int lane, int stage)
{
    struct rank_state *r = &s->ranks[rank];
    bool sends = false, receives = false;
    s->nsteps = s->algorithm->stage(s->problem, rank, lane, stage, s->steps);
    for (int i = 0; i < s->nsteps; i++) {
        sends |= s->steps[i].op == CLAB_SEND;
        receives |= is_receive(&s->steps[i]);
    }
    r->sends |= sends;
    r->receives |= receives;
    if (s->problem->lanes > 1) {
        sends = r->sends;
        receives = r->receives;
    }
    s->load = sends && receives ? CLAB_BOTH : CLAB_ALONE;
    return s->nsteps != CLAB_DONE;
}

static void hold(struct full *s, struct lane_state *l, int32_t message)
{
    s->inflight.messages[message].next = INFLIGHT_NONE;
    if (l->last == INFLIGHT_NONE)
        l->first = message;
    else
        s->inflight.messages[l->last].next = message;
    l->last = message;
    l->when = fmax(l->when, s->inflight.messages[message].head);
}

// Whether all messages of the stage at hand have been sent.
static bool collect(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    for (; l->scanned < s->nsteps; l->scanned++) {
        const struct clab_step *step = &s->steps[l->scanned];
        if (!is_receive(step))
            continue;
        int32_t message = inflight_take(&s->inflight, step->peer, rank, lane);
        if (message == INFLIGHT_NONE) {
            l->awaited = step->peer;
            return false;
        }
        hold(s, l, message);
    }
    return true;
}

static int by_head(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return x->head < y->head ? -1 : x->head > y->head ? 1 : x->step - y->step;
}

// What was collected, in the order of arrival; *n_p messages.
static void sort_arrivals(struct full *s, const struct lane_state *l, int *n_p)
{
    int n = 0, step = 0;
    bool sorted = true;
    for (int32_t m = l->first; m != INFLIGHT_NONE; m = s->inflight.messages[m].next, step++) {
        while (!is_receive(&s->steps[step]))
            step++;
        s->arrivals[n] = (struct arrival){s->inflight.messages[m].head, step, m};
        sorted &= n == 0 || s->arrivals[n - 1].head <= s->arrivals[n].head;
        n++;
    }
    if (!sorted)
        qsort(s->arrivals, (size_t)n, sizeof *s->arrivals, by_head);
    *n_p = n;
}

static void land_all(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    int n;
    sort_arrivals(s, l, &n);
    for (int i = 0; i < n; i++) {
        struct message message = s->inflight.messages[s->arrivals[i].message];
        double end =
            message.landed ? message.head : price_landing(s, rank, lane, &s->steps[s->arrivals[i].step], &message);
        l->end = fmax(l->end, end);
        inflight_drop(&s->inflight, s->arrivals[i].message);
    }
}

static void end_stage(struct lane_state *l)
{
    *l = (struct lane_state){.clock = l->end, .when = l->end, .stage = l->stage + 1};
}

// One lane's next action; whether it can go on at once (at l->when).
static bool advance(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    if (l->phase == PHASE_ACKS) {
        end_stage(l);
        return true;
    }
    if (!compute_stage(s, rank, lane, l->stage)) {
        end_lane(s, rank, lane);
        return false;
    }
    if (l->phase == PHASE_ENTERS) {
        price_entry(s, rank, lane);
        l->first = l->last = INFLIGHT_NONE;
        l->phase = PHASE_COLLECTS;
    }
    if (l->phase == PHASE_COLLECTS) {
        if (s->err || !collect(s, rank, lane))
            return false;
        l->phase = PHASE_LANDS;
        if (s->agenda.by_time)
            return true;
    }
    land_all(s, rank, lane);
    l->phase = PHASE_ACKS;
    if (l->acks > 0)
        return false;
    end_stage(l);
    return true;
}

// ---- when all are stuck --------------------------------------------------------------------------------------

// Receive one message out of turn; it stays where it is, marked.
static bool land_early(struct full *s, int rank, int lane, const struct clab_step *step, int32_t index)
{
    struct message *message = &s->inflight.messages[index];
    const struct clab_link *link = clab_net_link(s->net, message->src, rank);
    size_t bytes = slices_bytes(&s->slices, lane, step->dst.first, step->dst.count);
    if (message->landed || !clab_link_segment(link, bytes)->waits)
        return false;
    message->head = price_landing(s, rank, lane, step, message);
    message->landed = true;
    return true;
}

static bool release_lane(struct full *s, int rank, int lane)
{
    struct lane_state *l = full_lane(s, rank, lane);
    bool any = false;
    if (l->phase != PHASE_COLLECTS)
        return false;
    compute_stage(s, rank, lane, l->stage);
    int32_t held = l->first;
    for (int i = 0; i < s->nsteps; i++) {
        const struct clab_step *step = &s->steps[i];
        if (!is_receive(step))
            continue;
        int32_t message = i < l->scanned ? held : inflight_peek(&s->inflight, step->peer, rank, lane);
        if (i < l->scanned)
            held = s->inflight.messages[held].next;
        any |= message != INFLIGHT_NONE && land_early(s, rank, lane, step, message);
    }
    return any;
}

static bool release(struct full *s)
{
    bool any = false;
    for (int rank = 0; rank < s->problem->nranks; rank++)
        for (int lane = 0; lane < s->problem->lanes; lane++)
            any |= release_lane(s, rank, lane);
    return any;
}

static int report_deadlock(const struct full *s)
{
    for (int rank = 0; rank < s->problem->nranks; rank++)
        for (int lane = 0; lane < s->problem->lanes; lane++) {
            const struct lane_state *l = full_lane(s, rank, lane);
            if (l->phase == PHASE_COLLECTS)
                clab_error("%s: rank %d, lane %d, stage %d waits for a message of rank %d that is never sent",
                           s->algorithm->name, rank, lane, l->stage, l->awaited);
            else if (l->phase == PHASE_ACKS)
                clab_error("%s: rank %d, lane %d, stage %d sent a message that is never received", s->algorithm->name,
                           rank, lane, l->stage);
            else
                continue;
            return CLAB_EDEADLOCK;
        }
    return CLAB_OK;
}

// ---- the whole -----------------------------------------------------------------------------------------------

static int run(struct full *s)
{
    int who, lanes = s->problem->lanes;
    for (int rank = 0; rank < s->problem->nranks; rank++)
        begin_call(s, rank, 0);
    do {
        while (!s->err && agenda_pop(&s->agenda, &who)) {
            int rank = who / lanes, lane = who % lanes;
            bool on = advance(s, rank, lane);
            while (on && !s->agenda.by_time)
                on = advance(s, rank, lane);
            if (on)
                full_wake(s, rank, lane);
        }
    } while (!s->err && release(s));
    return s->err ? s->err : report_deadlock(s);
}

static int start(struct full *s, const struct clab_sim_options *options)
{
    const struct clab_problem *p = s->problem;
    size_t ranks = (size_t)p->nranks, lanes = ranks * (size_t)p->lanes, width = (size_t)s->algorithm->width(p) + 1;
    int chunks = s->algorithm->chunks(p);
    slices_init(&s->slices, p, chunks, options->element_bytes);
    s->has_places = s->net->nlevels > 0;
    s->calls = options->calls > 1 ? options->calls : 1;
    s->finish = calloc((size_t)s->calls, sizeof *s->finish);
    s->ranks = calloc(ranks, sizeof *s->ranks);
    s->lanes = calloc(lanes, sizeof *s->lanes);
    s->steps = calloc(width, sizeof *s->steps);
    s->arrivals = calloc(width, sizeof *s->arrivals);
    if (!s->finish || !s->ranks || !s->lanes || !s->steps || !s->arrivals)
        return CLAB_ENOMEM;
    CLAB_TRY(inflight_init(&s->inflight));
    CLAB_TRY(agenda_init(&s->agenda, (int)lanes, p->lanes > 1));
    if (s->has_places && !options->in_place && !(s->aside = calloc(lanes, sizeof *s->aside)))
        return CLAB_ENOMEM;
    if (s->has_places)
        return places_init(&s->places, p->nranks, p->lanes, clab_problem_blocks(p) * chunks, options->in_place);
    return CLAB_OK;
}

static size_t bytes_held(const struct full *s)
{
    size_t ranks = (size_t)s->problem->nranks, lanes = ranks * (size_t)s->problem->lanes;
    size_t width = (size_t)s->algorithm->width(s->problem) + 1;
    return ranks * sizeof *s->ranks + lanes * sizeof *s->lanes + width * (sizeof *s->steps + sizeof *s->arrivals) +
           lanes * sizeof *s->agenda.items + inflight_bytes(&s->inflight) +
           places_bytes(&s->places, s->problem->nranks);
}

static void stop(struct full *s)
{
    places_free(&s->places);
    agenda_free(&s->agenda);
    inflight_free(&s->inflight);
    free(s->aside);
    free(s->arrivals);
    free(s->steps);
    free(s->lanes);
    free(s->ranks);
    free(s->finish);
}

// One call: when the slowest rank ends. Several: what one more adds, once they follow each other steadily.
static double seconds_of(const struct full *s)
{
    int first = s->calls / 2;
    if (s->calls == 1)
        return s->finish[0];
    return (s->finish[s->calls - 1] - s->finish[first - 1]) / (s->calls - first);
}

// The parts are the slowest rank's; of several calls, each has its share.
static void fill(const struct full *s, struct clab_sim_result *result)
{
    const struct rank_state *slowest = &s->ranks[0];
    for (int rank = 1; rank < s->problem->nranks; rank++)
        if (s->ranks[rank].call_end > slowest->call_end)
            slowest = &s->ranks[rank];
    result->seconds = seconds_of(s);
    double share = slowest->call_end > 0 ? result->seconds / slowest->call_end : 0;
    result->latency = slowest->spent[PART_LATENCY] * share;
    result->bandwidth = slowest->spent[PART_BANDWIDTH] * share;
    result->reduce = slowest->spent[PART_REDUCE] * share;
    result->wait =
        fmax(0, result->seconds - result->latency - result->bandwidth - result->reduce); // not a rounding error
    result->messages = s->messages;
    result->peak_bytes = bytes_held(s);
}

int clab_engine_full(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     const struct clab_net *net, const struct clab_sim_options *options,
                     struct clab_sim_result *result_p)
{
    struct full s = {.problem = problem, .algorithm = algorithm, .net = net};
    s.level = clab_net_level(net, options->footprint);
    int err = start(&s, options);
    if (!err)
        err = run(&s);
    if (!err)
        fill(&s, result_p);
    stop(&s);
    return err;
}
