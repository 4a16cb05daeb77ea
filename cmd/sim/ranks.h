// SPDX-License-Identifier: MIT
// What `commlab sim` says of single ranks: which begin late, and on which node each is.
#pragma once

#include "cmd/sim/print.h"

enum { RANKS_AT_MOST = 1 << 24, SECONDS_AT_MOST = 3600 };

// Values of --delay and --order; `into` is a struct sim_request.  errors: CLAB_EINVAL (logged)
int sim_take_delay(const char *flag, const char *text, void *into);
int sim_take_order(const char *flag, const char *text, void *into);

// Once the number of ranks, and the network, is known.  errors: CLAB_EINVAL (logged), CLAB_ENOMEM
int sim_set_delays(struct sim_request *r);
int sim_set_order(struct sim_request *r);
