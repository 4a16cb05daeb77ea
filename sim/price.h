// SPDX-License-Identifier: MIT
// What the dataflow engine charges: sends, landings, local copies, each on the port or core that is busy with it.
// For full.c alone, which compiles it twice: `plain` is a constant there.
#pragma once

#include "base/err.h"
#include "full.h"

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

// `seconds` of the rank's core from `from` on, or from when it is free; returns the end.
FULL_INLINE double price_core(struct rank_state *rank, double from, double seconds, enum part part)
{
    double begin = later(from, rank->core);
    rank->core = begin + seconds;
    spend(rank, part, begin, rank->core);
    return rank->core;
}

FULL_INLINE double *port_of(const struct full *s, const struct clab_link *link, struct rank_state *r,
                            double ports[PORTS])
{
    return link->port == CLAB_PORT_CORE ? &r->core : &ports[link == &s->net->inter];
}

FULL_INLINE const struct toll *toll_of(struct full *s, const struct clab_link *link, size_t bytes)
{
    return tolls_of(&s->tolls, link, link == &s->net->inter, bytes);
}

FULL_INLINE size_t span_bytes(const struct full *s, int lane, struct clab_span span)
{
    return slices_bytes(&s->slices, lane, span.first, span.count);
}

// ---- copies --------------------------------------------------------------------------------------------------

// A message is one piece of memory. Lanes lie between the blocks of a span, so that such a span must be packed.
static bool must_pack(const struct full *s, struct clab_span span)
{
    return s->problem->lanes > 1 && span.first % s->slices.chunks + span.count > s->slices.chunks;
}

// `bytes` of the rank's own memory, from `from` on; returns the end.
static double copy_bytes(const struct turn *t, double from, size_t bytes, enum clab_load load)
{
    return bytes ? price_core(t->r, from, full_cost(t->s, bytes, t->s->level.copy[load]), PART_BANDWIDTH) : from;
}

// Where nothing is said of the other ranks, they copy, too.
static double copy_home(const struct turn *t, double from, size_t bytes)
{
    return copy_bytes(t, from, bytes, t->s->problem->nranks > 1 ? CLAB_BOTH : CLAB_ALONE);
}

// Bytes that the executor copies before this step's message leaves.
static size_t bytes_copied(const struct turn *t, const struct clab_step *step)
{
    struct full *s = t->s;
    if (step->op == CLAB_COPY || (step->op == CLAB_SEND && must_pack(s, step->src)))
        return span_bytes(s, t->lane, step->src);
    if (step->op == CLAB_SEND && !s->places.in_place && places_is_fresh(&s->places, t->rank, t->lane, step->src))
        return places_bring(&s->places, &s->slices, t->rank, t->lane, step->src);
    return 0;
}

static void copy(const struct turn *t, const struct clab_step *step)
{
    t->l->clock = copy_bytes(t, t->l->clock, bytes_copied(t, step), t->s->load);
    if (step->op == CLAB_COPY)
        places_write(&t->s->places, t->rank, t->lane, step->dst);
}

// What is copied while the first messages travel.
static void copy_aside(const struct turn *t)
{
    struct full *s = t->s;
    if (s->aside)
        t->l->end =
            later(t->l->end,
                  copy_home(t, t->l->clock, s->aside[(size_t)t->rank * (size_t)s->problem->lanes + (size_t)t->lane]));
}

// ---- sending -------------------------------------------------------------------------------------------------

// To be held by who collects it.
FULL_INLINE int32_t keep(struct full *s, const struct message *message)
{
    int32_t index = inflight_new(&s->inflight);
    if (index == INFLIGHT_NONE)
        s->err = CLAB_ENOMEM;
    else
        s->inflight.messages[index] = *message;
    return index;
}

// In the table, until its receiver looks for it.
FULL_INLINE void put_by(struct full *s, const struct message *message)
{
    int32_t index = keep(s, message);
    if (index != INFLIGHT_NONE && !inflight_queue(&s->inflight, index))
        s->err = CLAB_ENOMEM;
}

// The message is there: handed to its receiver if this is what it waits for, or kept for later.
FULL_INLINE void deliver(struct full *s, const struct message *message, bool plain)
{
    struct turn to = full_turn(s, message->dst, message->lane, plain);
    struct inbox *inbox = to.inbox;
    if (inbox->awaited == message->src) {
        int32_t index = keep(s, message);
        if (index == INFLIGHT_NONE)
            return;
        full_hold(s, to.l, index);
        if (!plain)
            to.l->when = later(to.l->when, message->head);
        to.l->scanned++;
        inbox->awaited = NOBODY;
        full_wake(s, to.l, to.rank, to.lane, plain);
    } else if (plain && inbox->count < INBOX_ROOM && inbox->tabled == 0) {
        inbox->heads[inbox->count] = message->head;
        inbox->srcs[inbox->count++] = message->src;
    } else {
        inbox->tabled++;
        put_by(s, message);
    }
}

// Deliver the oldest of the outbox.
FULL_INLINE void deliver_oldest(struct full *s)
{
    struct outbox *o = &s->outbox;
    const struct message *message = &o->messages[o->first++ % OUTBOX_ROOM];
    o->count--;
    deliver(s, message, true);
}

FULL_INLINE void post(struct full *s, const struct message *message, bool plain)
{
    struct outbox *o = &s->outbox;
    if (!plain || !s->has_outbox) {
        deliver(s, message, plain);
        return;
    }
    const char *to = (const char *)full_rank(s, message->dst, true);
    __builtin_prefetch(full_inbox(s, message->dst, 0, true));
    __builtin_prefetch(to);
    __builtin_prefetch(to + 64);
    if (o->count == OUTBOX_ROOM)
        deliver_oldest(s);
    o->messages[(o->first + o->count++) % OUTBOX_ROOM] = *message;
}

// Message `i` of an inbox, to be held.
FULL_INLINE int32_t take_out(const struct turn *t, int i)
{
    struct inbox *inbox = t->inbox;
    struct message message = {.head = inbox->heads[i], .src = inbox->srcs[i], .dst = t->rank};
    for (inbox->count--; i < inbox->count; i++) {
        inbox->heads[i] = inbox->heads[i + 1];
        inbox->srcs[i] = inbox->srcs[i + 1];
    }
    return keep(t->s, &message);
}

// The next message of `src` for the lane at hand, to be held; INFLIGHT_NONE: it has not come yet.
FULL_INLINE int32_t take(const struct turn *t, int src, bool plain)
{
    for (int i = 0; plain && i < t->inbox->count; i++)
        if (t->inbox->srcs[i] == src)
            return take_out(t, i);
    if (t->inbox->tabled == 0)
        return INFLIGHT_NONE;
    int32_t index = inflight_take(&t->s->inflight, src, t->rank, t->lane);
    t->inbox->tabled -= index != INFLIGHT_NONE;
    return index;
}

FULL_INLINE void send(const struct turn *t, const struct clab_step *step, bool plain)
{
    struct full *s = t->s;
    const struct clab_link *link = full_link(s, t->rank, step->peer);
    const struct toll *toll = toll_of(s, link, span_bytes(s, t->lane, step->src));
    double *port = port_of(s, link, t->r, t->r->tx), begin = later(t->l->clock, *port);
    double posted = begin + toll->o_send, end = posted + toll->send;
    *port = end;
    spend_message(t->r, begin, posted, end);
    t->l->end = later(t->l->end, end);
    if (!plain)
        t->l->acks += toll->waits;
    s->messages++;
    struct message message = {
        .head = posted + toll->head,
        .src = full_twin(s, step->peer, t->rank),
        .dst = full_twin(s, step->peer, step->peer),
        .lane = (uint16_t)t->lane,
        .fresh = !plain && s->has_places && places_is_fresh(&s->places, t->rank, t->lane, step->src),
    };
    post(s, &message, plain);
}

// Whether the stage at hand has no message. (What a stage takes beside its messages is part of theirs.)
FULL_INLINE bool is_silent(const struct full *s)
{
    return s->sends + s->receives == 0;
}

// The copies and sends of the stage at hand, s->steps; messages are posted.
FULL_INLINE void price_entry(const struct turn *t, bool plain)
{
    struct full *s = t->s;
    if (s->stage_cost > 0 && is_silent(s))
        t->l->clock = price_core(t->r, t->l->clock, s->stage_cost, PART_LATENCY);
    for (int i = 0; !plain && s->has_places && i < s->nsteps; i++)
        copy(t, &s->steps[i]);
    t->l->end = t->l->clock;
    for (int i = s->first_send, left = s->sends; left > 0; i++)
        if (s->steps[i].op == CLAB_SEND) {
            send(t, &s->steps[i], plain);
            left--;
        }
    if (!plain && t->l->stage == 0)
        copy_aside(t);
}

// ---- receiving -----------------------------------------------------------------------------------------------

// What a received byte costs the core that takes it, and a reduced byte more than that.
struct rates {
    double pull, reduce;
};

// Fresh data lies where its writer's caches left it. That depends on the message that was written, not on all that is
// touched, so it is looked up by the message.
static struct rates rates_of(struct full *s, size_t bytes, bool fresh, bool adds)
{
    const struct clab_level *kept = &s->level;
    struct rates r = {kept->pull[CLAB_KEPT][s->load], adds ? kept->add[s->load] : kept->reduce[CLAB_KEPT][s->load]};
    size_t footprint = bytes * (s->load == CLAB_BOTH ? 4 : 2); // what is read and what is written, one way or both
    if (fresh && s->fresh_footprint != footprint) {
        s->fresh = clab_net_level(s->net, footprint);
        s->fresh_footprint = footprint;
    }
    if (fresh) { // but it must be written somewhere, which is no cheaper
        r.pull = later(r.pull, s->fresh.pull[CLAB_FRESH][s->load]);
        r.reduce = later(r.reduce, s->fresh.reduce[CLAB_FRESH][s->load]);
    }
    r.reduce = later(0, r.reduce - r.pull);
    return r;
}

// Whether a receive's place is being read by a send of its stage.
static bool is_sent_too(const struct full *s, struct clab_span dst)
{
    for (int i = 0; i < s->nsteps; i++) {
        struct clab_span src = s->steps[i].src;
        if (s->steps[i].op == CLAB_SEND && src.buffer == dst.buffer && src.first < dst.first + dst.count &&
            dst.first < src.first + src.count)
            return true;
    }
    return false;
}

// Whether a receive-reduce adds to what lies in its place, rather than writing the sum of two others to a third.
static bool adds(const struct full *s, int rank, int lane, struct clab_span dst)
{
    if (!s->has_places || dst.buffer != CLAB_DATA)
        return s->has_places;
    return s->places.in_place ? !is_sent_too(s, dst) : places_is_fresh(&s->places, rank, lane, dst);
}

// What has landed lies in the place of `dst`, or beside it.
static void settle(struct full *s, int rank, int lane, struct clab_span dst)
{
    if (s->places.in_place && dst.buffer == CLAB_DATA && is_sent_too(s, dst))
        places_swap(&s->places, rank, lane, dst);
    places_write(&s->places, rank, lane, dst);
}

// A sender that waits is told that its message has been fetched.
FULL_INLINE void acknowledge(struct full *s, int src, int lane, double when, bool plain)
{
    struct lane_state *l = full_lane(s, src, lane, plain);
    l->end = later(l->end, when);
    if (--l->acks == 0 && l->phase == PHASE_ACKS) {
        if (!plain)
            l->when = l->end;
        full_wake(s, l, src, lane, plain);
    }
}

// What the bytes of a message cost the core that takes them, in s.
struct work {
    double pull, last, reduce; // last: of the last fragment, where it is pulled
};

FULL_INLINE struct work work_of(const struct turn *t, const struct clab_step *step, const struct toll *toll, bool fresh,
                                bool plain)
{
    struct full *s = t->s;
    if (plain || !s->has_places)
        return (struct work){toll->recv, 0, toll->reduce};
    const struct clab_segment *segment = toll->segment;
    struct rates rates = rates_of(s, toll->bytes, fresh && segment->memory, adds(s, t->rank, t->lane, step->dst));
    double reduce = full_cost(s, toll->bytes, rates.reduce);
    if (!segment->memory)
        return (struct work){toll->recv, 0, reduce};
    size_t last = toll->bytes < segment->fragment ? toll->bytes : segment->fragment;
    return (struct work){full_cost(s, toll->bytes, rates.pull), full_cost(s, last, rates.pull), reduce};
}

// Receive what `step` gets; returns when it has landed.
FULL_INLINE double price_landing(const struct turn *t, const struct clab_step *step, const struct message *message,
                                 bool plain)
{
    struct full *s = t->s;
    struct rank_state *r = t->r;
    double head = message->head;
    int src = message->src;
    const struct clab_link *link = full_link(s, src, t->rank);
    const struct toll *toll = toll_of(s, link, span_bytes(s, t->lane, step->dst));
    struct work work = work_of(t, step, toll, message->fresh, plain);
    double *port = port_of(s, link, r, r->rx), begin = later(later(head, *port), t->l->clock);
    double ready = begin + toll->o_recv + (s->load == CLAB_BOTH ? toll->o_both : 0) + s->lane_cost;
    // The last fragment can not land before it was sent.
    double end = later(ready + work.pull, head + toll->last + work.last);
    *port = end;
    if (ready + work.pull == end) {
        spend_message(r, begin, ready, end);
    } else { // it waits for the last fragment
        spend(r, PART_LATENCY, begin, ready);
        spend(r, PART_BANDWIDTH, end - work.pull, end);
    }
    if (step->op == CLAB_RECV_REDUCE && work.reduce > 0)
        end = price_core(r, end, work.reduce, PART_REDUCE);
    if (!plain && s->has_places) {
        if (must_pack(s, step->dst))
            end = copy_bytes(t, end, toll->bytes, s->load);
        settle(s, t->rank, t->lane, step->dst);
    }
    if (!plain && toll->waits)
        acknowledge(s, full_twin(s, src, src), t->lane, end + toll->latency, plain);
    return end;
}

// ---- the end of a lane -----------------------------------------------------------------------------------------

// All blocks that `rank` wants, as far as they are not home.
static size_t bring_wanted(struct full *s, int rank, int lane)
{
    size_t bytes = 0;
    for (int b = 0; b < clab_problem_blocks(s->problem); b++)
        if (clab_problem_wants(s->problem, rank, b))
            bytes += places_bring(&s->places, &s->slices, rank, lane,
                                  (struct clab_span){CLAB_DATA, b * s->slices.chunks, s->slices.chunks});
    return bytes;
}

// Bytes of `lane` that no stage brings to `out`: the executor copies them aside. Walks all stages, before the first
// call.
static size_t price_aside(struct full *s, int rank, int lane)
{
    int n;
    for (int stage = 0; (n = s->algorithm->stage(s->problem, rank, lane, stage, s->steps)) != CLAB_DONE; stage++)
        for (int i = 0; i < n; i++) {
            const struct clab_step *step = &s->steps[i];
            if (step->op != CLAB_SEND)
                places_write(&s->places, rank, lane, step->dst);
            else if (places_is_fresh(&s->places, rank, lane, step->src))
                places_bring(&s->places, &s->slices, rank, lane, step->src);
        }
    size_t bytes = bring_wanted(s, rank, lane);
    places_reset_lane(&s->places, rank, lane);
    return bytes;
}

// What is copied home at the end of a lane, in place.
static void price_finish(const struct turn *t)
{
    size_t bytes = t->s->places.in_place ? bring_wanted(t->s, t->rank, t->lane) : 0;
    if (t->l->stage == 0 && t->s->aside) { // there was no stage
        copy_aside(t);
        t->l->clock = later(t->l->clock, t->l->end);
    }
    t->l->clock = copy_home(t, t->l->clock, bytes);
}
