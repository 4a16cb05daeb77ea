// SPDX-License-Identifier: MIT
// Which shared links a message passes between two ranks of a network, and how far it is.
//
//     inside    switch: none shared          mesh: none          pairs: none
//               pcie:   0 1 | 2 3            a message from below one switch to below another passes the way up of the
//                        s     s             one and the way down of the other
//                         ╲   ╱
//     between   adapters: a node's ranks share its ways out and in
//               fat tree: a leaf switch's nodes share its ways up and down
//               torus:    a link to each neighbour, which all pass whose way leads over it
//               dragonfly: links between routers of a group, and between groups, one for each two
//
// - Shared links are numbered, so that no list of them is kept: their number, rate and route are computed.
// - Routes are the shortest, and always the same.
// Source: Leiserson 1985 (fat trees); Dally and Towles 2004 (dimension order routing); Kim, Dally, Scott and Abts 2008
// (dragonfly, minimal routes).
#pragma once

#include "sim/net/net.h"

enum { CLAB_ROUTE_LINKS = 64, CLAB_SHARED_LINKS = 1 << 26 }; // at most, on a way and in all

// The shared links from rank `a` to rank `b`; returns how many, or -1 if there are more than fit.
int clab_net_route(const struct clab_net *net, int nranks, int a, int b, int links[CLAB_ROUTE_LINKS]);
// How many shared links there are for `nranks` ranks, numbered from 0; CLAB_SHARED_LINKS: too many to number.
int clab_net_shared_links(const struct clab_net *net, int nranks);
// What a shared link can carry, in B/s.
double clab_net_shared_rate(const struct clab_net *net, int nranks, int link);

// The number of the adapter that a rank's messages to other nodes pass; -1: it has one for itself.
int clab_net_adapter(const struct clab_net *net, int rank);

// Switches, or nodes of a torus, that are passed between two ranks beyond the first.
int clab_net_hops(const struct clab_net *net, int a, int b);

// Whether ranks can get in each other's way on links; and on cores, whose number is said and smaller.
bool clab_net_shares_links(const struct clab_net *net, int nranks);
bool clab_net_shares_cores(const struct clab_net *net, int nranks);
// Whether some of these members (NULL: the first ranks) share a core with others, as containers of one machine do.
bool clab_net_shares_machine(const struct clab_net *net, const int *members, int nranks);
// Whether all ways between different nodes are alike, and all within a node.
bool clab_net_is_even(const struct clab_net *net, int nranks);
