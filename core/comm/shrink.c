// SPDX-License-Identifier: MIT
// Shrink: a communicator of those members of another who are left and answer.
//
// - Each guesses who is left, and goes to the meeting of just that group. Groups that do not agree do not meet; who
//   waits for a dead member is told so by the meeting, and guesses anew. Guesses only become smaller, and deaths are
//   known to all, so all come to the same.
// - Who waits in vain until the deadline says who has not come: those are expelled, which ends all other meetings with
//   them. An expelled rank that wakes up later hears that, and makes nothing. So the first who has waited long enough
//   decides, and nobody is left with another group.
// - A member that wakes up in the very moment of its expulsion may end the last meeting, while who expels it does not.
//   Its new communicator then fails, as any would, and can be shrunk.
// Source: as revoke.c, section 3.2; the agreement is by what the job knows, not by messages.

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/units.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

static const double settle = 1; // s that news of why a meeting was ended may take

// Who is left, as this rank knows.  ranks: (comm->nranks), of the job.  How many.
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

// The members who have come to a meeting of (n) `ranks` gave 1; expel the others. Whether there are any.
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

// Another has ended the meeting of `n`, since it knows more: wait until this rank does, too. Whether it does.
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

// Meet and open, as (n) `ranks`; *again_p: there are less of them now.  came: room for (n)
static int attempt(struct clab_comm *comm, int ranks[], int n, double start, char *came, bool *again_p,
                   struct clab_comm **comm_p)
{
    const struct clab_opening opening = {
        .job = comm->job, .ranks = ranks, .n = n, .id = name(comm, ranks, n), .start = start, .rest_of = comm};
    const char here = 1;
    for (int i = 0; i < n; i++)
        came[i] = ranks[i] == comm->job->rank;
    int err = clab_comm_meet(&opening, &here, sizeof here, came);
    const bool met = err == CLAB_OK;
    if (err == CLAB_ENOMEM) // the others need not wait for this rank
        clab_comm_expel(comm, comm->rank);
    if (met)
        err = clab_comm_open(&opening, comm_p);
    *again_p = (err == CLAB_ETIMEOUT && !met && expel_missing(comm, ranks, n, came)) ||
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
            clab_error("rank %d has waited for this rank in vain, and the others have gone on without it",
                       comm->expelled_by[comm->rank]);
            return CLAB_EPEER;
        }
        err = attempt(comm, ranks, n, start, came, &again, comm_p);
    }
    if (err)
        clab_error("what is left of a communicator of %d ranks, %d, can not meet: %s", comm->nranks, n,
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
    free(ranks);
    free(came);
    return err;
}
