// SPDX-License-Identifier: MIT
// What an allreduce takes on a student's cluster, in virtual time: an algorithm, the best that the kit ships, and the
// reference of h2, whose time is a formula.
#pragma once

#include <stdint.h>

#include "core/schedule/schedule.h"
#include "labs/homework/h2/cluster.h"

// How good a solution can be. All in seconds.
struct h2_scale {
    double shipped;   // the best shipped algorithm, with the ranks where they are
    double ordered;   // the best shipped algorithm, if ranks were numbered in the order of hosts
    double reference;
    double bound;     // no allreduce is faster: what the adapters must carry
    char shipped_name[32], ordered_name[32];
};

// Time of `algorithm` on the cluster, of the problem's lanes and group.
//   members: which of the network's ranks take part (cluster->member)
//   errors:  those of clab_sim_run
int h2_price(const struct h2_cluster *cluster, const int members[], const struct clab_net *net,
             const struct clab_problem *problem, const struct clab_algorithm *algorithm, double *seconds_p);

// The time of the reference, by a formula; and a bound below which nobody can be.
double h2_reference(const struct h2_cluster *cluster, const struct clab_net *net);
double h2_bound(const struct h2_cluster *cluster, const struct clab_net *net);

// Price every shipped algorithm with 1, 2, 4, 8 and 16 lanes, and those of two levels with every size of a group.
//   errors: CLAB_ENOMEM, and those of h2_cluster_net
int h2_scale(const struct h2_cluster *cluster, struct h2_scale *scale_p);

// The cluster of a seed: the first that is drawn from it on which the reference is at least 15 % faster than all shipped
// algorithms, also with the ranks in the order of hosts, and 50 % with the ranks where they are.
//   errors: those of h2_scale
int h2_cluster_choose(uint64_t seed, struct h2_cluster *cluster_p, struct h2_scale *scale_p);
