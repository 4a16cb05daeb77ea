// SPDX-License-Identifier: MIT
// What a step takes in virtual time, if its ranks do what a trace says.
//
// - Each rank has two streams: it computes, and it communicates. Collectives travel one after another, in the order in which
//   they were started; a rank's part of one begins when the rank has started it and the one before is over. What it takes
//   from there is the simulator's answer (sim/sim.h), which is told when each rank begins.
// - step_wait stops the rank's computing, until its part is over. step_scale and step_update take the time of the memory
//   that they read and write.
// - exposed: what a step takes longer than computing alone, which is the backward pass, and one scale and one update of
//   all. If ranks differ, the last one counts.
#pragma once

#include "labs/homework/h3/actions.h"

struct h3_time {
    double exposed;  // s
    double stalled;  // s of it, in which the backward pass stood still
    int collectives; // of rank 0
    int early;       // of these: started before the backward pass was over
    bool works_late; // rank 0 begins to scale or update only when all collectives are over
};

// The mean of all steps of a trace that is right (replay.h).
//   errors: CLAB_ENOMEM, those of clab_sim_run
int h3_price(const struct h3_case *c, const struct h3_trace *trace, struct h3_time *time_p);

// What is exposed if nobody thinks, and if one does. s
struct h3_bounds {
    double none; // one collective for all, after the backward pass
    double each; // one per parameter
    double best; // the least of all caps: a bucket is sent when it has so many bytes, and updated when it is there
    size_t cap;  // of the best, in bytes
    int buckets; // likewise
};
//   errors: as h3_price
int h3_bound(const struct h3_case *c, struct h3_bounds *bounds_p);
// What is exposed if a bucket is sent when it has all bytes / `parts`.  errors: as h3_price
int h3_fixed(const struct h3_case *c, double parts, double *exposed_p);

// Which part of a network's points a time is worth: 1 for the best or 3 % more, 0 for half as much again or for one
// collective after the pass.
double h3_share(const struct h3_bounds *bounds, double exposed);

// h3_network for the first of the seeds that follow from `seed` on which thinking pays: one collective for all exposes half
// as much again as the best, or more, and one per parameter a tenth more; and so do parts of all bytes that are good on
// the other two networks (a third more).
//   errors: as h3_price, CLAB_EINVAL (there is none, logged)
int h3_choose_network(int which, uint64_t seed, struct h3_case *c, struct h3_bounds *bounds_p);
