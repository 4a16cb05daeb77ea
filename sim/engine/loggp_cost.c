// SPDX-License-Identifier: MIT
// A segment's figures times a message's bytes.

#include "sim/engine/loggp_cost.h"

// A link of its own for each pair is never taken.
static enum loggp_port port_of(const struct clab_net *net, const struct clab_link *link, enum loggp_port first)
{
    if (link == &net->intra && net->topology.inside == CLAB_INSIDE_MESH)
        return LOGGP_PORT_NONE;
    return link->port == CLAB_PORT_CORE ? LOGGP_PORT_CORE : first + (link != &net->intra && link != &net->pair);
}

struct loggp_cost *loggp_costs_fill(struct loggp_costs *costs, struct loggp_cost *cost, const struct clab_link *link,
                                    size_t bytes)
{
    const struct clab_segment *s = clab_link_segment(link, bytes);
    struct ticks t = costs->ticks;
    const bool is_loggp = clab_link_is_loggp(link); // its first byte travels with the latency
    double each = s->buffers ? s->gap : 0, whole = (double)(is_loggp && bytes > 0 ? bytes - 1 : bytes),
           first = (double)(bytes < s->fragment ? bytes : s->fragment);
    *cost = (struct loggp_cost){
        .segment = s,
        .link = link,
        .bytes = bytes,
        .o_send = ticks_round(t, s->o_send),
        .send = ticks_round(t, each + whole * s->gap_send),
        .head = ticks_round(t, first * s->gap_send) + ticks_round(t, s->latency),
        .o_recv = ticks_round(t, s->o_recv),
        .both = ticks_round(t, s->o_both + whole * s->gap_both),
        .recv = s->memory ? 0 : ticks_round(t, each + whole * s->gap_recv),
        .last = ticks_round(t, (whole - first) * s->gap_send) + (s->memory ? 0 : ticks_round(t, first * s->gap_recv)),
        .reduce = ticks_round(t, s->o_reduce + whole * costs->net->gamma),
        .o_reduce = ticks_round(t, s->o_reduce),
        .latency = ticks_round(t, s->latency),
        .gap = is_loggp ? ticks_round(t, s->gap) : 0,
        .ahead = ticks_round(t, link->burst),
        .after = ticks_round(t, s->o_after + whole * s->core_send),
        .held = ticks_round(t, whole * s->core_wait * (1 - costs->armed)),
        .out = ticks_round(t, s->gap_out),
        .beside = ticks_round(t, whole * s->core_recv),
        .joined = ticks_round(t, s->gap_joined),
        .found = ticks_round(t, s->o_joined),
        .acks = ticks_round(t, whole * s->gap_acks),
        .waits = s->waits,
        .buffers = s->buffers,
        .tx = port_of(costs->net, link, LOGGP_PORT_TX),
        .rx = port_of(costs->net, link, LOGGP_PORT_RX),
    };
    return cost;
}
