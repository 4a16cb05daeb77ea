// SPDX-License-Identifier: MIT
// Routes. Numbers of shared links, in this order: two a PCIe switch, two an adapter, then what is between nodes.

#include "sim/net/topology.h"

// Counts of a file reach 2^30, so that products of two do not fit an int.
static long up_to_multiple(long n, long of)
{
    return (n + of - 1) / of;
}

static long nodes_of(const struct clab_net *net, int nranks)
{
    return up_to_multiple(nranks, net->ranks_per_node);
}

// ---- what is shared ------------------------------------------------------------------------------------------

static bool shares_adapters(const struct clab_net *net)
{
    return net->topology.adapters > 0 && net->topology.adapters < net->ranks_per_node;
}

static bool shares_leaves(const struct clab_net *net)
{
    return net->topology.between == CLAB_BETWEEN_FAT_TREE && net->topology.oversubscription > 1;
}

static long pcie_links(const struct clab_net *net, int nranks)
{
    const struct clab_topology *t = &net->topology;
    return t->inside == CLAB_INSIDE_PCIE ? 2 * nodes_of(net, nranks) * up_to_multiple(net->ranks_per_node, t->below)
                                         : 0;
}

static long adapter_links(const struct clab_net *net, int nranks)
{
    return shares_adapters(net) ? 2 * nodes_of(net, nranks) * net->topology.adapters : 0;
}

static int dimensions(const struct clab_topology *t)
{
    int n = 0;
    while (n < CLAB_NET_DIMENSIONS && t->size[n] > 0)
        n++;
    return n;
}

// Dragonfly: routers, and groups, that `nranks` ranks need.
static long groups_of(const struct clab_net *net, int nranks)
{
    const struct clab_topology *t = &net->topology;
    return up_to_multiple(nodes_of(net, nranks), (long)t->leaf * t->routers);
}

static long between_links(const struct clab_net *net, int nranks)
{
    const struct clab_topology *t = &net->topology;
    long nodes = nodes_of(net, nranks), groups;
    switch (t->between) {
    case CLAB_BETWEEN_SWITCH: return 0;
    case CLAB_BETWEEN_FAT_TREE: return shares_leaves(net) ? 2 * up_to_multiple(nodes, t->leaf) : 0;
    case CLAB_BETWEEN_TORUS:
        nodes = 1;
        for (int d = 0; d < dimensions(t); d++)
            nodes *= t->size[d];
        return 2 * dimensions(t) * nodes;
    case CLAB_BETWEEN_DRAGONFLY:
        groups = groups_of(net, nranks);
        return groups * t->routers * t->routers + groups * groups;
    }
    return 0;
}

int clab_net_shared_links(const struct clab_net *net, int nranks)
{
    const long links = pcie_links(net, nranks) + adapter_links(net, nranks) + between_links(net, nranks);
    return links < CLAB_SHARED_LINKS ? (int)links : CLAB_SHARED_LINKS;
}

double clab_net_shared_rate(const struct clab_net *net, int nranks, int link)
{
    const struct clab_topology *t = &net->topology;
    if (link < pcie_links(net, nranks))
        return 1 / net->intra.beta;
    if (link < pcie_links(net, nranks) + adapter_links(net, nranks) || t->between != CLAB_BETWEEN_FAT_TREE)
        return 1 / net->inter.beta;
    int adapters = t->adapters ? t->adapters : net->ranks_per_node;
    return (double)t->leaf * adapters / net->inter.beta / t->oversubscription;
}

// ---- routes --------------------------------------------------------------------------------------------------

struct route {
    int *links, n;
};

static void pass(struct route *r, int link)
{
    if (r->n < CLAB_ROUTE_LINKS)
        r->links[r->n] = link;
    r->n++;
}

static void route_inside(const struct clab_net *net, int a, int b, struct route *r)
{
    const struct clab_topology *t = &net->topology;
    if (t->inside != CLAB_INSIDE_PCIE)
        return;
    int per_node = (int)up_to_multiple(net->ranks_per_node, t->below), node = a / net->ranks_per_node;
    int from = a % net->ranks_per_node / t->below, to = b % net->ranks_per_node / t->below;
    if (from == to)
        return;
    pass(r, 2 * (node * per_node + from));
    pass(r, 2 * (node * per_node + to) + 1);
}

static int adapter_of(const struct clab_net *net, int rank)
{
    int place = rank % net->ranks_per_node, adapters = net->topology.adapters;
    return rank / net->ranks_per_node * adapters + (int)((long)place * adapters / net->ranks_per_node);
}

int clab_net_adapter(const struct clab_net *net, int rank)
{
    return shares_adapters(net) ? adapter_of(net, rank) : -1;
}

// The shorter way around; forwards, if both are as long.
static void route_torus(const struct clab_topology *t, int first, int from, int to, struct route *r)
{
    int n = dimensions(t), stride = 1;
    for (int d = 0; d < n; stride *= t->size[d], d++) {
        int size = t->size[d], at = from / stride % size, goal = to / stride % size;
        bool forwards = (goal - at + size) % size <= size / 2;
        while (at != goal) {
            pass(r, first + 2 * (from * n + d) + !forwards);
            int next = (at + (forwards ? 1 : size - 1)) % size;
            from += (next - at) * stride;
            at = next;
        }
    }
}

// Of the way between two routers of a group.
static int local_link(const struct clab_topology *t, int group, int from, int to)
{
    return (group * t->routers + from) * t->routers + to;
}

// From a router to the one that has the link to the other group, over it, and on from where it ends.
static void route_dragonfly(const struct clab_net *net, int nranks, int first, int from, int to, struct route *r)
{
    const struct clab_topology *t = &net->topology;
    int groups = (int)groups_of(net, nranks), global = first + groups * t->routers * t->routers;
    int a = from / t->leaf, b = to / t->leaf, group = a / t->routers, other = b / t->routers;
    int leaves = group == other ? b % t->routers : other % t->routers, enters = group % t->routers;
    if (a % t->routers != leaves)
        pass(r, first + local_link(t, group, a % t->routers, leaves));
    if (group == other)
        return;
    pass(r, global + group * groups + other);
    if (enters != b % t->routers)
        pass(r, first + local_link(t, other, enters, b % t->routers));
}

static void route_between(const struct clab_net *net, int nranks, int a, int b, struct route *r)
{
    const struct clab_topology *t = &net->topology;
    int first = (int)pcie_links(net, nranks), from = a / net->ranks_per_node, to = b / net->ranks_per_node;
    if (shares_adapters(net)) {
        pass(r, first + 2 * adapter_of(net, a));
        pass(r, first + 2 * adapter_of(net, b) + 1);
    }
    first += (int)adapter_links(net, nranks);
    if (shares_leaves(net) && from / t->leaf != to / t->leaf) {
        pass(r, first + 2 * (from / t->leaf));
        pass(r, first + 2 * (to / t->leaf) + 1);
    }
    if (t->between == CLAB_BETWEEN_TORUS)
        route_torus(t, first, from, to, r);
    if (t->between == CLAB_BETWEEN_DRAGONFLY)
        route_dragonfly(net, nranks, first, from, to, r);
}

int clab_net_route(const struct clab_net *net, int nranks, int a, int b, int links[CLAB_ROUTE_LINKS])
{
    struct route r = {links, 0};
    if (a / net->ranks_per_node == b / net->ranks_per_node)
        route_inside(net, a, b, &r);
    else
        route_between(net, nranks, a, b, &r);
    return r.n <= CLAB_ROUTE_LINKS ? r.n : -1;
}

// ---- how far -------------------------------------------------------------------------------------------------

static int torus_hops(const struct clab_topology *t, int from, int to)
{
    int hops = 0, stride = 1;
    for (int d = 0; d < dimensions(t); stride *= t->size[d], d++) {
        int size = t->size[d], ahead = (to / stride % size - from / stride % size + size) % size;
        hops += ahead <= size / 2 ? ahead : size - ahead;
    }
    return hops - 1;
}

static int dragonfly_hops(const struct clab_topology *t, int from, int to)
{
    int a = from / t->leaf, b = to / t->leaf, group = a / t->routers, other = b / t->routers;
    if (group == other)
        return a != b;
    return 1 + (a % t->routers != other % t->routers) + (b % t->routers != group % t->routers);
}

int clab_net_hops(const struct clab_net *net, int a, int b)
{
    const struct clab_topology *t = &net->topology;
    int from = a / net->ranks_per_node, to = b / net->ranks_per_node;
    if (from == to)
        return t->inside == CLAB_INSIDE_PCIE &&
               a % net->ranks_per_node / t->below != b % net->ranks_per_node / t->below;
    switch (t->between) {
    case CLAB_BETWEEN_SWITCH: return 0;
    case CLAB_BETWEEN_FAT_TREE: return from / t->leaf != to / t->leaf ? 2 : 0;
    case CLAB_BETWEEN_TORUS: return torus_hops(t, from, to);
    case CLAB_BETWEEN_DRAGONFLY: return dragonfly_hops(t, from, to);
    }
    return 0;
}

// ---- in short ------------------------------------------------------------------------------------------------

bool clab_net_shares_links(const struct clab_net *net, int nranks)
{
    bool several = nranks > net->ranks_per_node;
    return net->topology.inside == CLAB_INSIDE_PCIE ||
           (several && (shares_adapters(net) || between_links(net, nranks) > 0));
}

bool clab_net_shares_cores(const struct clab_net *net, int nranks)
{
    int on_a_node = nranks < net->ranks_per_node ? nranks : net->ranks_per_node;
    return net->cores_per_node > 0 && net->cores_per_node < on_a_node;
}

// Whether one of the members before the `i`-th has its core.
static bool finds_core_taken(const int *members, int i, int cores)
{
    for (int k = 0; k < i; k++)
        if (members[k] % cores == members[i] % cores)
            return true;
    return false;
}

bool clab_net_shares_machine(const struct clab_net *net, const int *members, int nranks)
{
    const int cores = net->machine_cores;
    if (cores == 0 || nranks > cores)
        return cores > 0;
    for (int i = 1; members && i < nranks; i++)
        if (finds_core_taken(members, i, cores))
            return true;
    return false;
}

bool clab_net_is_even(const struct clab_net *net, int nranks)
{
    bool several = nranks > net->ranks_per_node,
         is_tiered = net->ntiers > 0 && nranks > (long)net->tiers[0].nodes * net->ranks_per_node;
    return net->topology.inside != CLAB_INSIDE_PAIRS && net->topology.inside != CLAB_INSIDE_PCIE && !is_tiered &&
           (!several || net->topology.between == CLAB_BETWEEN_SWITCH || net->topology.hop == 0);
}
