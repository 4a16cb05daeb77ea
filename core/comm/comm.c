// SPDX-License-Identifier: MIT
// Communicators: create, split, destroy, and their settings.

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "comm/comm.h"

static void release(struct clab_comm *comm)
{
    for (struct clab_comm **link = &comm->job->comms; *link; link = &(*link)->next)
        if (*link == comm) {
            *link = comm->next;
            break;
        }
    if (comm->endpoint)
        comm->backend->close(comm->endpoint);
    clab_work_free_all(comm);
    clab_run_free(comm);
    free(comm->job_ranks);
    free(comm);
}

// A communicator of `group`, whose members call this together.
static int open_comm(struct clab_job *job, const struct clab_group *group, double rendezvous, struct clab_comm **comm_p)
{
    struct clab_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return CLAB_ENOMEM;
    comm->job = job;
    comm->backend = job->backend;
    comm->rank = group->rank;
    comm->nranks = group->nranks;
    comm->collectives_end = &comm->collectives;
    comm->traffic.algorithm = "none";
    comm->setup.rendezvous = rendezvous;
    size_t bytes = (size_t)group->nranks * sizeof *comm->job_ranks;
    double start = clab_now();
    comm->job_ranks = malloc(bytes);
    int err = comm->job_ranks ? comm->backend->open(job->domain, group, &comm->endpoint) : CLAB_ENOMEM;
    if (err) {
        release(comm);
        return err;
    }
    memcpy(comm->job_ranks, group->ranks, bytes);
    comm->setup.connect = clab_now() - start;
    comm->next = job->comms;
    job->comms = comm;
    *comm_p = comm;
    return CLAB_OK;
}

// ---- of all ranks --------------------------------------------------------------------------------------------

static int exchange_over_job(void *context, const void *mine, size_t bytes, void *all)
{
    struct clab_bootstrap *boot = context;
    return boot->exchange(boot, mine, bytes, all);
}

int clab_comm_create(struct clab_job *job, struct clab_comm **comm_p)
{
    double start = clab_now();
    int *ranks = malloc((size_t)job->ranks * sizeof *ranks);
    struct clab_group group = {job->rank, job->ranks, ranks, exchange_over_job, job->bootstrap};
    int err = ranks ? CLAB_OK : CLAB_ENOMEM;
    if (!err) // who is there, in job order
        err = exchange_over_job(job->bootstrap, &job->rank, sizeof job->rank, ranks);
    if (!err)
        err = open_comm(job, &group, clab_now() - start, comm_p);
    free(ranks);
    return err;
}

// ---- of some -------------------------------------------------------------------------------------------------

struct membership {
    int color, key, rank; // rank in the parent
};

static int by_key(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->rank > y->rank) - (x->rank < y->rank);
}

// The members of a new communicator meet over their parent.
struct meeting {
    struct clab_comm *parent;
    const struct membership *members;
    int n, me;
};

static int exchange_over_parent(void *context, const void *mine, size_t bytes, void *all)
{
    struct meeting *m = context;
    memcpy((char *)all + (size_t)m->me * bytes, mine, bytes);
    for (int shift = 1; shift < m->n; shift++) {
        int to = (m->me + shift) % m->n, from = (m->me - shift + m->n) % m->n;
        struct clab_transfer give = {.op = CLAB_SEND,
                                     .peer = m->members[to].rank,
                                     .lane = CLAB_SETUP_LANE,
                                     .src = mine,
                                     .count = bytes,
                                     .type = CLAB_U8};
        struct clab_transfer get = {.op = CLAB_RECV,
                                    .peer = m->members[from].rank,
                                    .lane = CLAB_SETUP_LANE,
                                    .dst = (char *)all + (size_t)from * bytes,
                                    .count = bytes,
                                    .type = CLAB_U8};
        struct clab_work *gives, *gets;
        CLAB_TRY(clab_message_start(m->parent, give, &gives));
        CLAB_TRY(clab_message_start(m->parent, get, &gets));
        CLAB_TRY(clab_work_wait(gives));
        CLAB_TRY(clab_work_wait(gets));
    }
    return CLAB_OK;
}

static int open_members(struct clab_comm *parent, struct membership *members, int n, double start,
                        struct clab_comm **comm_p)
{
    int *ranks = malloc((size_t)n * sizeof *ranks);
    struct meeting meeting = {.parent = parent, .members = members, .n = n};
    if (!ranks)
        return CLAB_ENOMEM;
    qsort(members, (size_t)n, sizeof *members, by_key);
    for (int i = 0; i < n; i++) {
        ranks[i] = parent->job_ranks[members[i].rank];
        if (members[i].rank == parent->rank)
            meeting.me = i;
    }
    struct clab_group group = {meeting.me, n, ranks, exchange_over_parent, &meeting};
    int err = open_comm(parent->job, &group, clab_now() - start, comm_p);
    free(ranks);
    return err;
}

int clab_comm_split(struct clab_comm *comm, int color, int key, struct clab_comm **comm_p)
{
    double start = clab_now();
    struct membership mine = {color, key, comm->rank}, *all = malloc((size_t)comm->nranks * sizeof *all);
    int n = 0, err = all ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = clab_allgather(comm, &mine, all, sizeof mine, CLAB_U8);
    for (int r = 0; !err && r < comm->nranks; r++)
        if (all[r].color == color)
            all[n++] = all[r];
    if (!err && color < 0)
        *comm_p = NULL;
    else if (!err)
        err = open_members(comm, all, n, start, comm_p);
    free(all);
    return err;
}

void clab_comm_destroy(struct clab_comm *comm)
{
    if (comm)
        release(comm);
}

// ---- settings and facts --------------------------------------------------------------------------------------

static void list_algorithms(enum clab_collective collective, char *names, size_t room)
{
    names[0] = 0;
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
    if ((unsigned)collective >= CLAB_COLLECTIVE_COUNT || lanes < 0 || lanes > (automatic ? 0 : CLAB_MAX_LANES)) {
        clab_error("lanes are 0 (the algorithm's own, or automatic) to %d, not %d", CLAB_MAX_LANES, lanes);
        return CLAB_EINVAL;
    }
    if (!automatic && !(found = clab_algorithm_find(collective, algorithm))) {
        list_algorithms(collective, names, sizeof names);
        clab_error("%s has no algorithm '%s'; it has: auto%s", clab_collective_name(collective), algorithm, names);
        return CLAB_ENOENT;
    }
    comm->choice[collective].algorithm = found;
    comm->choice[collective].lanes = lanes;
    return CLAB_OK;
}

int clab_comm_rank(const struct clab_comm *comm)
{
    return comm->rank;
}

int clab_comm_ranks(const struct clab_comm *comm)
{
    return comm->nranks;
}

struct clab_comm_setup clab_comm_setup(const struct clab_comm *comm)
{
    return comm->setup;
}

struct clab_comm_traffic clab_comm_traffic(const struct clab_comm *comm)
{
    return comm->traffic;
}
