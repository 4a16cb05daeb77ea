// SPDX-License-Identifier: MIT
// The engines behind clab_sim_run. Each fills seconds, the parts, messages and peak_bytes of a result.
// The problem has been checked; options->footprint is set where the network has levels.
#pragma once

#include "sim/net/net.h"
#include "sim/sim.h"

// The cost times alpha, beta and gamma.
//   source: Hockney 1994; Thakur, Rabenseifner and Gropp 2005, section 4
int clab_engine_closed(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options,
                       struct clab_sim_result *result_p);

// How long it may take, in s: the cost times the dearest figures of the network. For the length of a tick only.
double clab_engine_estimate(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                            const struct clab_net *net, const struct clab_sim_options *options);

// Messages of all ranks in so many calls, at most: by the stated cost.
double clab_engine_messages(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int calls);

// Whether ranks are alike, so that a few can represent all. *period_p: the network looks the same from so many ranks
// further on. If not, `why` holds the reason.
bool clab_engine_folds(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options, int *period_p,
                       char why[CLAB_SIM_WHY]);

// A clock for each representative rank; repeated stages are multiplied.
//   errors: as clab_engine_full
int clab_engine_folded(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options, int period,
                       struct clab_sim_result *result_p);

// A clock per rank, over the stages.
//   errors: CLAB_ENOMEM, CLAB_EDEADLOCK (logged: which rank waits for what)
int clab_engine_full(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     const struct clab_net *net, const struct clab_sim_options *options,
                     struct clab_sim_result *result_p);

// The same in the order of time: the earliest event is handled first. Links and cores may be shared.
//   errors: as clab_engine_full
int clab_engine_events(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                       const struct clab_net *net, const struct clab_sim_options *options,
                       struct clab_sim_result *result_p);
