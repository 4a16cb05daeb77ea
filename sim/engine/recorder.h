// SPDX-License-Identifier: MIT
// Part of full.c: how the engine writes its record (record.h). Compiled into MODE_ANY only, the mode of every run that
// is recorded. record.c and full_setup.c use its types.
//
// - Each time that the engine keeps (of a core, a port, a lane's clock, a message's head) is the end of an item, or was
//   there at the beginning: which item, is kept beside it. A maximum of times is one of them; who waits for it finds
//   the item that ended then.
// - `at` is the item that led to what the lane at hand is about to do.
#pragma once

#include "sim/engine/full.h"
#include "sim/engine/record.h"

enum { RECORDER_VALUES = 1 + 2 * PORTS }; // core, tx, rx, as in struct rank_state

// A message: what brings it, and its number.
struct recorded {
    int32_t item, message;
};

struct recorder {
    struct clab_record *record;
    int32_t *values;             // (nranks, RECORDER_VALUES)
    int32_t *clocks, *lane_ends; // (nranks, lanes)
    double *begun;               // (nranks, lanes) s: the stage at hand
    int32_t *cores;              // (ncores) those that are shared
    size_t ncores;
    struct recorded posting;    // the message that is being delivered
    struct recorded *in_flight; // (in_flight_room) by their places in s->inflight
    int in_flight_room;
    int32_t at;
    struct clab_record_item like; // what `at` leads to
};

// errors: CLAB_ENOMEM
int recorder_open(struct full *s, struct clab_record *record);
void recorder_close(struct full *s);

// Each answers its index, or CLAB_RECORD_NONE and sets s->err. An item of no length answers its cause.
int32_t recorder_item(struct full *s, struct clab_record_item item);
int32_t recorder_message(struct full *s, struct clab_record_message message);
void recorder_stage(struct full *s, struct clab_record_stage stage);
void recorder_keep(struct full *s, int32_t index); // `posting` lies there in s->inflight

#define RECORDS(s, mode) ((mode) == MODE_ANY && __builtin_expect((s)->recorder != NULL, 0))

// ---- who was the last at what --------------------------------------------------------------------------------

static inline size_t recorder_lane(const struct turn *t)
{
    return (size_t)t->rank * (size_t)t->s->problem->lanes + (size_t)t->lane;
}

// The last item of `value`, one of the rank's times; NULL: `value` is of an unshared link, for which no item waits.
static inline int32_t *recorder_value(const struct turn *t, const double *value)
{
    const ptrdiff_t i = value - &t->r->core;
    return i >= 0 && i < RECORDER_VALUES ? &t->s->recorder->values[t->rank * RECORDER_VALUES + i] : NULL;
}

// The first of some items that ended at `begin`, or CLAB_RECORD_NONE.
static inline int32_t recorder_cause(const struct full *s, double begin, const int32_t *items, int n)
{
    for (int i = 0; i < n; i++)
        if (items[i] != CLAB_RECORD_NONE && s->recorder->record->items[items[i]].end == begin)
            return items[i];
    return CLAB_RECORD_NONE;
}

// The cause of an item that the current lane begins at `begin`, using the resource whose time is `value` and the shared
// core `core` (or NULL).
static inline int32_t recorder_why(const struct turn *t, double begin, const double *value, const double *core)
{
    const struct recorder *r = t->s->recorder;
    const int32_t *last = value ? recorder_value(t, value) : NULL;
    const int32_t items[] = {r->at, r->clocks[recorder_lane(t)], last ? *last : CLAB_RECORD_NONE,
                             core ? r->cores[core - t->s->cores] : CLAB_RECORD_NONE};
    return recorder_cause(t->s, begin, items, sizeof items / sizeof *items);
}

static inline void recorder_set(const struct turn *t, const double *value, const double *core, int32_t item)
{
    int32_t *last = recorder_value(t, value);
    if (last)
        *last = item;
    if (core)
        t->s->recorder->cores[core - t->s->cores] = item;
}

// The current stage does not end before `end`, the end of `item`.
static inline void recorder_end(const struct turn *t, double end, int32_t item)
{
    if (end >= t->l->end) // of what ends together, a message rather than what the rank does by itself
        t->s->recorder->lane_ends[recorder_lane(t)] = item;
}

// ---- pieces --------------------------------------------------------------------------------------------------

// Describe the current lane's next item: its peer, bytes and link.
static inline void recorder_like(const struct turn *t, int peer, size_t bytes, int link, enum clab_record_unit unit)
{
    t->s->recorder->like = (struct clab_record_item){.rank = t->rank,
                                                     .lane = (uint8_t)t->lane,
                                                     .stage = t->l->stage,
                                                     .call = t->r->call,
                                                     .peer = peer,
                                                     .bytes = bytes,
                                                     .link = (int8_t)link,
                                                     .unit = (uint8_t)unit};
}

// It goes on from its clock, by itself.
static inline void recorder_from_clock(const struct turn *t)
{
    recorder_like(t, CLAB_RECORD_NONE, 0, CLAB_RECORD_NONE, CLAB_UNIT_CORE);
    t->s->recorder->at = t->s->recorder->clocks[recorder_lane(t)];
}

// An item from `begin`, which is when `at` ended, to `end`. It is `at` then.
static inline int32_t recorder_add(struct full *s, enum clab_did did, enum clab_record_unit unit, double begin,
                                   double end)
{
    struct recorder *r = s->recorder;
    struct clab_record_item item = r->like;
    item.begin = begin;
    item.end = end;
    item.cause = r->at;
    item.did = (uint8_t)did;
    item.unit = (uint8_t)unit;
    if (did == CLAB_DID_COPY || did == CLAB_DID_REDUCE)
        item.link = CLAB_RECORD_NONE;
    return r->at = recorder_item(s, item);
}

// The core has worked.
static inline void recorder_core(const struct turn *t, double begin, double end, const double *core, enum part part)
{
    struct recorder *r = t->s->recorder;
    const enum clab_did did = part == PART_REDUCE             ? CLAB_DID_REDUCE
                              : part == PART_BANDWIDTH        ? CLAB_DID_COPY
                              : r->like.unit == CLAB_UNIT_OUT ? CLAB_DID_POST
                              : r->like.unit == CLAB_UNIT_IN  ? CLAB_DID_ACCEPT
                                                              : CLAB_DID_OVERHEAD;
    r->at = recorder_why(t, begin, &t->r->core, core);
    recorder_set(t, &t->r->core, core, recorder_add(t->s, did, CLAB_UNIT_CORE, begin, end));
}

// ---- calls and stages ----------------------------------------------------------------------------------------

// The rank begins its first call at `when`.
static inline void recorder_begin_rank(const struct turn *t, double when)
{
    t->s->recorder->at = CLAB_RECORD_NONE;
    recorder_from_clock(t);
    recorder_add(t->s, CLAB_DID_DELAY, CLAB_UNIT_CORE, 0, when);
}

// The call at hand begins: at `when`, or where `at` has led to. What follows is outside of all stages.
static inline void recorder_begin_call(const struct turn *t, double when)
{
    if (t->r->call == 0)
        recorder_begin_rank(t, when);
    recorder_like(t, CLAB_RECORD_NONE, 0, CLAB_RECORD_NONE, CLAB_UNIT_CORE);
    t->s->recorder->like.stage = CLAB_RECORD_NONE;
}

static inline void recorder_computed(const struct turn *t, double begin, double end, const double *core)
{
    t->s->recorder->at = recorder_why(t, begin, &t->r->core, core);
    recorder_set(t, &t->r->core, core, recorder_add(t->s, CLAB_DID_COMPUTE, CLAB_UNIT_CORE, begin, end));
}

// The rank's last lane has ended the call, at `end`.
static inline void recorder_end_call(const struct turn *t, double end)
{
    struct recorder *r = t->s->recorder;
    for (int lane = t->s->problem->lanes - 1; lane >= 0; lane--)
        if (full_lane(t->s, t->rank, lane, MODE_ANY)->clock == end)
            r->at = r->clocks[(size_t)t->rank * (size_t)t->s->problem->lanes + (size_t)lane];
    if (end <= r->record->finish[t->r->call])
        return;
    r->record->finish[t->r->call] = end;
    r->record->ends[t->r->call] = r->at;
}

static inline void recorder_enter(const struct turn *t)
{
    t->s->recorder->begun[recorder_lane(t)] = t->l->clock;
    recorder_from_clock(t);
}

// The lanes begin the call when `at` ended.
static inline void recorder_begin_lanes(const struct turn *t)
{
    for (int lane = 0; lane < t->s->problem->lanes; lane++)
        t->s->recorder->clocks[(size_t)t->rank * (size_t)t->s->problem->lanes + (size_t)lane] = t->s->recorder->at;
}

// The clock of the lane at hand is when `at` ended.
static inline void recorder_clock(const struct turn *t)
{
    t->s->recorder->clocks[recorder_lane(t)] = t->s->recorder->at;
}

// The stage at hand has done all that comes before its messages.
static inline void recorder_entered(const struct turn *t)
{
    struct recorder *r = t->s->recorder;
    r->clocks[recorder_lane(t)] = r->lane_ends[recorder_lane(t)] = r->at;
}

static inline void recorder_end_stage(const struct turn *t)
{
    struct recorder *r = t->s->recorder;
    recorder_stage(t->s, (struct clab_record_stage){.begin = r->begun[recorder_lane(t)],
                                                    .end = t->l->end,
                                                    .rank = t->rank,
                                                    .stage = t->l->stage,
                                                    .call = t->r->call,
                                                    .lane = (uint8_t)t->lane});
    r->clocks[recorder_lane(t)] = r->lane_ends[recorder_lane(t)];
}

// ---- sending -------------------------------------------------------------------------------------------------

static inline void recorder_send(const struct turn *t, const struct clab_link *link, int dst, size_t bytes)
{
    recorder_from_clock(t);
    recorder_like(t, dst, bytes, clab_net_link_index(t->s->net, link), CLAB_UNIT_OUT);
}

// The message at hand is on its way: `at` brings it.
static inline void recorder_post(struct full *s, double posted, double head)
{
    struct recorder *r = s->recorder;
    const struct clab_record_item *like = &r->like;
    r->posting.item = r->at;
    r->posting.message = recorder_message(s, (struct clab_record_message){.posted = posted,
                                                                          .head = head,
                                                                          .bytes = like->bytes,
                                                                          .src = like->rank,
                                                                          .dst = like->peer,
                                                                          .sent = like->stage,
                                                                          .call = like->call,
                                                                          .lane = like->lane,
                                                                          .link = like->link});
}

// A port's times for a message that it sends, in s.
struct recorder_put {
    double begin, posted; // it took the message, and had begun with the bytes
    double alone, end;    // all had left: if nobody shared the link, and as it was
    double first;         // what the first fragment takes
    double head_alone, head;
};

// The port's time is `value` (NULL: nobody waits for it), and of shared cores `core` (or NULL).
static inline void recorder_put(const struct turn *t, const double *value, const double *core, struct recorder_put p)
{
    struct recorder *r = t->s->recorder;
    const enum clab_record_unit unit = value == &t->r->core ? CLAB_UNIT_CORE : CLAB_UNIT_OUT;
    const int32_t why = recorder_why(t, p.begin, value, core);
    r->at = why;
    recorder_add(t->s, CLAB_DID_TRAVEL, CLAB_UNIT_WIRE, p.begin, p.head_alone - p.first);
    recorder_add(t->s, CLAB_DID_HEAD, CLAB_UNIT_WIRE, p.head_alone - p.first, p.head_alone);
    recorder_add(t->s, CLAB_DID_SHARE, CLAB_UNIT_WIRE, p.head_alone, p.head);
    recorder_post(t->s, p.posted, p.head);
    r->at = why;
    recorder_add(t->s, CLAB_DID_POST, unit, p.begin, p.posted);
    recorder_add(t->s, CLAB_DID_PUT, unit, p.posted, p.alone);
    recorder_add(t->s, CLAB_DID_SHARE, unit, p.alone, p.end);
    if (value)
        recorder_set(t, value, core, r->at);
}

// A message in a socket, in s.
struct recorder_socket {
    double posted;    // the socket has it, when `at` ended
    double free;      // the port was, before
    double left, end; // by the port's own clock, its last byte has left; and the port is free for the next message
    double ahead;     // of the others' clock is the port's
    double tail;      // its last byte is there
};

static inline void recorder_hand_over(const struct turn *t, const double *port, struct recorder_socket m)
{
    struct recorder *r = t->s->recorder;
    const int32_t post = r->at;
    r->at = m.free > m.posted ? *recorder_value(t, port) : post;
    const int32_t put = recorder_add(t->s, CLAB_DID_PUT, CLAB_UNIT_OUT, later(m.posted, m.free), m.left);
    if (m.end > m.left)
        recorder_add(t->s, CLAB_DID_PUT, CLAB_UNIT_OUT, m.left, m.end);
    recorder_set(t, port, NULL, r->at);
    r->at = put;
    if (m.left - m.ahead > m.posted)
        recorder_add(t->s, CLAB_DID_BURST, CLAB_UNIT_OUT, m.left, m.left - m.ahead);
    else
        r->at = post;
    recorder_add(t->s, CLAB_DID_TRAVEL, CLAB_UNIT_WIRE, later(m.posted, m.left - m.ahead), m.tail);
    recorder_post(t->s, m.posted, m.tail);
    recorder_end(t, m.posted, post);
    r->at = post;
}

// ---- receiving -----------------------------------------------------------------------------------------------

static inline struct recorded *recorder_message_of(const struct turn *t, const struct message *message)
{
    return &t->s->recorder->in_flight[message - t->s->inflight.messages];
}

static inline void recorder_land(const struct turn *t, const struct clab_link *link, const struct message *message,
                                 size_t bytes)
{
    recorder_like(t, message->src, bytes, clab_net_link_index(t->s->net, link), CLAB_UNIT_IN);
    t->s->recorder->at = recorder_message_of(t, message)->item;
}

// A port's times for a message that it receives, in s.
struct recorder_take {
    double head, begin, ready; // its first bytes came; the port was free; it had done what is fixed
    double pulled;             // and the bytes, had they been there
    double tail, end;          // it had all, if nobody shared the link, and as it was
    double o_recv, pull;       // what is fixed of a message alone, and its bytes
};

static inline void recorder_take(const struct turn *t, const double *value, const double *core, struct recorder_take p)
{
    struct recorder *r = t->s->recorder;
    const enum clab_record_unit unit = value == &t->r->core ? CLAB_UNIT_CORE : CLAB_UNIT_IN;
    const int32_t message = r->at;
    r->at = recorder_why(t, p.begin, value, core);
    recorder_add(t->s, CLAB_DID_ACCEPT, unit, p.begin, p.ready);
    recorder_add(t->s, CLAB_DID_TAKE, unit, p.ready, p.pulled);
    if (p.tail > p.pulled) {
        r->at = message;
        recorder_add(t->s, CLAB_DID_TAIL, CLAB_UNIT_WIRE, p.head, p.tail);
    }
    if (value)
        recorder_set(t, value, core, r->at);
    if (p.end == p.tail)
        return;
    r->at = message;
    recorder_add(t->s, CLAB_DID_ACCEPT, CLAB_UNIT_WIRE, p.head, p.head + p.o_recv);
    recorder_add(t->s, CLAB_DID_TAKE, CLAB_UNIT_WIRE, p.head + p.o_recv, p.head + p.o_recv + p.pull);
    recorder_add(t->s, CLAB_DID_SHARE, CLAB_UNIT_WIRE, p.head + p.o_recv + p.pull, p.end);
}

// A message whose last byte came at `tail` came in behind others; the port has had `recv` to do since `free`, and is
// `ahead` of the others' clock.
static inline void recorder_came_in(const struct turn *t, const double *port, double tail, double free, double recv,
                                    double ahead)
{
    struct recorder *r = t->s->recorder;
    const int32_t message = r->at;
    if (free + recv > tail) {
        r->at = *recorder_value(t, port);
        recorder_add(t->s, CLAB_DID_TAKE, CLAB_UNIT_IN, free, free + recv);
    }
    recorder_set(t, port, NULL, r->at);
    if (free + recv - ahead > tail)
        recorder_add(t->s, CLAB_DID_BURST, CLAB_UNIT_IN, free + recv, free + recv - ahead);
    else
        r->at = message;
}

// The acknowledgements of a message that was in at `in`, when `at` ended, take `acks` of the port on the way back.
static inline void recorder_acks(const struct turn *t, const double *port, double in, double acks)
{
    struct recorder *r = t->s->recorder;
    const int32_t came = r->at;
    if (*port > in - acks) {
        r->at = *recorder_value(t, port);
        recorder_add(t->s, CLAB_DID_PUT, CLAB_UNIT_OUT, *port, *port + acks);
    }
    recorder_set(t, port, NULL, r->at);
    r->at = came;
}

// The message has landed at `end`, when `at` ended; its sender learns that `answer` later.
static inline void recorder_landed(const struct turn *t, const struct message *message, double end, double answer)
{
    struct recorder *r = t->s->recorder;
    struct recorded *recorded = recorder_message_of(t, message);
    if (recorded->message == CLAB_RECORD_NONE) // s->err
        return;
    struct clab_record_message *m = &r->record->messages[recorded->message];
    recorded->item = r->at;
    m->taken = end;
    m->received = t->l->stage;
    recorder_add(t->s, CLAB_DID_ANSWER, CLAB_UNIT_WIRE, end, end + answer);
}

// The stage at hand ends no earlier than the message landed, at `end`.
static inline void recorder_lands(const struct turn *t, const struct message *message, double end)
{
    recorder_end(t, end, recorder_message_of(t, message)->item);
}

// A sender's lane learns of it at `when`.
static inline void recorder_acknowledge(struct full *s, int src, int lane, const struct lane_state *l, double when)
{
    if (when > l->end)
        s->recorder->lane_ends[(size_t)src * (size_t)s->problem->lanes + (size_t)lane] = s->recorder->at;
}
