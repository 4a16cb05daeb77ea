// SPDX-License-Identifier: MIT
// Part of full.c: messages over links that several ranks share. Each is a flow from its post until its last byte has
// left.
//
// - A rank's port sends one message after another; the others wait in its queue. If each pair has a link of its own
//   (mesh), they leave together.
// - The sender's stage lasts until its messages have left; then the receiver gets them. The time by which a shared link
//   was slower than an unshared one delays the landing.
#pragma once

#include <stdlib.h>

#include "core/base/vector.h"
#include "sim/engine/flows.h"
#include "sim/engine/delivery.h"
#include "sim/net/topology.h"

static int32_t new_transfer(struct transfers *x)
{
    int32_t index = x->spare;
    if (index != INFLIGHT_NONE) {
        x->spare = x->all[index].next;
        return index;
    }
    return CLAB_RESERVE(x->all, x->room, x->used + 1) ? INFLIGHT_NONE : x->used++;
}

static struct turn sender_of(struct full *s, const struct transfer *transfer)
{
    return full_turn(s, transfer->sender, transfer->message.lane, MODE_ANY);
}

// It has the port to itself, from `port` on.
static void begin_transfer(struct full *s, int32_t index, double port)
{
    struct transfer *transfer = &s->transfers->all[index];
    double begin = later(transfer->clock, port);
    transfer->posted = begin + transfer->o_send;
    spend(sender_of(s, transfer).r, PART_LATENCY, begin, transfer->posted);
    if (run_queue_reserve(&s->run_queue, s->transfers->base + s->transfers->used))
        run_queue_push(&s->run_queue, transfer->posted, s->transfers->base + index);
    else
        s->err = CLAB_ENOMEM;
}

// The lane's message over shared links; it is posted when its port is free.
static void ask_for_transfer(const struct turn *t, struct transfer transfer)
{
    struct full *s = t->s;
    struct transfers *x = s->transfers;
    int32_t index = new_transfer(x);
    if (index == INFLIGHT_NONE) {
        s->err = CLAB_ENOMEM;
        return;
    }
    transfer.next = INFLIGHT_NONE;
    transfer.sender = t->rank;
    transfer.clock = t->l->clock;
    x->all[index] = transfer;
    t->l->acks++; // until it has left
    if (transfer.port == PORTS) {
        begin_transfer(s, index, 0);
        return;
    }
    size_t queue = (size_t)t->rank * PORTS + (size_t)transfer.port;
    bool is_free = x->last[queue] == INFLIGHT_NONE;
    *(is_free ? &x->first[queue] : &x->all[x->last[queue]].next) = index;
    x->last[queue] = index;
    if (is_free)
        begin_transfer(s, index, t->r->tx[transfer.port]);
}

// Its last byte has left at `when`; its first fragment is there at `head`.
static void record_transfer(const struct turn *t, const struct transfer *x, double when, double head)
{
    double first = x->bytes > 0 ? ticks_round(t->s->costs.ticks, x->send * x->first / x->bytes) : 0;
    recorder_from_clock(t);
    recorder_like(t, x->message.dst, (size_t)x->bytes, x->link, CLAB_UNIT_OUT);
    recorder_put(t, x->port < PORTS ? &t->r->tx[x->port] : NULL, NULL,
                 (struct recorder_put){x->posted - x->o_send, x->posted, x->posted + x->send, when, first,
                                       x->posted + x->message.head, head});
}

// Its last byte has left at `when`.
static void end_transfer(struct full *s, int32_t index, double when)
{
    struct transfers *x = s->transfers;
    struct transfer transfer = x->all[index];
    struct turn t = sender_of(s, &transfer);
    double late = when - (transfer.posted + transfer.send);
    double share = transfer.bytes > 0 ? transfer.first / transfer.bytes : 1;
    spend(t.r, PART_BANDWIDTH, transfer.posted, when);
    struct message message = transfer.message;
    message.head += transfer.posted + ticks_round(s->costs.ticks, late * share);
    message.late = transfer.posted + transfer.message.head + late - message.head;
    if (s->recorder)
        record_transfer(&t, &transfer, when, message.head);
    x->all[index].next = x->spare;
    x->spare = index;
    if (transfer.port < PORTS) {
        size_t queue = (size_t)transfer.sender * PORTS + (size_t)transfer.port;
        t.r->tx[transfer.port] = when;
        x->first[queue] = transfer.next;
        if (transfer.next == INFLIGHT_NONE)
            x->last[queue] = INFLIGHT_NONE;
        else
            begin_transfer(s, transfer.next, when);
    }
    deliver(s, &message, MODE_ANY);
    acknowledge(s, transfer.sender, message.lane, when, MODE_ANY);
}

// It is posted: its bytes begin to leave.
static void post_transfer(struct full *s, int32_t index)
{
    const struct transfer *t = &s->transfers->all[index];
    double end = t->posted + t->send;
    if (t->send == 0)
        end_transfer(s, index, end);
    else
        s->err = flows_add(&s->transfers->flows, t->posted, end, t->bytes / t->send, t->links, t->nlinks, index);
}

// Whether a flow is what ends next, before anything on the run_queue; if so, all that end with it have ended.
static bool end_transfers(struct full *s)
{
    struct flows *f = &s->transfers->flows;
    int index;
    if (f->n == 0 || (s->run_queue.count > 0 && run_queue_first(&s->run_queue) <= f->now))
        return false;
    double next = flows_next(f);
    if (s->run_queue.count > 0 && run_queue_first(&s->run_queue) < next)
        return false;
    while (flows_take(f, next, &index))
        end_transfer(s, index, next);
    return true;
}
