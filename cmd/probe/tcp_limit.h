// SPDX-License-Identifier: MIT
// What plain TCP sockets give between ranks 0 and 1: what no backend over TCP can beat. Where the ranks of a host share
// cores, rank 0's neighbour may be on the same one: it is the last rank of rank 0's host then, not rank 1.
// - Both ways at once, from memory to memory, by one thread a rank that does nothing else; with the size of its calls
//   that suits this machine best. The best of a few rounds: what disturbs them is no limit.
// - The kernel's congestion control counts even on one host, so it is told, too.
#pragma once

#include <stddef.h>

#include "core/clab.h"

struct tcp_limit {
    double trip;         // s: half a round trip of 8 bytes; NAN: the two do not reach each other
    double rate;         // B/s each way, when so many bytes go both ways at once; NAN likewise
    size_t bytes;        // that were sent each way
    size_t call;         // bytes a system call at which that was
    char congestion[16]; // such as "cubic"; "" where it is not known
};

// Collective over `control`, a communicator of two ranks or more; meaningful at its rank 0.
//   address: of rank 0 as the other reaches it, a number, such as "127.0.0.1"
//   bytes:   to send each way at most; fewer where they need longer than tells the rate
//   errors: CLAB_EINVAL, CLAB_ENOMEM, those of collectives
int tcp_limit_measure(struct clab_job *job, struct clab_comm *control, const char *address, size_t bytes,
                      struct tcp_limit *limit_p);
