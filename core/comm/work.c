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

// Whether the first collective is a schedule under way: of that is known how far it is.
static bool is_replaying(const struct clab_comm *comm)
{
    return comm->running && !clab_native_is(comm->collectives);
}

// Say what failed where, and poison the communicator.
static int fail(struct clab_comm *comm, const struct clab_work *work, int err)
{
    int peer = work->transfer.peer, stage = 0;
    comm->err = err;
    if (!work->algorithm)
        clab_error("%s, peer %d: %s", what(work), peer, clab_strerror(err));
    else if (work == comm->collectives && is_replaying(comm) && clab_run_waits_for(comm, &peer, &stage))
        clab_error("%s (%s) number %lu, stage %d, peer %d: %s", what(work), work->algorithm->name, work->sequence,
                   stage, peer, clab_strerror(err));
    else
        clab_error("%s (%s) number %lu: %s", what(work), work->algorithm->name, work->sequence, clab_strerror(err));
    return err;
}

// ---- progress ------------------------------------------------------------------------------------------------

// Begin the first collective, or go on with it.
static int advance_first(struct clab_comm *comm, bool *progress_p, bool *done_p)
{
    const struct clab_work *work = comm->collectives;
    const bool is_native = clab_native_is(work);
    if (!comm->running)
        CLAB_TRY(is_native ? clab_native_begin(comm, work) : clab_run_begin(comm, work));
    comm->running = true;
    return is_native ? clab_native_advance(comm, done_p) : clab_run_advance(comm, progress_p, done_p);
}

static int advance_collectives(struct clab_comm *comm, bool *progress_p)
{
    struct clab_work *work;
    while ((work = comm->collectives)) {
        bool done = false;
        int err = advance_first(comm, progress_p, &done);
        if (err)
            return fail(comm, work, err);
        if (!done)
            return CLAB_OK;
        clab_run_average(comm, work);
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
    if (comm->err)
        return comm->err;
    CLAB_TRY(advance_collectives(comm, progress_p));
    return comm->messages ? advance_messages(comm, progress_p) : CLAB_OK;
}

// A peer may wait for us on another communicator. What fails there is that communicator's.
static void advance_others(struct clab_comm *comm, bool *progress_p)
{
    for (struct clab_comm *other = comm->job->comms; other; other = other->next)
        if (other != comm && (other->collectives || other->messages))
            advance(other, progress_p);
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
    bool progress = false;
    if (comm->err)
        return CLAB_EPOISONED;
    struct clab_work *work = take_spare(comm);
    if (!work)
        return CLAB_ENOMEM;
    *work = *filled;
    work->comm = comm;
    if (work->algorithm) {
        work->sequence = comm->sequence++;
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

static size_t bytes_moved(const struct clab_comm *comm)
{
    size_t moved = is_replaying(comm) ? clab_run_moved(comm) : 0;
    for (const struct clab_work *work = comm->messages; work; work = work->next)
        moved += work->transfer.moved;
    return moved;
}

// Now and then look at the clock: a long message moves although no stage ends, and what does not move has a deadline.
static int check_deadline(struct clab_comm *comm, const struct clab_work *work)
{
    struct clab_patience *p = &comm->patience;
    if (++p->fruitless % 256)
        return CLAB_OK;
    double now = clab_now();
    size_t moved = bytes_moved(comm);
    if (p->since == 0 || moved != p->moved)
        p->since = now;
    p->moved = moved;
    return now - p->since < comm->job->bootstrap->timeout ? CLAB_OK : fail(comm, work, CLAB_ETIMEOUT);
}

// Make what progress there is, on all communicators.
static int look(struct clab_work *work, bool *progress_p)
{
    struct clab_comm *comm = work->comm;
    *progress_p = false;
    CLAB_TRY(advance(comm, progress_p));
    if (!*progress_p && comm->job->comms->next)
        advance_others(comm, progress_p);
    if (!*progress_p)
        return work->done ? CLAB_OK : check_deadline(comm, work);
    comm->patience = (struct clab_patience){0};
    return CLAB_OK;
}

int clab_work_test(struct clab_work *work, bool *done_p)
{
    bool progress;
    int err = work->done ? CLAB_OK : look(work, &progress);
    *done_p = work->done || err;
    return err;
}

// Hear what has gone wrong elsewhere in the job.
static int listen(struct clab_comm *comm, const struct clab_work *work)
{
    struct clab_bootstrap *boot = comm->job->bootstrap;
    struct clab_notice notice;
    while (boot->hear(boot, &notice))
        for (int r = 0; notice.kind == CLAB_NOTICE_LOST && r < comm->nranks; r++)
            if (comm->job_ranks[r] == notice.culprit) {
                clab_error("rank %d has ended during %s", r, what(work));
                return comm->err = CLAB_EPEER;
            }
    return CLAB_OK;
}

// Nothing moved: give the backend its way of waiting.
static int idle(struct clab_comm *comm, const struct clab_work *work)
{
    return comm->backend->idle(comm->endpoint, comm->patience.fruitless - 1) ? listen(comm, work) : CLAB_OK;
}

int clab_work_wait(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    int err = CLAB_OK;
    comm->patience = (struct clab_patience){0};
    while (!work->done && !err) {
        bool progress;
        err = look(work, &progress);
        if (!err && !progress)
            err = idle(comm, work);
    }
    if (work->done) {
        work->next = comm->spare;
        comm->spare = work;
        return CLAB_OK;
    }
    return err; // the work stays in its list, and is freed with the communicator
}
