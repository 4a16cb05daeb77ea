// SPDX-License-Identifier: MIT
// What the conductor of a communicator in virtual time keeps, and does: the programs of all ranks, the prices of what
// has been called before, one call.
#pragma once

#include <stdatomic.h>

#include "core/transport/backend.h"
#include "core/program/program.h"
#include "sim/net/net.h"

struct clab_score;

struct clab_score_traffic {
    size_t messages, bytes_sent, bytes_received;
};

// A member's part of a call, and what comes of it.
struct clab_score_member {
    const char *in;
    char *out;
    bool in_place;
    double when, due; // s: when it enters, and leaves
    struct clab_score_traffic traffic;
};

struct clab_score_call {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    enum clab_type type;
    enum clab_op op;
    const struct clab_net *net;
    const int *members; // (nranks) which of the network's ranks they are
    const struct clab_device *device;
    _Atomic uint32_t *beat;
};

//   errors: CLAB_ENOMEM
int clab_score_create(int nranks, struct clab_score **score_p);
void clab_score_free(struct clab_score *score); // NULL is fine

// (nranks), to be filled in before a call: in to when.
struct clab_score_member *clab_score_members(struct clab_score *score);
// Make all moves, and price them.  errors: CLAB_ENOMEM, CLAB_EINVAL, CLAB_EDEADLOCK (logged)
int clab_score_play(struct clab_score *score, const struct clab_score_call *call);
