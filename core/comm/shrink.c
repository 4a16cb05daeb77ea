// SPDX-License-Identifier: MIT
// Shrink: make a communicator of the members of another that are left and answer.
//
// - Each rank makes a list of the members that are left, and starts an exchange with exactly these. If lists differ,
//   the exchanges do not match. An exchange with a dead member fails, and the rank makes a new list. Lists only become
//   shorter, and all ranks learn of all deaths, so all arrive at the same list.
// - A rank whose exchange reaches the deadline expels the members that have not come. This ends all other exchanges
//   with them. An expelled rank that wakes up later reads the notice, and makes no communicator. So the rank that
//   reaches its deadline first decides, and no two groups remain.
// - A member that wakes up at the moment of its expulsion may complete the last exchange, while the rank that expels it
//   does not. The new communicator of that member then fails, and can be shrunk again.
// Source: as revoke.c, section 3.2; ranks agree through the job's notices, not through messages.

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/units.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

static const double settle = 1; // s until the notice arrives that explains why an exchange was ended

// The members that are left, as this rank knows.  ranks: (comm->nranks), of the job.  Returns their number
static int guess(struct clab_comm *comm, int ranks[])
{
    struct clab_bootstrap *boot = comm->job->bootstrap;
    int n = 0;
    clab_job_listen(comm->job);
    for (int r = 0; r < comm->nranks; r++)
        if (comm->expelled_by[r] < 0 && boot->presence(boot, comm->job_ranks[r]) < CLAB_LEAVING)
            ranks[n++] = comm->job_ranks[r];
    return n;
}

// The members that came to an exchange of (n) `ranks` gave 1: expel the others.  Returns whether there are any
static bool expel_missing(struct clab_comm *comm, const int *ranks, int n, const char *came)
{
    char seconds[CLAB_TEXT];
    bool any = false;
    for (int r = 0, i = 0; r < comm->nranks && i < n; r++) {
        if (comm->job_ranks[r] != ranks[i])
            continue;
        if (!came[i++] && comm->expelled_by[r] < 0) {
            clab_comm_expel(comm, r);
            clab_warn("rank %d has not answered for %s (CLAB_TIMEOUT): the others go on without it", ranks[i - 1],
                      clab_seconds_text(comm->job->bootstrap->timeout, seconds));
            any = true;
        }
    }
    return any;
}

// Another rank has ended the exchange of `n`, since it knows of a failure. Wait for that notice.  Returns whether it
// came
static bool learn_more(struct clab_comm *comm, int ranks[], int n)
{
    for (const double start = clab_now(); clab_now() - start < settle;) {
        if (guess(comm, ranks) < n)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

static uint64_t name(const struct clab_comm *comm, const int *ranks, int n)
{
    static const uint64_t shrunk = UINT64_C(0x6c65737320697320);
    uint64_t id = clab_mix(clab_mix(comm->id, shrunk), comm->shrinks);
    for (int i = 0; i < n; i++)
        id = clab_mix(id, (uint64_t)ranks[i]);
    return id;
}

// Exchange and open with (n) `ranks`; *again_p: now fewer are left.  came: room for (n)
static int attempt(struct clab_comm *comm, int ranks[], int n, double start, char *came, bool *again_p,
                   struct clab_comm **comm_p)
{
    const struct clab_opening opening = {
        .job = comm->job, .ranks = ranks, .n = n, .id = name(comm, ranks, n), .start = start, .rest_of = comm};
    const char here = 1;
    for (int i = 0; i < n; i++)
        came[i] = ranks[i] == comm->job->rank;
    int err = clab_comm_exchange(&opening, &here, sizeof here, came);
    const bool exchanged = err == CLAB_OK;
    if (err == CLAB_ENOMEM) // the others need not wait for this rank
        clab_comm_expel(comm, comm->rank);
    if (exchanged)
        err = clab_comm_open(&opening, comm_p);
    *again_p = (err == CLAB_ETIMEOUT && !exchanged && expel_missing(comm, ranks, n, came)) ||
               ((err == CLAB_EPEER || err == CLAB_ETIMEOUT) && learn_more(comm, ranks, n));
    return err;
}

static bool is_in(int rank, const int *ranks, int n)
{
    int i = 0;
    while (i < n && ranks[i] != rank)
        i++;
    return i < n;
}

static int shrink(struct clab_comm *comm, int ranks[], char *came, struct clab_comm **comm_p)
{
    const double start = clab_seconds();
    int err = CLAB_OK, n;
    for (bool again = true; again;) {
        n = guess(comm, ranks);
        if (!is_in(comm->job->rank, ranks, n)) {
            clab_error("rank %d has waited for this rank until its deadline, and the others have gone on without it",
                       comm->expelled_by[comm->rank]);
            return CLAB_EPEER;
        }
        err = attempt(comm, ranks, n, start, came, &again, comm_p);
    }
    if (err)
        clab_error("%d ranks can not be shrunk to a communicator of the %d that are left: %s", comm->nranks, n,
                   clab_strerror(err));
    return err;
}

int clab_comm_shrink(struct clab_comm *comm, struct clab_comm **comm_p)
{
    int *ranks = malloc((size_t)comm->nranks * sizeof *ranks);
    char *came = malloc((size_t)comm->nranks);
    clab_job_enter(comm->job);
    comm->shrinks++;
    const int err = ranks && came ? shrink(comm, ranks, came, comm_p) : CLAB_ENOMEM;
    if (!ranks || !came)
        clab_comm_expel(comm, comm->rank);
    clab_job_leave(comm->job);
    clab_progress_begin_if_held(comm->job);
    free(ranks);
    free(came);
    return err;
}
