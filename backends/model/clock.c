// SPDX-License-Identifier: MIT
// A rank's clock: ports, stamps, work, and what it is assumed to take until ranks have found each other.

#include "backends/model/clock.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/net/topology.h"

double clab_clock_round(double seconds)
{
    return rint(seconds * 0x1p46) * 0x1p-46;
}

void clab_clock_reach(struct clab_clock *clock, double when)
{
    clock->now = fmax(clock->now, clab_clock_round(when));
}

int clab_clock_compute(struct clab_clock *clock, enum clab_precision precision, double flop, double bytes)
{
    double seconds;
    CLAB_TRY(clab_net_compute(clock->net, precision, flop, bytes, &seconds));
    clab_clock_reach(clock, fmax(clock->now, clock->core) + seconds * clock->slowness);
    return CLAB_OK;
}

// ---- messages ------------------------------------------------------------------------------------------------

static double *port_of(struct clab_clock *clock, const struct clab_link *link, double ports[2])
{
    const bool inside = link == &clock->net->intra || link == &clock->net->pair;
    return link->port == CLAB_PORT_CORE ? &clock->core : &ports[!inside];
}

static double way_of(const struct clab_clock *clock, int peer)
{
    const double hop = clock->net->topology.hop;
    return hop > 0 ? clab_net_hops(clock->net, clock->rank, peer) * hop : 0;
}

// Of memory, a byte is pulled from the sender's.
static double landing_rate(const struct clab_net *net, const struct clab_segment *segment, size_t bytes)
{
    return segment->memory ? clab_net_level(net, 2 * bytes).pull[CLAB_KEPT][CLAB_ALONE] : segment->gap_recv;
}

double clab_clock_send(struct clab_clock *clock, int peer, size_t bytes, struct clab_stamp *stamp_p)
{
    const struct clab_link *link = clab_net_link(clock->net, clock->rank, peer);
    const struct clab_segment *s = clab_link_segment(link, bytes);
    const double first = (double)(bytes < s->fragment ? bytes : s->fragment),
                 latency = s->latency + way_of(clock, peer);
    double *port = port_of(clock, link, clock->out);
    const double posted = fmax(clock->now, *port) + s->o_send;
    *port = clab_clock_round(posted + (double)bytes * s->gap_send);
    stamp_p->head = clab_clock_round(posted + first * s->gap_send + latency);
    stamp_p->last = clab_clock_round(*port + latency);
    return s->buffers ? clab_clock_round(posted) : *port;
}

double clab_clock_receive(struct clab_clock *clock, int peer, size_t bytes, double posted, struct clab_stamp stamp)
{
    const struct clab_link *link = clab_net_link(clock->net, clock->rank, peer);
    const struct clab_segment *s = clab_link_segment(link, bytes);
    double *port = port_of(clock, link, clock->in);
    const double begin = fmax(fmax(stamp.head, posted), *port) + s->o_recv;
    *port = clab_clock_round(fmax(begin + (double)bytes * landing_rate(clock->net, s, bytes), stamp.last));
    return *port;
}

// ---- finding each other --------------------------------------------------------------------------------------

static double alpha_between(const struct clab_net *net, int a, int b)
{
    return clab_net_link(net, a, b)->alpha + clab_net_hops(net, a, b) * net->topology.hop;
}

double clab_net_rendezvous(const struct clab_net *net, const int ranks[], int nranks)
{
    double alpha = 0;
    int levels = 0;
    for (int i = 1; i < nranks; i++)
        alpha = fmax(alpha, alpha_between(net, ranks[0], ranks[i]));
    while (1 << levels < nranks)
        levels++;
    return 2 * levels * alpha;
}

double clab_net_connect(const struct clab_net *net, const int ranks[], int nranks, int mine)
{
    double seconds = 0;
    for (int i = 0; i < nranks; i++)
        if (i != mine)
            seconds += 2 * alpha_between(net, ranks[mine], ranks[i]);
    return seconds;
}
