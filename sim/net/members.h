// SPDX-License-Identifier: MIT
// Which of a network's ranks take part: a communicator's members need not be the first ranks, one behind the other.
#pragma once

#include "sim/net/net.h"
#include "sim/sim.h"

// One beyond the last of the network's ranks that take part.
int clab_members_reach(const int *members, int nranks);

// Whether the network looks to these members as to its first ranks, so that nobody need ask who they are (and ranks
// that are alike can stand for each other). Where each has a node for itself, `net` becomes one of such nodes.
bool clab_members_are_plain(const int *members, int nranks, struct clab_net *net);

// How many communicators use the busiest of these members' shared adapters, where those that were split at the same time
// are all busy at the same time: at least 1. One whose members are all on one node uses none.
//   parties: (njob) the communicator of each of the network's first ranks, or -1; NULL: there is one communicator only
int clab_members_rivals(const int *members, int nranks, const int *parties, int njob, const struct clab_net *net);
// Let each of so many communicators have an equal part of what links between nodes carry.
void clab_net_share(struct clab_net *net, int rivals);
