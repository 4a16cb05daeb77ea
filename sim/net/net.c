// SPDX-License-Identifier: MIT
// What a network says about two ranks, a message, a footprint. Files are read.c's and find.c's.

#include "sim/net/net.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/sim.h"

void clab_net_free(struct clab_net *net)
{
    if (net)
        free(net->other);
    free(net);
}

int clab_net_create_flat(double alpha, double beta, double gamma, struct clab_net **net_p)
{
    if (!(alpha >= 0 && beta >= 0 && gamma >= 0)) {
        clab_error("alpha, beta and gamma of a network can not be negative");
        return CLAB_EINVAL;
    }
    struct clab_net *net = calloc(1, sizeof *net);
    if (!net)
        return CLAB_ENOMEM;
    net->ranks_per_node = 1;
    net->gamma = gamma;
    net->inter = (struct clab_link){.name = "inter", .present = true, .alpha = alpha, .beta = beta, .nsegments = 1};
    net->inter.segments[0] = clab_segment_hockney(alpha, beta);
    snprintf(net->name, sizeof net->name, "flat");
    snprintf(net->title, sizeof net->title, "every pair of ranks alpha and beta apart");
    *net_p = net;
    return CLAB_OK;
}

struct clab_segment clab_segment_hockney(double alpha, double beta)
{
    return (struct clab_segment){.name = "hockney",
                                 .up_to = SIZE_MAX,
                                 .o_send = alpha,
                                 .o_recv = alpha,
                                 .latency = -alpha,
                                 .gap_send = beta,
                                 .gap_recv = beta};
}

const struct clab_link *clab_net_link(const struct clab_net *net, int a, int b)
{
    int from = a / net->ranks_per_node, to = b / net->ranks_per_node;
    if (from == to) {
        bool paired =
            net->topology.inside == CLAB_INSIDE_PAIRS && a % net->ranks_per_node / 2 == b % net->ranks_per_node / 2;
        return paired ? &net->pair : &net->intra;
    }
    for (int i = net->ntiers - 1; i >= 0; i--)
        if (from / net->tiers[i].nodes != to / net->tiers[i].nodes)
            return &net->tiers[i];
    return &net->inter;
}

int clab_net_link_index(const struct clab_net *net, const struct clab_link *link)
{
    return link == &net->intra   ? 0
           : link == &net->inter ? 1
           : link == &net->pair  ? 2
                                 : CLAB_NET_FIRST_TIER + (int)(link - net->tiers);
}

void clab_link_scale(struct clab_link *link, double factor)
{
    link->beta *= factor;
    for (int i = 0; i < link->nsegments; i++) {
        struct clab_segment *s = &link->segments[i];
        s->gap_send *= factor, s->gap_recv *= factor, s->gap_both *= factor, s->gap_acks *= factor;
        if (s->buffers) // its gaps are headers, which are bytes, too
            s->gap *= factor, s->gap_joined *= factor;
    }
}

const struct clab_segment *clab_link_segment(const struct clab_link *link, size_t bytes)
{
    const struct clab_segment *segment = link->segments;
    while (bytes > segment->up_to)
        segment++;
    return segment;
}

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

// What it costs to add to what a peer has read, where a level does not say, too.
static double add_fresh_of(const struct clab_level *level, enum clab_load load)
{
    if (level->add_fresh[load] > 0)
        return level->add_fresh[load];
    return level->add[load] + fmax(0, level->reduce[CLAB_FRESH][load] - level->reduce[CLAB_KEPT][load]);
}

// Likewise what it costs to copy to what both ranks have read.
static double copy_shared_of(const struct clab_level *level, enum clab_load load)
{
    if (level->copy_shared[load] > 0)
        return level->copy_shared[load];
    return level->copy[load] + fmax(0, level->pull[CLAB_FRESH][load] - level->pull[CLAB_KEPT][load]);
}

// How far `footprint` is from level `a` to level `b`. A cache that both ranks share evicts nothing before it is nearly
// full: up to three quarters of it, a byte costs what the largest level does that it holds.
static double share_between(const struct clab_net *net, size_t a, size_t b, size_t footprint)
{
    const double full = 0.75 * (double)net->shared_cache;
    const double from = (double)a < full && full < (double)b ? full : (double)a;
    return a == b || (double)footprint <= from ? 0 : log((double)footprint / from) / log((double)b / from);
}

struct clab_level clab_net_level(const struct clab_net *net, size_t footprint)
{
    struct clab_level out = {.bytes = footprint};
    int n = net->nlevels, above = 0;
    if (n == 0) {
        for (int i = 0; i < CLAB_TOUCHES * CLAB_LOADS; i++)
            out.reduce[i / CLAB_LOADS][i % CLAB_LOADS] = out.add[i % CLAB_LOADS] = net->gamma;
        return out;
    }
    while (above < n && net->levels[above].bytes < footprint)
        above++;
    const struct clab_level *a = &net->levels[above == 0 ? 0 : above - 1],
                            *b = &net->levels[above == n ? n - 1 : above];
    const double share = share_between(net, a->bytes, b->bytes, footprint);
    for (int load = 0; load < CLAB_LOADS; load++) {
        out.copy[load] = between(a->copy[load], b->copy[load], share);
        out.add[load] = between(a->add[load], b->add[load], share);
        out.copy_shared[load] = between(copy_shared_of(a, load), copy_shared_of(b, load), share);
        out.add_fresh[load] = between(add_fresh_of(a, load), add_fresh_of(b, load), share);
        for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
            out.pull[touch][load] = between(a->pull[touch][load], b->pull[touch][load], share);
            out.reduce[touch][load] = between(a->reduce[touch][load], b->reduce[touch][load], share);
        }
    }
    return out;
}

int clab_net_compute(const struct clab_net *net, enum clab_precision precision, double flop, double bytes,
                     double *seconds_p)
{
    const struct clab_compute *c = &net->compute;
    if (!c->present && flop == 0 && bytes >= 0) { // a sum reads two bytes and writes one for each that gamma counts
        *seconds_p = bytes * net->gamma / 3;
        return CLAB_OK;
    }
    if (!c->present) {
        clab_error(
            "network '%s' has no section [compute], so work has no price: add one to its file (sim/nets/README.md)",
            net->name);
        return CLAB_ENOENT;
    }
    if (!(flop >= 0 && bytes >= 0)) {
        clab_error("work of %g flop and %g bytes can not be", flop, bytes);
        return CLAB_EINVAL;
    }
    int p = (int)precision;
    while (p > 0 && !(c->flops[p] > 0))
        p--;
    if (flop > 0 && !(c->flops[p] > 0)) {
        clab_error("network '%s' does not say how fast it computes in f64: add f64 to [compute] in its file",
                   net->name);
        return CLAB_ENOENT;
    }
    *seconds_p = fmax(flop > 0 ? flop / c->flops[p] : 0, bytes * c->memory);
    return CLAB_OK;
}

double clab_net_fastest_copy(const struct clab_net *net)
{
    double least = INFINITY;
    for (int i = 0; i < net->nlevels; i++)
        if (net->levels[i].copy[CLAB_ALONE] > 0)
            least = fmin(least, net->levels[i].copy[CLAB_ALONE]);
    return isfinite(least) ? least : NAN;
}

int clab_net_group(const struct clab_net *net, int nranks)
{
    return net->ranks_per_node > 1 && nranks > net->ranks_per_node ? net->ranks_per_node : 0;
}

int clab_net_check_ranks(const struct clab_net *net, int nranks)
{
    long room = (long)net->nodes * net->ranks_per_node;
    if (net->nodes == 0 || nranks <= room)
        return CLAB_OK;
    clab_error("network '%s' has %d nodes of %d ranks, fewer than the %d ranks asked for", net->name, net->nodes,
               net->ranks_per_node, nranks);
    return CLAB_EINVAL;
}
