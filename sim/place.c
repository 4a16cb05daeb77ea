// SPDX-License-Identifier: MIT The same machine with its cores elsewhere. A virtual machine's host moves its cores:
// near each other, or to where they share no cache, and a line takes three times as long.
//
// - A profile may describe two placements; the one whose line is nearest is meant.
// - Where none is near, it is scaled: what waits for lines grows with the time of a line, what a core does by itself
//   stays. Fresh data comes line by line from its writer's cache. Cores that are near share the last cache, and find
//   there what no longer fits the writer's own; those that are far do not, and wait for every line that is in any cache
//   of the other.
// - In the same place a core may still be slower, while its other half or its clock is someone else's: then all that it
//   does takes longer, as the line does.
//
// Scaled figures are a makeshift: between measured placements of one machine they were right within a third or so.

#include <math.h>

#include "net.h"

static const double same = 1.5;          // the factor within which lines are of one placement
static const double beyond_caches = 0.7; // of a slower core's time; by probes beside 95 to 165 ns of a line

// How many times one is the other, at least 1.
static double factor_between(double a, double b)
{
    return a > b ? a / b : b / a;
}

const struct clab_net *clab_net_placed(const struct clab_net *net, double line)
{
    const struct clab_net *other = net->other;
    if (!other || !(line > 0) || !(net->line > 0) || !(other->line > 0))
        return net;
    return factor_between(line, other->line) < factor_between(line, net->line) ? other : net;
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
    s->latency *= factor;
    s->gap_send *= factor;
    s->gap_recv *= factor;
}

// The dearest fresh pull (or reduction) of any level: what a line costs that is surely in its writer's cache.
static double dearest(const struct clab_net *net, bool reduce, int load)
{
    double most = 0;
    for (int i = 0; i < net->nlevels; i++) {
        const struct clab_level *l = &net->levels[i];
        most = fmax(most, reduce ? l->reduce[CLAB_FRESH][load] : l->pull[CLAB_FRESH][load]);
    }
    return most;
}

static void scale_level(struct clab_level *l, double factor)
{
    for (int load = 0; load < CLAB_LOADS; load++) {
        l->copy[load] *= factor;
        l->add[load] *= factor;
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
    if (factor > 1 && 4 * message <= (double)net->shared_cache)
        return fmax(fresh, most * factor);
    if (factor > 1)
        return fresh;
    double share = net->core_cache > 0 ? fmin(1, (double)net->core_cache / message) : 1;
    return fmin(fresh, kept + fmax(0, fresh * factor - kept) * share);
}

static void scale_levels(struct clab_net *net, double factor)
{
    for (int load = 0; load < CLAB_LOADS; load++) {
        double pull = dearest(net, false, load), reduce = dearest(net, true, load);
        for (int i = 0; i < net->nlevels; i++) {
            struct clab_level *l = &net->levels[i];
            double message = (double)l->bytes / (load == CLAB_BOTH ? 4 : 2);
            l->pull[CLAB_FRESH][load] =
                scale_fresh(net, l->pull[CLAB_KEPT][load], l->pull[CLAB_FRESH][load], pull, message, factor);
            l->reduce[CLAB_FRESH][load] =
                scale_fresh(net, l->reduce[CLAB_KEPT][load], l->reduce[CLAB_FRESH][load], reduce, message, factor);
        }
    }
}

// All that a core does.
static void scale_pace(struct clab_net *net, double factor)
{
    for (int i = 0; i < net->intra.nsegments; i++)
        scale_segment(&net->intra.segments[i], factor);
    net->intra.alpha *= factor;
    net->lane *= factor;
    net->call *= factor;
    net->stage *= factor;
    for (int i = 0; i < net->nlevels; i++)
        scale_level(&net->levels[i], clab_net_pace(factor, net->levels[i].bytes, net->core_cache));
}

void clab_net_place(const struct clab_net *net, double line, struct clab_net *placed_p)
{
    if (!(line > 0) || !(net->line > 0)) {
        *placed_p = *net;
        return;
    }
    *placed_p = *clab_net_placed(net, line);
    double calls =
        placed_p->line - placed_p->intra.alpha; // the part of a line's time that is the calls', not the way's
    if (factor_between(line, placed_p->line) < same)
        scale_pace(placed_p, line / placed_p->line);
    if (factor_between(line, placed_p->line) < same || line <= calls || calls < 0)
        return;
    double factor = (line - calls) / placed_p->intra.alpha;
    for (int i = 0; i < placed_p->intra.nsegments; i++)
        scale_segment(&placed_p->intra.segments[i], factor);
    placed_p->intra.alpha *= factor;
    placed_p->lane *= factor;
    scale_levels(placed_p, factor);
}
