// SPDX-License-Identifier: MIT
// Which ranks share a host, and the memory that they share: found out over the store, by ranks that no launcher of ours
// has given any.
//
// - Ranks are of one host if its boot, and their namespaces of the network, of processes and of IPC, are the same:
//   a container is a host of its own, and so is a network namespace.
// - Hosts are numbered by their lowest ranks. The lowest makes the memory file, the others open it by way of /proc;
//   where that is forbidden, all go on without.
#pragma once

#include "core/job/control.h"
#include "core/job/store/client.h"

struct clab_host {
    int node, nnodes; // of struct clab_bootstrap, as are the next
    int local_rank, local_ranks;
    int *locals;                  // (local_ranks)
    int cores;                    // that any of these may use
    int job_cores;                // of struct clab_bootstrap
    bool crowded;                 // of struct clab_bootstrap
    int fd;                       // the memory file, or -1
    struct clab_control *control; // its control pages, or NULL
    char *flights;                // (local_ranks, CLAB_FLIGHT_BYTES); of this process alone where there is no file
};

// Collective over the job.
//   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT
int clab_host_find(struct store_client *client, int rank, int nranks, struct clab_host *host_p);
void clab_host_close(struct clab_host *host);
