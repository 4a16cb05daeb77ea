// SPDX-License-Identifier: MIT
// A member's end of its connection to the store.
//
// - Whatever comes is read whenever there is an occasion, and kept until it is asked for.
// - When the store has ended, or does not answer any more, one line says so, all waits end with CLAB_EPEER, and every
//   other rank counts as LOST: none can be heard of.
#pragma once

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

// Connect and join; a store that is not there yet is waited for.
//   errors: CLAB_ETIMEOUT, CLAB_EINVAL (refused, or no such host), CLAB_ESYS, CLAB_ENOMEM; one line with the remedy
int store_client_join(const struct store_ticket *ticket, struct store_client **client_p);
// Say farewell and close. NULL is fine.
void store_client_leave(struct store_client *client);
// Close this process's copy: another one goes on with it.
void store_client_forget(struct store_client *client);

struct store_progress { // what to do while waiting, as in struct clab_bootstrap
    int (*meanwhile)(void *, bool *busy_p);
    void *of;
};
// The exchange of struct clab_bootstrap.  mine: (bytes); all: (n, bytes)
int store_client_exchange(struct store_client *client, struct clab_fence fence, const void *mine, size_t bytes,
                          void *all, struct store_progress progress);

// notify, next_notice and presence of struct clab_bootstrap.
void store_client_notify(struct store_client *client, const struct clab_notice *notice);
bool store_client_next_notice(struct store_client *client, struct clab_notice *notice_p);
enum clab_presence store_client_presence(struct store_client *client, int rank);

// ---- for launchers of nodes ----------------------------------------------------------------------------------

// What to wait for with poll(2), and until when (clab_now): then look.
int store_client_fd(const struct store_client *client);
double store_client_next(const struct store_client *client);
struct store_end {
    int node, rank; // that has failed first; -1: none, or the launcher itself
    int status;
};
// Read what there is; whether the job is over. The store's own end is one with status 1 and no node.
bool store_client_look(struct store_client *client, struct store_end *end_p);
// The process of `rank` has ended; all of this node's have.
void store_client_say_ended(struct store_client *client, int rank, int status);
void store_client_say_done(struct store_client *client);
