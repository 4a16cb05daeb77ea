// SPDX-License-Identifier: MIT
// What a message costs, by its link's port and segment (sim/net/net.h):
//
//   duplex     the sender's port is busy for o_send and the bytes; once the receive is posted and the first fragment is
//              there, the receiver's port is busy for o_recv and the bytes
//   core       likewise, but the core is busy, not a port; a mesh has a link of its own for each pair
//   buffers    the sender's core is busy for o_send and o_after; the bytes come in unasked, and the receiver's core
//              fetches them. Packets, acknowledgements and the cores' bytes are as in sim/engine/price.h
//   loggp      LogGP: core and port begin together; the core is busy for o, the port for gap and the bytes. The
//              receiver's port is busy for gap and the bytes that come in, then its core for o, asked or not
//   loggp-core the same, but the receiver's core is busy for o and the bytes, as in LogGOPSim
//
// - LogGP counts one byte less: the first one travels with L. gap is a time between messages: no message waits for its
//   own.
// - A message that comes in unasked uses the core and adapter of the numbers that its send has.
// Source: Alexandrov, Ionescu, Schauser and Scheiman 1995 (LogGP); Hoefler, Schneider and Lumsdaine 2010 (LogGOPSim).

#include <math.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "sim/goal/run.h"
#include "sim/net/topology.h"

// What moves a message: a rank's core and ports.
enum mover { MOVER_PORT, MOVER_CORE, MOVER_NONE, MOVER_SOCKET, MOVER_LOGGP, MOVER_LOGGP_CORE };

struct price {
    const struct loggp_cost *cost; // valid until the next one is asked for
    enum mover mover;
    int inter;
};

static enum mover mover_of(const struct run *run, const struct loggp_cost *cost)
{
    const struct clab_link *link = cost->link;
    switch (link->port) {
    case CLAB_PORT_LOGGP: return MOVER_LOGGP;
    case CLAB_PORT_LOGGP_CORE: return MOVER_LOGGP_CORE;
    default: break;
    }
    if (link == &run->net->intra && run->net->topology.inside == CLAB_INSIDE_MESH)
        return MOVER_NONE;
    return cost->buffers ? MOVER_SOCKET : link->port == CLAB_PORT_CORE ? MOVER_CORE : MOVER_PORT;
}

static struct price price_of(struct run *run, uint32_t src, uint32_t dst, uint64_t bytes)
{
    const struct clab_link *link = run->only ? run->only : clab_net_link(run->net, (int)src, (int)dst);
    const struct loggp_cost *cost = loggp_costs_of(&run->costs, link, clab_net_link_index(run->net, link), bytes);
    return (struct price){cost, mover_of(run, cost), link != &run->net->intra && link != &run->net->pair};
}

static struct price price_of_message(struct run *run, const struct run_message *m)
{
    return price_of(run, m->src, m->dst, m->size);
}

// What the distance adds.
static double way_of(const struct run *run, uint32_t src, uint32_t dst)
{
    const double hop = run->net->topology.hop;
    return hop > 0 ? ticks_round(run->costs.ticks, clab_net_hops(run->net, (int)src, (int)dst) * hop) : 0;
}

// ---- sending -------------------------------------------------------------------------------------------------

int run_ask_to_send(struct run *run, uint32_t rank, uint32_t op, uint64_t cause)
{
    const struct clab_goal_op *o = run_op(run, rank, op);
    const struct price p = price_of(run, rank, (uint32_t)o->peer, o->size);
    const int core = host_port(HOST_CORE, 0, o->cpu), port = host_port(HOST_OUT, p.inter, o->nic);
    struct run_work work = {HOST_SEND, core, HOST_NONE, op, cause};
    if (p.mover == MOVER_NONE || p.mover == MOVER_PORT)
        work.a = p.mover == MOVER_PORT ? port : HOST_NONE;
    else if (p.mover >= MOVER_LOGGP)
        work.b = port;
    return run_wait(run, rank, work);
}

static int new_message(struct run *run, uint32_t rank, uint32_t op, uint32_t *index_p)
{
    const struct clab_goal_op *o = run_op(run, rank, op);
    int32_t i = run->spare_message;
    if (i != RUN_NONE) {
        run->spare_message = run->messages[i].next;
    } else {
        if (run->nmessages == INT32_MAX)
            return CLAB_ENOMEM;
        CLAB_TRY(CLAB_RESERVE(run->messages, run->message_room, run->nmessages + 1));
        i = (int32_t)run->nmessages++;
    }
    run->messages[i] = (struct run_message){.src = rank,
                                            .dst = (uint32_t)o->peer,
                                            .tag = o->tag,
                                            .send = op,
                                            .receive = run_no_operation,
                                            .size = o->size,
                                            .cause = run->causes++,
                                            .cpu = o->cpu,
                                            .nic = o->nic};
    run->sent++;
    *index_p = (uint32_t)i;
    return CLAB_OK;
}

static void free_message(struct run *run, uint32_t index)
{
    run->messages[index].next = run->spare_message;
    run->spare_message = (int32_t)index;
}

// Its bytes share links: they are a flow, and the port is busy until that ends.
static int post(struct run *run, uint32_t rank, uint32_t index, struct host_line line, double posted)
{
    struct host *h = &run->hosts[rank];
    run->messages[index].posted = posted;
    if (line.a != HOST_NONE)
        h->resources[line.a].free = INFINITY;
    host_spend(h, HOST_LATENCY, run->now, posted);
    return run_event(run, posted, (struct run_event){.kind = RUN_POSTED, .rank = rank, .item = index});
}

static int find_port(struct run *run, uint32_t rank, enum host_kind kind, int inter, int nic, double **free_p)
{
    int port;
    CLAB_TRY(host_find(&run->hosts[rank], host_port(kind, inter, nic), &port));
    *free_p = &run->hosts[rank].resources[port].free;
    return CLAB_OK;
}

// A socket takes it; its bytes leave when the port is free. Returns when the last one is there, if nothing else comes in.
static int hand_over(struct run *run, struct run_message *m, const struct price *p, double posted, double *there_p)
{
    const struct loggp_cost *cost = p->cost;
    const struct corking *corking = &run->corking;
    double *free;
    CLAB_TRY(find_port(run, m->src, HOST_OUT, p->inter, m->nic, &free));
    m->joins = corking->sockets && corking_joins(corking, (int)m->src, (int)m->dst, posted);
    const double left = run_later(posted, *free) + cost->send - (m->joins ? cost->joined : 0);
    const double departs = run_later(posted, left - cost->ahead);
    *free = left + cost->out;
    if (corking->sockets)
        corking_depart(corking, (int)m->src, (int)m->dst, departs);
    *there_p = departs + cost->latency;
    return CLAB_OK;
}

// What the sender is busy with; *end_p: until when, *there_p: when the message is at the receiver.
static int leave(struct run *run, struct run_message *m, const struct price *p, struct host_line line, double *end_p,
                 double *there_p)
{
    struct host *h = &run->hosts[m->src];
    const struct loggp_cost *cost = p->cost;
    const double posted = run->now + cost->o_send;
    *end_p = *there_p = posted;
    host_spend(h, HOST_LATENCY, run->now, posted);
    if (p->mover == MOVER_PORT || p->mover == MOVER_CORE || p->mover == MOVER_NONE) {
        *end_p = posted + cost->send;
        *there_p = posted + cost->head;
        host_spend(h, HOST_BANDWIDTH, posted, *end_p);
    }
    if (p->mover == MOVER_SOCKET) {
        CLAB_TRY(hand_over(run, m, p, posted, there_p));
        const double waits = *there_p - cost->latency - posted;
        host_spend(h, HOST_LATENCY, posted, *end_p += cost->after + loggp_held(&run->costs, cost, waits));
    }
    if (line.a != HOST_NONE)
        h->resources[line.a].free = *end_p;
    if (p->mover >= MOVER_LOGGP) {
        h->resources[line.b].free = run->now + cost->gap + cost->send;
        *there_p = posted + cost->latency;
    }
    return CLAB_OK;
}

int run_send(struct run *run, uint32_t rank, uint32_t op, struct host_line line)
{
    const struct clab_goal_op *o = run_op(run, rank, op);
    const struct price p = price_of(run, rank, (uint32_t)o->peer, o->size);
    const bool waits = p.cost->waits;
    uint32_t index;
    double end, there;
    CLAB_TRY(new_message(run, rank, op, &index));
    if (run->flows && (p.mover == MOVER_PORT || p.mover == MOVER_NONE)) {
        CLAB_TRY(post(run, rank, index, line, run->now + p.cost->o_send));
        return run_begun(run, rank, op, run->messages[index].cause);
    }
    CLAB_TRY(leave(run, &run->messages[index], &p, line, &end, &there));
    there += way_of(run, rank, (uint32_t)o->peer);
    run->messages[index].head = there;
    const uint64_t cause = run->messages[index].cause;
    CLAB_TRY(run_begun(run, rank, op, cause));
    if (!waits)
        CLAB_TRY(run_event(run, end, (struct run_event){RUN_ENDS, rank, op, RUN_NONE, cause}));
    return run_event(run, there, (struct run_event){.kind = RUN_ARRIVES, .rank = (uint32_t)o->peer, .item = index});
}

// ---- shared links --------------------------------------------------------------------------------------------

// Its last byte has left at `when`; links that are shared may have slowed it.
static int end_flow(struct run *run, uint32_t index, double when)
{
    struct run_message *m = &run->messages[index];
    struct host *h = &run->hosts[m->src];
    const struct price p = price_of_message(run, m);
    const struct loggp_cost *cost = p.cost;
    const size_t fragment = cost->segment->fragment, bytes = cost->bytes;
    const double late = when - (m->posted + cost->send),
                 share = bytes > fragment ? (double)fragment / (double)bytes : 1;
    const double alone = m->posted + cost->head + way_of(run, m->src, m->dst);
    const uint32_t src = m->src, send = m->send, dst = m->dst;
    const uint64_t cause = m->cause;
    const double head = m->head = alone + ticks_round(run->costs.ticks, late * share);
    int port;
    m->late = alone + late - m->head;
    host_spend(h, HOST_BANDWIDTH, m->posted, when);
    if (p.mover == MOVER_PORT) {
        CLAB_TRY(host_find(h, host_port(HOST_OUT, p.inter, m->nic), &port));
        h->resources[port].free = when;
        CLAB_TRY(run_touch(run, src));
    }
    if (!cost->waits)
        CLAB_TRY(run_ended(run, src, send, cause));
    return run_event(run, head, (struct run_event){.kind = RUN_ARRIVES, .rank = dst, .item = index});
}

int run_end_flows(struct run *run, double when)
{
    int index;
    while (flows_take(run->flows, when, &index))
        CLAB_TRY(end_flow(run, (uint32_t)index, when));
    return CLAB_OK;
}

static int begin_flow(struct run *run, uint32_t index)
{
    const struct run_message *m = &run->messages[index];
    const struct loggp_cost *cost = price_of_message(run, m).cost;
    int links[CLAB_ROUTE_LINKS];
    if (cost->send == 0)
        return end_flow(run, index, run->now);
    const int nlinks = clab_net_route(run->net, run->goal->nranks, (int)m->src, (int)m->dst, links);
    return flows_add(run->flows, run->now, run->now + cost->send, (double)cost->bytes / cost->send, links, nlinks,
                     (int)index);
}

// ---- receiving -----------------------------------------------------------------------------------------------

// Its receive has ended, and with it a send that waits for that.
static int finish(struct run *run, uint32_t index, uint64_t cause)
{
    const struct run_message m = run->messages[index];
    const struct price p = price_of_message(run, &m);
    const double answer = p.mover >= MOVER_LOGGP ? 0 : p.cost->latency;
    free_message(run, index);
    if (p.cost->waits)
        CLAB_TRY(run_event(run, run->now + run_later(0, answer),
                           (struct run_event){RUN_ENDS, m.src, m.send, RUN_NONE, m.cause}));
    return run_ended(run, m.dst, m.receive, cause);
}

static int check_size(const struct run *run, const struct run_message *m)
{
    const struct clab_goal_op *send = run_op(run, m->src, m->send), *receive = run_op(run, m->dst, m->receive);
    if (send->size <= receive->size)
        return CLAB_OK;
    clab_error("%s:%u: rank %u sends %llu bytes, and rank %u has room for %llu in line %u", run->goal->path, send->line,
               m->src, (unsigned long long)send->size, m->dst, (unsigned long long)receive->size, receive->line);
    return CLAB_EPARSE;
}

// Message and receive are there.
static int meet(struct run *run, uint32_t index, uint64_t cause)
{
    const struct run_message *m = &run->messages[index];
    CLAB_TRY(check_size(run, m));
    const struct price p = price_of_message(run, m);
    const struct clab_goal_op *receive = run_op(run, m->dst, m->receive);
    struct run_work work = {HOST_RECEIVE, host_port(HOST_CORE, 0, receive->cpu), HOST_NONE, index, m->cause};
    if (p.mover >= MOVER_LOGGP)
        return finish(run, index, cause);
    if (p.mover == MOVER_PORT)
        work.a = host_port(HOST_IN, p.inter, receive->nic);
    else if (p.mover == MOVER_NONE)
        work.a = HOST_NONE;
    return run_wait(run, m->dst, work);
}

// It is there for whoever receives it.
static int offer(struct run *run, uint32_t index, uint64_t cause)
{
    struct run_message *m = &run->messages[index];
    const struct match_key key = {m->dst, m->src, m->tag};
    struct match_entry entry;
    if (!match_take(&run->match, MATCH_RECEIVES, key, &entry))
        return match_put(&run->match, MATCH_MESSAGES, key, index, run->now);
    m->receive = entry.item;
    m->ready = entry.when;
    return meet(run, index, cause);
}

int run_post_receive(struct run *run, uint32_t rank, uint32_t op)
{
    const struct clab_goal_op *o = run_op(run, rank, op);
    const struct match_key key = {rank, (uint32_t)o->peer, o->tag};
    struct match_entry entry;
    const uint64_t cause = run->causes++;
    CLAB_TRY(run_begun(run, rank, op, cause));
    if (!match_take(&run->match, MATCH_MESSAGES, key, &entry))
        return match_put(&run->match, MATCH_RECEIVES, key, op, run->now);
    run->messages[entry.item].receive = op;
    run->messages[entry.item].ready = run->now;
    return meet(run, entry.item, cause);
}

// The acknowledgements of a message that is in take their time of the port on the way back.
static int acknowledge_by_port(struct run *run, const struct run_message *m, const struct price *p, double in)
{
    double *free;
    if (p->cost->acks == 0)
        return CLAB_OK;
    CLAB_TRY(find_port(run, m->dst, HOST_OUT, p->inter, m->nic, &free));
    *free = run_later(*free, in - p->cost->acks) + p->cost->acks;
    return CLAB_OK;
}

// It comes in unasked, its bytes behind those that came before.
static int come_in(struct run *run, uint32_t index)
{
    struct run_message *m = &run->messages[index];
    const struct price p = price_of_message(run, m);
    const struct loggp_cost *cost = p.cost;
    const double recv = cost->recv - (m->joins ? cost->joined : 0);
    double *free, in;
    CLAB_TRY(find_port(run, m->dst, HOST_IN, p.inter, m->nic, &free));
    if (p.mover == MOVER_SOCKET) {
        *free = run_later(run->now, *free + recv);
        m->head = in = run_later(run->now, *free - cost->ahead);
        CLAB_TRY(acknowledge_by_port(run, m, &p, in));
    } else {
        in = run_later(run->now, *free) + recv;
        *free = in + cost->gap;
    }
    host_spend(&run->hosts[m->dst], HOST_BANDWIDTH, in - recv, in);
    return run_event(run, in, (struct run_event){.kind = RUN_IS_IN, .rank = m->dst, .item = index});
}

// LogGP: a core takes it, and if `with_bytes`, a port as long as they come.
static int ask_to_take(struct run *run, uint32_t index, bool with_bytes)
{
    const struct run_message *m = &run->messages[index];
    const int core = host_port(HOST_CORE, 0, m->cpu), port = host_port(HOST_IN, price_of_message(run, m).inter, m->nic);
    return run_wait(run, m->dst, (struct run_work){HOST_TAKE, core, with_bytes ? port : HOST_NONE, index, m->cause});
}

int run_take(struct run *run, uint32_t index, struct host_line line)
{
    const struct run_message *m = &run->messages[index];
    struct host *h = &run->hosts[m->dst];
    const struct loggp_cost *cost = price_of_message(run, m).cost;
    const double bytes = line.b == HOST_NONE ? 0 : cost->recv, ready = run->now + cost->o_recv, end = ready + bytes;
    h->resources[line.a].free = end;
    if (line.b != HOST_NONE)
        h->resources[line.b].free = run->now + cost->gap + cost->recv;
    host_spend(h, HOST_LATENCY, run->now, ready);
    host_spend(h, HOST_BANDWIDTH, ready, end);
    return run_event(run, end, (struct run_event){RUN_TAKEN, m->dst, index, RUN_NONE, run->causes++});
}

// Seconds in which a port or core has the bytes; *last_p: those of the last fragment, where they are read from memory.
static double pull_of(const struct run *run, const struct loggp_cost *cost, double *last_p)
{
    const size_t fragment = cost->segment->fragment;
    *last_p = 0;
    if (!cost->segment->memory)
        return cost->recv;
    const double last = (double)(cost->bytes < fragment ? cost->bytes : fragment);
    *last_p = ticks_round(run->costs.ticks, last * run->pull);
    return ticks_round(run->costs.ticks, (double)cost->bytes * run->pull);
}

// The core of a socket's receiver has carried the bytes: while they came in, if it was there.
static double carried_by(const struct run *run, const struct run_message *m, const struct loggp_cost *cost,
                         struct host_line line)
{
    const double is_free = run_later(run->hosts[m->dst].resources[line.a].free, run_shared_core(run, m->dst));
    const double begin = run_later(m->head - cost->beside, run_later(is_free, m->ready));
    return cost->beside > 0 ? begin + cost->beside : 0;
}

// The receive is posted, the first fragment is there, and so is what takes it. Over shared links it may have been there
// before its last byte left, which is now.
int run_receive(struct run *run, uint32_t index, struct host_line line)
{
    const struct run_message *m = &run->messages[index];
    struct host *h = &run->hosts[m->dst];
    const struct price p = price_of_message(run, m);
    const struct loggp_cost *cost = p.cost;
    double begin = run->now, last, pull = p.mover == MOVER_SOCKET ? 0 : pull_of(run, cost, &last);
    if (p.mover == MOVER_SOCKET) {
        begin = run_later(begin, carried_by(run, m, cost, line));
    } else {
        begin = run_later(m->head, m->ready);
        begin = line.a == HOST_NONE ? begin : run_later(begin, h->resources[line.a].free);
    }
    const double ready = begin + cost->o_recv;
    double end = p.mover == MOVER_SOCKET ? ready : run_later(ready + pull, m->head + cost->last + last);
    if (line.a != HOST_NONE)
        h->resources[line.a].free = end;
    if (m->late > 0)
        end = run_later(end, m->head + cost->o_recv + pull + m->late);
    host_spend(h, HOST_LATENCY, begin, ready);
    host_spend(h, HOST_BANDWIDTH, end - pull, end);
    return run_event(run, end, (struct run_event){RUN_TAKEN, m->dst, index, RUN_NONE, run->causes++});
}

static int arrive(struct run *run, uint32_t index)
{
    const enum mover mover = price_of_message(run, &run->messages[index]).mover;
    if (mover == MOVER_LOGGP_CORE)
        return ask_to_take(run, index, true);
    if (mover == MOVER_LOGGP || mover == MOVER_SOCKET)
        return come_in(run, index);
    return offer(run, index, run->messages[index].cause);
}

int run_message_event(struct run *run, const struct run_event *event)
{
    const struct run_message *m = &run->messages[event->item];
    switch (event->kind) {
    case RUN_POSTED: return begin_flow(run, event->item);
    case RUN_ARRIVES: return arrive(run, event->item);
    case RUN_IS_IN:
        return price_of_message(run, m).mover == MOVER_LOGGP ? ask_to_take(run, event->item, false)
                                                             : offer(run, event->item, m->cause);
    default:
        return m->receive == run_no_operation ? offer(run, event->item, event->cause)
                                              : finish(run, event->item, event->cause);
    }
}
