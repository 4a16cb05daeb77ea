// SPDX-License-Identifier: MIT
// A student's cluster: a few hosts that share a slow network, and a job whose ranks are spread unevenly over them.
//
// - Everything follows from the seed, and is a round number, so that a student can read it and compute with it.
// - What a rank of the network is: host h has `slots` of them, h * slots and up; the job uses as many as it has ranks there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim/sim.h"

enum { H2_HOSTS = 4, H2_SLOTS = 6, H2_RANKS = 16 };

struct h2_cluster {
    int nranks, nhosts, slots;
    int size[H2_HOSTS];   // ranks on each host: at least 1, at most slots
    int host[H2_RANKS];   // of each rank
    int member[H2_RANKS]; // which of the network's ranks each is
    size_t bytes;         // of the array that is added up; 4 bytes per element
    int inside_gbs;       // GB/s in a host, and of a sum
    int alpha_us, mbits;  // between hosts: microseconds per message, Mbit/s
};

// Places for any number of ranks, for proofs: one to four hosts, in any order. Its network means nothing.
void h2_cluster_places(uint64_t seed, int nranks, struct h2_cluster *cluster_p);
// The same with as many ranks on each host, and the ranks in the order of hosts. nranks: a multiple of nhosts
void h2_cluster_even(int nranks, int nhosts, struct h2_cluster *cluster_p);
// Ranks in the order of hosts, on unequal hosts; and ranks dealt out to equal ones, as cards.
void h2_cluster_ordered(int nranks, struct h2_cluster *cluster_p);
void h2_cluster_dealt(int nranks, int nhosts, struct h2_cluster *cluster_p);

// A cluster drawn by a seed, without any judgement.
void h2_cluster_draw(uint64_t seed, struct h2_cluster *cluster_p);

// Its network as a text of sim/nets' format, with its places as comments.  room: 4096 is enough
void h2_cluster_text(const struct h2_cluster *cluster, const char *student, char *text_p, size_t room);
// "0 2 1 1 0": the host of each rank.  Returns text_p
const char *h2_cluster_hosts(const struct h2_cluster *cluster, char *text_p, size_t room);

// The network, read from its text. Freed by clab_net_free.
//   errors: those of clab_net_read
int h2_cluster_net(const struct h2_cluster *cluster, struct clab_net **net_p);
