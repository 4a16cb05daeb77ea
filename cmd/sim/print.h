// SPDX-License-Identifier: MIT
// The question and the answers of `commlab sim`, and their printing.
#pragma once

#include "core/base/files/json.h"
#include "cmd/sim/given_net.h"
#include "core/base/type.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum { STRAGGLERS_AT_MOST = 64 };

struct sim_delay {
    int rank;
    double seconds;
};

struct sim_request {
    const char *collective, *algorithm;
    struct given_net given;
    const char *goal, *msccl;     // files
    struct clab_listing *listing; // the file's schedule; NULL: there is no file, or it is a program
    struct clab_goal *program;    // the operations of the file `goal`, as they are; NULL: its stages are wanted
    enum clab_type type;
    size_t bytes;
    bool is_chosen; // --algo auto: `algorithm` is the library's choice
    bool json, why;
    bool is_scattered; // --order scattered
    int *members;      // (nranks) then, or NULL
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

// To the screen: the question; one answer; several. They print the slowest rank's parts, but not with --why, which
// prints those of the critical path.
void sim_print_question(const struct sim_request *r);
void sim_print_answer(const struct sim_request *r, const struct sim_answer *a);
void sim_print_table(const struct sim_request *r, const struct sim_answer *answers, int n);
void sim_fill_json(struct clab_json *json, const struct sim_request *r, const struct sim_answer *a);
