// SPDX-License-Identifier: MIT
// The same machine with its cores placed elsewhere. A hypervisor moves a virtual machine's CPUs: onto cores that are
// near each other, or onto cores that share no cache. Then a cache line takes three times as long between them.
//
// - A profile may describe two placements. The one whose latency is nearest to the sample is used.
// - If neither is near, the profile is scaled. Waiting for cache lines scales with the latency; a core's own work does
//   not. Fresh data comes line by line from its writer's cache. It scales as the sample's fresh data, if that is known.
//   Near cores share the last-level cache, and find there what the writer's own cache has evicted. Far cores wait for
//   every line that is in any cache of the other; the larger a message, the smaller the part that those caches hold.
// - In the same placement a core may still be slower, while a neighbour uses its other hardware thread or its clock is
//   reduced. Then calls take up to 1.7 times as long, by the empty calls of the sample. Messages (mostly waiting for
//   lines) and work on memory take up to 1.2 times as long, by the latency.
//
// Scaling is a makeshift: between two measured placements of one machine it was right within about a third.

#include <math.h>

#include "sim/net/net.h"

static const double same = 1.6;          // the factor within which samples are of one placement
static const double slowest = 2.5;       // times that a core's own work may take, at most
static const double one_core = 2.5;      // fresh data is cheaper in a core's own cache than in a near one's, at least
static const double beyond_caches = 0.7; // of a slower core's time; by probes beside 95 to 165 ns of a line

// The ratio of the larger to the smaller, >= 1.
static double factor_between(double a, double b)
{
    return a > b ? a / b : b / a;
}

// How far apart two samples are, as a ratio: by fresh data where both have it. Two hardware threads of one core have
// the same latency as near cores, but do not wait for fresh data.
static double distance(struct clab_placement_sample a, struct clab_placement_sample b)
{
    if (a.fresh > 0 && b.fresh > 0)
        return factor_between(a.fresh, b.fresh);
    return a.line > 0 && b.line > 0 ? factor_between(a.line, b.line) : 1;
}

bool clab_placement_is_same(struct clab_placement_sample a, struct clab_placement_sample b)
{
    return distance(a, b) < same;
}

const struct clab_net *clab_net_placed(const struct clab_net *net, struct clab_placement_sample probed)
{
    const struct clab_net *other = net->other;
    return other && distance(probed, other->probed) < distance(probed, net->probed) ? other : net;
}

double clab_net_pace(double factor, size_t footprint, size_t core_cache)
{
    return footprint <= 2 * core_cache ? factor : 1 + beyond_caches * (factor - 1);
}

static void scale_segment(struct clab_segment *s, double factor)
{
    s->o_send *= factor;
    s->o_recv *= factor;
    s->o_both *= factor;
    s->o_reduce *= factor;
    s->o_after *= factor;
    s->o_joined *= factor;
    s->latency *= factor;
    s->gap_send *= factor;
    s->gap_recv *= factor;
    s->gap_both *= factor;
}

// The dearest fresh costs of any level: what a line costs that is surely in its writer's cache.
static struct clab_level dearest(const struct clab_net *net, enum clab_load load)
{
    struct clab_level most = {0};
    for (int i = 0; i < net->nlevels; i++) {
        const struct clab_level *l = &net->levels[i];
        most.pull[CLAB_FRESH][load] = fmax(most.pull[CLAB_FRESH][load], l->pull[CLAB_FRESH][load]);
        most.reduce[CLAB_FRESH][load] = fmax(most.reduce[CLAB_FRESH][load], l->reduce[CLAB_FRESH][load]);
        most.copy_shared[load] = fmax(most.copy_shared[load], l->copy_shared[load]);
        most.add_fresh[load] = fmax(most.add_fresh[load], l->add_fresh[load]);
    }
    return most;
}

static void scale_level(struct clab_level *l, double factor)
{
    for (int load = 0; load < CLAB_LOADS; load++) {
        l->copy[load] *= factor;
        l->copy_shared[load] *= factor;
        l->add[load] *= factor;
        l->add_fresh[load] *= factor;
        for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
            l->pull[touch][load] *= factor;
            l->reduce[touch][load] *= factor;
        }
    }
}

// `kept`, `fresh`: of the level, `message`: its bytes. Further apart: all that is in a cache is waited for. Nearer:
// only what is in the writer's own, the rest is as if kept.
static double scale_fresh(const struct clab_net *net, double kept, double fresh, double most, double message,
                          double factor)
{
    if (factor > 1) { // four buffers of the message's size share what the last cache holds, a quarter of which is fresh
        const double held = fmin(1, (double)net->shared_cache / (16 * message));
        return fresh + held * fmax(0, most * factor - fresh);
    }
    double share = net->core_cache > 0 ? fmin(1, (double)net->core_cache / message) : 1;
    return fmin(fresh, kept + fmax(0, fresh * factor - kept) * share);
}

static void scale_levels(struct clab_net *net, double factor)
{
    for (int load = 0; load < CLAB_LOADS; load++) {
        const struct clab_level most = dearest(net, load);
        for (int i = 0; i < net->nlevels; i++) {
            struct clab_level *l = &net->levels[i];
            double message = (double)l->bytes / (load == CLAB_BOTH ? 4 : 2);
            l->pull[CLAB_FRESH][load] = scale_fresh(net, l->pull[CLAB_KEPT][load], l->pull[CLAB_FRESH][load],
                                                    most.pull[CLAB_FRESH][load], message, factor);
            l->reduce[CLAB_FRESH][load] = scale_fresh(net, l->reduce[CLAB_KEPT][load], l->reduce[CLAB_FRESH][load],
                                                      most.reduce[CLAB_FRESH][load], message, factor);
            if (l->copy_shared[load] > 0)
                l->copy_shared[load] =
                    scale_fresh(net, l->copy[load], l->copy_shared[load], most.copy_shared[load], message, factor);
            if (l->add_fresh[load] > 0)
                l->add_fresh[load] =
                    scale_fresh(net, l->add[load], l->add_fresh[load], most.add_fresh[load], message, factor);
        }
    }
}

// What a core does beside messages, for each call, stage and lane.
static void scale_calls(struct clab_net *net, double core)
{
    net->lane *= core;
    net->call *= core;
    net->wait *= core;
    net->stage *= core;
}

// All that a core does: messages by `way`, calls by `core`, work on memory by `memory`.
static void scale_pace(struct clab_net *net, double way, double core, double memory)
{
    for (int i = 0; i < net->intra.nsegments; i++)
        scale_segment(&net->intra.segments[i], way);
    net->intra.alpha *= way;
    scale_calls(net, core);
    for (int i = 0; i < net->nlevels; i++)
        scale_level(&net->levels[i], clab_net_pace(memory, net->levels[i].bytes, net->core_cache));
}

static double between(double factor, double most)
{
    return fmax(1 / most, fmin(most, factor));
}

// ---- two halves of one core ------------------------------------------------------------------------------------

// They share its caches, so that nothing waits for lines, and its time, so that two at work take twice as long. Both
// are busy then: of what was seen of a line, more is calls, and less is the way.
static void join_level(struct clab_level *l)
{
    l->copy[CLAB_BOTH] = fmax(l->copy[CLAB_BOTH], 2 * l->copy[CLAB_ALONE]);
    l->add[CLAB_BOTH] = fmax(l->add[CLAB_BOTH], 2 * l->add[CLAB_ALONE]);
    l->pull[CLAB_KEPT][CLAB_BOTH] = fmax(l->pull[CLAB_KEPT][CLAB_BOTH], 2 * l->pull[CLAB_KEPT][CLAB_ALONE]);
    l->reduce[CLAB_KEPT][CLAB_BOTH] = fmax(l->reduce[CLAB_KEPT][CLAB_BOTH], 2 * l->reduce[CLAB_KEPT][CLAB_ALONE]);
    for (int load = 0; load < CLAB_LOADS; load++) {
        l->pull[CLAB_FRESH][load] = l->pull[CLAB_KEPT][load];
        l->reduce[CLAB_FRESH][load] = l->reduce[CLAB_KEPT][load];
        l->add_fresh[load] = l->add[load];
        l->copy_shared[load] = l->copy[load];
    }
}

static void join_halves(struct clab_net *net)
{
    for (int i = 0; i < net->nlevels; i++)
        join_level(&net->levels[i]);
    const double copy = net->nlevels ? net->levels[0].copy[CLAB_BOTH] : 0;
    for (int i = 0; i < net->intra.nsegments; i++) {
        struct clab_segment *s = &net->intra.segments[i];
        s->gap_send = fmin(s->gap_send, copy);
        s->gap_recv = fmin(s->gap_recv, copy);
    }
}

// Whether fresh data costs so much less than the profile says that both ranks must run on one core.
static bool is_one_core(const struct clab_net *net, struct clab_placement_sample probed)
{
    return probed.fresh > 0 && net->probed.fresh > one_core * probed.fresh &&
           probed.line * same > net->probed.line / same;
}

// ---- wires -----------------------------------------------------------------------------------------------------

// Between hosts: what cores do for a message. The wire keeps its pace.
static void pace_wires(struct clab_net *net, double way)
{
    struct clab_link *link = &net->inter;
    for (int i = 0; i < link->nsegments; i++) {
        struct clab_segment *s = &link->segments[i];
        s->o_send *= way, s->o_recv *= way, s->o_both *= way, s->o_after *= way;
        s->core_send *= way, s->core_recv *= way, s->core_wait *= way;
        s->o_joined *= way;
    }
    link->alpha *= way;
    net->switch_cost *= way;
}

// ---- interface -------------------------------------------------------------------------------------------------

void clab_net_place(const struct clab_net *net, struct clab_placement_sample probed, struct clab_net *placed_p)
{
    *placed_p = probed.line > 0 && net->probed.line > 0 ? *clab_net_placed(net, probed) : *net;
    if (!(probed.line > 0) || !(placed_p->probed.line > 0))
        return;
    const double way = between(probed.line / placed_p->probed.line, same);
    if (!placed_p->intra.present) {
        pace_wires(placed_p, way);
        return;
    }
    const bool knows_core = probed.call > 0 && placed_p->call > 0;
    const double core = knows_core ? between(probed.call / placed_p->call, slowest) : way;
    // the part of the latency that is the two calls, not the message between the cores
    const double calls = placed_p->probed.line - placed_p->intra.alpha;
    if (clab_placement_is_same(probed, placed_p->probed)) {
        scale_pace(placed_p, way, core, way);
        return;
    }
    if (is_one_core(placed_p, probed)) {
        const double rest = (probed.line - calls * core) / placed_p->intra.alpha;
        scale_pace(placed_p, knows_core && calls > 0 ? between(rest, same) : way, core, way);
        join_halves(placed_p);
        return;
    }
    if (probed.line <= calls || calls < 0)
        return;
    const double factor = (probed.line - calls) / placed_p->intra.alpha, net_fresh = placed_p->probed.fresh;
    for (int i = 0; i < placed_p->intra.nsegments; i++)
        scale_segment(&placed_p->intra.segments[i], factor);
    placed_p->intra.alpha *= factor;
    placed_p->lane *= factor;
    scale_levels(placed_p, probed.fresh > 0 && net_fresh > 0 ? probed.fresh / net_fresh : factor);
    if (knows_core)
        scale_calls(placed_p, core);
}
