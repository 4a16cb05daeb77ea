// SPDX-License-Identifier: MIT
// The monitored barrier: a barrier that names the late ranks, and how late they came.
//
// - Rank 0 sends a hello to all ranks and receives theirs. Then it sends the result to all ranks that have come.
// - On one host all ranks have the same clock, and each reports when it came. Hosts' clocks differ, so there each rank
//   reports how long it has waited. All receive the result at about the same time: the rank that waited longest came
//   first, and the others came later by the difference.
// - A rank that does not come leaves messages unanswered, so the communicator is poisoned.
// Source: torch.distributed.monitored_barrier, which names ranks; lateness from waiting times is ours.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

enum { LINE = 512, NAMED = 8 };
static const double margin = 1.0; // s that rank 0's result may take beyond its deadline

struct barrier {
    struct clab_comm *comm;
    double timeout, entry;    // s; entry is clab_now, by which deadlines go
    double came;              // s of clab_seconds, by which lateness goes
    double *late;             // (nranks)
    unsigned char *here;      // (nranks) whether a rank came in time: decided once
    unsigned char *hellos;    // (nranks) received from each rank, also from late ones
    struct clab_work **works; // (2, nranks) started and not waited for; NULL: none. Rank 0's: what it receives from
                              // each rank, and its hello to each
    bool concluded;           // `late` is rank 0's result, or our own: rank 0 does not come
};

// ---- messages ------------------------------------------------------------------------------------------------

static int post(struct clab_comm *comm, enum clab_step_op op, int peer, void *data, size_t bytes,
                struct clab_work **work_p)
{
    const struct clab_transfer t = {.op = op,
                                    .peer = peer,
                                    .lane = CLAB_MONITOR_LANE,
                                    .src = op == CLAB_SEND ? data : NULL,
                                    .dst = op == CLAB_SEND ? NULL : data,
                                    .count = bytes,
                                    .type = CLAB_U8,
                                    .redop = CLAB_SUM};
    clab_comm_count_message(comm, op, peer, bytes);
    return clab_message_start(comm, t, work_p);
}

// The work at `at`, until `deadline`; if it is not done then, it stays.
static int wait_until(struct barrier *b, int at, double deadline, bool *done_p)
{
    CLAB_TRY(clab_work_wait_until(b->works[at], deadline, done_p));
    if (*done_p)
        b->works[at] = NULL;
    return CLAB_OK;
}

// After a failure: only a wait frees a work. These waits end at once.
static void forget_works(struct barrier *b)
{
    for (int i = 0; b->works && i < 2 * b->comm->nranks; i++)
        if (b->works[i])
            clab_work_wait(b->works[i]);
}

static int transfer(struct clab_comm *comm, enum clab_step_op op, int peer, void *data, size_t bytes)
{
    struct clab_work *work;
    CLAB_TRY(post(comm, op, peer, data, bytes, &work));
    return clab_work_wait_until(work, INFINITY, &(bool){0});
}

// The same with all ranks that are here, at once.  stride: bytes from one rank's data to the next's
static int transfer_all(struct barrier *b, enum clab_step_op op, void *data, size_t bytes, size_t stride)
{
    for (int r = 1; r < b->comm->nranks; r++)
        if (b->here[r])
            CLAB_TRY(post(b->comm, op, r, (char *)data + (size_t)r * stride, bytes, &b->works[r]));
    for (int r = 1; r < b->comm->nranks; r++)
        if (b->here[r])
            CLAB_TRY(wait_until(b, r, INFINITY, &(bool){0}));
    return CLAB_OK;
}

// ---- late ranks ----------------------------------------------------------------------------------------------

static size_t name_rank(char *line, size_t used, int rank, const char *how)
{
    const int n = used < LINE ? snprintf(line + used, LINE - used, "%srank %d %s", used ? ", " : "", rank, how) : 0;
    return used + (n > 0 ? (size_t)n : 0);
}

// "rank 3 has not come within 2 s, rank 1 came 300 ms after the first"
static void name_late(const struct barrier *b, char line[LINE])
{
    char seconds[CLAB_TEXT], how[64];
    size_t used = 0;
    int named = 0;
    for (int r = 0; r < b->comm->nranks && named < NAMED; r++)
        if (isinf(b->late[r])) {
            snprintf(how, sizeof how, "has not come within %s", clab_seconds_text(b->timeout, seconds));
            used = name_rank(line, used, r, how);
            named++;
        }
    for (int r = 0; r < b->comm->nranks && named < NAMED; r++)
        if (!isinf(b->late[r]) && b->late[r] > b->timeout / 10) {
            snprintf(how, sizeof how, "came %s after the first", clab_seconds_text(b->late[r], seconds));
            used = name_rank(line, used, r, how);
            named++;
        }
}

static int first_missing(const struct barrier *b)
{
    int r = 0;
    while (r < b->comm->nranks && !isinf(b->late[r]))
        r++;
    return r;
}

// Rank 0 logs it for all ranks that came.
static int conclude(struct barrier *b, bool says_it)
{
    const int missing = first_missing(b);
    b->concluded = true;
    char names[LINE], line[LINE + 32];
    if (missing == b->comm->nranks)
        return CLAB_OK;
    name_late(b, names);
    snprintf(line, sizeof line, "monitored barrier: %s", names);
    return clab_comm_end(b->comm, CLAB_ETIMEOUT, b->comm->job_ranks[missing], says_it ? line : NULL);
}

// ---- the two sides -------------------------------------------------------------------------------------------

// How long this rank has waited for the verdict, or, where all have one clock, since it came until that clock's zero:
// either way, who came earlier has more.
static double waited(const struct barrier *b)
{
    return b->comm->job->bootstrap->nnodes > 1 ? clab_seconds() - b->came : -b->came;
}

// From waiting times to lateness, in place.
static void reckon(struct barrier *b)
{
    double longest = -INFINITY;
    for (int r = 0; r < b->comm->nranks; r++)
        if (b->here[r] && b->late[r] > longest)
            longest = b->late[r];
    for (int r = 0; r < b->comm->nranks; r++)
        b->late[r] = b->here[r] ? longest - b->late[r] : INFINITY;
}

static int call_the_roll(struct barrier *b)
{
    static unsigned char token;
    const int n = b->comm->nranks;
    for (int r = 1; r < n; r++) {
        CLAB_TRY(post(b->comm, CLAB_SEND, r, &token, 1, &b->works[n + r]));
        CLAB_TRY(post(b->comm, CLAB_RECV, r, &b->hellos[r], 1, &b->works[r]));
    }
    for (int r = 1; r < n; r++) {
        bool done, told;
        CLAB_TRY(wait_until(b, r, b->entry + b->timeout, &done));
        CLAB_TRY(wait_until(b, n + r, done ? INFINITY : 0, &told));
        b->here[r] = done;
    }
    return CLAB_OK;
}

static int collect(struct barrier *b)
{
    const size_t n = (size_t)b->comm->nranks;
    b->here[0] = 1;
    CLAB_TRY(call_the_roll(b));
    CLAB_TRY(transfer_all(b, CLAB_SEND, b->here, n, 0));
    b->late[0] = waited(b);
    CLAB_TRY(transfer_all(b, CLAB_RECV, b->late, sizeof *b->late, sizeof *b->late));
    reckon(b);
    CLAB_TRY(transfer_all(b, CLAB_SEND, b->late, n * sizeof *b->late, 0));
    if (first_missing(b) < b->comm->nranks) // all ranks that came must know before a notice of the failure
        CLAB_TRY(transfer_all(b, CLAB_RECV, b->hellos, 1, 1));
    return conclude(b, true);
}

// All that is known while rank 0 has not come; and once it has, but has not waited for us.
static void blame(struct barrier *b, int rank)
{
    for (int r = 0; r < b->comm->nranks; r++)
        b->late[r] = r == rank ? INFINITY : 0;
}

static int answer(struct barrier *b)
{
    const size_t n = (size_t)b->comm->nranks;
    enum { HELLO, HERE, VERDICT }; // works
    unsigned char token = 1, from_0;
    double mine;
    bool done;
    blame(b, 0);
    CLAB_TRY(post(b->comm, CLAB_SEND, 0, &token, 1, &b->works[HELLO]));
    CLAB_TRY(post(b->comm, CLAB_RECV, 0, &from_0, 1, &b->works[HERE]));
    CLAB_TRY(wait_until(b, HERE, b->entry + b->timeout, &done));
    if (!done)
        return conclude(b, true);
    CLAB_TRY(wait_until(b, HELLO, INFINITY, &done));
    blame(b, b->comm->rank);
    CLAB_TRY(post(b->comm, CLAB_RECV, 0, b->here, n, &b->works[VERDICT]));
    CLAB_TRY(wait_until(b, VERDICT, clab_now() + b->timeout + margin, &done));
    if (!done) {
        blame(b, 0);
        return conclude(b, true);
    }
    mine = waited(b);
    CLAB_TRY(transfer(b->comm, CLAB_SEND, 0, &mine, sizeof mine));
    CLAB_TRY(transfer(b->comm, CLAB_RECV, 0, b->late, n * sizeof *b->late));
    if (first_missing(b) < b->comm->nranks)
        CLAB_TRY(transfer(b->comm, CLAB_SEND, 0, &token, 1));
    return conclude(b, false);
}

// Another has given up first: whom it waited for did not come; and if it was rank 0, then it had not waited for us,
// either.
static void learn(struct barrier *b)
{
    const struct clab_comm *comm = b->comm;
    for (int r = 0; r < comm->nranks; r++)
        b->late[r] = comm->job_ranks[r] == comm->why.culprit ? INFINITY : 0;
    if (comm->rank != 0 && comm->why.reporter == comm->job_ranks[0])
        b->late[comm->rank] = INFINITY;
}

int clab_monitored_barrier(struct clab_comm *comm, double timeout, double late[])
{
    const size_t n = (size_t)comm->nranks;
    if (!(timeout > 0)) {
        clab_error("monitored barrier: a timeout of %g s is none", timeout);
        return CLAB_EINVAL;
    }
    struct barrier b = {.comm = comm, .timeout = timeout, .entry = clab_now(), .came = clab_seconds(), .late = late};
    b.here = calloc(n, sizeof *b.here);
    b.hellos = calloc(n, sizeof *b.hellos);
    b.works = calloc(2 * n, sizeof *b.works);
    int err = b.here && b.hellos && b.works ? CLAB_OK : CLAB_ENOMEM;
    clab_job_enter(comm->job);
    comm->job->counts.monitored_barriers++;
    if (!err)
        err = comm->rank == 0 ? collect(&b) : answer(&b);
    else if (!comm->err)
        clab_comm_end(comm, err, -1, "monitored barrier: out of memory");
    clab_job_leave(comm->job);
    clab_progress_begin_if_held(comm->job);
    if (err == CLAB_ETIMEOUT && !b.concluded)
        learn(&b);
    if (err)
        forget_works(&b);
    free(b.here);
    free(b.hellos);
    free(b.works);
    return err;
}
