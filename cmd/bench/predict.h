// SPDX-License-Identifier: MIT
// The simulator's time for a row. Its parameters come from a network description, by default this machine's profile;
// none of them was fitted to a collective.
#pragma once

#include "cmd/bench/row.h"
#include "cmd/bench/time.h"
#include "sim/sim.h"

struct bench_options;

// The network that predicts. NULL where the machine has no readable profile: `why` then says the reason.
//   errors: clab_net_load's of --net
int bench_predict_open(const struct bench_options *options, char why[CLAB_NET_WHY], struct clab_net **net_p);

// Seconds per call of such a batch, by the simulator on `net`; NAN if the simulator has no answer, or `net` is NULL.
double bench_predict(const struct clab_net *net, const struct bench_row *row, const struct bench_batch *batch);
