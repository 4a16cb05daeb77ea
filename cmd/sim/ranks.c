// SPDX-License-Identifier: MIT
// Stragglers, and the order of the ranks on the nodes.

#include "cmd/sim/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"

// RANK=TIME
int sim_take_delay(const char *flag, const char *text, void *into)
{
    struct sim_request *r = into;
    struct sim_delay *d = &r->stragglers[r->nstragglers];
    char rank[16];
    const char *equals = strchr(text, '=');
    if (r->nstragglers == STRAGGLERS_AT_MOST)
        return clab_refuse(flag, text, "taken: at most 64 ranks may be delayed");
    if (!equals || (size_t)(equals - text) >= sizeof rank)
        return clab_refuse(flag, text, "RANK=TIME, such as 3=100us");
    snprintf(rank, sizeof rank, "%.*s", (int)(equals - text), text);
    CLAB_TRY(clab_take_int(flag, rank, 0, RANKS_AT_MOST, &d->rank));
    CLAB_TRY(clab_take_seconds(flag, equals + 1, 0, SECONDS_AT_MOST, &d->seconds));
    r->nstragglers++;
    return CLAB_OK;
}

int sim_take_order(const char *flag, const char *text, void *into)
{
    struct sim_request *r = into;
    r->is_scattered = !strcmp(text, "scattered");
    return r->is_scattered || !strcmp(text, "compact") ? CLAB_OK
                                                       : clab_refuse(flag, text, "an order: compact or scattered");
}

int sim_set_delays(struct sim_request *r)
{
    if (r->nstragglers == 0)
        return CLAB_OK;
    if (!(r->delays = calloc((size_t)r->problem.nranks, sizeof *r->delays)))
        return CLAB_ENOMEM;
    for (int i = 0; i < r->nstragglers; i++) {
        if (r->stragglers[i].rank >= r->problem.nranks) {
            clab_error("sim: --delay %d: there are ranks 0 to %d", r->stragglers[i].rank, r->problem.nranks - 1);
            return CLAB_EINVAL;
        }
        r->delays[r->stragglers[i].rank] = r->stragglers[i].seconds;
    }
    r->options.delays = r->delays;
    return CLAB_OK;
}

// Rank r is on node r modulo the nodes. If ranks are left over, the last node has fewer, and is passed over at the end.
int sim_set_order(struct sim_request *r)
{
    const int per_node = r->net->ranks_per_node, nranks = r->problem.nranks;
    const int nodes = (nranks + per_node - 1) / per_node;
    if (!r->is_scattered)
        return CLAB_OK;
    if (!(r->members = malloc((size_t)nranks * sizeof *r->members)))
        return CLAB_ENOMEM;
    for (int place = 0, n = 0; place < per_node; place++)
        for (int node = 0; node < nodes; node++)
            if (node * per_node + place < nranks)
                r->members[n++] = node * per_node + place;
    r->options.members = r->members;
    return CLAB_OK;
}
