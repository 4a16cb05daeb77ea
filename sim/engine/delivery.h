// SPDX-License-Identifier: MIT
// Part of full.c: delivers messages to their receivers, and counts a core's time by kind.
#pragma once

#include "core/base/err.h"
#include "sim/engine/full.h"
#include "sim/engine/recorder.h"

// Count [from, to] as time of `part`, without time counted before: adapters and core work at the same time.
FULL_INLINE void spend(struct rank_state *rank, enum part part, double from, double to)
{
    double begin = later(from, rank->seen);
    if (to > begin) {
        rank->spent[part] += to - begin;
        rank->seen = to;
    }
}

// Count [from, to] as fixed costs, and [to, end] as time of bytes, likewise.
FULL_INLINE void spend_message(struct rank_state *rank, double from, double to, double end)
{
    if (rank->seen <= from && to <= end) {
        rank->spent[PART_LATENCY] += to - from;
        rank->spent[PART_BANDWIDTH] += end - to;
        rank->seen = end;
        return;
    }
    spend(rank, PART_LATENCY, from, to);
    spend(rank, PART_BANDWIDTH, to, end);
}

// Choose one of the cores that a node's ranks share: the idle core that became idle last, so that later ranks find one
// that has been idle for longer; else the core that is idle first. A rank keeps its core to the end of an action.
static double *choose_core(const struct full *s, int rank, double from)
{
    int per_node = s->net->ranks_per_node, n = s->net->cores_per_node, best = 0;
    double *cores = s->cores + (size_t)(full_member(s, rank) / per_node) * (size_t)n;
    for (int i = 1; i < n; i++) {
        bool is_free = cores[i] <= from, best_is = cores[best] <= from;
        if (is_free ? !best_is || cores[i] > cores[best] : !best_is && cores[i] < cores[best])
            best = i;
    }
    return &cores[best];
}

// NULL: the rank has its own.
FULL_INLINE double *core_of(const struct full *s, int rank, double from)
{
    if (s->owners)
        return &s->cores[full_member(s, rank) % s->net->machine_cores];
    return s->cores ? choose_core(s, rank, from) : NULL;
}

// Occupy the rank's core for `seconds`, from `from` on or once it is free; returns the end.
FULL_INLINE double price_core(const struct turn *t, double from, double seconds, enum part part, enum mode mode)
{
    struct rank_state *rank = t->r;
    double begin = later(from, rank->core);
    double *core = mode == MODE_ANY ? core_of(t->s, t->rank, begin) : NULL;
    if (core)
        begin = later(begin, *core);
    rank->core = begin + seconds;
    if (core)
        *core = rank->core;
    if (RECORDS(t->s, mode))
        recorder_core(t, begin, rank->core, core, part);
    spend(rank, part, begin, rank->core);
    return rank->core;
}

// ---- messages -------------------------------------------------------------------------------------------------

// Store a message in flight, and return its index.
FULL_INLINE int32_t keep(struct full *s, const struct message *message, enum mode mode)
{
    int32_t index = inflight_new(&s->inflight);
    if (index == INFLIGHT_NONE) {
        s->err = CLAB_ENOMEM;
        return index;
    }
    // Field by field: of what has just been written in parts, a copy of the whole would wait until it is in the cache.
    struct message *kept = &s->inflight.messages[index];
    kept->head = message->head;
    kept->late = message->late;
    kept->src = message->src;
    kept->dst = message->dst;
    kept->lane = message->lane;
    kept->landed = message->landed;
    kept->joins = message->joins;
    kept->kept = message->kept;
    if (RECORDS(s, mode))
        recorder_keep(s, index);
    return index;
}

// In the table, until its receiver looks for it.
FULL_INLINE void put_by(struct full *s, const struct message *message, enum mode mode)
{
    int32_t index = keep(s, message, mode);
    if (index != INFLIGHT_NONE && !inflight_queue(&s->inflight, index))
        s->err = CLAB_ENOMEM;
}

static void trade(struct full *s, int src, int dst, double head);

// The message is there: handed to its receiver if this is what it waits for, or kept for later.
FULL_INLINE void deliver(struct full *s, const struct message *message, enum mode mode)
{
    struct turn to = full_turn(s, message->dst, message->lane, mode);
    if (*to.awaited == message->src && mode != MODE_ANY) {
        to.l->when = message->head;
        *to.awaited = CAME;
        full_wake(s, to.l, to.rank, 0, mode);
    } else if (*to.awaited == message->src) {
        int32_t index = keep(s, message, mode);
        if (index == INFLIGHT_NONE)
            return;
        full_hold(s, to.l, index);
        to.l->when = later(to.l->when, message->head);
        to.l->scanned++;
        *to.awaited = NOBODY;
        full_wake(s, to.l, to.rank, to.lane, mode);
    } else if (mode == MODE_PLAIN && *to.awaited == offer_to(message->src)) {
        trade(s, message->src, message->dst, message->head); // not its address: it stays in registers
    } else if (mode != MODE_ANY && to.l->boxed < INBOX_ROOM && to.l->tabled == 0) {
        struct inbox *inbox = &s->inboxes[to.rank];
        inbox->heads[to.l->boxed] = message->head;
        inbox->srcs[to.l->boxed++] = message->src;
    } else {
        to.l->tabled++;
        put_by(s, message, mode);
    }
}

// Likewise, but the receiver offers the sender a message: both messages are sent as all others, not as an exchange.
static void trade(struct full *s, int src, int dst, double head)
{
    const struct message message = {.head = head, .src = src, .dst = dst};
    const struct message offered = {.head = full_lane(s, dst, 0, MODE_PLAIN)->when, .src = dst, .dst = src};
    *full_awaited(s, dst, 0, MODE_PLAIN) = src;
    deliver(s, &message, MODE_PLAIN);
    deliver(s, &offered, MODE_PLAIN);
}

// Deliver the oldest of the outbox.
FULL_INLINE void deliver_oldest(struct full *s)
{
    struct outbox *o = &s->outbox;
    const struct message *message = &o->messages[o->first++ % OUTBOX_ROOM];
    o->count--;
    deliver(s, message, MODE_PLAIN);
}

FULL_INLINE void dispatch(struct full *s, const struct message *message, enum mode mode)
{
    struct outbox *o = &s->outbox;
    if (mode == MODE_ANY || !s->is_wide) {
        deliver(s, message, mode);
        return;
    }
    full_rank(s, message->src, mode)->posted = o->first + o->count + 1;
    const char *to = (const char *)full_rank(s, message->dst, MODE_PLAIN);
    __builtin_prefetch(to);
    __builtin_prefetch(to + 64);
    if (o->count == OUTBOX_ROOM)
        deliver_oldest(s);
    o->messages[(o->first + o->count++) % OUTBOX_ROOM] = *message;
}

// Message `i` of an inbox: its head.
FULL_INLINE double take_out(struct lane_state *l, struct inbox *inbox, int i)
{
    double head = inbox->heads[i];
    for (l->boxed--; i < l->boxed; i++) {
        inbox->heads[i] = inbox->heads[i + 1];
        inbox->srcs[i] = inbox->srcs[i + 1];
    }
    return head;
}

// The next message of `src` for the lane at hand, out of the table; INFLIGHT_NONE: it has not come yet.
FULL_INLINE int32_t take_tabled(const struct turn *t, int src)
{
    if (t->l->tabled == 0)
        return INFLIGHT_NONE;
    int32_t index = inflight_take(&t->s->inflight, src, t->rank, t->lane);
    t->l->tabled -= index != INFLIGHT_NONE;
    return index;
}

// Hold the next message of `src` for the lane at hand; false: it has not come yet.
FULL_INLINE bool take(const struct turn *t, int src)
{
    int32_t index = take_tabled(t, src);
    if (index == INFLIGHT_NONE)
        return false;
    full_hold(t->s, t->l, index);
    t->l->when = later(t->l->when, t->s->inflight.messages[index].head);
    return true;
}

// Likewise, where the engine is plain: the lane's `when` is its head.
FULL_INLINE bool take_plain(const struct turn *t, int src)
{
    struct inbox *inbox = &t->s->inboxes[t->rank];
    if (*t->awaited == CAME) {
        *t->awaited = NOBODY;
        return true;
    }
    for (int i = 0; i < t->l->boxed; i++)
        if (inbox->srcs[i] == src) {
            t->l->when = take_out(t->l, inbox, i);
            return true;
        }
    int32_t index = take_tabled(t, src);
    if (index == INFLIGHT_NONE && !t->s->period && *full_awaited(t->s, src, 0, MODE_PLAIN) == offer_to(t->rank)) {
        *full_awaited(t->s, src, 0, MODE_PLAIN) = t->rank;
        t->l->when = full_lane(t->s, src, 0, MODE_PLAIN)->when;
        return true;
    }
    if (index == INFLIGHT_NONE)
        return false;
    t->l->when = t->s->inflight.messages[index].head;
    inflight_drop(&t->s->inflight, index);
    return true;
}

// Wake a sender that waits, since its message has been fetched or has left.
FULL_INLINE void acknowledge(struct full *s, int src, int lane, double when, enum mode mode)
{
    struct lane_state *l = full_lane(s, src, lane, mode);
    if (RECORDS(s, mode))
        recorder_acknowledge(s, src, lane, l, when);
    l->end = later(l->end, when);
    if (--l->acks == 0 && l->phase == PHASE_ACKS) {
        if (mode == MODE_ANY)
            l->when = l->end;
        full_wake(s, l, src, lane, mode);
    }
}
