// SPDX-License-Identifier: MIT
// Communicators: create, split, destroy, and their settings.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/mix.h"
#include "core/base/order.h"
#include "core/comm/comm.h"
#include "core/schedule/formats/listing.h"
#include "core/comm/progress.h"

void clab_comm_free(struct clab_comm *comm)
{
    struct clab_job *job = comm->job;
    clab_job_enter(job);
    for (struct clab_comm **link = &comm->job->comms; *link; link = &(*link)->next)
        if (*link == comm) {
            *link = comm->next;
            break;
        }
    if (comm->endpoint)
        comm->backend->close(comm->endpoint, comm->collectives || comm->messages);
    clab_work_free_all(comm);
    clab_run_free(comm);
    clab_bounce_free(comm);
    free(comm->expelled_by);
    free(comm->job_ranks);
    free(comm->hosts);
    free(comm);
    clab_job_leave(job);
}

void clab_comm_destroy(struct clab_comm *comm)
{
    if (!comm)
        return;
    comm->job->counts.communicators_destroyed++;
    clab_comm_free(comm);
}

// ---- of all ranks --------------------------------------------------------------------------------------------

// Where the ranks run: `nodes` is what each rank's launcher says, unless a described network says it.  nodes: (ranks)
static int keep_hosts(struct clab_job *job, const int nodes[])
{
    if (job->hosts)
        return CLAB_OK;
    if (!(job->hosts = malloc((size_t)job->ranks * sizeof *job->hosts)))
        return CLAB_ENOMEM;
    for (int r = 0; r < job->ranks; r++) {
        const int host = job->backend->time->host(job->domain, r);
        job->hosts[r] = host >= 0 ? host : nodes[r];
    }
    return CLAB_OK;
}

static int create(struct clab_job *job, struct clab_comm **comm_p)
{
    static const uint64_t root = UINT64_C(0x616c6c2072616e6b);
    double start = clab_seconds();
    uint64_t id = clab_mix(root, ++job->created);
    int *ranks = malloc(2 * (size_t)job->ranks * sizeof *ranks);
    if (!ranks)
        return clab_job_refuse(job, id, job->ranks, CLAB_ENOMEM);
    for (int r = 0; r < job->ranks; r++)
        ranks[r] = r;
    const struct clab_opening opening = {.job = job, .ranks = ranks, .n = job->ranks, .id = id, .start = start};
    const int node = job->bootstrap->node;
    int err = clab_comm_exchange(&opening, &node, sizeof node, ranks + job->ranks); // all are there
    if (!err)
        err = keep_hosts(job, ranks + job->ranks);
    if (err == CLAB_ENOMEM && !clab_job_pending_revocation(job, id))
        clab_job_refuse(job, id, job->ranks, err);
    if (!err)
        err = clab_comm_open(&opening, comm_p);
    free(ranks);
    return err;
}

int clab_comm_create(struct clab_job *job, struct clab_comm **comm_p)
{
    clab_job_enter(job);
    const int err = create(job, comm_p);
    clab_job_leave(job);
    clab_progress_begin_if_held(job);
    return err;
}

// ---- of some -------------------------------------------------------------------------------------------------

struct membership {
    int color, key, rank; // rank in the parent
};

static int by_key(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    return CLAB_ORDER(x->key, y->key) ?: CLAB_ORDER(x->rank, y->rank);
}

// By color, of all ranks of the job.  all: (comm->nranks)
static void find_parties(const struct clab_comm *comm, const struct membership all[], int parties[])
{
    for (int r = 0; r < comm->job->ranks; r++)
        parties[r] = -1;
    for (int r = 0; r < comm->nranks; r++)
        parties[comm->job_ranks[r]] = all[r].color < 0 ? -1 : all[r].color;
}

// ranks: room for (n)
static int open_members(struct clab_comm *parent, struct membership *members, int ranks[], int n, uint64_t id,
                        double start, const int parties[], struct clab_comm **comm_p)
{
    qsort(members, (size_t)n, sizeof *members, by_key);
    for (int i = 0; i < n; i++)
        ranks[i] = parent->job_ranks[members[i].rank];
    const struct clab_opening opening = {
        .job = parent->job, .ranks = ranks, .n = n, .id = id, .start = start, .parties = parties, .from = parent};
    return clab_comm_open(&opening, comm_p);
}

// What each rank wants. Not within another call, since it may start the thread of progress.h.  all: (comm->nranks)
static int ask_all(struct clab_comm *comm, int color, int key, struct membership all[])
{
    const struct membership mine = {color, key, comm->rank};
    return clab_own_allgather(comm, &mine, all, sizeof mine, CLAB_U8);
}

// all: (comm->nranks); ranks: room for as many; parties: for (ranks of the job)
static int split(struct clab_comm *comm, int color, struct membership all[], int ranks[], int parties[], double start,
                 struct clab_comm **comm_p)
{
    int n = 0;
    find_parties(comm, all, parties);
    for (int r = 0; r < comm->nranks; r++)
        if (all[r].color == color)
            all[n++] = all[r];
    const uint64_t id = clab_mix(clab_mix(comm->id, ++comm->children), (uint64_t)color);
    if (color >= 0)
        return open_members(comm, all, ranks, n, id, start, parties, comm_p);
    *comm_p = NULL;
    return CLAB_OK;
}

static int split_without_memory(struct clab_comm *comm)
{
    return comm->err ? CLAB_EPOISONED : clab_comm_end(comm, CLAB_ENOMEM, -1, "split: out of memory");
}

int clab_comm_split(struct clab_comm *comm, int color, int key, struct clab_comm **comm_p)
{
    struct membership *all = malloc((size_t)comm->nranks * sizeof *all);
    int *ranks = malloc((size_t)(comm->nranks + comm->job->ranks) * sizeof *ranks);
    const double start = clab_seconds();
    const bool has_memory = all && ranks;
    int err = has_memory ? ask_all(comm, color, key, all) : CLAB_OK;
    clab_job_enter(comm->job);
    if (!has_memory)
        err = split_without_memory(comm);
    else if (!err)
        err = split(comm, color, all, ranks, ranks + comm->nranks, start, comm_p);
    clab_job_leave(comm->job);
    clab_progress_begin_if_held(comm->job);
    free(all);
    free(ranks);
    return err;
}

// ---- settings and facts --------------------------------------------------------------------------------------

// Whether the backend has a native collective for any type and operation.
static bool has_native(const struct clab_comm *comm, enum clab_collective collective)
{
    for (int type = 0; type < CLAB_TYPE_COUNT; type++)
        for (int op = 0; op < CLAB_OP_COUNT; op++)
            if (clab_native_has(comm->backend, collective, (enum clab_type)type, (enum clab_op)op))
                return true;
    return false;
}

static const struct clab_algorithm *find_algorithm(const struct clab_comm *comm, enum clab_collective collective,
                                                   const char *name)
{
    if (!strcmp(name, clab_native_algorithm.name))
        return has_native(comm, collective) ? &clab_native_algorithm : NULL;
    return clab_algorithm_find(collective, name);
}

static void list_algorithms(const struct clab_comm *comm, enum clab_collective collective, char *names, size_t room)
{
    snprintf(names, room, "%s%s", has_native(comm, collective) ? " " : "",
             has_native(comm, collective) ? clab_native_algorithm.name : "");
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == collective) {
            strncat(names, " ", room - strlen(names) - 1);
            strncat(names, clab_algorithms[i]->name, room - strlen(names) - 1);
        }
}

int clab_comm_set_algorithm(struct clab_comm *comm, enum clab_collective collective, const char *algorithm, int lanes)
{
    const struct clab_algorithm *found = NULL;
    char names[512];
    bool automatic = !strcmp(algorithm, "auto");
    bool has_lanes = !automatic && strcmp(algorithm, clab_native_algorithm.name) != 0;
    if ((unsigned)collective >= CLAB_COLLECTIVE_COUNT || lanes < 0 || lanes > (has_lanes ? CLAB_MAX_LANES : 0)) {
        clab_error("lanes are 0 (the algorithm's own, and with auto and native) to %d, not %d", CLAB_MAX_LANES, lanes);
        return CLAB_EINVAL;
    }
    if (!automatic && !(found = find_algorithm(comm, collective, algorithm))) {
        list_algorithms(comm, collective, names, sizeof names);
        struct clab_nearest nearest = clab_nearest_to(algorithm, strlen(algorithm));
        clab_algorithm_offer(collective, &nearest);
        clab_error("%s has no algorithm '%s'%s; it has: auto%s", clab_collective_name(collective), algorithm,
                   clab_nearest_hint(&nearest), names);
        return CLAB_ENOENT;
    }
    comm->choice[collective].algorithm = found;
    comm->choice[collective].listing = NULL;
    comm->choice[collective].lanes = lanes;
    clab_work_forget(comm, collective);
    return CLAB_OK;
}

static int set_stream(struct clab_comm *comm, void *stream)
{
    if (comm->err)
        return CLAB_EPOISONED;
    if (comm->collectives || comm->messages) {
        clab_error("clab_comm_set_stream: work is under way on this communicator: wait for it before");
        return CLAB_EINVAL;
    }
    const int err = comm->backend->follow(comm->endpoint, stream);
    if (err == CLAB_EUNSUPPORTED)
        clab_error("clab_comm_set_stream: backend %s has no streams: use --backend nccl, or give it none",
                   comm->backend->name);
    if (!err)
        comm->has_stream = stream != NULL;
    return err;
}

int clab_comm_set_stream(struct clab_comm *comm, void *stream)
{
    clab_job_enter(comm->job);
    const int err = set_stream(comm, stream);
    clab_job_leave(comm->job);
    return err;
}

struct clab_job *clab_comm_job(const struct clab_comm *comm)
{
    return comm->job;
}

int clab_comm_rank(const struct clab_comm *comm)
{
    return comm->rank;
}

int clab_comm_ranks(const struct clab_comm *comm)
{
    return comm->nranks;
}

int clab_comm_host(const struct clab_comm *comm, int rank)
{
    return comm->hosts[rank];
}

struct clab_comm_setup clab_comm_setup(const struct clab_comm *comm)
{
    return comm->setup;
}

struct clab_comm_traffic clab_comm_traffic(const struct clab_comm *comm)
{
    clab_job_enter(comm->job);
    const struct clab_comm_traffic traffic = comm->traffic;
    clab_job_leave(comm->job);
    return traffic;
}

int clab_comm_set_listing(struct clab_comm *comm, const struct clab_listing *listing)
{
    const struct clab_problem *p = &listing->problem;
    if (p->nranks != comm->nranks || p->lanes > CLAB_MAX_LANES || listing->loose) {
        clab_error("%s: a schedule of %d ranks and %d lanes, and there are %d ranks, with at most %d lanes",
                   listing->name, p->nranks, p->lanes, comm->nranks, CLAB_MAX_LANES);
        return CLAB_EINVAL;
    }
    comm->choice[p->collective].algorithm = &listing->algorithm;
    comm->choice[p->collective].listing = listing;
    comm->choice[p->collective].lanes = p->lanes;
    clab_work_forget(comm, p->collective);
    return CLAB_OK;
}
