// SPDX-License-Identifier: MIT
// Endpoints: one per communicator.
//
// - Opening returns when every member is connected with every other. A rank that went on earlier might fail and close
//   while others still connect. The lower rank of each pair connects. If both connected by their first messages, the
//   second connection would be refused; `net` 1.17 remembers that connection beyond the end of the endpoint, and
//   crashes at its next event.
// - A message that has been sent may not have arrived, and freeing the endpoint would drop it. So a closed endpoint
//   stays, and the domain's other calls make progress on it. It sends BYE to each peer with which it has exchanged
//   messages, and is freed when each of them has sent BYE, too: then no message is under way.
// - The endpoint does not wait for the BYE of a peer that has left or is lost.
// - After a communicator has failed, the provider may still own buffers. Only freeing the endpoint makes sure that it
//   does not write to them, so a failed endpoint is freed at once. It sends BYE if that is possible without waiting.
//   Else its peers wait until this rank leaves the job or their timeout expires, and they wait only in detach.

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/variables.h"
#include "backends/ofi/connections.h"
#include "backends/ofi/wire.h"

#define LAST_SECONDS 1.0 // for the peers' BYE, after a failure

enum { NAME_BYTES = 252 };
static const double last_words = 2; // s that the messages of a rank that is closing its job may need

// What ranks exchange about their endpoints.
struct address {
    int node, core; // its host, and its core there; -1: it has no core of its own
    struct ofi_key key;
    uint32_t bytes;
    union {
        char bytes[NAME_BYTES];
        struct sockaddr ip; // where it is one
    } name;
};

// ---- life ----------------------------------------------------------------------------------------------------

static void free_early(struct ofi_early *early)
{
    for (struct ofi_early *next; early; early = next) {
        next = early->next;
        free(early);
    }
}

static void close_fid(struct fid *fid)
{
    const int err = fid ? fi_close(fid) : 0;
    if (err)
        clab_debug("ofi: closing: %d", err);
}

static void drop(struct ofi_endpoint *e, const struct ofi_request *request)
{
    if (request->registration)
        ofi_registrations_drop(&e->domain->registrations, request->registration);
}

// Of requests, those that are still under way after a failure.
static void drop_registrations(struct ofi_endpoint *e)
{
    for (int i = 0; i < e->npool && e->pooled; i++)
        drop(e, &e->pooled[i]);
    for (const struct ofi_request *request = e->requests; request; request = request->made)
        drop(e, request);
}

static void release(struct ofi_endpoint *e)
{
    ofi_packets_forget(e);
    close_fid(e->ep ? &e->ep->fid : NULL);
    close_fid(e->cq ? &e->cq->fid : NULL);
    close_fid(e->av ? &e->av->fid : NULL);
    drop_registrations(e);
    ofi_blocks_free(e);
    for (size_t i = 0; e->lanes && i < (size_t)e->nranks * CLAB_LANES; i++) {
        free_early(e->lanes[i].eager);
        free_early(e->lanes[i].readies);
    }
    ofi_memory_free(&e->domain->base, e->pool);
    free(e->pooled);
    free(e->peers);
    free(e->lanes);
    free(e);
}

static struct ofi_endpoint *create(struct ofi_domain *domain, const struct clab_group *group)
{
    struct ofi_endpoint *e = calloc(1, sizeof *e);
    const size_t n = (size_t)group->nranks;
    const int others = group->nranks - 1;
    if (!e)
        return NULL;
    e->domain = domain;
    e->rank = group->rank;
    e->nranks = group->nranks;
    e->inject_bytes = domain->fabric.info->tx_attr->inject_size;
    if (e->inject_bytes > OFI_EAGER_BYTES)
        e->inject_bytes = OFI_EAGER_BYTES;
    e->work_end = &e->work;
    e->npool = OFI_POOL * (others < OFI_POOL_PEERS ? others : OFI_POOL_PEERS);
    e->peers = calloc(n, sizeof *e->peers);
    e->lanes = calloc(n * CLAB_LANES, sizeof *e->lanes);
    e->pooled = calloc((size_t)e->npool + 1, sizeof *e->pooled);
    void *pool = NULL;
    if (!e->peers || !e->lanes || !e->pooled ||
        ofi_memory_alloc_sparse(&domain->base, (size_t)(e->npool + 1) * OFI_POOLED_STRIDE, &pool)) {
        release(e);
        return NULL;
    }
    e->pool = pool;
    for (int r = 0; r < group->nranks; r++)
        e->peers[r].job_rank = group->ranks[r];
    return e;
}

// ---- opening -------------------------------------------------------------------------------------------------

static int refuse(const struct ofi_endpoint *e, const char *what, int err)
{
    clab_error("ofi: %s: %s", what, e->domain->fabric.library->strerror(-err));
    return ofi_err(-err);
}

// Room for all that an endpoint may have with the provider at once. Not all queues can be slept on.
static int open_queue(struct ofi_endpoint *e)
{
    const struct fi_info *info = e->domain->fabric.info;
    struct fi_cq_attr attr = {
        .size = info->tx_attr->size + info->rx_attr->size,
        .format = FI_CQ_FORMAT_TAGGED,
        .wait_obj = FI_WAIT_UNSPEC,
    };
    e->sleeps = true;
    int err = fi_cq_open(e->domain->fabric.domain, &attr, &e->cq, NULL);
    if (!err)
        return 0;
    e->sleeps = false;
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(e->domain->fabric.domain, &attr, &e->cq, NULL);
}

static int open_objects(struct ofi_endpoint *e)
{
    const struct ofi_fabric *f = &e->domain->fabric;
    struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = (size_t)e->nranks};
    int err = open_queue(e);
    if (!err)
        err = fi_av_open(f->domain, &attr, &e->av, NULL);
    if (!err)
        err = fi_endpoint(f->domain, f->info, &e->ep, NULL);
    if (!err)
        err = fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!err)
        err = fi_ep_bind(e->ep, &e->av->fid, 0);
    if (!err)
        err = fi_enable(e->ep);
    return err ? refuse(e, "an endpoint can not be opened", err) : CLAB_OK;
}

static int fill_pool(struct ofi_endpoint *e)
{
    for (int i = 0; i < e->npool; i++) {
        e->pooled[i].kind = OFI_POOLED;
        e->pooled[i].memory = e->pool + (size_t)i * OFI_POOLED_STRIDE;
        e->pooled[i].bytes = OFI_POOLED_BYTES;
        if (!ofi_wire_post(e, &e->pooled[i])) {
            e->pooled[i].next = e->unposted;
            e->unposted = &e->pooled[i];
        }
    }
    return e->err;
}

// The core that this rank is pinned to; -1: it may run on several.
static int own_core(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) != 1)
        return -1;
    return sched_getcpu();
}

static bool is_elsewhere(const struct address *mine, const struct address *other)
{
    return mine->node != other->node || (mine->core >= 0 && other->core >= 0 && mine->core != other->core);
}

static int learn_addresses(struct ofi_endpoint *e, struct clab_group *group)
{
    struct address mine = {.node = e->domain->boot->node, .core = own_core(), .key = e->key},
                   *all = calloc((size_t)e->nranks, sizeof *all);
    size_t bytes = sizeof mine.name;
    int err = all ? CLAB_OK : CLAB_ENOMEM;
    if (!err && (err = fi_getname(&e->ep->fid, &mine.name, &bytes)))
        err = refuse(e, "an endpoint has no address", err);
    mine.bytes = (uint32_t)bytes;
    if (!err)
        err = group->exchange(group, &mine, sizeof mine, all);
    for (int r = 0; !err && r < e->nranks; r++) {
        e->peers[r].elsewhere = is_elsewhere(&mine, &all[r]);
        e->peers[r].key = all[r].key;
        e->peers[r].listens = ofi_address_name(&all[r].name.ip);
    }
    for (int r = 0; !err && r < e->nranks; r++)
        if (fi_av_insert(e->av, &all[r].name, 1, &e->peers[r].address, 0, NULL) != 1) {
            clab_error("ofi: the address of rank %d can not be used: do all ranks have the same --provider?", r);
            err = CLAB_ESYS;
        }
    free(all);
    return err;
}

static enum clab_presence presence(const struct ofi_endpoint *e, int peer)
{
    struct clab_bootstrap *boot = e->domain->boot;
    return boot->presence(boot, e->peers[peer].job_rank);
}

static bool is_there(const struct ofi_endpoint *e, int peer)
{
    return presence(e, peer) < CLAB_LEFT;
}

// Send a first message to each higher rank, and await one from each lower rank.
//   *missing_p: a rank without a connection so far; -1: none
static void greet(struct ofi_endpoint *e, int *missing_p)
{
    *missing_p = -1;
    for (int r = 0; r < e->nranks; r++) {
        if (r > e->rank && !e->peers[r].met)
            ofi_wire_control(e, r, OFI_TAKEN, 0, 0, 0);
        if (r != e->rank && !e->peers[r].met)
            *missing_p = r;
    }
}

// Look up this rank's own addresses of the connections that it has made.
static void find_made(struct ofi_endpoint *e)
{
    struct ofi_connection *list;
    const int n = ofi_connections_list(&list);
    for (int r = e->rank + 1; r < e->nranks; r++)
        e->peers[r].made = ofi_connections_from(list, n, e->peers[r].listens);
    free(list);
    e->knows_made = true;
}

// Tell each rank that we are connected with all, and the address of our connection; await the same from each.
//   *missing_p: a rank that has not answered; -1: none
static void settle(struct ofi_endpoint *e, int *missing_p)
{
    *missing_p = -1;
    for (int r = 0; r < e->nranks; r++) {
        struct ofi_peer *peer = &e->peers[r];
        if (r == e->rank)
            continue;
        if (!peer->knows)
            peer->knows = ofi_wire_control(e, r, OFI_TAKEN, 0, 0, OFI_HAS_MET_ALL | peer->made << 1);
        if (!peer->knows || !peer->settled)
            *missing_p = r;
    }
}

// Whether all ranks are connected with all. Until then no rank may go on: if it failed, it would close connections that
// others still wait for.
static bool is_connected(struct ofi_endpoint *e, int *missing_p)
{
    greet(e, missing_p);
    if (*missing_p < 0 && !e->knows_made)
        find_made(e);
    if (*missing_p < 0)
        settle(e, missing_p);
    return *missing_p < 0;
}

static int connect_all(struct ofi_endpoint *e)
{
    double deadline = clab_now() + e->domain->boot->timeout;
    int missing;
    for (unsigned fruitless = 0; !is_connected(e, &missing); fruitless++) {
        if (fruitless < OFI_YIELDS) {
            ofi_progress(e);
            sched_yield();
        } else {
            ofi_progress_sleep(e);
        }
        if (e->err)
            return e->err;
        if (presence(e, missing) == CLAB_LEAVING) // it has failed; its earlier messages may be on their way
            deadline = fmin(deadline, clab_now() + last_words);
        if (!is_there(e, missing) || (clab_now() > deadline && presence(e, missing) >= CLAB_LEAVING))
            return CLAB_EPEER;
        if (fruitless % 16 == 0 && clab_now() > deadline) {
            clab_error("ofi: no connection with rank %d within %g s: can it be reached by the chosen --interface?",
                       e->peers[missing].job_rank, e->domain->boot->timeout);
            return CLAB_ETIMEOUT;
        }
    }
    return CLAB_OK;
}

// All members are connected. What a provider has no sockets for, or the system no filter, stays as it was.
static void let_nobody_else_in(struct ofi_endpoint *e)
{
    struct ofi_connection *list;
    const int n = ofi_connections_list(&list);
    uint64_t *members = calloc((size_t)e->rank + 1, sizeof *members);
    for (int r = 0; r < e->rank && members; r++) // the others were connected by us
        members[r] = e->peers[r].came;
    if (!members || !ofi_connections_keep(list, n, e->peers[e->rank].listens, members, e->rank))
        clab_debug("ofi: others than members may still connect to this rank's endpoint");
    free(members);
    free(list);
}

int ofi_endpoint_open(struct clab_domain *base, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct ofi_domain *domain = (struct ofi_domain *)base;
    struct ofi_endpoint *e = create(domain, group);
    int err = e ? ofi_key_draw(domain->fabric.tag_bits, &e->key) : CLAB_ENOMEM;
    if (!err)
        err = open_objects(e);
    if (!err)
        err = fill_pool(e);
    if (!err)
        err = learn_addresses(e, group);
    if (!err)
        err = connect_all(e);
    if (err) {
        if (e)
            release(e);
        return err;
    }
    if (!clab_variable_is_set(CLAB_VARIABLE_OFI_LISTEN)) // for tests
        let_nobody_else_in(e);
    e->next = domain->endpoints;
    domain->endpoints = e;
    *endpoint_p = &e->base;
    return CLAB_OK;
}

// ---- closing -------------------------------------------------------------------------------------------------

// Send BYE to `peer`. Returns whether it need not be tried again.
static bool is_bye_sent(struct ofi_endpoint *e, int peer)
{
    return !is_there(e, peer) || ofi_wire_control(e, peer, OFI_BYE, 0, 0, 0) || e->err;
}

void ofi_bye_push(struct ofi_endpoint *e, struct ofi_op *op)
{
    if (is_bye_sent(e, op->peer))
        ofi_op_give(e, op);
    else
        ofi_work_add(e, op);
}

// Allocates only if BYE can not be sent at once: peers of a rank without memory would else wait for its BYE.
static void send_bye(struct ofi_endpoint *e, int peer)
{
    e->peers[peer].parted = true;
    if (is_bye_sent(e, peer))
        return;
    struct ofi_op *op = ofi_op_take(e);
    if (!op)
        return;
    op->kind = OFI_GOODBYE;
    op->peer = peer;
    ofi_work_add(e, op);
}

// Also to peers whose first message came only after the close.
static void send_byes(struct ofi_endpoint *e)
{
    for (int r = 0; r < e->nranks; r++)
        if (e->peers[r].met && !e->peers[r].parted && r != e->rank)
            send_bye(e, r);
}

static bool is_awaited(const struct ofi_endpoint *e)
{
    if (e->work || e->sending)
        return true;
    for (int r = 0; r < e->nranks; r++)
        if (e->peers[r].met && !e->peers[r].gone && r != e->rank && is_there(e, r))
            return true;
    return false;
}

bool ofi_closing_progress(struct ofi_domain *domain)
{
    for (struct ofi_endpoint **link = &domain->closing, *e; (e = *link);) {
        ofi_progress(e);
        ofi_packets_flush(&domain->base);
        if (!ofi_packets_wait(e))
            send_byes(e);
        if (!e->err && is_awaited(e)) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        release(e);
    }
    return domain->closing != NULL;
}

void ofi_endpoint_close(struct clab_endpoint *base, bool failed)
{
    struct ofi_endpoint *e = (struct ofi_endpoint *)base;
    struct ofi_domain *domain = e->domain;
    struct ofi_endpoint **link = &domain->endpoints;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    ofi_packets_flush(base->domain);
    if (failed || e->err || e->under_way) {
        domain->has_failed = true;
        send_byes(e);
        release(e);
        return;
    }
    e->next = domain->closing;
    domain->closing = e;
    ofi_closing_progress(domain);
}

void ofi_closing_finish(struct ofi_domain *domain)
{
    const double timeout = domain->boot->timeout;
    const double limit = domain->has_failed && timeout > LAST_SECONDS ? LAST_SECONDS : timeout;
    const double deadline = clab_now() + limit;
    for (unsigned fruitless = 0; ofi_closing_progress(domain); fruitless++) {
        if (fruitless % 16 == 0 && clab_now() >= deadline) {
            clab_warn("ofi: not all peers have closed their endpoints within %g s: this rank leaves without waiting",
                      limit);
            break;
        }
        if (fruitless < OFI_YIELDS)
            sched_yield();
        else
            ofi_progress_sleep(domain->closing);
    }
    for (struct ofi_endpoint *e; (e = domain->closing);) {
        domain->closing = e->next;
        release(e);
    }
}
