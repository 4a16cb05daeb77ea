// SPDX-License-Identifier: MIT
// The emulated wire: a message is delivered when it is due by the wall clock (model.h).

#include <math.h>
#include <sys/prctl.h>

#include "backends/model/model.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "sim/sim.h"

static const double wake_up = 60e-6; // s that a sleeper may wake too late: so much earlier it wakes, and looks
static const double unwoken = 1e-4;  // s of a sleep, at most, that no arrival ends

// ---- messages ------------------------------------------------------------------------------------------------

static int start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    for (int i = 0; i < n; i++) {
        e->domain->clock.now = clab_now();
        CLAB_TRY(model_message_start(e, &transfers[i]));
    }
    return CLAB_OK;
}

// Nanoseconds on the wire so far, so that a slow wire, or a short message that is sent again, does not look like a
// deadlock: it is on its way, also when its sender has left.
static size_t moved_by(double now, const struct model_message *m)
{
    return now <= m->posted ? 0 : (size_t)((now - m->posted) * 1e9);
}

static bool leaves_node(const struct model_endpoint *e, int peer)
{
    const struct clab_net *net = e->domain->net;
    return model_node_of(net, e->job_ranks[peer]) != model_node_of(net, e->job_ranks[e->rank]);
}

// The receiver's port takes a message when it has arrived, however long ago the receive was posted.
static void receive(struct model_endpoint *e, const struct clab_transfer *t, struct model_message *m)
{
    m->posted = m->stamp.head;
    m->due = clab_clock_receive(&e->domain->clock, e->job_ranks[t->peer], t->bytes, 0, m->stamp);
    if (leaves_node(e, t->peer))
        m->due += model_stall(e->domain, 1, clab_mix((uint64_t)e->rank, e->domain->received++));
}

static int test_one(struct clab_endpoint *endpoint, struct clab_transfer *t)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    struct model_message *m = model_message(t);
    bool moved;
    CLAB_TRY(model_message_test(e, t, &moved));
    if (!moved)
        return CLAB_OK;
    if (m->due == 0)
        receive(e, t, m);
    const double now = clab_now();
    if (now < m->due) {
        t->moved = moved_by(now, m);
        return CLAB_OK;
    }
    t->done = true;
    model_message_end(e, m);
    return CLAB_OK;
}

static int test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p)
{
    return clab_test_each(endpoint, transfers, n, test_one, done_p);
}

// ---- waiting -------------------------------------------------------------------------------------------------

// When the first message that is due after `after` is; INFINITY: none is.
static double next_due(const struct model_endpoint *e, double after)
{
    double due = INFINITY;
    for (const struct model_message *m = e->messages; m; m = m->next)
        if (m->due > after && m->due < due)
            due = m->due;
    return due;
}

// An arrival ends the sleep, since nap->arm came before the last look. It may be due earlier than what is known now.
static void sleep_armed(struct model_endpoint *e, double until)
{
    struct clab_domain *inner = e->domain->inner;
    const struct clab_nap *nap = inner->backend->nap;
    if (!nap) {
        clab_nap_until(fmin(until, clab_now() + unwoken));
        return;
    }
    nap->sleep(inner, fmin(until, e->armed));
    e->armed = nap->arm(e->inner);
}

static bool idle(struct clab_endpoint *endpoint, unsigned fruitless)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    const double now = clab_now(), due = next_due(e, 0);
    if (due <= now || due == INFINITY)
        return e->domain->inner->backend->idle(e->inner, fruitless);
    if (due - wake_up > now)
        sleep_armed(e, due - wake_up);
    return true;
}

// A thread that sleeps until a delivery is due leaves the core to the rank's computation.
static double arm(struct clab_endpoint *endpoint)
{
    const struct model_endpoint *e = model_endpoint(endpoint);
    const double now = clab_now();
    return fmin(e->domain->inner->backend->nap->arm(e->inner), next_due(e, now));
}

static void sleep_until(struct clab_domain *domain, double until)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    inner->backend->nap->sleep(inner, until);
}

static const struct clab_nap naps = {arm, sleep_until};

// ---- life ----------------------------------------------------------------------------------------------------

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    (void)boot, (void)domain_p;
    return CLAB_EUNSUPPORTED;
}

static int pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    return inner->backend->pin(inner, memory, bytes, registration_p);
}

static void unpin(struct clab_domain *domain, struct clab_registration *registration)
{
    struct clab_domain *inner = model_domain(domain)->inner;
    inner->backend->unpin(inner, registration);
}

static struct clab_time delayed; // the wall's, on the hosts of the described network: clab_backend_emulate fills it in

#define EMULATED(NAP)                                                                                             \
    {                                                                                                             \
        .name = "emulate", .title = "a described network, on a backend of this host", .attach = attach,           \
        .detach = model_detach, .alloc = model_alloc, .free = model_free, .reaches = model_reaches, .pin = pin,   \
        .unpin = unpin, .open = model_open, .close = model_close, .lanes = model_lanes, .follow = clab_no_stream, \
        .start = start, .test = test, .idle = idle, .collectives = &clab_no_collectives, .time = &delayed,        \
        .describe = model_describe, .device = &clab_device_cpu, .nap = (NAP), .mover = CLAB_MOVED_BY_CLOCK,       \
    }

static const struct clab_backend emulated = EMULATED(NULL), emulated_with_nap = EMULATED(&naps);

static int check(const struct clab_bootstrap *boot, const char *name, const struct clab_backend *inner)
{
    if (inner->time->is_exact) {
        clab_error("--emulate %s: the backend %s has a network of its own; say --net %s instead", name, inner->name,
                   name);
        return CLAB_EINVAL;
    }
    if (inner->bounces) {
        clab_error("--emulate %s: the backend %s moves a device's memory, not this host's: take another backend", name,
                   inner->name);
        return CLAB_EINVAL;
    }
    if (boot->nnodes > 1) {
        clab_error("--emulate %s: the clocks of several hosts differ; emulate on one", name);
        return CLAB_EUNSUPPORTED;
    }
    return CLAB_OK;
}

int clab_backend_emulate(struct clab_bootstrap *boot, const char *name, struct clab_domain **domain_p)
{
    const struct clab_backend *inner = (*domain_p)->backend;
    struct model_domain *domain;
    struct clab_net *net;
    CLAB_TRY(check(boot, name, inner));
    CLAB_TRY(clab_net_load(name, &net));
    const int err = model_domain_create(boot, *domain_p, net, &domain);
    if (err) {
        clab_net_free(net);
        return err;
    }
    delayed = clab_wall_time;
    delayed.host = model_host;
    delayed.resent = model_resent;
    prctl(PR_SET_TIMERSLACK, 1UL); // ns; by default a sleep may last 50 us longer
    domain->base.backend = inner->nap ? &emulated_with_nap : &emulated;
    *domain_p = &domain->base;
    return CLAB_OK;
}
