// SPDX-License-Identifier: MIT
// A collective that the switches of a network perform (in_network.c): no schedule, and no rank that reduces.
#pragma once

#include "sim/sim.h"

bool clab_in_network_supports(enum clab_collective collective);

// Its time on `net`, by a formula.
//   errors: CLAB_EUNSUPPORTED (switches that do not reduce, another collective; logged), CLAB_EINVAL
int clab_sim_in_network(const struct clab_problem *problem, const struct clab_net *net, size_t element_bytes,
                        struct clab_sim_result *result_p);
