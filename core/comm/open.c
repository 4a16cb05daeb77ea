// SPDX-License-Identifier: MIT
// Opens a communicator: its members exchange data through the job's bootstrap, not through a backend or a communicator.
//
// - A member that waits for the others makes progress on its other communicators, and reads notices of failures.
// - The exchange fails if a member is dead, if another member could not make the communicator, if the communicator that
//   it is split from fails, or if a member of a shrunk communicator has been expelled (shrink.c).

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mix.h"
#include "core/comm/comm.h"

struct gathering {
    struct clab_group group; // first, so that a pointer to it is one to all
    const struct clab_opening *opening;
    const struct clab_comm *comm; // that is being made, or NULL
    unsigned expelled;            // members of rest_of that were expelled before the start
    uint64_t fences;
};

static int call_off(const struct gathering *g)
{
    const struct clab_comm *from = g->opening->from, *rest = g->opening->rest_of;
    clab_job_listen(g->opening->job);
    const struct clab_notice *refusal = g->comm ? NULL : clab_job_pending_revocation(g->opening->job, g->opening->id);
    if (refusal)
        return refusal->err;
    if (g->comm && g->comm->is_revoked)
        return g->comm->why.err;
    if (from && from->is_revoked)
        return from->why.err;
    return rest && rest->nexpelled != g->expelled ? CLAB_EPEER : CLAB_OK;
}

// A message that is done here may need more calls here before it is done at the peer: large messages of MPI do.
static bool see_to_done(const struct clab_job *job)
{
    bool done;
    if (!job->backend->sees_to_done)
        return false;
    for (const struct clab_comm *comm = job->comms; comm; comm = comm->next)
        if (comm->endpoint && !comm->err)
            job->backend->test(comm->endpoint, NULL, 0, &done);
    return job->comms != NULL;
}

static int meanwhile(void *of, bool *busy_p)
{
    const struct gathering *g = of;
    struct clab_job *job = g->opening->job;
    CLAB_TRY(call_off(g));
    *busy_p = clab_job_is_busy(job);
    clab_job_advance(job);
    *busy_p |= see_to_done(job);
    if (clab_domain_holds(job->domain))
        job->backend->flush(job->domain);
    return CLAB_OK;
}

// An exchange counts as waiting from its beginning. Which rank it waits for is not known.
static struct clab_flight_op *record(const struct clab_opening *o)
{
    struct clab_flight *flight = o->job->flight;
    clab_flight_tick(flight);
    struct clab_flight_op *op = clab_flight_next(flight);
    op->comm = o->id;
    op->count = (uint64_t)o->n;
    op->sequence = 0;
    op->root = -1;
    op->what = CLAB_FLIGHT_CREATE;
    op->type = op->op = op->lanes = op->algorithm = 0;
    clab_flight_begin(flight, op);
    clab_flight_wait(op, -1, -1, clab_now());
    return op;
}

static int exchange(struct clab_group *group, const void *mine, size_t bytes, void *all)
{
    struct gathering *g = (struct gathering *)group;
    struct clab_bootstrap *boot = g->opening->job->bootstrap;
    const struct clab_fence fence = {.ranks = group->ranks,
                                     .n = group->nranks,
                                     .key = clab_mix(group->id, ++g->fences),
                                     .quiet = g->opening->rest_of != NULL};
    struct clab_flight_op *op = record(g->opening);
    boot->meanwhile = meanwhile;
    boot->meanwhile_of = g;
    const int err = boot->exchange(boot, fence, mine, bytes, all);
    boot->meanwhile = NULL;
    clab_flight_end(op, err ? CLAB_FLIGHT_FAILED : CLAB_FLIGHT_DONE);
    return err;
}

static struct gathering gather(const struct clab_opening *o, uint64_t id, const struct clab_comm *comm)
{
    struct gathering g = {
        .group = {.nranks = o->n, .ranks = o->ranks, .id = id, .exchange = exchange, .parties = o->parties},
        .opening = o,
        .comm = comm,
        .expelled = o->rest_of ? o->rest_of->nexpelled : 0};
    while (o->ranks[g.group.rank] != o->job->rank)
        g.group.rank++;
    return g;
}

int clab_comm_exchange(const struct clab_opening *o, const void *mine, size_t bytes, void *all)
{
    static const uint64_t before = UINT64_C(0x6265666f72652069); // exchanges of open have the id itself
    struct gathering g = gather(o, clab_mix(o->id, before), NULL);
    return exchange(&g.group, mine, bytes, all);
}

// ---- the communicator ----------------------------------------------------------------------------------------

// Members on each host if those of a host follow each other, and all hosts have as many, but perhaps the last; else 0.
static int per_host(const int hosts[], int n)
{
    int each = 0, here = 0;
    for (int r = 0; r < n; r++) {
        const bool first = r == 0 || hosts[r] != hosts[r - 1];
        if (first && r > 0 && (hosts[r] < hosts[r - 1] || (each && here != each)))
            return 0;
        if (first && r > 0)
            each = here;
        here = first ? 1 : here + 1;
    }
    return each > 1 && here <= each ? each : 0;
}

static struct clab_comm *create(const struct clab_opening *o)
{
    const size_t n = (size_t)o->n;
    struct clab_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->job = o->job;
    comm->backend = o->job->backend;
    comm->job_ranks = malloc(n * sizeof *comm->job_ranks);
    comm->expelled_by = malloc(n * sizeof *comm->expelled_by);
    comm->hosts = malloc(n * sizeof *comm->hosts);
    if (!comm->job_ranks || !comm->expelled_by || !comm->hosts) {
        clab_comm_free(comm);
        return NULL;
    }
    memcpy(comm->job_ranks, o->ranks, n * sizeof *comm->job_ranks);
    for (size_t r = 0; r < n; r++)
        comm->expelled_by[r] = -1;
    for (size_t r = 0; r < n; r++)
        comm->hosts[r] = o->job->hosts[o->ranks[r]];
    comm->per_host = per_host(comm->hosts, o->n);
    comm->flight = o->job->flight;
    comm->trace = o->job->trace;
    comm->bounces = comm->backend->bounces;
    if (o->n > 1)
        comm->check = clab_check_wanted();
    comm->recorded.algorithm = &clab_native_algorithm;
    comm->recorded.number = CLAB_FLIGHT_NATIVE;
    comm->nranks = o->n;
    comm->id = o->id;
    comm->collectives_end = &comm->collectives;
    comm->messages_end = &comm->messages;
    comm->traffic.algorithm = "none";
    comm->next = o->job->comms; // from now on notices about it are seen
    o->job->comms = comm;
    return comm;
}

static int connect(struct clab_comm *comm, struct clab_group *group, double start)
{
    const double opened = clab_now();
    CLAB_TRY(clab_endpoint_open(comm->job->domain, group, &comm->endpoint));
    struct clab_open_cost cost = {.rendezvous = opened - start, .connect = clab_now() - opened};
    CLAB_TRY(comm->backend->time->open(comm->endpoint, group, start, &cost));
    comm->setup = (struct clab_comm_setup){cost.rendezvous, cost.connect};
    return CLAB_OK;
}

int clab_comm_open(const struct clab_opening *o, struct clab_comm **comm_p)
{
    struct clab_comm *comm = create(o);
    if (!comm)
        return clab_job_refuse(o->job, o->id, o->n, CLAB_ENOMEM);
    clab_comm_catch_up(comm);
    struct gathering g = gather(o, o->id, comm);
    comm->rank = g.group.rank;
    const int err = connect(comm, &g.group, o->start);
    if (err) {
        clab_comm_give_up(comm, err, o->rest_of != NULL);
        clab_comm_free(comm);
        return err;
    }
    o->job->counts.communicators++;
    *comm_p = comm;
    return CLAB_OK;
}
