// SPDX-License-Identifier: MIT
// The emulated wire: ports that are busy, stamps, and deliveries that wait for their time.

#include "backends/model/emulate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "sim/sim.h"

static const double nap = 1e-3;      // s that a wait sleeps at most
static const double wake_up = 60e-6; // s that a sleeper may wake too late: so much earlier it wakes, and looks

struct emulate_domain {
    struct clab_domain base;
    const struct clab_backend *inner;
    struct clab_domain *domain; // of inner
    struct clab_net *net;
    int rank;               // of the job
    double sends, receives; // until when the rank's ports are busy, s of clab_now
};

// What a sender tells of a message.
struct stamp {
    double head; // when its first part is at the receiver's port
    double last; // when the last byte can be there at the earliest
};

// A message under way: the stamp, the payload, and when it is over.
struct message {
    struct clab_transfer parts[2];
    struct stamp stamp;
    double begin, due;    // on the wire; due is 0 while it is not known
    struct message *next; // in the list of those under way, or of spare ones
};

struct emulate_endpoint {
    struct clab_endpoint base;
    struct emulate_domain *owner;
    struct clab_endpoint *endpoint; // of inner
    int *job_ranks;                 // (nranks)
    struct message *under_way, *spare;
};

// ---- the network's time --------------------------------------------------------------------------------------

static double later(double a, double b)
{
    return a > b ? a : b;
}

static const struct clab_segment *segment_to(const struct emulate_endpoint *e, const struct clab_transfer *t)
{
    const struct clab_net *net = e->owner->net;
    return clab_link_segment(clab_net_link(net, e->owner->rank, e->job_ranks[t->peer]), t->bytes);
}

// The sender's port takes the message as soon as it is free. As price.c, send.
static void let_go(struct emulate_endpoint *e, const struct clab_transfer *t, struct message *m)
{
    const struct clab_segment *s = segment_to(e, t);
    double bytes = (double)t->bytes, first = later(0, bytes < (double)s->fragment ? bytes : (double)s->fragment);
    m->begin = clab_now();
    double posted = later(m->begin, e->owner->sends) + s->o_send;
    e->owner->sends = posted + bytes * s->gap_send;
    m->stamp.head = posted + first * s->gap_send + s->latency;
    m->stamp.last = e->owner->sends + s->latency;
    m->due = e->owner->sends;
}

// The receiver's port takes it when it has arrived. As price.c, price_landing.
static void receive(struct emulate_endpoint *e, const struct clab_transfer *t, struct message *m)
{
    const struct clab_segment *s = segment_to(e, t);
    m->begin = later(m->stamp.head, e->owner->receives);
    m->due = later(m->begin + s->o_recv + (double)t->bytes * s->gap_recv, m->stamp.last);
    e->owner->receives = m->due;
}

// ---- messages ------------------------------------------------------------------------------------------------

static struct message *take_spare(struct emulate_endpoint *e)
{
    struct message *m = e->spare;
    if (m)
        e->spare = m->next;
    else if (!(m = malloc(sizeof *m)))
        return NULL;
    m->next = e->under_way;
    e->under_way = m;
    m->due = 0;
    return m;
}

static void give_back(struct emulate_endpoint *e, struct message *done)
{
    for (struct message **link = &e->under_way; *link; link = &(*link)->next)
        if (*link == done) {
            *link = done->next;
            done->next = e->spare;
            e->spare = done;
            return;
        }
}

static struct message *message_of(const struct clab_transfer *t)
{
    return (struct message *)(uintptr_t)t->mark;
}

static int start_one(struct emulate_endpoint *e, struct clab_transfer *t)
{
    struct message *m = take_spare(e);
    if (!m)
        return CLAB_ENOMEM;
    bool sends = t->op == CLAB_SEND;
    t->done = false;
    t->moved = 0;
    t->mark = (uintptr_t)m;
    m->parts[0] = (struct clab_transfer){
        .op = sends ? CLAB_SEND : CLAB_RECV,
        .peer = t->peer,
        .lane = t->lane,
        .src = sends ? &m->stamp : NULL,
        .dst = sends ? NULL : &m->stamp,
        .count = sizeof m->stamp,
        .bytes = sizeof m->stamp,
        .type = CLAB_U8,
        .redop = CLAB_SUM,
        .call = t->call,
    };
    m->parts[1] = *t;
    if (sends)
        let_go(e, t, m);
    return e->owner->inner->start(e->endpoint, m->parts, 2);
}

static int lanes(struct clab_endpoint *base, int n)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    return e->owner->inner->lanes(e->endpoint, n);
}

static int start(struct clab_endpoint *base, struct clab_transfer transfers[], int n)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    for (int i = 0; i < n; i++)
        CLAB_TRY(start_one(e, &transfers[i]));
    return CLAB_OK;
}

// Bytes that the wire has carried: who waits for a slow wire sees that it moves.
static size_t moved_by(double now, const struct clab_transfer *t, const struct message *m)
{
    return now <= m->begin ? 0 : (size_t)((double)t->bytes * (now - m->begin) / (m->due - m->begin));
}

static int test_one(struct emulate_endpoint *e, struct clab_transfer *t)
{
    struct message *m = message_of(t);
    bool moved;
    CLAB_TRY(e->owner->inner->test(e->endpoint, m->parts, 2, &moved));
    if (!moved)
        return CLAB_OK;
    if (m->due == 0)
        receive(e, t, m);
    double now = clab_now();
    if (now < m->due) {
        t->moved = moved_by(now, t, m);
        return CLAB_OK;
    }
    t->done = true;
    give_back(e, m);
    return CLAB_OK;
}

static int test(struct clab_endpoint *base, struct clab_transfer transfers[], int n, bool *done_p)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    bool done = true;
    for (int i = 0; i < n; i++) {
        if (!transfers[i].done)
            CLAB_TRY(test_one(e, &transfers[i]));
        done &= transfers[i].done;
    }
    *done_p = done;
    return CLAB_OK;
}

// ---- waiting -------------------------------------------------------------------------------------------------

// When the first message that is on the wire is due; 0: none is.
static double next_due(const struct emulate_endpoint *e)
{
    double due = 0;
    for (const struct message *m = e->under_way; m; m = m->next)
        if (m->due > 0 && (due == 0 || m->due < due))
            due = m->due;
    return due;
}

static bool idle(struct clab_endpoint *base, unsigned fruitless)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    double now = clab_now(), due = next_due(e), until = due < now + nap ? due - wake_up : now + nap;
    if (due <= now)
        return e->owner->inner->idle(e->endpoint, fruitless);
    if (until > now) {
        const struct timespec at = {(time_t)until, (long)((until - (double)(time_t)until) * 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    return true;
}

// A thread that sleeps until a delivery is due leaves the core to the rank's computation.
static double arm(struct clab_endpoint *base)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    const double now = clab_now();
    double until = e->owner->inner->nap->arm(e->endpoint);
    for (const struct message *m = e->under_way; m; m = m->next)
        if (m->due > now && m->due < until)
            until = m->due;
    return until;
}

static void sleep_until(struct clab_domain *base, double until)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    domain->inner->nap->sleep(domain->domain, until);
}

static const struct clab_nap naps = {arm, sleep_until};

// ---- life ----------------------------------------------------------------------------------------------------

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    (void)boot, (void)domain_p;
    return CLAB_EUNSUPPORTED;
}

int clab_emulate_wrap(const struct clab_backend *inner, struct clab_domain *inner_domain, struct clab_bootstrap *boot,
                      struct clab_net *net, struct clab_domain **domain_p)
{
    CLAB_TRY(clab_net_check_ranks(net, boot->nranks));
    if (boot->nnodes > 1) {
        clab_error("--emulate %s: the clocks of several hosts differ; emulate on one", net->name);
        return CLAB_EUNSUPPORTED;
    }
    struct emulate_domain *domain = malloc(sizeof *domain);
    if (!domain)
        return CLAB_ENOMEM;
    *domain = (struct emulate_domain){.inner = inner, .domain = inner_domain, .net = net, .rank = boot->rank};
    prctl(PR_SET_TIMERSLACK, 1UL); // ns; by default a sleep may last 50 us longer
    *domain_p = &domain->base;
    return CLAB_OK;
}

static void detach(struct clab_domain *base)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    domain->inner->detach(domain->domain);
    clab_net_free(domain->net);
    free(domain);
}

static int alloc(struct clab_domain *base, size_t bytes, void **memory_p)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    return domain->inner->alloc(domain->domain, bytes, memory_p);
}

static void release(struct clab_domain *base, void *memory)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    domain->inner->free(domain->domain, memory);
}

static bool reaches(struct clab_domain *base, const void *memory)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    return domain->inner->reaches(domain->domain, memory);
}

static int pin(struct clab_domain *base, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    return domain->inner->pin(domain->domain, memory, bytes, registration_p);
}

static void unpin(struct clab_domain *base, struct clab_registration *registration)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    domain->inner->unpin(domain->domain, registration);
}

static void describe(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p)
{
    if (domain)
        ((struct emulate_domain *)domain)
            ->inner->describe(((struct emulate_domain *)domain)->domain, text, room, is_fake_p);
    else
        clab_no_description(domain, text, room, is_fake_p);
}

static int open_endpoint(struct clab_domain *base, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct emulate_domain *domain = (struct emulate_domain *)base;
    struct emulate_endpoint *e = calloc(1, sizeof *e);
    size_t bytes = (size_t)group->nranks * sizeof *e->job_ranks;
    int err = e && (e->job_ranks = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = clab_endpoint_open(domain->domain, group, &e->endpoint);
    if (err) {
        if (e)
            free(e->job_ranks);
        free(e);
        return err;
    }
    memcpy(e->job_ranks, group->ranks, bytes);
    e->owner = domain;
    *endpoint_p = &e->base;
    return CLAB_OK;
}

static void free_list(struct message *m)
{
    for (struct message *next; m; m = next) {
        next = m->next;
        free(m);
    }
}

static void close_endpoint(struct clab_endpoint *base, bool failed)
{
    struct emulate_endpoint *e = (struct emulate_endpoint *)base;
    e->owner->inner->close(e->endpoint, failed);
    free_list(e->under_way);
    free_list(e->spare);
    free(e->job_ranks);
    free(e);
}

const struct clab_backend clab_backend_emulate = {
    .name = "emulate",
    .title = "a described network, on a backend of this host",
    .attach = attach,
    .detach = detach,
    .alloc = alloc,
    .free = release,
    .reaches = reaches,
    .pin = pin,
    .unpin = unpin,
    .open = open_endpoint,
    .close = close_endpoint,
    .lanes = lanes,
    .start = start,
    .test = test,
    .idle = idle,
    .collectives = &clab_no_collectives,
    .time = &clab_wall_time,
    .describe = describe,
    .device = &clab_device_cpu,
    .mover = CLAB_MOVED_BY_CLOCK,
    .nap = &naps, // where the one below has one
};
