// SPDX-License-Identifier: MIT
// The wrapper of shm whose messages carry their sender's clock.

#include "backends/model/virtual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "backends/shm/board.h"
#include "backends/shm/shm.h"
#include "sim/sim.h"

static const char usual_net[] = "dgx-h100";

struct sim_domain {
    struct clab_domain base;
    struct clab_domain *domain; // of shm
    struct clab_net *net;
    struct clab_clock clock;
    bool crowded;
};

// A message under way, or over and not waited for.
struct message {
    struct clab_transfer parts[2]; // the stamp, the payload
    struct clab_stamp stamp;
    double posted, due; // s of the clock; due is known of a send
    struct message *next;
};

struct sim_endpoint {
    struct clab_endpoint base;
    struct sim_domain *owner;
    struct clab_endpoint *endpoint; // of shm
    int *job_ranks;                 // (nranks)
    struct message *messages, *spare;
};

static struct sim_domain *mine(struct clab_domain *domain)
{
    return (struct sim_domain *)(void *)domain;
}

static struct sim_endpoint *my(const struct clab_endpoint *endpoint)
{
    return (struct sim_endpoint *)(uintptr_t)endpoint;
}

// ---- domain --------------------------------------------------------------------------------------------------

// "3=2.5,5=4": what CLAB_STRAGGLE says of `rank`; 1: nothing.
static int read_slowness(int rank, int nranks, double *slowness_p)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_STRAGGLE);
    double slowness = 1;
    for (int end = 0; text && *text; text += end + (text[end] == ',')) {
        char who[16], factor[32];
        int number;
        double times;
        if (sscanf(text, "%15[0-9]=%31[0-9.]%n", who, factor, &end) != 2 || (text[end] && text[end] != ',') ||
            clab_parse_int(who, 0, nranks - 1, &number) || clab_parse_number(factor, &times) || !(times > 0)) {
            clab_error("--straggle '%s': expected RANK=FACTOR of ranks 0 to %d, with commas between, as in 3=2.5", text,
                       nranks - 1);
            return CLAB_EINVAL;
        }
        if (number == rank)
            slowness = times;
    }
    *slowness_p = slowness;
    return CLAB_OK;
}

const char *clab_sim_net_name(void)
{
    const char *name = clab_variable_text(CLAB_VARIABLE_NET);
    return name && *name ? name : usual_net;
}

static int load_net(int nranks, struct clab_net **net_p)
{
    struct clab_net *net;
    CLAB_TRY(clab_net_load(clab_sim_net_name(), &net));
    const int err = clab_net_check_ranks(net, nranks);
    if (err)
        clab_net_free(net);
    else
        *net_p = net;
    return err;
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct sim_domain *domain = calloc(1, sizeof *domain);
    double slowness;
    int err = domain ? read_slowness(boot->rank, boot->nranks, &slowness) : CLAB_ENOMEM;
    if (!err)
        err = load_net(boot->nranks, &domain->net);
    if (!err)
        err = clab_attach(&clab_backend_shm, boot, &domain->domain);
    if (err) {
        if (domain)
            clab_net_free(domain->net);
        free(domain);
        return err;
    }
    domain->clock = (struct clab_clock){.net = domain->net, .rank = boot->rank, .slowness = slowness};
    domain->crowded = boot->crowded;
    *domain_p = (struct clab_domain *)(void *)domain;
    return CLAB_OK;
}

static void detach(struct clab_domain *domain)
{
    clab_backend_shm.detach(mine(domain)->domain);
    clab_net_free(mine(domain)->net);
    free(domain);
}

static int alloc(struct clab_domain *domain, size_t bytes, void **memory_p)
{
    return clab_backend_shm.alloc(mine(domain)->domain, bytes, memory_p);
}

static void release(struct clab_domain *domain, void *memory)
{
    clab_backend_shm.free(mine(domain)->domain, memory);
}

// A described network does not say what registration takes: it takes no time, and this machine's pages stay as they
// are.
static int pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    (void)domain, (void)bytes;
    *registration_p = memory;
    return CLAB_OK;
}

static void unpin(struct clab_domain *domain, struct clab_registration *registration)
{
    (void)domain, (void)registration;
}

struct clab_clock *clab_sim_clock(struct clab_domain *domain)
{
    return &mine(domain)->clock;
}

// ---- endpoint ------------------------------------------------------------------------------------------------

static void free_endpoint(struct sim_endpoint *e)
{
    struct message *lists[] = {e->messages, e->spare};
    for (int i = 0; i < 2; i++)
        for (struct message *m = lists[i], *next; m; m = next) {
            next = m->next;
            free(m);
        }
    free(e->job_ranks);
    free(e);
}

static int open_endpoint(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    struct sim_endpoint *e = calloc(1, sizeof *e);
    const size_t bytes = (size_t)group->nranks * sizeof *e->job_ranks;
    int err = e && (e->job_ranks = malloc(bytes)) ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = clab_endpoint_open(mine(domain)->domain, group, &e->endpoint);
    if (err) {
        if (e)
            free_endpoint(e);
        return err;
    }
    memcpy(e->job_ranks, group->ranks, bytes);
    e->owner = mine(domain);
    *endpoint_p = (struct clab_endpoint *)(void *)e;
    return CLAB_OK;
}

static void close_endpoint(struct clab_endpoint *endpoint, bool failed)
{
    clab_backend_shm.close(my(endpoint)->endpoint, failed);
    free_endpoint(my(endpoint));
}

char *clab_sim_board(struct clab_endpoint *endpoint)
{
    return clab_shm_board(my(endpoint)->endpoint);
}

size_t clab_sim_offset(const struct clab_endpoint *endpoint, const void *memory)
{
    return clab_shm_offset(my(endpoint)->owner->domain, memory);
}

char *clab_sim_at(const struct clab_endpoint *endpoint, size_t offset)
{
    return clab_shm_at(my(endpoint)->owner->domain, offset);
}

void clab_sim_ring(const struct clab_endpoint *endpoint, int member)
{
    clab_shm_wake(my(endpoint)->endpoint, member);
}

// ---- messages ------------------------------------------------------------------------------------------------

// Those of a program's own, and of the monitored barrier.
static bool has_stamp(const struct clab_transfer *t)
{
    return t->lane >= CLAB_P2P_LANE;
}

static struct message *message_of(const struct clab_transfer *t)
{
    return (struct message *)(uintptr_t)t->mark;
}

static struct message *take_spare(struct sim_endpoint *e)
{
    struct message *m = e->spare;
    if (m)
        e->spare = m->next;
    else if (!(m = malloc(sizeof *m)))
        return NULL;
    m->next = e->messages;
    e->messages = m;
    return m;
}

static void give_back(struct sim_endpoint *e, struct message *done)
{
    struct message **link = &e->messages;
    while (*link != done)
        link = &(*link)->next;
    *link = done->next;
    done->next = e->spare;
    e->spare = done;
}

static int start_stamped(struct sim_endpoint *e, struct clab_transfer *t)
{
    struct clab_clock *clock = &e->owner->clock;
    struct message *m = take_spare(e);
    if (!m)
        return CLAB_ENOMEM;
    const bool sends = t->op == CLAB_SEND;
    t->done = false;
    t->moved = 0;
    t->mark = (uintptr_t)m;
    m->posted = m->due = clock->now;
    if (sends)
        m->due = clab_clock_send(clock, e->job_ranks[t->peer], t->bytes, &m->stamp);
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
    return clab_backend_shm.start(e->endpoint, m->parts, 2);
}

static int start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n)
{
    struct sim_endpoint *e = my(endpoint);
    for (int i = 0; i < n; i++)
        CLAB_TRY(has_stamp(&transfers[i]) ? start_stamped(e, &transfers[i])
                                          : clab_backend_shm.start(e->endpoint, &transfers[i], 1));
    return CLAB_OK;
}

static int test_one(struct sim_endpoint *e, struct clab_transfer *t)
{
    bool done;
    if (!has_stamp(t))
        return clab_backend_shm.test(e->endpoint, t, 1, &done);
    struct message *m = message_of(t);
    const int err = clab_backend_shm.test(e->endpoint, m->parts, 2, &done);
    t->moved = m->parts[1].moved;
    t->failed = m->parts[1].failed;
    t->done = !err && done;
    return err;
}

static int test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p)
{
    bool done = true;
    for (int i = 0; i < n; i++) {
        if (!transfers[i].done)
            CLAB_TRY(test_one(my(endpoint), &transfers[i]));
        done &= transfers[i].done;
    }
    *done_p = done;
    return CLAB_OK;
}

// In the order of the program's waits, receives take their turns at the port.
static double settle(struct clab_endpoint *endpoint, const struct clab_transfer *t)
{
    struct sim_endpoint *e = my(endpoint);
    struct message *m = message_of(t);
    const double due = t->op == CLAB_SEND
                           ? m->due
                           : clab_clock_receive(&e->owner->clock, e->job_ranks[t->peer], t->bytes, m->posted, m->stamp);
    give_back(e, m);
    return due;
}

// Many ranks share few cores: who waits leaves its core at once. A message may come without a wake-up (shm's), so
// that who waits for one looks every millisecond.
static bool idle(struct clab_endpoint *endpoint, unsigned fruitless)
{
    const struct sim_endpoint *e = my(endpoint);
    if (!e->owner->crowded)
        return clab_backend_shm.idle(e->endpoint, fruitless);
    clab_shm_sleep(e->endpoint, fruitless, !e->messages);
    return true;
}

// ---- time ----------------------------------------------------------------------------------------------------

static double now(const struct clab_domain *domain)
{
    return ((const struct sim_domain *)domain)->clock.now;
}

static void reach(struct clab_domain *domain, double when)
{
    clab_clock_reach(&mine(domain)->clock, when);
}

static int compute(struct clab_domain *domain, enum clab_precision precision, double flop, double bytes)
{
    return clab_clock_compute(&mine(domain)->clock, precision, flop, bytes);
}

// All members begin together, when the last has come.
static int wait_for_the_latest(struct clab_clock *clock, struct clab_group *group, double latest[])
{
    CLAB_TRY(group->exchange(group, &clock->now, sizeof clock->now, latest));
    for (int r = 0; r < group->nranks; r++)
        clab_clock_reach(clock, latest[r]);
    return CLAB_OK;
}

static int open_time(struct clab_endpoint *endpoint, struct clab_group *group, double start,
                     struct clab_open_cost *cost_p)
{
    struct clab_clock *clock = &my(endpoint)->owner->clock;
    double *clocks = malloc((size_t)group->nranks * sizeof *clocks);
    const int err = clocks ? wait_for_the_latest(clock, group, clocks) : CLAB_ENOMEM;
    free(clocks);
    CLAB_TRY(err);
    clab_clock_reach(clock, clock->now + clab_net_rendezvous(clock->net, group->ranks, group->nranks));
    cost_p->rendezvous = clock->now - start;
    const double found = clock->now;
    clab_clock_reach(clock, found + clab_net_connect(clock->net, group->ranks, group->nranks, group->rank));
    cost_p->connect = clock->now - found;
    return CLAB_OK;
}

static const struct clab_time virtual_time = {
    .is_exact = true,
    .now = now,
    .reach = reach,
    .compute = compute,
    .settle = settle,
    .open = open_time,
    .net = clab_sim_net_name,
};

const struct clab_backend clab_backend_sim = {
    .name = "sim",
    .title = "virtual time: a described network (--net), on shared memory",
    .attach = attach,
    .detach = detach,
    .alloc = alloc,
    .free = release,
    .reaches = clab_host_reaches,
    .pin = pin,
    .unpin = unpin,
    .open = open_endpoint,
    .close = close_endpoint,
    .lanes = clab_any_lanes,
    .start = start,
    .test = test,
    .idle = idle,
    .collectives = &clab_no_collectives,
    .time = &virtual_time,
    .describe = clab_no_description,
    .device = &clab_device_plain,
    .mover = CLAB_MOVED_BY_ITSELF,
    .bounces = true,
    .own_cores = true,
};
