// SPDX-License-Identifier: MIT
// What `commlab sim` was asked, what it answers, and how that is printed.
#pragma once

#include "core/base/json.h"
#include "core/base/type.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum { STRAGGLERS_AT_MOST = 64 };

struct sim_delay {
    int rank;
    double seconds;
};

struct sim_request {
    const char *collective, *algorithm, *net_name;
    const char *goal, *msccl;     // files
    struct clab_listing *listing; // what was read from one; NULL: none
    enum clab_type type;
    size_t bytes;
    double alpha, beta, gamma;
    bool flat;      // one of alpha, beta, gamma was given
    bool is_chosen; // --algo auto: `algorithm` is what the library would take
    bool json, why;
    const char *trace, *command;
    int lanes;
    struct clab_problem problem; // lanes: 0 until the algorithm is known
    struct clab_sim_options options;
    struct clab_net *net;
    struct sim_delay stragglers[STRAGGLERS_AT_MOST];
    int nstragglers;
    double *delays; // (nranks) s, or NULL
};

struct sim_answer {
    const char *name; // the algorithm's
    int lanes;
    struct clab_sim_result result;
};

// To the screen: what was asked; one answer; several. Their parts are the slowest rank's; with --why those of the
// critical path follow, and these are left out.
void sim_print_question(const struct sim_request *r);
void sim_print_answer(const struct sim_request *r, const struct sim_answer *a);
void sim_print_table(const struct sim_request *r, const struct sim_answer *answers, int n);
void sim_fill_json(struct clab_json *json, const struct sim_request *r, const struct sim_answer *a);
