// SPDX-License-Identifier: MIT
// What backends fill slots with that they have nothing of their own for, and what all of them need.

#include "core/transport/backend.h"

#include <sched.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/relax.h"

int clab_attach(const struct clab_backend *backend, struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    CLAB_TRY(backend->attach(boot, domain_p));
    **domain_p = (struct clab_domain){.backend = backend};
    return CLAB_OK;
}

int clab_endpoint_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    CLAB_TRY(domain->backend->open(domain, group, endpoint_p));
    (*endpoint_p)->domain = domain;
    return CLAB_OK;
}

// ---- waiting -------------------------------------------------------------------------------------------------

void clab_nap_until(double until)
{
    const double now = clab_now(), end = until < now + CLAB_NAP ? until : now + CLAB_NAP;
    const struct timespec at = {(time_t)end, (long)((end - (double)(time_t)end) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

// The kernel adds its timer slack, another 50 us.
static const struct timespec doze = {.tv_nsec = 50000};
static const double doze_takes = 1e-4, most_added = 1. / 200;

bool clab_poll_idle(const struct clab_bootstrap *boot, unsigned spins, unsigned fruitless)
{
    enum { YIELDS = 1000 };
    static _Thread_local double start; // of this thread's wait, but for its spins
    if (boot->crowded)
        spins = 0;
    if (fruitless < spins) {
        clab_relax();
        return false;
    }
    if (fruitless == spins)
        start = clab_now();
    if (fruitless < spins + YIELDS || (!boot->crowded && (clab_now() - start) * most_added < doze_takes))
        sched_yield();
    else
        nanosleep(&doze, NULL);
    return true;
}

bool clab_host_reaches(struct clab_domain *domain, const void *memory)
{
    (void)domain, (void)memory;
    return true;
}

int clab_test_each(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n,
                   int (*test_one)(struct clab_endpoint *, struct clab_transfer *), bool *done_p)
{
    bool done = true;
    for (int i = 0; i < n; i++) {
        if (!transfers[i].done)
            CLAB_TRY(test_one(endpoint, &transfers[i]));
        done &= transfers[i].done;
    }
    *done_p = done;
    return CLAB_OK;
}

int clab_any_lanes(struct clab_endpoint *endpoint, int lanes)
{
    (void)endpoint, (void)lanes;
    return CLAB_OK;
}

int clab_no_stream(struct clab_endpoint *endpoint, void *stream)
{
    (void)endpoint;
    return stream ? CLAB_EUNSUPPORTED : CLAB_OK;
}

void clab_no_description(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p)
{
    (void)domain, (void)room;
    text[0] = '\0';
    *is_fake_p = false;
}

// ---- no collectives of its own -------------------------------------------------------------------------------

static bool has_none(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    (void)collective, (void)type, (void)op;
    return false;
}

static int start_none(struct clab_endpoint *endpoint, const struct clab_call *call)
{
    (void)endpoint, (void)call;
    return CLAB_EUNSUPPORTED;
}

static int test_none(struct clab_endpoint *endpoint, struct clab_answer *answer_p)
{
    (void)endpoint, (void)answer_p;
    return CLAB_EUNSUPPORTED;
}

int clab_no_recording(struct clab_endpoint *endpoint)
{
    (void)endpoint;
    return CLAB_EUNSUPPORTED;
}

int clab_nothing_recorded(struct clab_endpoint *endpoint, void **graph_p)
{
    (void)endpoint, (void)graph_p;
    return CLAB_EUNSUPPORTED;
}

void clab_forget_nothing(void *graph)
{
    (void)graph;
}

bool clab_ran_unknown(const struct clab_endpoint *endpoint, struct clab_ran *ran_p)
{
    (void)endpoint, (void)ran_p;
    return false;
}

void clab_look_nowhere(const struct clab_endpoint *endpoint, int *peer_p, size_t *moved_p)
{
    (void)endpoint;
    *peer_p = -1;
    *moved_p = 0;
}

const struct clab_collectives clab_no_collectives = {
    .has = has_none,
    .reaches = clab_host_reaches,
    .start = start_none,
    .test = test_none,
    .record = clab_no_recording,
    .recorded = clab_nothing_recorded,
    .forget = clab_forget_nothing,
    .ran = clab_ran_unknown,
    .look = clab_look_nowhere,
};

// ---- the wall clock ------------------------------------------------------------------------------------------

static double wall_now(const struct clab_domain *domain)
{
    (void)domain;
    return clab_now();
}

static void wall_reach(struct clab_domain *domain, double when)
{
    (void)domain, (void)when;
}

static int wall_compute(struct clab_domain *domain, enum clab_precision precision, double flop, double bytes)
{
    (void)domain, (void)precision, (void)flop, (void)bytes;
    return CLAB_OK;
}

static double wall_settle(struct clab_endpoint *endpoint, const struct clab_transfer *transfer)
{
    (void)endpoint, (void)transfer;
    return 0;
}

static int wall_open(struct clab_endpoint *endpoint, struct clab_group *group, double start,
                     struct clab_open_cost *cost_p)
{
    (void)endpoint, (void)group, (void)start, (void)cost_p;
    return CLAB_OK;
}

static const char *wall_net(const struct clab_domain *domain)
{
    (void)domain;
    return NULL;
}

static int wall_host(const struct clab_domain *domain, int rank)
{
    (void)domain, (void)rank;
    return -1;
}

static size_t wall_resent(const struct clab_domain *domain)
{
    (void)domain;
    return 0;
}

const struct clab_time clab_wall_time = {.now = wall_now,
                                         .reach = wall_reach,
                                         .compute = wall_compute,
                                         .settle = wall_settle,
                                         .open = wall_open,
                                         .net = wall_net,
                                         .host = wall_host,
                                         .resent = wall_resent};
