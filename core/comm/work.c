// SPDX-License-Identifier: MIT
// Works: what has been started on a communicator and is not over.
// - Collectives proceed one at a time, in the order they were started; sends and receives beside them. A backend that
//   queues has several of its natives at once, such as in a GPU's stream.
// - Progress is made in start, test and wait, and by a thread beside them (progress.h). A wait spins, yields and sleeps
//   as the backend sees fit (idle), and ends when the work does, when the communicator is revoked (revoke.c), when the
//   awaited peer has left the job, or when nothing has moved for the job's timeout.
// - The first error poisons the communicator: works under way answer with it, later calls with CLAB_EPOISONED.

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/comm/comm.h"
#include "core/comm/progress.h"

enum {
    LOOK_AROUND_EVERY = 256, // fruitless looks, where the core is not given away
    LISTEN_EVERY = 16,       // calls that need not wait
};
// Seconds to wait for the last messages of a rank that has left. Over a network, TCP may retransmit them. A rank that
// is lost did not wait until its messages arrived, so its peers do not wait longer either.
static const double last_words_here = 0.1, last_words_afar = 2.0;

static const double look_around_every = 0.5e-3; // s: reading notices may be a system call

// With an exact clock (struct clab_time), a work is over, and goes into the trace, when the program has waited for it.
static bool is_traced_here(const struct clab_comm *comm)
{
    return comm->trace && !comm->backend->time->is_exact;
}

// ---- progress ------------------------------------------------------------------------------------------------

// Unless it has yet to be compared with the calls of others.
static int begin(struct clab_comm *comm, struct clab_work *work)
{
    bool passed = true;
    if (!work->flight)
        clab_work_record(work);
    if (comm->check.is_on)
        CLAB_TRY(clab_check_advance(comm, work, &passed));
    if (!passed)
        return CLAB_OK;
    if (is_traced_here(comm))
        work->traced = clab_trace_begin(comm->trace);
    if (comm->bounces)
        CLAB_TRY(clab_bounce_begin(comm, work));
    CLAB_TRY(work->engine->begin(comm, work));
    work->is_begun = true;
    comm->last_begun = work;
    comm->begun++;
    return CLAB_OK;
}

// An average is divided, and a bounce buffer copied out, when the work is done: the next may read that. Calls that are
// compared wait for others. A copy of `in` to a bounce buffer waits for the caller's stream, which has no deadline. So
// it does not begin while an earlier work is under way in that stream.
static bool may_follow(const struct clab_comm *comm, const struct clab_work *before, const struct clab_work *work)
{
    return comm->begun <= comm->backend->collectives->queues && !comm->check.is_on && clab_native_is(before) &&
           clab_native_is(work) && before->op != CLAB_AVG && !before->bounced.bytes &&
           !(comm->bounces && clab_bounce_waits(comm, work));
}

// Begin the first collective and what the backend queues behind it, and go on with it.
//   *at_p: the one that an error is of
static int advance_first(struct clab_comm *comm, struct clab_work **at_p, bool *progress_p, bool *done_p)
{
    struct clab_work *first = *at_p = comm->collectives;
    if (!first->is_begun)
        CLAB_TRY(begin(comm, first));
    if (!first->is_begun)
        return CLAB_OK;
    while ((*at_p = comm->last_begun->next) && may_follow(comm, comm->last_begun, *at_p))
        CLAB_TRY(begin(comm, *at_p));
    *at_p = first;
    return first->engine->advance(comm, first, progress_p, done_p);
}

static int advance_collectives(struct clab_comm *comm, bool *progress_p)
{
    struct clab_work *work;
    while ((work = comm->collectives)) {
        bool done = false;
        struct clab_work *at;
        int err = advance_first(comm, &at, progress_p, &done);
        if (err)
            return clab_comm_fail(comm, at, err);
        if (!done)
            return CLAB_OK;
        clab_run_average(comm, work);
        if (comm->bounces)
            clab_bounce_end(comm, &work->bounced);
        if (comm->has_stream &&
            (!clab_native_is(work) || work->op == CLAB_AVG)) // the stream does not follow the device
            err = comm->backend->device->finish();
        if (err)
            return clab_comm_fail(comm, work, err);
        comm->begun--;
        comm->collectives = work->next;
        if (!work->next)
            comm->collectives_end = &comm->collectives;
        work->done = true;
        clab_work_record_end(work, CLAB_FLIGHT_DONE);
        if (is_traced_here(comm))
            clab_work_trace(work);
        *progress_p = true;
    }
    return CLAB_OK;
}

// The message at *link_p, which then leads to the next one.
static int advance_message(struct clab_comm *comm, struct clab_work ***link_p, bool *progress_p)
{
    struct clab_work **link = *link_p, *work = *link;
    const int err = comm->backend->test(comm->endpoint, &work->transfer, 1, &work->done);
    if (err)
        return clab_comm_fail(comm, work, err);
    if (!work->done) {
        *link_p = &work->next;
        return CLAB_OK;
    }
    if (comm->bounces)
        clab_bounce_end(comm, &work->bounced);
    *link = work->next;
    if (!work->next)
        comm->messages_end = link;
    clab_work_record_end(work, CLAB_FLIGHT_DONE);
    if (is_traced_here(comm))
        clab_work_trace(work);
    *progress_p = true;
    return CLAB_OK;
}

static int advance_messages(struct clab_comm *comm, bool *progress_p)
{
    for (struct clab_work **link = &comm->messages; *link;)
        CLAB_TRY(advance_message(comm, &link, progress_p));
    return CLAB_OK;
}

// After the start of a message: it, and those that wait longest, as long as they are done. To test all, at each start,
// would make many starts dear.
static int advance_few_messages(struct clab_comm *comm, struct clab_work **newest)
{
    bool progress;
    struct clab_work **link = &comm->messages;
    const bool is_alone = newest == link;
    CLAB_TRY(advance_message(comm, &newest, &progress));
    while (!is_alone && *link && link == &comm->messages)
        CLAB_TRY(advance_message(comm, &link, &progress));
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

bool clab_comm_is_busy(const struct clab_comm *comm)
{
    return !comm->err && (comm->collectives || comm->messages);
}

bool clab_job_is_busy(const struct clab_job *job)
{
    for (const struct clab_comm *comm = job->comms; comm; comm = comm->next)
        if (clab_comm_is_busy(comm))
            return true;
    return false;
}

bool clab_job_advance(struct clab_job *job)
{
    bool progress = false;
    for (struct clab_comm *comm = job->comms; comm; comm = comm->next)
        if (clab_comm_is_busy(comm))
            advance(comm, &progress);
    return progress;
}

// ---- start ---------------------------------------------------------------------------------------------------

int clab_work_take(struct clab_comm *comm, int kind, struct clab_work **work_p)
{
    struct clab_work *work = comm->spares[kind];
    if (comm->err)
        return CLAB_EPOISONED;
    if (work)
        comm->spares[kind] = work->next;
    else if (!(work = calloc(1, sizeof *work))) // others may wait for it
        return clab_comm_end(comm, CLAB_ENOMEM, -1, "no memory is left to start a collective or a message");
    *work_p = work;
    return CLAB_OK;
}

static int kind_of(const struct clab_work *work)
{
    return work->algorithm ? (int)work->problem.collective : CLAB_MESSAGE_WORK;
}

static void free_list(struct clab_work *work)
{
    for (struct clab_work *next; work; work = next) {
        next = work->next;
        free(work);
    }
}

void clab_work_forget(struct clab_comm *comm, enum clab_collective collective)
{
    free_list(comm->spares[collective]);
    comm->spares[collective] = NULL;
    comm->kept_from = comm->sequence;
}

static int start_message(struct clab_comm *comm, struct clab_work *work)
{
    clab_work_record(work);
    if (is_traced_here(comm))
        work->traced = clab_trace_begin(comm->trace);
    int err = comm->bounces ? clab_bounce_transfer(comm, &work->transfer, &work->bounced) : CLAB_OK;
    if (!err)
        err = comm->backend->start(comm->endpoint, &work->transfer, 1);
    if (err)
        return clab_comm_fail(comm, work, err);
    *comm->messages_end = work;
    comm->messages_end = &work->next;
    return CLAB_OK;
}

// A rank that never waits reads notices now and then: it costs a few ns, or a system call.
static void listen_now_and_then(struct clab_comm *comm)
{
    if (++comm->starts % LISTEN_EVERY == 0)
        clab_job_listen(comm->job);
}

static void queue_collective(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_counts *counts = clab_work_counts(work);
    counts->collectives[work->problem.collective]++;
    counts->collectives_queued += comm->unwaited++ > 0;
    *comm->collectives_end = work;
    comm->collectives_end = &work->next;
}

static int admit(struct clab_comm *comm, struct clab_work *work)
{
    if (comm->is_recording)
        CLAB_TRY(clab_graph_check(comm, work));
    if (comm->is_revoked) {
        clab_work_record(work);
        return clab_comm_follow(comm, work);
    }
    if (!work->algorithm)
        return start_message(comm, work);
    queue_collective(comm, work);
    return CLAB_OK;
}

// A first step of what has been started. An error stays in comm->err, and wait returns it.  end: of messages, before it
static void step(struct clab_comm *comm, const struct clab_work *work, struct clab_work **end)
{
    bool progress = false;
    if (work->algorithm)
        advance(comm, &progress);
    else if (!advance_collectives(comm, &progress))
        advance_few_messages(comm, end);
}

int clab_work_start(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_work **end = comm->messages_end;
    listen_now_and_then(comm);
    work->done = false;
    work->is_begun = false;
    work->next = NULL;
    work->flight = NULL;
    work->sequence = work->algorithm ? comm->sequence++ : 0;
    work->started = comm->backend->time->is_exact ? comm->backend->time->now(comm->job->domain) : 0;
    const int err = admit(comm, work);
    if (err) {
        free(work);
        return err;
    }
    clab_work_counts(work)->started++;
    step(comm, work, end);
    return CLAB_OK;
}

void clab_work_free_all(struct clab_comm *comm)
{
    for (int kind = 0; kind < CLAB_WORK_KINDS; kind++)
        free_list(comm->spares[kind]);
    free_list(comm->collectives);
    free_list(comm->messages);
}

// ---- test and wait -------------------------------------------------------------------------------------------

static size_t bytes_moved(const struct clab_comm *comm)
{
    const struct clab_work *first = comm->collectives;
    size_t moved = first && first->is_begun ? first->engine->moved(comm) : 0;
    for (const struct clab_work *work = comm->messages; work; work = work->next)
        moved += work->transfer.moved;
    return moved;
}

// Whether `work` waits for a rank that sends nothing any more, and its last messages have had time to arrive.
static bool waits_for_left_rank(struct clab_comm *comm, const struct clab_work *work, double now)
{
    struct clab_wait_state *p = &comm->wait_state;
    struct clab_bootstrap *boot = comm->job->bootstrap;
    int peer, stage;
    const bool waits = clab_work_waits_for(work, &peer, &stage);
    const enum clab_presence presence = waits ? boot->presence(boot, comm->job_ranks[peer]) : CLAB_PRESENT;
    const bool is_afar = boot->nnodes > 1 && presence != CLAB_LOST;
    if (presence < CLAB_LEAVING)
        p->left = 0;
    else if (p->left == 0)
        p->left = now;
    return p->left > 0 && now - p->left >= (is_afar ? last_words_afar : last_words_here);
}

// A rank may have had no core since its last test: what it waits for may be there by now, and is looked for once more.
static bool has_tested_since(struct clab_wait_state *p, bool is_late)
{
    if (!is_late)
        p->late = 0;
    else if (p->late == 0)
        p->late = p->fruitless + 1;
    return is_late && p->fruitless >= p->late;
}

// A long message moves although no stage ends, and what does not move has a deadline.
static int check_deadline(struct clab_comm *comm, const struct clab_work *work, double now)
{
    struct clab_wait_state *p = &comm->wait_state;
    const size_t moved = bytes_moved(comm);
    if (p->since == 0 || moved != p->moved) {
        p->since = now;
        p->left = 0;
    }
    p->moved = moved;
    clab_work_record_wait(work, p->since);
    const bool is_timed_out = now - p->since >= comm->job->bootstrap->timeout;
    const bool is_compared = work->algorithm && comm->backend->collectives->runs_schedules;
    if (!is_timed_out && !is_compared && clab_check_look(comm, now - p->since))
        return clab_comm_fail(comm, work, CLAB_EMISMATCH);
    if (!has_tested_since(p, is_timed_out || waits_for_left_rank(comm, work, now)))
        return CLAB_OK;
    return clab_comm_fail(comm, work, is_timed_out ? CLAB_ETIMEOUT : CLAB_EPEER);
}

// Nothing moves, and there is time to ask why.
static int look_around(struct clab_comm *comm, const struct clab_work *work)
{
    const double now = clab_now();
    if (now - comm->looked_around < look_around_every)
        return CLAB_OK;
    comm->looked_around = now;
    clab_job_listen(comm->job);
    return check_deadline(comm, work, now);
}

// Make what progress there is, on all communicators.
static int look(struct clab_work *work, bool *progress_p)
{
    struct clab_comm *comm = work->comm;
    const bool is_revoked = comm->is_revoked; // what peers sent before that is there now
    *progress_p = false;
    CLAB_TRY(advance(comm, progress_p));
    if (!*progress_p && comm->job->comms->next)
        advance_others(comm, progress_p);
    if (*progress_p)
        comm->wait_state = (struct clab_wait_state){0};
    if (*progress_p || work->done)
        return CLAB_OK;
    if (is_revoked)
        return clab_comm_follow(comm, work);
    if (++comm->wait_state.fruitless % LOOK_AROUND_EVERY && !comm->wait_state.late)
        return CLAB_OK;
    return look_around(comm, work);
}

int clab_work_test(struct clab_work *work, bool *done_p)
{
    struct clab_job *job = work->comm->job;
    bool progress;
    clab_job_enter(job);
    int err = work->done ? CLAB_OK : look(work, &progress);
    *done_p = work->done || err;
    clab_job_leave(job);
    clab_progress_begin_if_held(job);
    return err;
}

// Nothing moved: the backend spins, yields or sleeps.
static int idle(struct clab_comm *comm, const struct clab_work *work)
{
    return comm->backend->idle(comm->endpoint, comm->wait_state.fruitless - 1) ? look_around(comm, work) : CLAB_OK;
}

// Done with it: it is free for the next, unless another algorithm has been chosen since it was started.
static void retire(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    comm->unwaited -= work->algorithm != NULL;
    clab_work_counts(work)->waited_for++;
    if (work->algorithm && work->sequence < comm->kept_from) {
        free(work);
        return;
    }
    work->next = comm->spares[kind_of(work)];
    comm->spares[kind_of(work)] = work;
}

// `work` is done, and waited for: an exact clock must not be earlier than its end.
static void settle(struct clab_work *work)
{
    struct clab_comm *comm = work->comm;
    const struct clab_time *time = comm->backend->time;
    if (!time->is_exact || !comm->endpoint)
        return;
    if (!work->algorithm)
        work->due = time->settle(comm->endpoint, &work->transfer);
    time->reach(comm->job->domain, work->due);
    if (comm->trace)
        clab_work_trace_settled(work);
}

int clab_work_wait(struct clab_work *work)
{
    struct clab_job *job = work->comm->job;
    bool done;
    clab_job_enter(job);
    const int err = clab_work_wait_until(work, INFINITY, &done);
    clab_job_leave(job);
    clab_progress_begin_if_held(job);
    return err;
}

int clab_work_wait_until(struct clab_work *work, double deadline, bool *done_p)
{
    struct clab_comm *comm = work->comm;
    int err = CLAB_OK;
    comm->wait_state = (struct clab_wait_state){0};
    while (!work->done && !err) {
        bool progress;
        err = look(work, &progress);
        if (!err && !progress && !work->done) {
            if (deadline < INFINITY && clab_now() >= deadline)
                break;
            err = idle(comm, work);
        }
    }
    *done_p = work->done;
    if (!work->done)
        return err; // it stays in its list, and is freed with the communicator
    settle(work);
    retire(work);
    return CLAB_OK;
}
