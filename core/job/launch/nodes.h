// SPDX-License-Identifier: MIT
// A launcher's part in a job of several nodes. There is one launcher per node. Node 0's launcher starts the store, and
// all connect to it.
//
// - Ranks are numbered node by node. If nnodes does not divide nranks, the first nodes have one more.
// - A launcher reports to the store how its ranks have ended. The store sends the end of the job: when all nodes are
//   done, or when the first rank has failed or the first launcher is lost.
#pragma once

#include "core/job/job.h"
#include "core/job/store/client.h"

struct nodes {
    struct store_ticket ticket;
    struct store_client *client; // NULL: there is one node
    int lifeline;                // of the store; -1: another launcher started it
    int master_port;             // MASTER_PORT, for the program's own use; MASTER_ADDR is ticket.host
};

// Start the store or connect to it, and wait for all launchers. A job of one node has no store and no client.
//   errors: CLAB_EINVAL (wrong options, or refused), CLAB_ETIMEOUT, CLAB_EPEER, CLAB_ESYS, with one line
int nodes_meet(const struct clab_launch *launch, const char *backend, struct nodes *nodes_p);
// Close this process's copy of the connection, or of the store's lifeline; another process keeps its own.
void nodes_forget_connection(struct nodes *nodes);
void nodes_forget_store(struct nodes *nodes);
// The job is over: wait for the store to end if this launcher started it.
void nodes_end(struct nodes *nodes);
