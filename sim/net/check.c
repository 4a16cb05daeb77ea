// SPDX-License-Identifier: MIT
// Checks the sections of a network's description together: no key is missing, and none is without effect.

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/net/net.h"
#include "sim/net/keys.h"
#include "sim/net/topology.h"

static int refuse_segment(const char *path, const struct clab_link *link, const struct clab_segment *s, const char *why)
{
    clab_error("%s: [segment %s %s]: %s", path, link->name, s->name, why);
    return CLAB_EPARSE;
}

static bool costs_pulls(const struct clab_level *level)
{
    for (int i = 0; i < CLAB_TOUCHES * CLAB_LOADS; i++)
        if (level->pull[i / CLAB_LOADS][i % CLAB_LOADS] > 0)
            return true;
    return false;
}

static int check_segment(const char *path, const struct clab_net *net, const struct clab_link *link,
                         const struct clab_segment *s)
{
    if (s->buffers && (s->waits || s->memory || link->port != CLAB_PORT_DUPLEX))
        return refuse_segment(path, link, s, "what buffers has a duplex port, does not wait, and is not of memory");
    if ((s->gap_joined > 0 || s->o_after > 0 || s->gap_acks > 0 || s->gap_out > 0 || s->core_send > 0 ||
         s->core_recv > 0 || s->core_wait > 0) &&
        !s->buffers)
        return refuse_segment(
            path, link, s,
            "gap_joined, gap_acks, gap_out, o_after, core_send, core_recv and core_wait are of segments with `buffers = yes`");
    if (s->o_joined > 0 && !s->buffers && !s->memory)
        return refuse_segment(path, link, s, "o_joined is of segments with `buffers = yes` or `memory = yes`");
    if (s->o_joined > s->o_recv)
        return refuse_segment(path, link, s, "o_joined is a part of o_recv, and can not be more");
    if (s->gap_joined > s->gap)
        return refuse_segment(path, link, s, "gap_joined is a part of gap, and can not be more");
    if (clab_link_is_loggp(link) && (s->memory || s->o_both > 0 || s->gap_both > 0))
        return refuse_segment(path, link, s,
                              "a port of LogGP has o_send, o_recv, latency, gap, gap_send and gap_recv only");
    for (int i = 0; i < net->nlevels && s->memory; i++)
        if (!costs_pulls(&net->levels[i]))
            return refuse_segment(path, link, s, "of memory, so that every level needs its pull and pull_fresh");
    return CLAB_OK;
}

static int check_link(const char *path, const struct clab_net *net, struct clab_link *link)
{
    if (!link->present && link->nsegments) {
        clab_error("%s: there are segments of [link %s], but not the link itself", path, link->name);
        return CLAB_EPARSE;
    }
    for (int i = 1; i < link->nsegments; i++)
        if (link->segments[i].up_to <= link->segments[i - 1].up_to) {
            clab_error("%s: the segments of [link %s] must come by rising up_to", path, link->name);
            return CLAB_EPARSE;
        }
    if (link->nsegments && link->segments[link->nsegments - 1].up_to != SIZE_MAX) {
        clab_error("%s: the last segment of [link %s] must be for `up_to = any`", path, link->name);
        return CLAB_EPARSE;
    }
    for (int i = 0; i < link->nsegments; i++)
        CLAB_TRY(check_segment(path, net, link, &link->segments[i]));
    if (link->nsegments == 0) {
        link->segments[0] = clab_segment_hockney(link->alpha, link->beta);
        link->nsegments = 1;
    }
    return CLAB_OK;
}

// A key of [topology] is there if what it belongs to is, and not otherwise.
static int check_belongs(const char *path, const char *key, bool is_there, bool wanted, const char *of)
{
    if (is_there == wanted)
        return CLAB_OK;
    clab_error("%s: [topology]: `%s` %s `%s`", path, key,
               wanted ? "is missing, which belongs to" : "has no meaning without", of);
    return CLAB_EPARSE;
}

// Nodes that a torus has, and the longest of its ways.
static int check_torus(const char *path, const struct clab_net *net)
{
    long nodes = 1, way = 0;
    for (int d = 0; d < CLAB_NET_DIMENSIONS && net->topology.size[d]; d++) {
        nodes *= net->topology.size[d];
        way += net->topology.size[d] / 2;
        if (nodes > 1 << 20) {
            clab_error("%s: [topology]: a torus has at most %d nodes", path, 1 << 20);
            return CLAB_EPARSE;
        }
    }
    if (way > CLAB_ROUTE_LINKS) {
        clab_error("%s: [topology]: ways of this torus are up to %ld links long; at most %d can be simulated", path,
                   way, CLAB_ROUTE_LINKS);
        return CLAB_EPARSE;
    }
    if (net->nodes != nodes) {
        clab_error("%s: [net]: a torus of this size has %ld nodes: say `nodes = %ld`", path, nodes, nodes);
        return CLAB_EPARSE;
    }
    return CLAB_OK;
}

static int check_topology(const char *path, const struct clab_net *net)
{
    const struct clab_topology *t = &net->topology;
    bool tree = t->between == CLAB_BETWEEN_FAT_TREE, torus = t->between == CLAB_BETWEEN_TORUS;
    bool dragonfly = t->between == CLAB_BETWEEN_DRAGONFLY;
    CLAB_TRY(check_belongs(path, "below", t->below > 0, t->inside == CLAB_INSIDE_PCIE, "inside = pcie"));
    CLAB_TRY(check_belongs(path, "size", t->size[0] > 0, torus, "between = torus"));
    CLAB_TRY(check_belongs(path, "routers", t->routers > 0, dragonfly, "between = dragonfly"));
    CLAB_TRY(check_belongs(path, "leaf", t->leaf > 0, tree || dragonfly, "between = fat-tree` or `dragonfly"));
    CLAB_TRY(check_belongs(path, "oversubscription", t->oversubscription > 0, tree, "between = fat-tree"));
    if (net->pair.present != (t->inside == CLAB_INSIDE_PAIRS)) {
        clab_error("%s: section [link pair] belongs to `inside = pairs` of [topology], and it to that", path);
        return CLAB_EPARSE;
    }
    if (t->adapters > net->ranks_per_node) {
        clab_error("%s: [topology]: a node has %d adapters, more than its %d ranks can use", path, t->adapters,
                   net->ranks_per_node);
        return CLAB_EPARSE;
    }
    return torus ? check_torus(path, net) : CLAB_OK;
}

// Operations over LogGP's ports do not share what lies between them.
static int check_loggp(const char *path, const struct clab_net *net)
{
    const struct clab_topology *t = &net->topology;
    if (!clab_net_is_loggp(net) ||
        (t->inside == CLAB_INSIDE_SWITCH && t->between == CLAB_BETWEEN_SWITCH && !t->adapters))
        return CLAB_OK;
    clab_error("%s: [topology]: where a link has `port = loggp`, no links are shared: drop `inside`, `between` and "
               "`adapters`",
               path);
    return CLAB_EPARSE;
}

static int check_tiers(const char *path, struct clab_net *net)
{
    for (int i = 0; i < net->ntiers; i++) {
        if (i > 0 && net->tiers[i].nodes <= net->tiers[i - 1].nodes) {
            clab_error("%s: [tier %s]: tiers must come by rising nodes", path, net->tiers[i].name);
            return CLAB_EPARSE;
        }
        CLAB_TRY(check_link(path, net, &net->tiers[i]));
    }
    return CLAB_OK;
}

int net_check(struct clab_net *net, const char *path)
{
    const char *missing = !*net->title                                     ? "net"
                          : net->ranks_per_node > 1 && !net->intra.present ? "link intra"
                          : net->nodes != 1 && !net->inter.present         ? "link inter"
                                                                           : NULL;
    if (missing) {
        clab_error("%s: section [%s] is missing", path, missing);
        return CLAB_EPARSE;
    }
    CLAB_TRY(check_link(path, net, &net->intra));
    CLAB_TRY(check_link(path, net, &net->inter));
    CLAB_TRY(check_link(path, net, &net->pair));
    CLAB_TRY(check_tiers(path, net));
    CLAB_TRY(check_loggp(path, net));
    return check_topology(path, net);
}
