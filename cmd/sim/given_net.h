// SPDX-License-Identifier: MIT
// The network that the command line of `commlab sim` names or describes: --net, the figures of flat, those of loggp.
#pragma once

#include <stdbool.h>

#include "core/base/options.h"
#include "sim/net/net.h"

enum given_receiver { GIVEN_ADAPTER, GIVEN_CORE, GIVEN_NOBODY };

struct given_net {
    const char *name;                    // NULL: none was given
    double alpha, beta, gamma;           // of flat; GIVEN_NONE: not given
    double latency, overhead, gap, byte; // of loggp
    enum given_receiver receiver;        // who is busy while bytes come in; GIVEN_NOBODY: not given
    bool is_flat;
};

#define GIVEN_NONE (-1.0)
#define GIVEN_NET_NONE                                                                                               \
    {                                                                                                                \
        .alpha = GIVEN_NONE, .beta = GIVEN_NONE, .gamma = GIVEN_NONE, .latency = GIVEN_NONE, .overhead = GIVEN_NONE, \
        .gap = GIVEN_NONE, .byte = GIVEN_NONE, .receiver = GIVEN_NOBODY                                              \
    }

extern const struct clab_option given_net_options[]; // for struct given_net

// Figures that belong to another network than the named one, or are missing, end the program with one line.
void given_net_complete(struct given_net *given);
// errors: as clab_net_load
int given_net_load(const struct given_net *given, struct clab_net **net_p);
