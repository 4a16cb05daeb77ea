// SPDX-License-Identifier: MIT
// Works: what has been started on a communicator and is not over.
// - Collectives proceed one at a time, in the order they were started; sends and receives beside them.
// - Progress is made in start, test and wait. A wait spins, yields and sleeps as the backend sees fit (idle), and ends
//   when the work does, when a peer is dead, or when nothing has moved for the job's timeout.
// - The first error poisons the communicator: works under way answer with it, later calls with CLAB_EPOISONED.

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "comm/comm.h"

static const char *what(const struct clab_work *work)
{
    if (work->algorithm)
        return clab_collective_name(work->problem.collective);
    return work->transfer.op == CLAB_SEND ? "send" : "receive";
}

// Say once what failed where, and poison the communicator.
static int fail(struct clab_comm *comm, const struct clab_work *work, int err)
{
    int peer = work->transfer.peer, stage = 0;
    if (work->algorithm && comm->running)
        clab_run_waits_for(comm, &peer, &stage);
    clab_error("%s (%s) number %lu, stage %d, peer %d: %s", what(work),
               work->algorithm ? work->algorithm->name : "direct", work->sequence, stage, peer, clab_strerror(err));
    comm->err = err;
    return err;
}

// ---- progress ------------------------------------------------------------------------------------------------

static int advance_collectives(struct clab_comm *comm, bool *progress_p)
{
    struct clab_work *work;
    while ((work = comm->collectives)) {
        bool done = false;
        int err = comm->running ? CLAB_OK : clab_run_begin(comm, work);
        if (!err) {
            comm->running = true;
            err = clab_run_advance(comm, progress_p, &done);
        }
        if (err)
            return fail(comm, work, err);
        if (!done)
            return CLAB_OK;
        comm->running = false;
        comm->collectives = work->next;
        if (!work->next)
            comm->collectives_end = &comm->collectives;
        work->done = true;
        *progress_p = true;
    }
    return CLAB_OK;
}

static int advance_messages(struct clab_comm *comm, bool *progress_p)
{
    for (struct clab_work **link = &comm->messages; *link;) {
        struct clab_work *work = *link;
        int err = comm->backend->test(comm->endpoint, &work->transfer, 1, &work->done);
        if (err)
            return fail(comm, work, err);
        if (work->done) {
            *link = work->next;
            *progress_p = true;
        } else {
            link = &work->next;
        }
    }
    return CLAB_OK;
}

static int advance(struct clab_comm *comm, bool *progress_p)
{
    *progress_p = false;
    if (comm->err)
        return comm->err;
    CLAB_TRY(advance_collectives(comm, progress_p));
    return comm->messages ? advance_messages(comm, progress_p) : CLAB_OK;
}

// ---- start ---------------------------------------------------------------------------------------------------

static struct clab_work *take_spare(struct clab_comm *comm)
{
    struct clab_work *work = comm->spare;
    if (!work)
        return malloc(sizeof *work);
    comm->spare = work->next;
    return work;
}

static int start_message(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_work **end = &comm->messages;
    int err = comm->backend->start(comm->endpoint, &work->transfer, 1);
    if (err)
        return fail(comm, work, err);
    while (*end)
        end = &(*end)->next;
    *end = work;
    return CLAB_OK;
}

int clab_work_start(struct clab_comm *comm, const struct clab_work *filled, struct clab_work **work_p)
{
    bool progress;
    if (comm->err)
        return CLAB_EPOISONED;
    struct clab_work *work = take_spare(comm);
    if (!work)
        return CLAB_ENOMEM;
    *work = *filled;
    work->comm = comm;
    work->sequence = comm->sequence++;
    if (work->algorithm) {
        *comm->collectives_end = work;
        comm->collectives_end = &work->next;
    } else {
        int err = start_message(comm, work);
        if (err) {
            free(work);
            return err;
        }
    }
    advance(comm, &progress); // an error stays in comm->err, and wait returns it
    *work_p = work;
    return CLAB_OK;
}

void clab_work_free_all(struct clab_comm *comm)
{
    struct clab_work *lists[] = {comm->spare, comm->collectives, comm->messages};
    for (int i = 0; i < 3; i++)
        for (struct clab_work *work = lists[i], *next; work; work = next) {
            next = work->next;
            free(work);
        }
}

// ---- test and wait -------------------------------------------------------------------------------------------

int clab_work_test(struct clab_work *work, bool *done_p)
{
    bool progress;
    int err = work->done ? CLAB_OK : advance(work->comm, &progress);
    *done_p = work->done || err;
    return err;
}

struct patience {
    unsigned fruitless; // looks since something moved
    double since;       // when the clock was first read after that; 0: not yet
};

// Nothing moved: give the backend its way of waiting, and now and then look at the clock.
static int be_patient(struct clab_comm *comm, const struct clab_work *work, struct patience *patience)
{
    int peer = -1, err = comm->backend->idle(comm->endpoint, patience->fruitless++, &peer);
    if (err) {
        clab_error("rank %d has ended during %s number %lu", peer, what(work), work->sequence);
        comm->err = err;
        return err;
    }
    if (patience->fruitless % 256)
        return CLAB_OK;
    double now = clab_now();
    if (patience->since == 0)
        patience->since = now;
    return now - patience->since < comm->job->bootstrap->timeout ? CLAB_OK : fail(comm, work, CLAB_ETIMEOUT);
}

int clab_work_wait(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    struct patience patience = {0};
    int err = CLAB_OK;
    while (!work->done && !err) {
        bool progress;
        err = advance(comm, &progress);
        if (err || work->done)
            break;
        if (progress)
            patience = (struct patience){0};
        else
            err = be_patient(comm, work, &patience);
    }
    if (work->done) {
        work->next = comm->spare;
        comm->spare = work;
        return CLAB_OK;
    }
    return err; // the work stays in its list, and is freed with the communicator
}
