// SPDX-License-Identifier: MIT
// Ways of a message that tests of engines share: no two parameters are one number, so that none passes for
// another.
#pragma once

#include <stdint.h>

#include "net.h"

static const struct clab_segment eager = {.name = "eager",
                                          .up_to = 700,
                                          .o_send = 0.3e-6,
                                          .o_recv = 0.7e-6,
                                          .o_both = 0.1e-6,
                                          .latency = 1.1e-6,
                                          .gap_send = 0.13e-9,
                                          .gap_recv = 0.17e-9,
                                          .fragment = 256};

static const struct clab_segment rendezvous = {.name = "rendezvous",
                                               .up_to = SIZE_MAX,
                                               .o_send = 0.5e-6,
                                               .o_recv = 1.3e-6,
                                               .latency = 2.9e-6,
                                               .gap_send = 0.11e-9,
                                               .gap_recv = 0.07e-9,
                                               .waits = true};

static const struct clab_segment socket_segment = {.name = "socket",
                                                   .up_to = SIZE_MAX,
                                                   .o_send = 1.1e-6,
                                                   .o_recv = 2.3e-6,
                                                   .o_both = 0.7e-6,
                                                   .latency = 3.7e-6,
                                                   .gap = 0.9e-6,
                                                   .gap_send = 0.9e-9,
                                                   .gap_recv = 0.8e-9,
                                                   .gap_both = 0.1e-9,
                                                   .buffers = true};
