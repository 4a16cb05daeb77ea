// SPDX-License-Identifier: MIT
// LogGP's four figures, as a network has them: every pair of ranks alike.
// Source: Alexandrov, Ionescu, Schauser and Scheiman 1995.
#pragma once

#include "sim/net/net.h"

struct clab_loggp {
    double latency;  // L, s
    double overhead; // o, s of a core for a message, at each end
    double gap;      // g, s from the begin of a message to the next one of the same adapter
    double byte;     // G, s/B after the first
    bool core;       // the receiver's core is busy while bytes come in (LogGOPSim)
};

// Those of `net`, the shipped network loggp or one like it; and set them.
struct clab_loggp clab_net_loggp(const struct clab_net *net);
void clab_net_set_loggp(struct clab_net *net, const struct clab_loggp *loggp);
