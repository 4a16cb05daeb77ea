// SPDX-License-Identifier: MIT
// How messages come to their receivers, and what time is counted as. For full.c alone, as price.h.
#pragma once

#include "base/err.h"
#include "full.h"
#include "recorder.h"

// Count [from, to] as time of `part`, but for what was counted already: adapters and core work at the same time.
FULL_INLINE void spend(struct rank_state *rank, enum part part, double from, double to)
{
    double begin = later(from, rank->seen);
    if (to > begin) {
        rank->spent[part] += to - begin;
        rank->seen = to;
    }
}

// Likewise [from, to] as fixed costs, and [to, end] as bytes.
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

// ---- messages -------------------------------------------------------------------------------------------------

// To be held by who collects it.
FULL_INLINE int32_t keep(struct full *s, const struct message *message, enum mode mode)
{
    int32_t index = inflight_new(&s->inflight);
    if (index == INFLIGHT_NONE) {
        s->err = CLAB_ENOMEM;
        return index;
    }
    s->inflight.messages[index] = *message;
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

// The message is there: handed to its receiver if this is what it waits for, or kept for later.
FULL_INLINE void deliver(struct full *s, const struct message *message, enum mode mode)
{
    struct turn to = full_turn(s, message->dst, message->lane, mode);
    struct inbox *inbox = to.inbox;
    if (inbox->awaited == message->src && mode != MODE_ANY) {
        to.l->when = message->head;
        inbox->awaited = CAME;
        full_wake(s, to.l, to.rank, 0, mode);
    } else if (inbox->awaited == message->src) {
        int32_t index = keep(s, message, mode);
        if (index == INFLIGHT_NONE)
            return;
        full_hold(s, to.l, index);
        to.l->when = later(to.l->when, message->head);
        to.l->scanned++;
        inbox->awaited = NOBODY;
        full_wake(s, to.l, to.rank, to.lane, mode);
    } else if (mode != MODE_ANY && inbox->count < INBOX_ROOM && inbox->tabled == 0) {
        inbox->heads[inbox->count] = message->head;
        inbox->srcs[inbox->count++] = message->src;
    } else {
        inbox->tabled++;
        put_by(s, message, mode);
    }
}

// Deliver the oldest of the outbox.
FULL_INLINE void deliver_oldest(struct full *s)
{
    struct outbox *o = &s->outbox;
    const struct message *message = &o->messages[o->first++ % OUTBOX_ROOM];
    o->count--;
    deliver(s, message, MODE_PLAIN);
}

FULL_INLINE void post(struct full *s, const struct message *message, enum mode mode)
{
    struct outbox *o = &s->outbox;
    if (mode == MODE_ANY || !s->has_outbox) {
        deliver(s, message, mode);
        return;
    }
    const char *to = (const char *)full_rank(s, message->dst, MODE_PLAIN);
    __builtin_prefetch(full_inbox(s, message->dst, 0, MODE_PLAIN));
    __builtin_prefetch(to);
    __builtin_prefetch(to + 64);
    if (o->count == OUTBOX_ROOM)
        deliver_oldest(s);
    o->messages[(o->first + o->count++) % OUTBOX_ROOM] = *message;
}

// Message `i` of an inbox: its head.
FULL_INLINE double take_out(struct inbox *inbox, int i)
{
    double head = inbox->heads[i];
    for (inbox->count--; i < inbox->count; i++) {
        inbox->heads[i] = inbox->heads[i + 1];
        inbox->srcs[i] = inbox->srcs[i + 1];
    }
    return head;
}

// The next message of `src` for the lane at hand, out of the table; INFLIGHT_NONE: it has not come yet.
FULL_INLINE int32_t take_tabled(const struct turn *t, int src)
{
    if (t->inbox->tabled == 0)
        return INFLIGHT_NONE;
    int32_t index = inflight_take(&t->s->inflight, src, t->rank, t->lane);
    t->inbox->tabled -= index != INFLIGHT_NONE;
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
    struct inbox *inbox = t->inbox;
    if (inbox->awaited == CAME) {
        inbox->awaited = NOBODY;
        return true;
    }
    for (int i = 0; i < inbox->count; i++)
        if (inbox->srcs[i] == src) {
            t->l->when = take_out(inbox, i);
            return true;
        }
    int32_t index = take_tabled(t, src);
    if (index == INFLIGHT_NONE)
        return false;
    t->l->when = t->s->inflight.messages[index].head;
    inflight_drop(&t->s->inflight, index);
    return true;
}

// A sender that waits is told that its message has been fetched, or has left.
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
