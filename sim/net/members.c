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
    if (clab_net_shares_cores(net, reach) || !even)
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
