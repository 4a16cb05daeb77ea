// SPDX-License-Identifier: MIT
// Members of a communicator among a network's ranks.

#include "sim/net/members.h"

#include "sim/net/topology.h"

int clab_members_reach(const int *members, int nranks)
{
    int reach = members ? 0 : nranks;
    for (int i = 0; i < nranks && members; i++)
        if (members[i] >= reach)
            reach = members[i] + 1;
    return reach;
}

static bool follow_each_other(const int *members, int nranks)
{
    for (int i = 1; i < nranks; i++)
        if (members[i] != members[0] + i)
            return false;
    return true;
}

// Ascending, no two in a node.
static bool have_nodes_of_their_own(const int *members, int nranks, int per_node)
{
    for (int i = 1; i < nranks; i++)
        if (members[i] / per_node <= members[i - 1] / per_node)
            return false;
    return true;
}

bool clab_members_are_plain(const int *members, int nranks, struct clab_net *net)
{
    const int per_node = net->ranks_per_node, reach = clab_members_reach(members, nranks);
    const bool follow = follow_each_other(members, nranks), even = clab_net_is_even(net, reach);
    if (follow && members[0] == 0)
        return true;
    if (clab_net_shares_cores(net, reach) || clab_net_shares_machine(net, members, nranks) || !even)
        return false;
    const bool in_a_node = members[0] / per_node == members[nranks - 1] / per_node;
    if (follow && (members[0] % per_node == 0 || in_a_node) && !clab_net_shares_links(net, reach))
        return true;
    if (per_node == 1 || net->topology.between != CLAB_BETWEEN_SWITCH ||
        !have_nodes_of_their_own(members, nranks, per_node))
        return false;
    net->ranks_per_node = 1;
    net->topology.inside = CLAB_INSIDE_SWITCH;
    net->topology.adapters = 0; // it has the node's for itself
    return true;
}

// Whether ranks of this party are on several nodes.
static bool leaves_its_node(int party, const int *parties, int njob, int per_node)
{
    int node = -1;
    for (int r = 0; r < njob; r++) {
        if (parties[r] != party)
            continue;
        if (node >= 0 && node != r / per_node)
            return true;
        node = r / per_node;
    }
    return false;
}

// Whether `rank` is the first of its party on its adapter.
static bool is_first_on_adapter(int rank, const int *parties, const struct clab_net *net)
{
    for (int r = rank - rank % net->ranks_per_node; r < rank; r++)
        if (parties[r] == parties[rank] && clab_net_adapter(net, r) == clab_net_adapter(net, rank))
            return false;
    return true;
}

static int parties_on(int adapter, int first, const int *parties, int njob, const struct clab_net *net)
{
    const int per_node = net->ranks_per_node, end = first + per_node < njob ? first + per_node : njob;
    int n = 0;
    for (int r = first; r < end; r++)
        n += parties[r] >= 0 && clab_net_adapter(net, r) == adapter && is_first_on_adapter(r, parties, net) &&
             leaves_its_node(parties[r], parties, njob, per_node);
    return n;
}

int clab_members_rivals(const int *members, int nranks, const int *parties, int njob, const struct clab_net *net)
{
    int most = 1;
    for (int i = 0; i < nranks && parties; i++) {
        const int rank = members[i], adapter = clab_net_adapter(net, rank);
        const int n = adapter < 0 ? 1 : parties_on(adapter, rank - rank % net->ranks_per_node, parties, njob, net);
        most = n > most ? n : most;
    }
    return most;
}

void clab_net_share(struct clab_net *net, int rivals)
{
    clab_link_scale(&net->inter, rivals);
    for (int i = 0; i < net->ntiers; i++)
        clab_link_scale(&net->tiers[i], rivals);
}
