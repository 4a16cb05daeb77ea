// SPDX-License-Identifier: MIT
// A launcher's part in a job of several nodes: there is one launcher a node, and they meet at the store, which that of
// node 0 starts.
//
// - Ranks are numbered node by node; the first nodes have one more where nnodes does not divide nranks.
// - A launcher tells the store how its ranks have ended, and hears from it that the job is over: when all nodes are
//   done, or when the first rank has failed or the first launcher is lost.
#pragma once

#include "core/job/job.h"
#include "core/job/store/client.h"

struct nodes {
    struct store_ticket ticket;
    struct store_client *client; // NULL: there is one node
    int lifeline;                // of the store; -1: another launcher has started it
    int master_port;             // MASTER_PORT, for the program's own use; MASTER_ADDR is ticket.host
};

// Start the store, or reach it, and wait until all launchers have come; a job of one node has no store, and no client.
//   errors: CLAB_EINVAL (what was asked for is wrong, or refused), CLAB_ETIMEOUT, CLAB_EPEER, CLAB_ESYS, with one line
int nodes_meet(const struct clab_launch *launch, const char *backend, struct nodes *nodes_p);
// Two processes have it now: this one has done with the connection, or with the store.
void nodes_forget_connection(struct nodes *nodes);
void nodes_forget_store(struct nodes *nodes);
// The job is over: wait for the store to end, if it is ours.
void nodes_end(struct nodes *nodes);
