// SPDX-License-Identifier: MIT
// What would help: the network with one of its costs halved, or one of its troubles gone, priced anew.

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/net/topology.h"
#include "sim/explain/why.h"

enum { LINKS = 3 + CLAB_NET_TIERS };

static struct clab_link *link_at(struct clab_net *net, int index)
{
    return index == 0 ? &net->intra : index == 1 ? &net->inter : index == 2 ? &net->pair : &net->tiers[index - 3];
}

// ---- what the path has ---------------------------------------------------------------------------------------

struct seen {
    bool latency[LINKS], bytes[LINKS];
    bool overhead, copies, reduces, delays, computes, shares;
};

static struct seen observe(const struct clab_why *why)
{
    struct seen seen = {0};
    for (int i = 0; i < why->npieces; i++) {
        const struct clab_why_piece *p = &why->pieces[i];
        enum clab_record_part part = clab_did_part((enum clab_did)p->did);
        if (p->link >= 0 && part == CLAB_PART_LATENCY)
            seen.latency[p->link] = true;
        if (p->link >= 0 && part == CLAB_PART_BANDWIDTH)
            seen.bytes[p->link] = true;
        seen.overhead |= p->did == CLAB_DID_OVERHEAD;
        seen.copies |= p->did == CLAB_DID_COPY || p->did == CLAB_DID_TAKE || p->did == CLAB_DID_TAIL;
        seen.reduces |= p->did == CLAB_DID_REDUCE;
        seen.delays |= p->did == CLAB_DID_DELAY;
        seen.computes |= p->did == CLAB_DID_COMPUTE;
        seen.shares |= p->did == CLAB_DID_SHARE;
    }
    return seen;
}

// ---- remedies ------------------------------------------------------------------------------------------------

// The gap of a segment that buffers is headers, which are bytes.
static void halve_latency(struct clab_link *link)
{
    link->alpha /= 2;
    for (struct clab_segment *s = link->segments; s < link->segments + link->nsegments; s++) {
        s->o_send /= 2;
        s->o_recv /= 2;
        s->o_both /= 2;
        s->o_after /= 2;
        s->latency /= 2;
        s->gap_out /= 2;
        s->gap /= s->buffers ? 1 : 2;
    }
}

// Where sockets buffer, cores copy the bytes, too.
static void halve_carrying(struct clab_link *link)
{
    for (struct clab_segment *s = link->segments; s < link->segments + link->nsegments; s++) {
        s->core_send /= 2;
        s->core_recv /= 2;
        s->core_wait /= 2;
    }
}

static void halve_copies(struct clab_net *net)
{
    for (int link = 0; link < LINKS; link++)
        halve_carrying(link_at(net, link));
    for (int i = 0; i < net->nlevels; i++) {
        struct clab_level *l = &net->levels[i];
        for (int load = 0; load < CLAB_LOADS; load++) {
            l->copy[load] /= 2;
            l->copy_shared[load] /= 2;
            for (int touch = 0; touch < CLAB_TOUCHES; touch++) {
                l->reduce[touch][load] -= l->pull[touch][load] / 2; // what it is more than a pull stays
                l->pull[touch][load] /= 2;
            }
        }
    }
}

static void halve_reductions(struct clab_net *net)
{
    net->gamma /= 2;
    for (int i = 0; i < net->nlevels; i++) {
        struct clab_level *l = &net->levels[i];
        for (int load = 0; load < CLAB_LOADS; load++) {
            for (int touch = 0; touch < CLAB_TOUCHES; touch++)
                l->reduce[touch][load] = (l->reduce[touch][load] + l->pull[touch][load]) / 2;
            l->add[load] = (l->add[load] + l->pull[CLAB_KEPT][load]) / 2;
            if (l->add_fresh[load] > 0)
                l->add_fresh[load] = (l->add_fresh[load] + l->pull[CLAB_FRESH][load]) / 2;
        }
    }
}

static void halve_overhead(struct clab_net *net)
{
    net->call /= 2;
    net->stage /= 2;
    net->lane /= 2;
}

// ---- trying them ---------------------------------------------------------------------------------------------

struct trial {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    const struct clab_net *net; // as it is
    const struct clab_sim_options *options;
    double best; // s
    char *text;  // (CLAB_WHY_TEXT) of the best
    struct clab_net changed;
    struct clab_sim_options changed_options;
};

static void reset(struct trial *t)
{
    t->changed = *t->net;
    t->changed_options = *t->options;
}

// What has been changed, as `text` says.
static int try(struct trial *t, const char *text)
{
    struct clab_sim_result result;
    int err = clab_sim_run(t->problem, t->algorithm, &t->changed, &t->changed_options, &result);
    reset(t);
    if (err)
        return err;
    if (result.seconds >= t->best)
        return CLAB_OK;
    t->best = result.seconds;
    snprintf(t->text, CLAB_WHY_TEXT, "%s", text);
    return CLAB_OK;
}

static int try_link(struct trial *t, int link, bool latency)
{
    char text[CLAB_WHY_TEXT];
    struct clab_link *l = link_at(&t->changed, link);
    snprintf(text, sizeof text, "halving the %s of %s", latency ? "latency" : "beta", clab_why_link(t->net, link));
    if (latency)
        halve_latency(l);
    else
        clab_link_scale(l, 0.5);
    return try(t, text);
}

static int try_sharing(struct trial *t)
{
    struct clab_topology *topology = &t->changed.topology;
    if (topology->adapters > 0) {
        topology->adapters = 0;
        CLAB_TRY(try(t, "giving each rank an adapter of its own"));
    }
    if (topology->oversubscription > 1) {
        topology->oversubscription = 1;
        CLAB_TRY(try(t, "a fat tree without oversubscription"));
    }
    return CLAB_OK;
}

static int try_costs(struct trial *t, const struct seen *seen)
{
    if (seen->copies) {
        halve_copies(&t->changed);
        CLAB_TRY(try(t, "halving what a byte costs a core to copy"));
    }
    if (seen->reduces) {
        halve_reductions(&t->changed);
        CLAB_TRY(try(t, "halving what a byte costs to reduce"));
    }
    if (seen->overhead) {
        halve_overhead(&t->changed);
        CLAB_TRY(try(t, "halving the overhead of calls and stages"));
    }
    return CLAB_OK;
}

// Ranks that share a core wait for it without a sign of that on the path.
static int try_cores(struct trial *t)
{
    if (!clab_net_shares_machine(t->net, t->options->members, t->problem->nranks))
        return CLAB_OK;
    t->changed.machine_cores = 0;
    return try(t, "giving each rank a core of its own");
}

static int try_troubles(struct trial *t, const struct seen *seen)
{
    CLAB_TRY(try_cores(t));
    if (seen->delays) {
        t->changed_options.delays = NULL;
        CLAB_TRY(try(t, "ranks that begin together"));
    }
    if (seen->computes) {
        t->changed_options.compute = 0;
        CLAB_TRY(try(t, "computing nothing before the call"));
    }
    return seen->shares ? try_sharing(t) : CLAB_OK;
}

int clab_why_remedy(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                    const struct clab_net *net, const struct clab_sim_options *options, const struct clab_why *why,
                    char text[CLAB_WHY_TEXT], double *saves_p)
{
    const struct seen seen = observe(why);
    struct clab_net placed;
    struct clab_sim_options plain = *options;
    plain.record = NULL;
    plain.probed = (struct clab_placement_sample){0};
    clab_net_place(net, options->probed, &placed);
    struct trial t = {problem, algorithm, &placed, &plain, why->seconds, text, placed, plain};
    *text = '\0';
    for (int link = 0; link < LINKS; link++) {
        if (seen.latency[link])
            CLAB_TRY(try_link(&t, link, true));
        if (seen.bytes[link])
            CLAB_TRY(try_link(&t, link, false));
    }
    CLAB_TRY(try_costs(&t, &seen));
    CLAB_TRY(try_troubles(&t, &seen));
    *saves_p = why->seconds > 0 ? 1 - t.best / why->seconds : 0;
    return CLAB_OK;
}
