// SPDX-License-Identifier: MIT
// How the launchers of several nodes find each other (nodes.h).

#include "core/job/launch/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/job/store/proof.h"
#include "core/job/store/socket.h"

#define FENCE_KEY    UINT64_C(0x6e6f646573206172) // the key of the launchers' fence
#define LAST_SECONDS 8.0 // after the job is over, for the other nodes to end their ranks and for the store to see that

// What each launcher sends to the others.
struct plan {
    char backend[32];
    int32_t master_port; // node 0's counts
};

// A port of `host` that is free now.
static int find_port(const char *host, int *port_p)
{
    int fd;
    CLAB_TRY(store_listen(host, 0, "--master", &fd, port_p));
    close(fd);
    return CLAB_OK;
}

static int read_master(const char *text, char host[CLAB_HOST_BYTES], int *port_p)
{
    if (store_address_read(text, host, port_p) == CLAB_OK)
        return CLAB_OK;
    clab_error("--master '%s' is not HOST:PORT", text);
    return CLAB_EINVAL;
}

static int check(const struct clab_launch *launch, struct store_ticket *ticket)
{
    if (launch->node < 0 || launch->node >= launch->nnodes)
        clab_error("--nodes %d needs --node-rank K: the number of this node, from 0 to %d", launch->nnodes,
                   launch->nnodes - 1);
    else if (launch->nranks < launch->nnodes)
        clab_error("-n %d is the number of ranks on all nodes together: each of the %d nodes needs at least one",
                   launch->nranks, launch->nnodes);
    else if (!launch->master)
        clab_error("--nodes %d needs --master HOST:PORT: an address of node 0, and a port that is free there",
                   launch->nnodes);
    else
        return read_master(launch->master, ticket->host, &ticket->port);
    return CLAB_EINVAL;
}

static int start_store(struct nodes *nodes)
{
    int listener, port;
    CLAB_TRY(store_listen(nodes->ticket.host, nodes->ticket.port, "--master HOST:PORT", &listener, &port));
    const int err = store_start(&nodes->ticket.job, listener, &nodes->lifeline);
    close(listener);
    return err;
}

// Among the launchers: they are the members behind the ranks.
static int exchange(const struct nodes *nodes, const struct plan *mine, struct plan *plans)
{
    const int n = nodes->ticket.job.nnodes;
    int *members = malloc((size_t)n * sizeof *members);
    if (!members)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        members[i] = nodes->ticket.job.nranks + i;
    const struct clab_fence fence = {.ranks = members, .n = n, .key = FENCE_KEY};
    const int err =
        store_client_exchange(nodes->client, fence, mine, sizeof *mine, plans, (struct exchange_progress){0});
    free(members);
    return err;
}

static int agree(struct nodes *nodes, const char *backend)
{
    const int n = nodes->ticket.job.nnodes;
    struct plan mine = {.master_port = nodes->master_port}, *plans = calloc((size_t)n, sizeof *plans);
    snprintf(mine.backend, sizeof mine.backend, "%s", backend);
    int err = plans ? exchange(nodes, &mine, plans) : CLAB_ENOMEM;
    for (int i = 0; !err && i < n; i++)
        if (strcmp(plans[i].backend, mine.backend) != 0) {
            clab_error("node %d has --backend %s, this one %s: give all nodes the same", i, plans[i].backend,
                       mine.backend);
            err = CLAB_EINVAL;
        }
    if (!err)
        nodes->master_port = plans[0].master_port;
    free(plans);
    return err;
}

static int join(const struct clab_launch *launch, const char *backend, struct nodes *nodes)
{
    struct store_ticket *ticket = &nodes->ticket;
    CLAB_TRY(store_proof_ready());
    CLAB_TRY(clab_timeout_read(&ticket->timeout));
    CLAB_TRY(clab_launcher_token(ticket->job.token));
    ticket->job.nranks = launch->nranks;
    ticket->job.nnodes = launch->nnodes;
    ticket->member = launch->nranks + launch->node;
    if (launch->node == 0)
        CLAB_TRY(start_store(nodes));
    if (launch->node == 0)
        CLAB_TRY(find_port(ticket->host, &nodes->master_port));
    CLAB_TRY(store_client_join(ticket, &nodes->client));
    return agree(nodes, backend);
}

// One node: no store. But MASTER_ADDR and MASTER_PORT are for the program's own use.
static int stay_alone(const struct clab_launch *launch, struct nodes *nodes)
{
    if (launch->master)
        return read_master(launch->master, nodes->ticket.host, &nodes->master_port);
    strcpy(nodes->ticket.host, "127.0.0.1");
    return find_port("127.0.0.1", &nodes->master_port);
}

int nodes_meet(const struct clab_launch *launch, const char *backend, struct nodes *nodes_p)
{
    struct nodes nodes = {.lifeline = -1};
    int err = launch->nnodes > 1 ? check(launch, &nodes.ticket) : stay_alone(launch, &nodes);
    if (err == CLAB_OK && launch->nnodes > 1)
        err = join(launch, backend, &nodes);
    if (err != CLAB_OK) {
        store_client_leave(nodes.client);
        nodes_forget_store(&nodes);
        return err;
    }
    *nodes_p = nodes;
    return CLAB_OK;
}

void nodes_forget_connection(struct nodes *nodes)
{
    if (nodes->client)
        store_client_forget(nodes->client);
    nodes->client = NULL;
}

void nodes_forget_store(struct nodes *nodes)
{
    if (nodes->lifeline >= 0)
        close(nodes->lifeline);
    nodes->lifeline = -1;
}

void nodes_end(struct nodes *nodes)
{
    if (nodes->lifeline >= 0)
        store_await_end(nodes->lifeline, LAST_SECONDS);
    nodes->lifeline = -1;
}
