// SPDX-License-Identifier: MIT
// The machine card: the few numbers that predictions are computed with, of this machine's profile or of a network.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cmd/lab/asked.h"
#include "sim/net/net.h"

// NAN and 0: not known.
struct card_link {
    double alpha, beta; // s, s/B
};

struct card {
    char of[160];                     // "this machine (AMD EPYC, 2 cores), measured 2026-11-23"
    struct card_link inside, between; // ranks of a node, and of different ones; alpha NAN: there is none
    double gamma;                     // s/B
    double flops;                     // flop/s
    double line;                      // s: half a round trip of 8 bytes, as in profiles
    double copy;                      // s/B of the fastest copy; NAN: not known
    int cores;
    bool is_measured, is_emulated; // this machine's profile; a delayed wire between its ranks
    bool is_doubtful;              // a profile that can not be true
};

// What the card is of: a network ("machine": NULL), or the wire of one between this machine's ranks.
struct card_request {
    const char *backend, *net, *emulate; // NULL: this machine's usual backend, its profile, no wire
};

//   errors: CLAB_ENOENT (no profile; the line says to run commlab fit), CLAB_EPARSE, CLAB_EINVAL, CLAB_ENOMEM, logged
int card_read(const struct card_request *request, struct card *card_p);

// What the card allows a message. ranks: of the lab
void card_limits(const struct card *card, int ranks, struct prediction_limits *limits_p);
