// SPDX-License-Identifier: MIT
// The memory of corking.h.

#include "sim/engine/corking.h"

#include <stdlib.h>

#include "core/base/err.h"

static bool any_joins(const struct clab_link *link)
{
    for (int i = 0; i < link->nsegments; i++)
        if (link->segments[i].buffers && (link->segments[i].gap_joined > 0 || link->segments[i].o_joined > 0))
            return true;
    return false;
}

static bool net_joins(const struct clab_net *net)
{
    bool any = any_joins(&net->intra) || any_joins(&net->inter) || any_joins(&net->pair);
    for (int i = 0; i < net->ntiers; i++)
        any |= any_joins(&net->tiers[i]);
    return any;
}

int corking_init(struct corking *c, const struct clab_net *net, int nranks)
{
    *c = (struct corking){.nranks = nranks};
    if (!net_joins(net))
        return CLAB_OK;
    c->sockets = calloc((size_t)nranks * CORKING_SOCKETS, sizeof *c->sockets);
    return c->sockets ? CLAB_OK : CLAB_ENOMEM;
}

void corking_free(struct corking *c)
{
    free(c->sockets);
    c->sockets = NULL;
}

size_t corking_bytes(const struct corking *c)
{
    return c->sockets ? (size_t)c->nranks * CORKING_SOCKETS * sizeof *c->sockets : 0;
}
