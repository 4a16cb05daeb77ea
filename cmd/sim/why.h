// SPDX-License-Identifier: MIT
// More about one prediction of `commlab sim`: --why, the critical path, and --trace, a file for trace viewers. Both come
// from one recorded run of the engine.
#pragma once

#include "core/base/files/json.h"
#include "core/base/type.h"
#include "sim/net/net.h"
#include "sim/sim.h"

struct sim_why {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    const struct clab_net *net;
    const struct clab_sim_options *options;
    enum clab_type type;
    const char *command; // as typed: for the file
    bool why;
    const char *trace; // path, or NULL
};

// To the screen, or into `json` if that is not NULL.  errors: those of clab_sim_run, CLAB_EIO, CLAB_EUNSUPPORTED
int sim_why(const struct sim_why *w, struct clab_json *json);

// ---- trace.c -------------------------------------------------------------------------------------------------

struct clab_record;
//   errors: CLAB_EIO, CLAB_EUNSUPPORTED, CLAB_ENOMEM
int sim_trace_write(const struct sim_why *w, const struct clab_record *record);
