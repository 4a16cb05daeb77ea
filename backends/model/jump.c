// SPDX-License-Identifier: MIT
// Virtual time on shared memory: data is delivered at once, and the rank's clock jumps (model.h).
//
// - A program's own messages carry a stamp. The receiver's clock moves when the program has waited for them.
// - Whole calls go to the coordinator; what else uses the first lanes is the kit's own, and takes no time.

#include <stdio.h>
#include <stdlib.h>

#include "backends/model/coordinator.h"
#include "backends/model/model.h"
#include "backends/shm/board.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "sim/sim.h"

extern const struct clab_backend clab_backend_shm, clab_backend_sim;

static const char usual_net[] = "dgx-h100";

// ---- domain --------------------------------------------------------------------------------------------------

// The factor of `rank` in CLAB_STRAGGLE, such as "3=2.5,5=4"; 1: it is not named.
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

static const char *net_name(const struct clab_domain *domain)
{
    const char *name = clab_variable_given(CLAB_VARIABLE_NET);
    if (domain)
        return model_domain(domain)->net->name;
    return name ? name : usual_net;
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct clab_domain *inner = NULL;
    struct clab_net *net = NULL;
    struct model_domain *domain;
    double slowness;
    int err = read_slowness(boot->rank, boot->nranks, &slowness);
    if (!err)
        err = clab_net_load(net_name(NULL), &net);
    if (!err)
        err = clab_net_check_ranks(net, boot->nranks);
    if (!err)
        err = clab_attach(&clab_backend_shm, boot, &inner);
    if (!err)
        err = model_domain_create(boot, inner, net, &domain);
    if (err) {
        if (inner)
            clab_backend_shm.detach(inner);
        clab_net_free(net);
        return err;
    }
    domain->clock.slowness = slowness;
    *domain_p = &domain->base;
    return CLAB_OK;
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

// ---- endpoint ------------------------------------------------------------------------------------------------

static int open_endpoint(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p)
{
    group->board_bytes = model_board_bytes(group->nranks);
    struct clab_endpoint *endpoint;
    CLAB_TRY(model_open(domain, group, &endpoint));
    const int err = model_coordinator_create(model_endpoint(endpoint), group);
    if (err)
        model_close(endpoint, true);
    else
        *endpoint_p = endpoint;
    return err;
}

// Those of a program's own, and of the monitored barrier.
static bool has_stamp(const struct clab_transfer *t)
{
    return t->lane >= CLAB_P2P_LANE;
}

static int start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    for (int i = 0; i < n; i++)
        CLAB_TRY(has_stamp(&transfers[i]) ? model_message_start(e, &transfers[i])
                                          : clab_backend_shm.start(e->inner, &transfers[i], 1));
    return CLAB_OK;
}

static int test_one(struct clab_endpoint *endpoint, struct clab_transfer *t)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    bool moved;
    if (!has_stamp(t))
        return clab_backend_shm.test(e->inner, t, 1, &moved);
    const int err = model_message_test(e, t, &moved);
    t->moved = model_message(t)->parts[1].moved;
    t->done = moved;
    return err;
}

static int test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p)
{
    return clab_test_each(endpoint, transfers, n, test_one, done_p);
}

// Many ranks share few cores, so a rank that waits yields its core at once. A message may arrive without a wake-up
// (shm's futex), so a rank that waits for one looks every millisecond.
static bool idle(struct clab_endpoint *endpoint, unsigned fruitless)
{
    const struct model_endpoint *e = model_endpoint(endpoint);
    if (!e->domain->crowded)
        return clab_backend_shm.idle(e->inner, fruitless);
    clab_shm_sleep(e->inner, fruitless, !e->messages);
    return true;
}

// ---- time ----------------------------------------------------------------------------------------------------

static double now(const struct clab_domain *domain)
{
    return model_domain(domain)->clock.now;
}

static void reach(struct clab_domain *domain, double when)
{
    clab_clock_reach(&model_domain(domain)->clock, when);
}

static int compute(struct clab_domain *domain, enum clab_precision precision, double flop, double bytes)
{
    return clab_clock_compute(&model_domain(domain)->clock, precision, flop, bytes);
}

// In the order of the program's waits, receives take their turns at the port.
static double settle(struct clab_endpoint *endpoint, const struct clab_transfer *t)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    struct model_message *m = model_message(t);
    const double due = t->op == CLAB_SEND ? m->due
                                          : clab_clock_receive(&e->domain->clock, e->job_ranks[t->peer], t->bytes,
                                                               m->posted, m->stamp);
    model_message_end(e, m);
    return due;
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
    struct clab_clock *clock = &model_endpoint(endpoint)->domain->clock;
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
    .net = net_name,
    .host = model_host,
    .resent = model_resent,
};

const struct clab_backend clab_backend_sim = {
    .name = "sim",
    .title = "virtual time: a described network (--net), on shared memory",
    .attach = attach,
    .detach = model_detach,
    .alloc = model_alloc,
    .free = model_free,
    .reaches = model_reaches,
    .pin = pin,
    .unpin = unpin,
    .open = open_endpoint,
    .close = model_close,
    .lanes = clab_any_lanes,
    .follow = clab_no_stream,
    .start = start,
    .test = test,
    .idle = idle,
    .collectives = &model_collectives,
    .time = &virtual_time,
    .describe = clab_no_description,
    .device = &clab_device_plain,
    .mover = CLAB_MOVED_BY_ITSELF,
    .bounces = true,
    .own_cores = true,
};
