// SPDX-License-Identifier: MIT
// The ranks of a job that runs on this host, found from outside, and what travels between them.
//
// - A job is named by a process: its launcher or one of its ranks. Ranks are the ends of the launcher's process tree.
// - A rank's number is what its environment said when it was started (RANK); copies of a launcher have none there, and
//   are numbered in the order in which they were started.
// - A socket belongs to the rank that has it open (/proc/PID/fd), which only the job's own user may see.
#pragma once

#include <sys/types.h>

#include "cmd/netmon/sockets.h"

struct netmon_ranks {
    pid_t *pids;  // (n), by rank
    int *numbers; // (n): of its rank in the job, which may have ranks on other hosts
    int n;
};

// What one rank and one peer of it exchange: the sum over their sockets.
struct netmon_pair {
    int rank, peer; // numbers; peer -1: not a rank of this host; `remote` is where it is
    struct netmon_end remote;
    int sockets;
    uint64_t sent, received, backlog, retransmits;
    double rtt;           // s: the largest
    double busy, limited; // s: of the sockets that were busy the longest
};

// The ranks of the job that `name` means: a process's number, or a program's name.
//   errors: CLAB_ENOENT (there is none, or there are several; logged), CLAB_EIO (no /proc; logged), CLAB_ENOMEM
int netmon_ranks_find(const char *name, struct netmon_ranks *ranks_p);
void netmon_ranks_free(struct netmon_ranks *ranks);
// How many of them have not ended.
int netmon_ranks_alive(const struct netmon_ranks *ranks);

// The pairs of these ranks by rank and peer, from (n) sockets; for the caller to free.  errors: CLAB_ENOMEM
int netmon_pairs_sum(const struct netmon_ranks *ranks, const struct netmon_socket sockets[], int n,
                     struct netmon_pair **pairs_p, int *npairs_p);
