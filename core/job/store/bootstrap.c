// SPDX-License-Identifier: MIT
// Joining a job over its store. Rank 0 starts the store if no launcher has, and publishes its address.

#include "core/job/bootstrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/job/launchers/siblings.h"
#include "core/job/store/host.h"
#include "core/job/store/client.h"
#include "core/job/store/proof.h"
#include "core/job/store/socket.h"

struct store_joined {
    struct membership member; // first, so that a pointer to it is one to all
    struct store_client *client;
    struct clab_host host;
};

static struct store_joined *joined_of(struct clab_bootstrap *boot)
{
    return (struct store_joined *)boot;
}

static int exchange(struct clab_bootstrap *boot, struct clab_fence fence, const void *mine, size_t bytes, void *all)
{
    const struct exchange_progress progress = {boot->meanwhile, boot->meanwhile_of};
    return store_client_exchange(joined_of(boot)->client, fence, mine, bytes, all, progress);
}

static void notify(struct clab_bootstrap *boot, const struct clab_notice *notice)
{
    store_client_notify(joined_of(boot)->client, notice);
}

static bool next_notice(struct clab_bootstrap *boot, struct clab_notice *notice_p)
{
    return store_client_next_notice(joined_of(boot)->client, notice_p);
}

static enum clab_presence presence(struct clab_bootstrap *boot, int rank)
{
    return store_client_presence(joined_of(boot)->client, rank);
}

static void refuse(struct clab_bootstrap *boot)
{
    (void)boot;
}

static void leave(struct membership *member)
{
    struct store_joined *joined = (struct store_joined *)member;
    store_client_leave(joined->client);
    clab_host_close(&joined->host);
    free(joined);
}

// ---- where the store is --------------------------------------------------------------------------------------

// Rank 0: listen at the launcher's address, or at any that all ranks can reach.
static int listen_for_all(const struct clab_launched *launched, struct store_ticket *ticket, int *listener_p)
{
    if (launched->host[0])
        return store_listen(launched->host, launched->port, "MASTER_PORT", listener_p, &ticket->port);
    const char *interface = clab_variable_text(CLAB_VARIABLE_INTERFACE);
    const bool is_alone = launched->local_ranks == launched->nranks;
    if (interface || !is_alone)
        CLAB_TRY(store_addresses(interface, ticket->host));
    else
        strcpy(ticket->host, "127.0.0.1");
    return store_listen(interface || is_alone ? ticket->host : "", 0, "CLAB_INTERFACE", listener_p, &ticket->port);
}

// *lifeline_p of store_start
static int start_store(const struct clab_launched *launched, struct store_ticket *ticket, int *lifeline_p)
{
    int listener;
    CLAB_TRY(listen_for_all(launched, ticket, &listener));
    const int err = store_start(&ticket->job, listener, lifeline_p);
    close(listener);
    return err;
}

static void write_place(const struct store_ticket *ticket, char text[CLAB_SHARED_BYTES])
{
    char token[2 * CLAB_TOKEN_BYTES + 1];
    launcher_hex(ticket->job.token, CLAB_TOKEN_BYTES, token);
    snprintf(text, CLAB_SHARED_BYTES, "%s %d %s", token, ticket->port, ticket->host);
}

static int read_place(const char *text, struct store_ticket *ticket)
{
    char token[2 * CLAB_TOKEN_BYTES + 1];
    if (sscanf(text, "%32s %d %255s", token, &ticket->port, ticket->host) == 3 &&
        launcher_unhex(token, ticket->job.token, CLAB_TOKEN_BYTES) == CLAB_OK)
        return CLAB_OK;
    clab_error(
        "the launcher has passed on a text of rank 0 that is not the address of the job's store: run the same version of "
        "commlab on all nodes");
    return CLAB_EPARSE;
}

// If the launcher names no address: rank 0 shares the token and its own address by the launcher's key-value store.
static int share_place(const struct clab_launched *launched, struct store_ticket *ticket)
{
    char text[CLAB_SHARED_BYTES] = "";
    if (launched->rank == 0)
        write_place(ticket, text);
    CLAB_TRY(clab_launcher_share(launched, ticket->timeout, text));
    return read_place(text, ticket);
}

static int find_store(const struct clab_launched *launched, struct store_ticket *ticket, int *lifeline_p)
{
    const bool starts = launched->rank == 0 && !launched->is_running, shares = !launched->host[0];
    if (starts && shares && getrandom(ticket->job.token, CLAB_TOKEN_BYTES, 0) != CLAB_TOKEN_BYTES) {
        clab_error("no random bytes for the job's token: %m");
        return CLAB_ESYS;
    }
    if (starts)
        CLAB_TRY(start_store(launched, ticket, lifeline_p));
    return shares ? share_place(launched, ticket) : CLAB_OK;
}

// ---- joining -------------------------------------------------------------------------------------------------

static int reach_store(const struct clab_launched *launched, double timeout, struct store_client **client_p)
{
    struct store_ticket ticket = {
        .port = launched->port, .job.nranks = launched->nranks, .member = launched->rank, .timeout = timeout};
    int lifeline = -1;
    CLAB_TRY(store_proof_ready()); // all ranks fail here, before any waits for another
    memcpy(ticket.job.token, launched->token, CLAB_TOKEN_BYTES);
    strcpy(ticket.host, launched->host);
    int err = find_store(launched, &ticket, &lifeline);
    if (err == CLAB_OK)
        err = store_client_join(&ticket, client_p);
    if (lifeline >= 0)
        close(lifeline); // from now on the members keep the store alive
    return err;
}

static void describe(const struct clab_launched *launched, double timeout, struct store_joined *joined)
{
    const struct clab_host *host = &joined->host;
    joined->member.leave = leave;
    joined->member.boot = (struct clab_bootstrap){
        .rank = launched->rank,
        .nranks = launched->nranks,
        .timeout = timeout,
        .by_hand = launched->is_by_hand,
        .node = host->node,
        .nnodes = host->nnodes,
        .local_rank = host->local_rank,
        .local_ranks = host->local_ranks,
        .locals = host->locals,
        .cores = host->cores,
        .job_cores = host->job_cores,
        .machines = host->machines,
        .crowded = host->crowded,
        .segment_fd = host->fd,
        .segment_bytes = host->control ? host->control->segment_bytes : 0,
        .segment_offset = host->control ? host->control->bytes : 0,
        .flights = host->flights,
        .exchange = exchange,
        .notify = notify,
        .next_notice = next_notice,
        .presence = presence,
        .refuse = refuse,
    };
}

int clab_store_join(const struct clab_launched *launched, double timeout, struct membership **member_p)
{
    struct store_joined *joined = calloc(1, sizeof *joined);
    if (!joined)
        return CLAB_ENOMEM;
    siblings_begin(launched);
    int err = reach_store(launched, timeout, &joined->client);
    if (err != CLAB_OK) {
        free(joined);
        return err;
    }
    err = clab_host_find(joined->client, launched->rank, launched->nranks, &joined->host);
    siblings_end();
    if (err != CLAB_OK) {
        store_client_leave(joined->client);
        free(joined);
        return err;
    }
    describe(launched, timeout, joined);
    *member_p = &joined->member;
    return CLAB_OK;
}
