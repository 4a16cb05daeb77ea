// SPDX-License-Identifier: MIT
// Which ranks share a host, and the memory file that they share. Ranks find this out over the store if our launcher did
// not start them all on one host.
//
// - Ranks share a host if the boot id and the network, process and IPC namespaces are the same. So a container counts as
//   a host, and so does a network namespace.
// - Hosts are numbered by their lowest ranks. The lowest rank makes the memory file; the others open it in /proc. If
//   the system forbids that, all ranks go on without the file.
#pragma once

#include "core/job/pages/control.h"
#include "core/job/store/client.h"

struct clab_host {
    int node, nnodes; // of struct clab_bootstrap, as are the next
    int local_rank, local_ranks;
    int *locals;                  // (local_ranks)
    int cores;                    // that any of these may use
    int job_cores, machines;      // of struct clab_bootstrap
    bool crowded;                 // of struct clab_bootstrap
    int fd;                       // the memory file, or -1
    struct clab_control *control; // its control pages, or NULL
    char *flights;                // (local_ranks, CLAB_FLIGHT_BYTES); of this process alone where there is no file
};

// Collective over the job.
//   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT
int clab_host_find(struct store_client *client, int rank, int nranks, struct clab_host *host_p);
void clab_host_close(struct clab_host *host);
