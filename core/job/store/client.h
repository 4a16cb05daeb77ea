// SPDX-License-Identifier: MIT
// A member's end of its connection to the store.
//
// - Every call reads all messages that have come, and keeps them until the caller asks for them.
// - If the store has ended or no longer answers, one line says so. All waits then end with CLAB_EPEER, and every other
//   rank counts as LOST.
#pragma once

#include "core/job/exchange.h"
#include "core/job/store/store.h"

struct store_client;

// Where the store is, and who joins it.
struct store_ticket {
    char host[CLAB_HOST_BYTES];
    int port;
    struct store_job job;
    int member;
    double timeout; // seconds that any wait may last
};

// Connect and join; wait for a store that is not there yet.
//   errors: CLAB_ETIMEOUT, CLAB_EINVAL (refused, or no such host), CLAB_ESYS, CLAB_ENOMEM; one line with the remedy
int store_client_join(const struct store_ticket *ticket, struct store_client **client_p);
// Send the leave message and close. NULL is fine.
void store_client_leave(struct store_client *client);
// Close this process's copy of the connection; another process keeps its own.
void store_client_forget(struct store_client *client);

// The exchange of struct clab_bootstrap.  mine: (bytes); all: (n, bytes)
int store_client_exchange(struct store_client *client, struct clab_fence fence, const void *mine, size_t bytes,
                          void *all, struct exchange_progress progress);

// notify, next_notice and presence of struct clab_bootstrap.
void store_client_notify(struct store_client *client, const struct clab_notice *notice);
bool store_client_next_notice(struct store_client *client, struct clab_notice *notice_p);
enum clab_presence store_client_presence(struct store_client *client, int rank);

// ---- for launchers of nodes ----------------------------------------------------------------------------------

// The descriptor to poll(2) for, and when to look at the latest (clab_now).
int store_client_fd(const struct store_client *client);
double store_client_next(const struct store_client *client);
struct store_end {
    int node, rank; // the first that failed; -1: none, or the launcher itself
    int status;
};
// Read what has come. Whether the job is over; if the store itself has ended: with status 1 and no node.
bool store_client_look(struct store_client *client, struct store_end *end_p);
// Report that the process of `rank` has ended; that all of this node have.
void store_client_say_ended(struct store_client *client, int rank, int status);
void store_client_say_done(struct store_client *client);
