// SPDX-License-Identifier: MIT
// The full engine: one clock per rank (folded.c has one per class of equal ranks). Each rank runs through its stages
// until a message is missing. The message's sender wakes it.
//
// - A stage begins with its copies and sends; then it waits until all of its messages have been sent, receives them in
//   the order of their arrival, and ends when its own sends have left (or have been fetched, where senders wait).
// - One lane: ranks run in any order, since a clock depends on messages only. Several: the earliest goes first, since
//   lanes share the rank's core and ports.
// - Most problems are plain (MODE_PLAIN): the compiler makes a copy of the engine for them, without the checks they do
//   not need. Their messages are delivered a little later, when a prefetch has brought their receivers into the caches.
//   The answer is the same.
// - If senders wait, collecting a whole stage may close a circle of waits that real ranks, which receive one by one,
//   would not close. When all ranks are stuck, messages that have arrived are received out of turn (release). If there
//   are none, it is a deadlock.
//
// There are two entries. clab_engine_full takes each pair's link and each rank's core as its own. clab_engine_events
// takes the earliest action first, so that ranks can share links and cores.

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/order.h"
#include "sim/engine/engine.h"

// The rest of the engine, written as headers so that it is compiled here, once per mode (enum mode): pairwise.h and, by
// way of it, price.h (what actions cost), copies.h, transfers.h, delivery.h and recorder.h.
#include "sim/engine/pairwise.h"

// ---- calls ---------------------------------------------------------------------------------------------------

// Computing before the call is no part of the collective: its time is not counted.
static double when_computed(const struct turn *t, double when)
{
    double *core = core_of(t->s, t->rank, later(t->r->core, when));
    double begin = later(later(t->r->core, when), core ? *core : 0);
    t->r->core = begin + t->s->compute;
    t->r->seen = later(t->r->seen, t->r->core);
    if (t->s->recorder)
        recorder_computed(t, begin, t->r->core, core);
    if (core)
        *core = t->r->core;
    return t->r->core;
}

static void begin_call(struct full *s, int rank, double when)
{
    const struct turn t = full_turn(s, rank, 0, MODE_ANY);
    struct rank_state *r = t.r;
    if (s->recorder)
        recorder_begin_call(&t, when);
    double begin = s->compute > 0 ? when_computed(&t, when) : when;
    if (s->call_cost > 0)
        begin = price_core(&t, begin, s->call_cost + (r->waited ? s->wait_cost : 0), PART_LATENCY, MODE_ANY);
    r->lanes_left = (uint8_t)s->problem->lanes;
    r->sends = r->receives = false;
    begin_copies(s, rank, r->call == 0 && s->origin == 0);
    if (s->recorder)
        recorder_begin_lanes(&t);
    for (int lane = 0; lane < s->problem->lanes; lane++) {
        struct lane_state *l = full_lane(s, rank, lane, MODE_ANY);
        *l = (struct lane_state){.clock = begin, .when = begin, .tabled = l->tabled, .boxed = l->boxed};
        full_wake(s, l, rank, lane, MODE_ANY);
    }
}

// The rank has ended its last call, at `end`.
static void end_rank(struct full *s, int rank, double end)
{
    if (end > s->end || (end == s->end && rank < s->slowest)) {
        s->end = end;
        s->slowest = rank;
    }
    s->running--;
}

// A rank has ended the call before the first, at `end`. When all have, the first begins.
static void end_warm_call(struct full *s, double end)
{
    s->origin = later(s->origin, end + s->pause);
    if (--s->warming > 0)
        return;
    for (int rank = 0; rank < s->nranks; rank++)
        begin_call(s, rank, s->origin);
}

static void end_lane(struct full *s, int rank, int lane)
{
    const struct turn t = full_turn(s, rank, lane, MODE_ANY);
    price_finish(&t);
    t.l->phase = PHASE_IDLE;
    if (--t.r->lanes_left > 0)
        return;
    double end = full_call_end(s, rank);
    if (s->warming > 0) {
        end_warm_call(s, end);
        return;
    }
    if (s->recorder)
        recorder_end_call(&t, end);
    s->finish[t.r->call] = later(s->finish[t.r->call], end);
    if (++t.r->call < s->calls)
        begin_call(s, rank, end);
    else
        end_rank(s, rank, end);
}

// ---- stages --------------------------------------------------------------------------------------------------

// The steps of a stage; false: there is none. Its lane is at hand then, of the layout, too.
FULL_INLINE bool compute_stage(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    if (mode == MODE_ANY && s->has_levels)
        full_layout(s, t->rank, t->lane);
    s->nsteps = s->algorithm->stage(s->problem, t->rank, t->lane, t->l->stage, s->steps);
    return s->nsteps != CLAB_DONE;
}

// Which of them are messages. Both directions are busy if the stage has both, or if any lane of this call has so far.
FULL_INLINE void find_messages(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    int sends = 0, receives = 0;
    for (int i = s->nsteps - 1; i >= 0; i--)
        if (s->steps[i].op == CLAB_SEND) {
            s->first_send = i;
            sends++;
        } else if (s->steps[i].op < CLAB_COPY) {
            s->first_receive = i;
            receives++;
        }
    s->sends = sends;
    s->receives = receives;
    if (mode == MODE_ANY && s->problem->lanes > 1) {
        sends = t->r->sends |= sends > 0;
        receives = t->r->receives |= receives > 0;
    }
    s->load = sends && receives ? CLAB_BOTH : CLAB_ALONE;
}

// Whether all messages of the stage at hand have been sent.
FULL_INLINE bool collect(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    struct lane_state *l = t->l;
    if (s->receives == 0)
        return true;
    if (l->scanned < s->first_receive)
        l->scanned = s->first_receive;
    for (; l->scanned < s->nsteps; l->scanned++) {
        const struct clab_step *step = &s->steps[l->scanned];
        if (!is_receive(step))
            continue;
        if (!(mode == MODE_ANY ? take(t, step->peer) : take_plain(t, step->peer))) {
            *t->awaited = step->peer;
            return false;
        }
        if (mode == MODE_ANY)
            continue;
        if (s->receives == 1) // it need not be held
            return true;
        const struct message message = {.head = l->when, .src = step->peer, .dst = t->rank};
        int32_t index = keep(s, &message, mode);
        if (index == INFLIGHT_NONE)
            return false;
        full_hold(s, l, index);
    }
    return true;
}

static int by_head(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return CLAB_ORDER(x->head, y->head) ?: CLAB_ORDER(x->step, y->step);
}

// The collected messages in the order of arrival, *n_p of them.
static void sort_arrivals(struct full *s, const struct lane_state *l, int *n_p)
{
    const struct message *messages = s->inflight.messages;
    int n = 0;
    bool sorted = true;
    int32_t m = l->last;
    for (int step = 0; step < s->nsteps && m != INFLIGHT_NONE; step++) {
        if (!is_receive(&s->steps[step]))
            continue;
        m = messages[m].next;
        s->arrivals[n] = (struct arrival){messages[m].head, step, m};
        sorted &= n == 0 || s->arrivals[n - 1].head <= s->arrivals[n].head;
        n++;
    }
    if (!sorted)
        qsort(s->arrivals, (size_t)n, sizeof *s->arrivals, by_head);
    *n_p = n;
}

FULL_INLINE void land(const struct turn *t, const struct clab_step *step, int32_t index, enum mode mode)
{
    const struct message *message = &t->s->inflight.messages[index];
    double end = message->landed ? message->head : price_landing(t, step, message, mode);
    if (RECORDS(t->s, mode))
        recorder_lands(t, message, end);
    t->l->end = later(t->l->end, end);
    inflight_drop(&t->s->inflight, index);
}

// The stage's only message, where it has not been held.
FULL_INLINE void land_only(const struct turn *t, enum mode mode)
{
    const struct clab_step *step = &t->s->steps[t->s->first_receive];
    const struct message message = {.head = t->l->when, .src = step->peer};
    t->l->end = later(t->l->end, price_landing(t, step, &message, mode));
}

FULL_INLINE void land_all(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    int n;
    if (s->receives == 0)
        return;
    if (s->receives == 1) {
        if (mode == MODE_ANY)
            land(t, &s->steps[s->first_receive], t->l->last, mode);
        else
            land_only(t, mode);
        return;
    }
    sort_arrivals(s, t->l, &n);
    for (int i = 0; i < n; i++)
        land(t, &s->steps[s->arrivals[i].step], s->arrivals[i].message, mode);
}

FULL_INLINE void end_stage(const struct turn *t, enum mode mode)
{
    struct lane_state *l = t->l;
    if (RECORDS(t->s, mode))
        recorder_end_stage(t);
    l->clock = l->end;
    if (mode != MODE_PLAIN)
        l->when = l->end;
    l->stage++;
    l->scanned = 0;
    l->phase = PHASE_ENTERS;
}

// One lane's next action; whether it can go on at once (at l->when).
FULL_INLINE bool advance(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    struct lane_state *l = t->l;
    if (mode == MODE_ANY && l->phase == PHASE_ACKS) {
        end_stage(t, mode);
        return true;
    }
    if (l->phase == PHASE_ENTERS && l->stage == s->stop)
        return false;
    if (!compute_stage(t, mode)) {
        end_lane(s, t->rank, t->lane);
        return false;
    }
    if (mode == MODE_PLAIN && l->phase == PHASE_ENTERS && can_exchange(t)) {
        l->phase = PHASE_COLLECTS;
        offer(t);
        return false;
    }
    find_messages(t, mode);
    if (l->phase == PHASE_ENTERS) {
        l->last = INFLIGHT_NONE;
        l->phase = PHASE_COLLECTS;
        price_entry(t, mode);
    }
    if (l->phase == PHASE_COLLECTS) {
        if (s->err || !collect(t, mode))
            return false;
        l->phase = PHASE_LANDS;
        if (mode == MODE_ANY && s->run_queue.by_time)
            return true;
    }
    land_all(t, mode);
    if (mode == MODE_ANY && s->has_levels)
        layout_end_stage(&s->layout, s->steps, s->nsteps);
    l->phase = PHASE_ACKS;
    if (mode == MODE_ANY && l->acks > 0)
        return false;
    end_stage(t, mode);
    return true;
}

// The oldest pair exchanges its messages, and goes on.
FULL_INLINE void end_exchange(struct full *s)
{
    struct turn a, b;
    exchange(s, &a, &b);
    end_stage(&a, MODE_PLAIN);
    full_wake(s, a.l, a.rank, 0, MODE_PLAIN);
    end_stage(&b, MODE_PLAIN);
    full_wake(s, b.l, b.rank, 0, MODE_PLAIN);
}

static int drain_plain(struct full *s)
{
    const uint32_t at_most = s->is_wide ? EXCHANGES_ROOM - 1 : 0;
    while (!s->err && s->run_queue.count > 0) {
        struct turn t = full_turn(s, run_queue_unstack(&s->run_queue), 0, MODE_PLAIN);
        while (advance(&t, MODE_PLAIN))
            ;
        if (s->exchanges.count > at_most)
            end_exchange(s);
    }
    return s->err;
}

// Deliver the messages that waited for a prefetch.
static int empty_outbox(struct full *s)
{
    while (s->outbox.count + s->exchanges.count > 0) {
        if (s->outbox.count > 0)
            deliver_oldest(s);
        else
            end_exchange(s);
        CLAB_TRY(drain_plain(s));
    }
    return s->err;
}

static int drain_timed(struct full *s)
{
    int rank;
    while (!s->err && run_queue_pop(&s->run_queue, &rank)) {
        struct turn t = full_turn(s, rank, 0, MODE_TIMED);
        if (advance(&t, MODE_TIMED))
            full_wake(s, t.l, rank, 0, MODE_TIMED);
    }
    return s->err;
}

// Nodes that share a core: whether the lane, whose turn it is, must wait since another rank has the core. That rank
// keeps it until it has to wait, and then gives it up after `switch_cost`. If it can go on before that, its turn comes
// before this one's again.
static bool waits_for_core(const struct turn *t)
{
    struct full *s = t->s;
    const int core = full_member(s, t->rank) % s->net->machine_cores;
    const double from = s->cores[core] + s->switch_cost;
    if (s->owners[core] == t->rank)
        return false;
    if (t->l->when < from) {
        t->l->when = from;
        full_wake(s, t->l, t->rank, t->lane, MODE_ANY);
        return true;
    }
    s->owners[core] = t->rank;
    s->cores[core] = from;
    return false;
}

static int drain_any(struct full *s)
{
    int who, lanes = s->problem->lanes;
    while (!s->err) {
        if (s->transfers && end_transfers(s))
            continue;
        if (!run_queue_pop(&s->run_queue, &who))
            break;
        if (s->transfers && who >= s->transfers->base) {
            post_transfer(s, who - s->transfers->base);
            continue;
        }
        struct turn t = full_turn(s, who / lanes, who % lanes, MODE_ANY);
        if (s->owners && waits_for_core(&t))
            continue;
        bool on = advance(&t, MODE_ANY);
        while (on && !s->run_queue.by_time)
            on = advance(&t, MODE_ANY);
        if (on)
            full_wake(s, t.l, t.rank, t.lane, MODE_ANY);
    }
    return s->err;
}

// Run lanes until none can go on.
static int drain(struct full *s)
{
    return s->mode == MODE_PLAIN ? drain_plain(s) : s->mode == MODE_TIMED ? drain_timed(s) : drain_any(s);
}

// ---- when all are stuck --------------------------------------------------------------------------------------

// Receive one message out of turn; it stays where it is, marked.
static bool land_early(const struct turn *t, const struct clab_step *step, int32_t index)
{
    struct message *message = &t->s->inflight.messages[index];
    const struct clab_link *link = full_link(t->s, message->src, t->rank);
    size_t bytes = span_bytes(t->s, t->lane, step->dst);
    if (message->landed || !clab_link_segment(link, bytes)->waits)
        return false;
    message->head = price_landing(t, step, message, MODE_ANY);
    message->landed = true;
    return true;
}

static bool release_lane(struct full *s, int rank, int lane)
{
    struct turn t = full_turn(s, rank, lane, MODE_ANY);
    bool any = false;
    if (t.l->phase != PHASE_COLLECTS)
        return false;
    compute_stage(&t, MODE_ANY);
    find_messages(&t, MODE_ANY);
    int32_t held = t.l->last;
    for (int i = 0; i < s->nsteps; i++) {
        const struct clab_step *step = &s->steps[i];
        if (!is_receive(step))
            continue;
        if (i < t.l->scanned)
            held = s->inflight.messages[held].next;
        int32_t message = i < t.l->scanned ? held : inflight_peek(&s->inflight, step->peer, rank, lane);
        any |= message != INFLIGHT_NONE && land_early(&t, step, message);
    }
    return any;
}

static bool release(struct full *s)
{
    bool any = false;
    for (int rank = 0; rank < s->nranks; rank++)
        for (int lane = 0; lane < s->problem->lanes; lane++)
            any |= release_lane(s, rank, lane);
    return any;
}

// ---- the whole -----------------------------------------------------------------------------------------------

// Until all are done, or wait at `stop`.
static int settle_all(struct full *s)
{
    do {
        CLAB_TRY(drain(s));
        CLAB_TRY(empty_outbox(s));
    } while (s->running > 0 && release(s));
    return s->err ? s->err : s->running > 0 ? full_find_deadlock(s) : CLAB_OK;
}

int full_run(struct full *s)
{
    memset(s->awaited, NOBODY, (size_t)s->nranks * (size_t)s->problem->lanes * sizeof *s->awaited);
    s->running = s->nranks;
    for (int rank = 0; rank < s->nranks; rank++) {
        begin_call(s, rank, s->delays ? ticks_round(s->costs.ticks, s->delays[rank]) : 0);
        if (!s->run_queue.by_time)
            CLAB_TRY(drain(s));
    }
    return settle_all(s);
}

int full_go_on(struct full *s, int stop)
{
    s->stop = stop;
    for (int rank = 0; rank < s->nranks; rank++) {
        struct lane_state *l = full_lane(s, rank, 0, MODE_ANY);
        if (l->phase == PHASE_ENTERS)
            full_wake(s, l, rank, 0, MODE_ANY);
        CLAB_TRY(drain(s));
    }
    return settle_all(s);
}

static int simulate(struct full *s, const struct clab_sim_options *options, struct clab_sim_result *result_p)
{
    int err = full_init(s, options);
    if (!err)
        err = full_run(s);
    if (!err)
        full_fill(s, result_p);
    full_free(s);
    return err;
}

int clab_engine_full(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     const struct clab_net *net, const struct clab_sim_options *options,
                     struct clab_sim_result *result_p)
{
    struct full s = {.problem = problem, .algorithm = algorithm, .net = net};
    return simulate(&s, options, result_p);
}

int clab_engine_events(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options,
                       struct clab_sim_result *result_p)
{
    struct full s = {.problem = problem, .algorithm = algorithm, .net = net, .timed = true};
    return simulate(&s, options, result_p);
}
