// SPDX-License-Identifier: MIT
// A rank's clock in virtual time: it starts at 0, and moves only by the calls below.
//
// - Messages of a program's own (sends and receives) keep a port busy at either end, as in the engines (price.h): a
//   port in the node, one to others, or the core for both. Collectives are the engines' (sim.h), and have ports of
//   their own.
// - A message carries a stamp: when its sender's port let it go. Both ends reckon from it by the network's description.
// - Not modelled: a sender that waits for its receiver (`waits`) is released with its last byte, `burst` is none, and
//   links that several ranks share are each one's own.
// - Times lie on a grid of 2^-46 s (14 fs), so that sums of them are exact up to 128 s, and the same pattern of ranks
//   that comes again, later, is the same to the bit; beyond 128 s doubles round.
#pragma once

#include "sim/net/net.h"

struct clab_clock {
    const struct clab_net *net;
    int rank;             // of the network
    double now;           // s
    double slowness;      // this rank's work takes so many times as long as the network says: a straggler; else 1
    double core;          // until when it is busy, where it does the work of ports
    double out[2], in[2]; // likewise the ports: in the node, to others
};

// What a message carries, in s.
struct clab_stamp {
    double head; // when its first part is at the receiver's port
    double last; // when its last byte can be there at the earliest
};

// To the grid.
double clab_clock_round(double seconds);

// It is no earlier than `when`.
void clab_clock_reach(struct clab_clock *clock, double when);

// Work of this rank (clab_net_compute).  errors: CLAB_ENOENT, CLAB_EINVAL (logged)
int clab_clock_compute(struct clab_clock *clock, enum clab_precision precision, double flop, double bytes);

// A message of `bytes` to `peer` begins now; when the sender is done with it. The clock stays.
double clab_clock_send(struct clab_clock *clock, int peer, size_t bytes, struct clab_stamp *stamp_p);
// Receive a message from `peer`, posted at `posted`.  Returns when it has arrived. The clock does not move.
double clab_clock_receive(struct clab_clock *clock, int peer, size_t bytes, double posted, struct clab_stamp stamp);

// What finding each other takes (nranks) ranks, of the network's ranks[]: nobody measures that in virtual time, so it
// is assumed. An address goes to the first and all go back to each, up and down a binomial tree: 2 ceil(log2 P)
// messages of the dearest link between them. No address takes time on the wire.
double clab_net_rendezvous(const struct clab_net *net, const int ranks[], int nranks);
// And what it takes member `mine` to connect with each of the others: a round trip each, one after another.
double clab_net_connect(const struct clab_net *net, const int ranks[], int nranks, int mine);
