// SPDX-License-Identifier: MIT
// Part of full.c: what the engine charges for sends, landings and local copies, each on the port or core that is busy
// with it. It is compiled once for each of the three modes (enum mode), a constant in each.
#pragma once

#include "sim/engine/copies.h"
#include "sim/engine/transfers.h"

// The port that a message takes: when it is free.
struct port {
    double *rank, *core; // of the rank; and, if that is its core, of those that are shared, or NULL
    double none;         // a link of its own is always free
};

// `which` of the rank's.
FULL_INLINE double port_begin(const struct turn *t, enum loggp_port which, double from, struct port *port,
                              enum mode mode)
{
    port->core = NULL;
    port->none = 0;
    port->rank = mode == MODE_ANY && which == LOGGP_PORT_NONE ? &port->none : &t->r->ports[which];
    double begin = later(from, *port->rank);
    if (mode == MODE_ANY && which == LOGGP_PORT_CORE && (port->core = core_of(t->s, t->rank, begin)))
        begin = later(begin, *port->core);
    return begin;
}

// The rank's time that others wait for; NULL: nobody does.
static inline const double *port_value(const struct port *port)
{
    return port->rank == &port->none ? NULL : port->rank;
}

FULL_INLINE void port_end(struct port *port, double end, enum mode mode)
{
    *port->rank = end;
    if (mode == MODE_ANY && port->core)
        *port->core = end;
}

// What `bytes` cost between two ranks.
FULL_INLINE const struct loggp_cost *cost_between(struct full *s, int a, int b, size_t bytes)
{
    if (s->node_shift >= 0) {
        bool is_inter = (a ^ b) >> s->node_shift != 0;
        return loggp_costs_of(&s->costs, is_inter ? &s->net->inter : &s->net->intra, is_inter, bytes);
    }
    const struct clab_link *link = full_link(s, a, b);
    return loggp_costs_of(&s->costs, link, clab_net_link_index(s->net, link), bytes);
}

// ---- sending -------------------------------------------------------------------------------------------------

// What the distance of two ranks adds to a message's way.
FULL_INLINE double way_of(const struct full *s, int a, int b, enum mode mode)
{
    double hop = s->net->topology.hop;
    if (mode != MODE_ANY || hop <= 0)
        return 0;
    return ticks_round(s->costs.ticks, clab_net_hops(s->net, full_member(s, a), full_member(s, b)) * hop);
}

// Whether the message passes links that others may pass, too; then they share them.
static bool send_shared(const struct turn *t, const struct clab_link *link, const struct loggp_cost *cost,
                        struct message message, double head)
{
    struct full *s = t->s;
    size_t fragment = cost->segment->fragment;
    if (link->port == CLAB_PORT_CORE)
        return false;
    bool is_mesh = link == &s->net->intra && s->net->topology.inside == CLAB_INSIDE_MESH;
    struct transfer transfer = {.message = message,
                                .o_send = cost->o_send,
                                .send = cost->send,
                                .bytes = (double)cost->bytes,
                                .first = (double)(cost->bytes < fragment ? cost->bytes : fragment),
                                .port = is_mesh ? PORTS : full_is_inter(s, link),
                                .link = clab_net_link_index(s->net, link)};
    transfer.message.head = head;
    transfer.nlinks =
        clab_net_route(s->net, s->reach, full_member(s, t->rank), full_member(s, message.dst), transfer.links);
    ask_for_transfer(t, transfer);
    return true;
}

// What the sender's core is busy with when the message, posted at `posted`, is on its way until `departs`.
static void price_after(const struct turn *t, const struct loggp_cost *cost, double posted, double departs)
{
    const double after = cost->after + loggp_held(&t->s->costs, cost, departs - posted);
    if (after > 0)
        posted = price_core(t, posted, after, PART_LATENCY, MODE_ANY);
    if (after > 0 && t->s->recorder)
        recorder_end(t, posted, t->s->recorder->at);
    t->l->end = later(t->l->end, posted);
}

// A socket takes the message: then the core is done, the wire is not. Sets the message's head, which is when its last
// byte is at the receiver if nothing else comes in there, and whether it joins a packet.
static void hand_over(const struct turn *t, const struct clab_link *link, const struct loggp_cost *cost, int peer,
                      double way, struct message *message)
{
    const struct corking *corking = &t->s->corking;
    double *port = &t->r->tx[full_is_inter(t->s, link)], free = *port;
    double posted = price_core(t, t->l->clock, cost->o_send, PART_LATENCY, MODE_ANY);
    message->joins = corking->sockets && corking_joins(corking, t->rank, peer, posted);
    const double left = later(posted, *port) + (message->joins ? cost->send - cost->joined : cost->send);
    const double departs = later(posted, left - cost->ahead);
    *port = left + cost->out;
    if (corking->sockets)
        corking_depart(corking, t->rank, peer, departs);
    message->head = departs + cost->latency + way;
    if (t->s->recorder)
        recorder_hand_over(t, port, (struct recorder_socket){posted, free, left, *port, cost->ahead, message->head});
    price_after(t, cost, posted, departs);
}

// The port takes it; the lane's `end` is when it has left. Returns when its first fragment is at the receiver.
FULL_INLINE double put_out(const struct turn *t, const struct loggp_cost *cost, double way, enum mode mode)
{
    struct port port;
    double begin = port_begin(t, cost->tx, t->l->clock, &port, mode);
    double posted = begin + cost->o_send, end = posted + cost->send, head = posted + cost->head + way;
    if (RECORDS(t->s, mode)) {
        recorder_put(t, port_value(&port), port.core,
                     (struct recorder_put){begin, posted, end, end, cost->head - cost->latency, head, head});
        recorder_end(t, end, t->s->recorder->at);
    }
    port_end(&port, end, mode);
    spend_message(t->r, begin, posted, end);
    t->l->end = later(t->l->end, end);
    return head;
}

FULL_INLINE void send(const struct turn *t, const struct clab_step *step, enum mode mode)
{
    struct full *s = t->s;
    const struct loggp_cost *cost = cost_between(s, t->rank, step->peer, span_bytes(s, t->lane, step->src));
    const struct clab_link *link = cost->link;
    double way = way_of(s, t->rank, step->peer, mode);
    struct message message = {
        .src = full_representative(s, step->peer, t->rank),
        .dst = full_representative(s, step->peer, step->peer),
        .lane = (uint16_t)t->lane,
    };
    if (mode == MODE_ANY && s->has_levels) {
        message.kept = step->src.count > 0 && layout_chunks(&s->layout, step->src)->region == CLAB_IN;
        lend(s, step, s->load);
    }
    s->messages++;
    if (mode == MODE_ANY) {
        t->l->acks += cost->waits;
        t->r->waited = false;
    }
    if (RECORDS(s, mode))
        recorder_send(t, link, message.dst, cost->bytes);
    if (mode == MODE_ANY && s->transfers && send_shared(t, link, cost, message, cost->head + way))
        return;
    bool by_socket = mode == MODE_ANY && cost->buffers;
    if (by_socket)
        hand_over(t, link, cost, step->peer, way, &message);
    else
        message.head = put_out(t, cost, way, mode);
    dispatch(s, &message, mode);
}

// The calculations (schedule.h) from `step` on, which end by `limit`, after `from`; returns their end.
static double price_calcs(const struct turn *t, const struct clab_step *step, const struct clab_step *limit,
                          double from)
{
    for (; step < limit && step->op == CLAB_CALC; step++)
        from = price_core(t, from, ticks_round(t->s->costs.ticks, step->src.first + 1e-9 * step->src.count),
                          PART_REDUCE, MODE_ANY);
    return from;
}

// What a stage calculates from its begin on, beside its messages.
static void calc_at_once(const struct turn *t)
{
    struct full *s = t->s;
    t->l->end = price_calcs(t, s->steps, s->steps + s->nsteps, t->l->clock);
    if (RECORDS(s, MODE_ANY))
        recorder_end(t, t->l->end, s->recorder->at);
}

// The combines of the stage at hand, where they are all that copies cost (else copies.h has them): the executor makes
// them before messages leave.
static void combine_all(const struct turn *t)
{
    struct full *s = t->s;
    for (int i = 0; i < s->nsteps; i++)
        if (s->steps[i].op == CLAB_COMBINE)
            t->l->clock =
                price_core(t, t->l->clock, full_cost(s, span_bytes(s, t->lane, s->steps[i].dst), s->net->gamma),
                           PART_REDUCE, MODE_ANY);
}

// What the stage at hand takes beside its messages.
FULL_INLINE void price_stage(const struct turn *t, enum mode mode)
{
    if (t->s->stage_cost > 0)
        t->l->clock = price_core(t, t->l->clock, t->s->stage_cost, PART_LATENCY, mode);
}

// The copies and sends of the stage at hand, s->steps.
FULL_INLINE void price_entry(const struct turn *t, enum mode mode)
{
    struct full *s = t->s;
    if (RECORDS(s, mode))
        recorder_enter(t);
    price_stage(t, mode);
    if (mode == MODE_ANY && s->has_levels)
        copy_all(t);
    else if (mode == MODE_ANY && s->has_combines)
        combine_all(t);
    t->l->end = t->l->clock;
    if (RECORDS(s, mode))
        recorder_entered(t);
    if (mode == MODE_ANY && s->has_calcs && s->nsteps > 0 && s->steps[0].op == CLAB_CALC)
        calc_at_once(t);
    for (int i = s->first_send, left = s->sends; left > 0; i++)
        if (s->steps[i].op == CLAB_SEND) {
            send(t, &s->steps[i], mode);
            left--;
        }
    if (mode == MODE_ANY && t->l->stage == 0)
        copy_aside(t);
}

// ---- receiving -----------------------------------------------------------------------------------------------

// What a received byte costs the core that takes it, and a reduced byte more than that.
struct rates {
    double pull, reduce;
};

// Bytes that a sender touches for copies of its own, while its first message is pulled.
static double copied_by(const struct turn *t, int sender)
{
    return t->l->stage == 0 ? 2 * (double)full_copies(t->s, sender, t->lane)->aside : 0;
}

static double beside(const double cost[CLAB_LOADS], double share)
{
    return cost[CLAB_ALONE] + share * (cost[CLAB_BOTH] - cost[CLAB_ALONE]);
}

// For how much of a message a peer is at the memory, too: it receives as well, or copies of its own while it is pulled.
static double share_beside(const struct turn *t, const struct clab_step *step, size_t bytes)
{
    if (t->s->load == CLAB_BOTH)
        return 1;
    const double copied = copied_by(t, step->peer) / 2;
    return copied < (double)bytes ? copied / (double)bytes : 1;
}

// Whether a receive-reduce adds to what lies in `region`, rather than writing the sum of two others to a third.
static bool adds(const struct layout *l, struct clab_span dst, enum clab_region region)
{
    const struct chunk *chunks = layout_chunks(l, dst);
    return chunks->region == region && layout_run(chunks, dst.count) == dst.count;
}

// What `bytes` that `step` receives into `region` cost a core, where they are pulled. Reading lines that a peer has
// just written costs little more; writing lines that a peer has read does. A sum of `kept` data waits for those lines
// alone, and who reads it then waits for it; a sum of what a peer has written waits for both at once.
static struct rates rates_of(const struct turn *t, const struct clab_step *step, enum clab_region region, size_t bytes,
                             bool kept_data)
{
    struct full *s = t->s;
    const struct clab_level *kept = &s->level;
    const bool reduces = step->op == CLAB_RECV_REDUCE;
    const bool in_place = !clab_step_reads(step) && adds(&s->layout, step->dst, region);
    const double touched =
        s->load == CLAB_BOTH ? (reduces && !in_place ? 3 : 2) * (double)bytes : copied_by(t, step->peer);
    const struct taking taking = taking_at(t, full_representative(s, step->peer, step->peer), step->dst, region, bytes, touched);
    const double share = share_beside(t, step, bytes), pull = beside(kept->pull[CLAB_KEPT], share);
    const double reduce = beside(in_place ? kept->add : kept->reduce[CLAB_KEPT], share);
    const double more = in_place || !kept_data ? taking.add : taking.reduce;
    cache_state_touch(&s->cache, t->rank, touched);
    return (struct rates){reduces ? pull : pull + taking.pull, later(0, reduce + more - pull)};
}

// What the bytes of a message cost the core that takes them, in s.
struct work {
    double pull, last, reduce; // last: of the last fragment, where it is pulled
};

// `region`: where it lands.
FULL_INLINE struct work work_of(const struct turn *t, const struct clab_step *step, enum clab_region region,
                                const struct loggp_cost *cost, bool kept, enum mode mode)
{
    struct full *s = t->s;
    if (mode != MODE_ANY || !s->has_levels)
        return (struct work){cost->recv, 0, cost->reduce};
    const struct clab_segment *segment = cost->segment;
    struct rates rates = rates_of(t, step, region, cost->bytes, kept);
    double reduce = cost->o_reduce + full_cost(s, cost->bytes, rates.reduce);
    if (!segment->memory)
        return (struct work){cost->recv, 0, reduce};
    size_t last = cost->bytes < segment->fragment ? cost->bytes : segment->fragment;
    return (struct work){full_cost(s, cost->bytes, rates.pull), full_cost(s, last, rates.pull), reduce};
}

// What is saved of a pull whose message had come before its receiver looked: its line is fetched with an earlier one.
FULL_INLINE double found_of(const struct turn *t, const struct loggp_cost *cost, double head, const struct port *port)
{
    return cost->segment->memory && head <= later(t->l->clock, *port->rank) ? cost->found : 0;
}

// The port takes a message in, for `fixed` and its bytes; returns when it has it.
FULL_INLINE double take_in(const struct turn *t, const struct loggp_cost *cost, const struct message *message,
                           double fixed, struct work work, enum mode mode)
{
    struct port port;
    double head = message->head, begin = port_begin(t, cost->rx, later(head, t->l->clock), &port, mode);
    if (mode == MODE_ANY && cost->found > 0)
        fixed -= found_of(t, cost, head, &port);
    if (mode == MODE_ANY)
        t->r->waited = t->s->load == CLAB_ALONE && head >= begin;
    double ready = begin + fixed;
    // The last fragment can not land before it was sent.
    double end = later(ready + work.pull, head + cost->last + work.last), tail = end;
    port_end(&port, end, mode);
    if (mode == MODE_ANY && message->late > 0) // on a shared link; others of its bytes came meanwhile
        end = later(end, head + cost->o_recv + work.pull + message->late);
    if (RECORDS(t->s, mode))
        recorder_take(
            t, port_value(&port), port.core,
            (struct recorder_take){head, begin, ready, ready + work.pull, tail, end, cost->o_recv, work.pull});
    if (ready + work.pull == end) {
        spend_message(t->r, begin, ready, end);
    } else { // it waits for the last fragment
        spend(t->r, PART_LATENCY, begin, ready);
        spend(t->r, PART_BANDWIDTH, end - work.pull, end);
    }
    return end;
}

// The acknowledgements of a message that was in at `in` take their time of the port on the way back.
static void acknowledge_by_port(const struct turn *t, const struct clab_link *link, const struct loggp_cost *cost,
                                double in)
{
    double *port = &t->r->tx[full_is_inter(t->s, link)];
    if (cost->acks == 0)
        return;
    if (t->s->recorder)
        recorder_acks(t, port, in, cost->acks);
    *port = later(*port, in - cost->acks) + cost->acks;
}

// The core spends `seconds` on copying a message's bytes out of its socket. The last byte has come in at `in`. A core
// that is free copies while they come; another copies later. Returns when it is done.
static double carry(const struct turn *t, double seconds, double in)
{
    struct recorder *recorder = t->s->recorder;
    const double from = in - seconds;
    double *core = core_of(t->s, t->rank, from);
    if (later(later(t->l->clock, t->r->core), core ? *core : 0) > from)
        return price_core(t, later(from, t->l->clock), seconds, PART_BANDWIDTH, MODE_ANY);
    t->s->recorder = NULL; // it is the message that the rank waits for, not its core
    price_core(t, from, seconds, PART_BANDWIDTH, MODE_ANY);
    t->s->recorder = recorder;
    if (recorder)
        recorder_set(t, &t->r->core, core, recorder->at);
    return in;
}

// It has come in unasked, its last byte at its head or behind what came before it; the core fetches it from its socket.
static double pick_up(const struct turn *t, const struct clab_link *link, const struct loggp_cost *cost,
                      const struct message *message, double fixed)
{
    double *port = &t->r->rx[full_is_inter(t->s, link)], tail = message->head;
    const double recv = message->joins ? cost->recv - cost->joined : cost->recv;
    if (t->s->recorder)
        recorder_came_in(t, port, tail, *port, recv, cost->ahead);
    *port = later(tail, *port + recv);
    double in = later(tail, *port - cost->ahead);
    acknowledge_by_port(t, link, cost, in);
    spend(t->r, PART_BANDWIDTH, in - recv, in);
    if (cost->beside > 0)
        in = carry(t, cost->beside, in);
    struct corking_socket *socket =
        cost->found > 0 && t->s->load == CLAB_ALONE ? corking_socket(&t->s->corking, t->rank, message->src) : NULL;
    if (socket && in <= socket->read)
        return price_core(t, later(in, t->l->clock), fixed - cost->found, PART_LATENCY, MODE_ANY);
    const double end = price_core(t, later(in, t->l->clock), fixed, PART_LATENCY, MODE_ANY);
    if (socket)
        socket->read = end - fixed;
    return end;
}

// What is fixed of taking a message in, beside what the stage sends, or alone.
FULL_INLINE double fixed_of(const struct full *s, const struct loggp_cost *cost, enum clab_load load)
{
    return cost->o_recv + (load == CLAB_BOTH ? cost->both : 0) + s->lane_cost;
}

// Receive what `step` gets; returns when it has landed.
FULL_INLINE double price_landing(const struct turn *t, const struct clab_step *step, const struct message *message,
                                 enum mode mode)
{
    struct full *s = t->s;
    int src = message->src;
    const struct loggp_cost *cost = cost_between(s, src, t->rank, span_bytes(s, t->lane, step->dst));
    const struct clab_link *link = cost->link;
    const struct layout *l = mode == MODE_ANY && s->has_levels ? &s->layout : NULL;
    const enum clab_region region = l ? layout_choose(l, step->dst) : CLAB_OUT;
    struct work work = work_of(t, step, region, cost, message->kept, mode);
    double fixed = fixed_of(s, cost, s->load);
    bool by_socket = mode == MODE_ANY && cost->buffers && !s->transfers;
    if (RECORDS(s, mode))
        recorder_land(t, link, message, cost->bytes);
    double end = by_socket ? pick_up(t, link, cost, message, fixed) : take_in(t, cost, message, fixed, work, mode);
    if (step->op == CLAB_RECV_REDUCE && work.reduce > 0)
        end = price_core(t, end, work.reduce, PART_REDUCE, mode);
    if (mode == MODE_ANY && s->has_calcs)
        end = price_calcs(t, step + 1, s->steps + s->nsteps, end);
    if (l) {
        if (layout_unpacks(l, step))
            end = copy_bytes(t, end, cost->bytes, s->load, 0);
        settle(s, step->dst, region);
    }
    if (RECORDS(s, mode))
        recorder_landed(t, message, end, cost->waits ? cost->latency : 0);
    if (mode == MODE_ANY && cost->waits)
        acknowledge(s, full_representative(s, src, src), t->lane, end + cost->latency, mode);
    return end;
}
