// SPDX-License-Identifier: MIT
// Part of full.c: two ranks that exchange messages in a stage, in MODE_PLAIN.
//
// - The rank that comes first offers its message, and waits; the second finds the offer. Then both get their message in
//   one step, so the engine visits each of them once.
// - If the two ranks' state is too far apart in memory for a core's own cache, the pair waits until a prefetch is done.
#pragma once

#include "sim/engine/price.h"

// Whether the current stage, `s->steps`, is an exchange of two messages, and neither rank has others under way.
FULL_INLINE bool can_exchange(const struct turn *t)
{
    const struct full *s = t->s;
    const struct clab_step *out = s->steps, *in = out + 1;
    return s->nsteps == 2 && out->op == CLAB_SEND && is_receive(in) && in->peer == out->peer && !s->period &&
           out->peer != t->rank && *full_awaited(s, out->peer, 0, MODE_PLAIN) != t->rank && !t->l->boxed &&
           !t->l->tabled && (s->outbox.count == 0 || (int32_t)(t->r->posted - s->outbox.first) <= 0);
}

FULL_INLINE void prefetch_rank(const struct full *s, int rank)
{
    const char *state = (const char *)full_rank(s, rank, MODE_PLAIN);
    __builtin_prefetch(state);
    __builtin_prefetch(state + 64);
}

// The exchange of the stage at hand begins.
FULL_INLINE void offer(const struct turn *t)
{
    struct full *s = t->s;
    struct exchanges *m = &s->exchanges;
    const struct clab_step *out = s->steps, *in = out + 1;
    const int peer = out->peer;
    const size_t bytes = span_bytes(s, 0, out->src);
    s->messages++;
    price_stage(t, MODE_PLAIN);
    t->l->end = t->l->clock;
    t->l->when = put_out(t, cost_between(s, t->rank, peer, bytes), 0, MODE_PLAIN);
    t->l->reduces = in->op == CLAB_RECV_REDUCE;
    *t->awaited = offer_to(peer);
    if (*full_awaited(s, peer, 0, MODE_PLAIN) != offer_to(t->rank))
        return;
    prefetch_rank(s, peer);
    m->all[(m->first + m->count++) % EXCHANGES_ROOM] =
        (struct exchange){{peer, t->rank}, {bytes, span_bytes(s, 0, in->dst)}};
}

// The rank at hand gets a message, whose head is its `when`.
FULL_INLINE void take_offer(const struct turn *t, const struct loggp_cost *cost)
{
    const struct message message = {.head = t->l->when};
    const struct work work = {cost->recv, 0, cost->reduce};
    double end = take_in(t, cost, &message, fixed_of(t->s, cost, CLAB_BOTH), work, MODE_PLAIN);
    if (t->l->reduces && work.reduce > 0)
        end = price_core(t, end, work.reduce, PART_REDUCE, MODE_PLAIN);
    t->l->end = later(t->l->end, end);
    *t->awaited = NOBODY;
}

// Let the oldest pair exchange: each gets the other's message and ends its stage; *a_p and *b_p are the two.
FULL_INLINE void exchange(struct full *s, struct turn *a_p, struct turn *b_p)
{
    const struct exchange m = s->exchanges.all[s->exchanges.first++ % EXCHANGES_ROOM];
    const struct turn a = full_turn(s, m.ranks[0], 0, MODE_PLAIN), b = full_turn(s, m.ranks[1], 0, MODE_PLAIN);
    double head = a.l->when;
    a.l->when = b.l->when;
    b.l->when = head;
    s->exchanges.count--;
    const struct loggp_cost *cost = cost_between(s, a.rank, b.rank, m.bytes[0]);
    take_offer(&a, cost);
    take_offer(&b, m.bytes[1] == m.bytes[0] ? cost : cost_between(s, a.rank, b.rank, m.bytes[1]));
    *a_p = a;
    *b_p = b;
}
