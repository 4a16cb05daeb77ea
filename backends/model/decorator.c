// SPDX-License-Identifier: MIT
// What both policies share (model.h): the domain, endpoints, and messages that travel with a stamp.

#include <stdlib.h>
#include <string.h>

#include "backends/model/coordinator.h"
#include "backends/model/model.h"
#include "sim/sim.h"

// ---- domain --------------------------------------------------------------------------------------------------

int model_domain_create(struct clab_bootstrap *boot, struct clab_domain *inner, struct clab_net *net,
                        struct model_domain **domain_p)
{
    CLAB_TRY(clab_net_check_ranks(net, boot->nranks));
    struct model_domain *domain = calloc(1, sizeof *domain);
    if (!domain)
        return CLAB_ENOMEM;
    domain->inner = inner;
    domain->net = net;
    domain->clock = (struct clab_clock){.net = net, .rank = boot->rank, .slowness = 1};
    domain->crowded = boot->crowded;
    domain->nranks = boot->nranks;
    *domain_p = domain;
    return CLAB_OK;
}

void model_detach(struct clab_domain *base)
{
    struct model_domain *domain = model_domain(base);
    domain->inner->backend->detach(domain->inner);
    clab_net_free(domain->net);
    free(domain);
}

int model_alloc(struct clab_domain *domain, size_t bytes, void **memory_p)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    return inner->backend->alloc(inner, bytes, memory_p);
}

void model_free(struct clab_domain *domain, void *memory)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    inner->backend->free(inner, memory);
}

bool model_reaches(struct clab_domain *domain, const void *memory)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    return inner->backend->reaches(inner, memory);
}

void model_describe(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p)
{
    struct clab_domain *inner = domain ? model_domain(domain)->inner : NULL;
    if (inner)
        inner->backend->describe(inner, text, room, is_fake_p);
    else
        clab_no_description(NULL, text, room, is_fake_p);
}

int model_host(const struct clab_domain *domain, int rank)
{
    return model_node_of(model_domain(domain)->net, rank);
}

size_t model_resent(const struct clab_domain *domain)
{
    return model_domain(domain)->resent;
}

double model_stall(struct model_domain *domain, size_t messages, uint64_t seed)
{
    const double stall = clab_net_stall(domain->net, messages, seed);
    domain->resent += stall > 0 ? (size_t)(stall / domain->net->resend + 0.5) : 0;
    return stall;
}

// ---- endpoint ------------------------------------------------------------------------------------------------

static void free_endpoint(struct model_endpoint *e)
{
    struct model_message *lists[] = {e->messages, e->spare};
    for (int i = 0; i < 2; i++)
        for (struct model_message *m = lists[i], *next; m; m = next) {
            next = m->next;
            free(m);
        }
    model_coordinator_free(e->coordinator);
    free(e->job_ranks);
    free(e);
}

int model_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct model_endpoint *e = calloc(1, sizeof *e);
    const size_t bytes = (size_t)group->nranks * sizeof *e->job_ranks;
    int err = e && (e->job_ranks = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = clab_endpoint_open(model_domain(domain)->inner, group, &e->inner);
    if (err) {
        if (e)
            free_endpoint(e);
        return err;
    }
    memcpy(e->job_ranks, group->ranks, bytes);
    e->domain = model_domain(domain);
    e->rank = group->rank;
    e->nranks = group->nranks;
    *endpoint_p = &e->base;
    return CLAB_OK;
}

void model_close(struct clab_endpoint *endpoint, bool failed)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    e->domain->inner->backend->close(e->inner, failed);
    free_endpoint(e);
}

int model_lanes(struct clab_endpoint *endpoint, int lanes)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    return e->domain->inner->backend->lanes(e->inner, lanes);
}

// ---- messages ------------------------------------------------------------------------------------------------

static struct model_message *take_spare(struct model_endpoint *e)
{
    struct model_message *m = e->spare;
    if (m)
        e->spare = m->next;
    else if (!(m = malloc(sizeof *m)))
        return NULL;
    m->next = e->messages;
    e->messages = m;
    return m;
}

void model_message_end(struct model_endpoint *e, struct model_message *done)
{
    struct model_message **link = &e->messages;
    while (*link != done)
        link = &(*link)->next;
    *link = done->next;
    done->next = e->spare;
    e->spare = done;
}

int model_message_start(struct model_endpoint *e, struct clab_transfer *t)
{
    struct clab_clock *clock = &e->domain->clock;
    struct model_message *m = take_spare(e);
    if (!m)
        return CLAB_ENOMEM;
    const bool sends = t->op == CLAB_SEND;
    t->done = false;
    t->moved = 0;
    t->mark = (uintptr_t)m;
    m->posted = clock->now;
    m->due = sends ? clab_clock_send(clock, e->job_ranks[t->peer], t->bytes, &m->stamp) : 0;
    m->parts[0] = (struct clab_transfer){.op = sends ? CLAB_SEND : CLAB_RECV,
                                         .peer = t->peer,
                                         .lane = t->lane,
                                         .src = sends ? &m->stamp : NULL,
                                         .dst = sends ? NULL : &m->stamp,
                                         .count = sizeof m->stamp,
                                         .bytes = sizeof m->stamp,
                                         .type = CLAB_U8,
                                         .redop = CLAB_SUM,
                                         .call = t->call};
    m->parts[1] = *t;
    return e->domain->inner->backend->start(e->inner, m->parts, 2);
}

int model_message_test(struct model_endpoint *e, struct clab_transfer *t, bool *moved_p)
{
    struct model_message *m = model_message(t);
    bool moved = false;
    const int err = e->domain->inner->backend->test(e->inner, m->parts, 2, &moved);
    t->failed = m->parts[1].failed;
    *moved_p = !err && moved;
    return err;
}
