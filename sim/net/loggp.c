// SPDX-License-Identifier: MIT
// LogGP's figures are those of the link between nodes, which has one segment.

#include "sim/net/loggp.h"

bool clab_net_is_loggp(const struct clab_net *net)
{
    bool is = clab_link_is_loggp(&net->intra) || clab_link_is_loggp(&net->inter) || clab_link_is_loggp(&net->pair);
    for (int i = 0; i < net->ntiers; i++)
        is |= clab_link_is_loggp(&net->tiers[i]);
    return is;
}

struct clab_loggp clab_net_loggp(const struct clab_net *net)
{
    const struct clab_segment *s = &net->inter.segments[0];
    return (struct clab_loggp){.latency = s->latency,
                               .overhead = s->o_send,
                               .gap = s->gap,
                               .byte = s->gap_send,
                               .core = net->inter.port == CLAB_PORT_LOGGP_CORE};
}

void clab_net_set_loggp(struct clab_net *net, const struct clab_loggp *loggp)
{
    struct clab_link *link = &net->inter;
    struct clab_segment *s = &link->segments[0];
    s->latency = loggp->latency;
    s->o_send = s->o_recv = loggp->overhead;
    s->gap = loggp->gap;
    s->gap_send = s->gap_recv = loggp->byte;
    link->port = loggp->core ? CLAB_PORT_LOGGP_CORE : CLAB_PORT_LOGGP;
    link->alpha = loggp->latency + 2 * loggp->overhead;
    link->beta = loggp->byte;
}
