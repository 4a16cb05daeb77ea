// SPDX-License-Identifier: MIT
// The machine of homework h4: a cluster that is drawn from a seed, and that the simulator prices.
//
// - Hosts of 2 or 4 ranks. A message within a host costs alpha[0] + bytes * beta[0]; to another host alpha[1] + bytes *
//   beta[1]. A message to another host of more than `limit` bytes first asks whether there is room (rendezvous): that
//   costs `handshake` more. A byte added costs gamma.
// - A network file of the same machine is what a student gets to practise with.
#pragma once

#include <stdint.h>

#include "labs/homework/h4/h4.h"

enum { H4_INSIDE, H4_ACROSS, H4_LINKS };

struct h4_machine {
    int host;               // ranks per host
    double alpha[H4_LINKS]; // s
    double beta[H4_LINKS];  // s/B
    double gamma;           // s/B
    double handshake;       // s
    size_t limit;           // bytes: a power of two
};

// The machine of a seed, the same on every computer.
struct h4_machine h4_machine_draw(uint64_t seed);
// The time in s; NAN: no such allreduce can be priced.
double h4_machine_seconds(const struct h4_machine *machine, struct h4_question question);
// Write it as a network file (sim/nets/README.md).  errors: CLAB_EIO, CLAB_ENOMEM; logged
int h4_machine_write(const struct h4_machine *machine, const char *path);

const char *h4_algorithm_name(enum h4_algorithm algorithm); // "ring"
