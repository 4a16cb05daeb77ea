// SPDX-License-Identifier: MIT
// The chain: each rank passes the data on to the next. One lane takes P-1 rounds. L lanes follow each other down the
// chain: they take P-2+L rounds of 1/L of the bytes each. The more lanes, the nearer to the speed of a single copy.
//
//     round 0: 0 ─lane 0→ 1
//     round 1: 0 ─lane 1→ 1 ─lane 0→ 2
//     round 2: 0 ─lane 2→ 1 ─lane 1→ 2 ─lane 0→ 3
//
// Source: van de Geijn and Watts 1995 (pipelined broadcast); Pjesivac-Grbovic et al. 2007, "Performance analysis of MPI
// collective operations".

#include "core/schedule/build.h"

STAGE(broadcast)
{
    int v = mod(rank - problem->root, P);
    bool receives = v > 0, sends = v < P - 1;
    if (s >= receives + sends)
        return CLAB_DONE;
    out[0] = receives && s == 0 ? recv(v - 1, chunk(0)) : send(v + 1, chunk(0));
    return from_root(problem, 1, out);
}

COST(cost_broadcast)
{
    long sends = P > 1 ? L : 0;
    return (struct clab_cost){
        .rounds = P - 1, .serial = P - 1, .messages_max = sends, .sent_max = sends, .sent_total = L * (P - 1)};
}

const struct clab_algorithm clab_broadcast_chain = {
    .name = "chain",
    .title = "each rank hands on to the next, lane after lane",
    .source = "Pjesivac-Grbovic et al. 2007 (pipeline)",
    .collective = CLAB_BROADCAST,
    .default_lanes = 8,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = one,
    .stage = broadcast,
    .cost = cost_broadcast,
};
