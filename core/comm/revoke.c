// SPDX-License-Identifier: MIT
// Revocation: how the failure of one rank on a communicator becomes that of all its members.
//
// - The first rank that fails notifies all. A rank that reads the notice tests its work once more, since messages that
//   its peers sent before may complete it. Then it fails with the same error. The first notice decides for all.
// - A member whose process has ended (LOST) ends the communicator. A member that has left the job (LEFT) ends only
//   works that wait for it, and the waiting rank notifies the others.
// - A failed communicator is disconnected at once (the backend's close), so the buffers are the caller's again.
// - Each rank logs one line: its call, the rank that it waited for, and which rank found which failure. Ranks are
//   numbered as in the job.
// Source: Bland, Bouteiller, Herault, Bosilca, Dongarra 2013 (User Level Failure Mitigation), section 3.

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/comm/comm.h"
#include "core/flight/dump.h"

enum { TEXT = 256 };

// ---- where a work is -----------------------------------------------------------------------------------------

// What a rank of the job calls the member `peer` of its communicator.
static int job_rank(const struct clab_comm *comm, int peer)
{
    return peer < 0 ? -1 : comm->job_ranks[peer];
}

bool clab_work_waits_for(const struct clab_work *work, int *peer_p, int *stage_p)
{
    const struct clab_comm *comm = work->comm;
    *stage_p = -1;
    if (!work->algorithm) {
        *peer_p = work->transfer.peer;
        return true;
    }
    if (work == comm->collectives && !work->is_begun)
        return clab_check_waits_for(comm, peer_p);
    return work == comm->collectives && work->engine->waits_for(comm, peer_p, stage_p);
}

// Describe this rank's call, and how far it has come.
static void describe(const struct clab_work *work, char at[TEXT])
{
    struct clab_text text = clab_text_begin(at, TEXT);
    struct clab_flight_op op;
    char name[CLAB_FLIGHT_TEXT];
    int peer, stage;
    clab_work_describe(work, &op);
    clab_text_add(&text, "%s", clab_flight_text(&op, name));
    if (!work->algorithm)
        return;
    clab_text_add(&text, ", number %lu", work->sequence);
    if (!clab_work_waits_for(work, &peer, &stage))
        return;
    if (stage >= 0)
        clab_text_add(&text, ", stage %d", stage);
    clab_text_add(&text, ", waiting for rank %d", job_rank(work->comm, peer));
}

// ---- notices -------------------------------------------------------------------------------------------------

static int member_of(const struct clab_comm *comm, int rank)
{
    for (int r = 0; r < comm->nranks; r++)
        if (comm->job_ranks[r] == rank)
            return r;
    return -1;
}

static bool concerns(const struct clab_comm *comm, const struct clab_notice *notice)
{
    if (notice->kind == CLAB_NOTICE_LOST)
        return member_of(comm, notice->culprit) >= 0;
    return notice->kind == CLAB_NOTICE_REVOKED && notice->comm == comm->id;
}

static void mark(struct clab_comm *comm, const struct clab_notice *notice)
{
    if (comm->is_revoked)
        return;
    comm->is_revoked = true;
    comm->why = *notice;
}

// `notice` excludes a member from communicators that are made from `comm`.
static void expel(struct clab_comm *comm, const struct clab_notice *notice)
{
    const int member = member_of(comm, notice->culprit);
    if (member < 0 || comm->expelled_by[member] >= 0)
        return;
    comm->expelled_by[member] = notice->reporter;
    comm->nexpelled++;
}

// The notice revokes a communicator that another member has made already: keep it until this rank has made it, too.
static void keep(struct clab_job *job, const struct clab_notice *notice)
{
    job->pending[job->npending++ % CLAB_PENDING_REVOCATIONS] = *notice;
}

void clab_job_listen(struct clab_job *job)
{
    struct clab_bootstrap *boot = job->bootstrap;
    struct clab_notice notice;
    while (boot->next_notice(boot, &notice)) {
        bool known = false;
        for (struct clab_comm *comm = job->comms; comm; comm = comm->next) {
            if (notice.kind == CLAB_NOTICE_EXPELLED && notice.comm == comm->id)
                expel(comm, &notice);
            if (!concerns(comm, &notice))
                continue;
            mark(comm, &notice);
            known = true;
        }
        if (!known && notice.kind == CLAB_NOTICE_REVOKED)
            keep(job, &notice);
    }
}

const struct clab_notice *clab_job_pending_revocation(const struct clab_job *job, uint64_t id)
{
    for (int i = 0; i < CLAB_PENDING_REVOCATIONS; i++)
        if (job->pending[i].kind == CLAB_NOTICE_REVOKED && job->pending[i].comm == id)
            return &job->pending[i];
    return NULL;
}

void clab_comm_catch_up(struct clab_comm *comm)
{
    struct clab_job *job = comm->job;
    const struct clab_notice *pending = clab_job_pending_revocation(job, comm->id);
    if (pending)
        mark(comm, pending);
    for (int r = 0; r < comm->nranks; r++)
        if (job->bootstrap->presence(job->bootstrap, comm->job_ranks[r]) == CLAB_LOST)
            mark(comm, &(struct clab_notice){.kind = CLAB_NOTICE_LOST,
                                             .reporter = comm->job_ranks[r],
                                             .culprit = comm->job_ranks[r],
                                             .err = CLAB_EPEER});
}

static enum clab_presence presence(void *of, int rank)
{
    struct clab_bootstrap *boot = of;
    return boot->presence(boot, rank);
}

// ---- failing -------------------------------------------------------------------------------------------------

// "rank 1 calls broadcast (flat) of 8 float, root 0"
static void explain_mismatch(const struct clab_comm *comm, struct clab_text *text)
{
    const struct clab_flight_op *op = &comm->other.op;
    char name[CLAB_FLIGHT_TEXT];
    if (!comm->other.is_known)
        return;
    clab_text_add(text, "rank %d calls %s", comm->other.rank, clab_flight_text(op, name));
    if (clab_flight_is_collective(op))
        clab_text_add(text, ", number %u", (unsigned)op->sequence);
    clab_text_add(text, ": ");
}

// "rank 0 gave up, waiting for rank 1": which rank found which failure. Empty if the error's text is enough.
static void explain(const struct clab_comm *comm, char at[TEXT])
{
    struct clab_text text = clab_text_begin(at, TEXT);
    const struct clab_notice *why = &comm->why;
    struct clab_bootstrap *boot = comm->job->bootstrap;
    const bool is_mine = why->reporter == boot->rank, knows_culprit = why->culprit >= 0;
    const enum clab_presence there = knows_culprit ? boot->presence(boot, why->culprit) : CLAB_EXPECTED;
    char seconds[CLAB_TEXT];
    if (why->kind == CLAB_NOTICE_LOST)
        clab_text_add(&text, "rank %d has ended: ", why->culprit);
    else if (!is_mine && knows_culprit && why->err == CLAB_EMISMATCH)
        clab_text_add(&text, "rank %d has found that rank %d calls something else: ", why->reporter, why->culprit);
    else if (!is_mine && knows_culprit)
        clab_text_add(&text, "rank %d gave up, waiting for rank %d: ", why->reporter, why->culprit);
    else if (!is_mine)
        clab_text_add(&text, "rank %d gave up: ", why->reporter);
    else if (why->err == CLAB_EMISMATCH)
        explain_mismatch(comm, &text);
    else if (why->err == CLAB_ETIMEOUT)
        clab_text_add(&text, "nothing has moved for %s (CLAB_TIMEOUT): ", clab_seconds_text(boot->timeout, seconds));
    else if (why->err == CLAB_EPEER && knows_culprit)
        clab_text_add(&text, "rank %d %s: ", why->culprit,
                      there == CLAB_LEAVING || there == CLAB_LEFT ? "has left the job" : "is gone");
}

static void record_one(const struct clab_work *work, double since)
{
    struct clab_flight_op *op = clab_work_recorded(work);
    int peer, stage;
    if (!op)
        return;
    const bool known = clab_work_waits_for(work, &peer, &stage);
    clab_flight_wait(op, known ? job_rank(work->comm, peer) : -1, known ? stage : -1, since);
    clab_flight_end(op, CLAB_FLIGHT_FAILED);
}

// `work` ends here, and all that is under way.
static void record_failure(const struct clab_comm *comm, const struct clab_work *work)
{
    const double since = comm->wait_state.since > 0 ? comm->wait_state.since : clab_now();
    const struct clab_work *lists[] = {comm->collectives, comm->messages};
    record_one(work, since);
    for (int i = 0; i < 2; i++)
        for (const struct clab_work *other = lists[i]; other; other = other->next)
            record_one(other, since);
}

static void report(const struct clab_comm *comm)
{
    struct clab_bootstrap *boot = comm->job->bootstrap;
    const struct clab_flight_host host = {
        .flights = boot->flights, .ranks = boot->locals, .n = boot->local_ranks, .presence = presence, .of = boot};
    if (comm->nranks > 1)
        clab_flight_report(&host, comm->id, comm->job_ranks, comm->nranks);
}

static void disconnect(struct clab_comm *comm)
{
    comm->backend->close(comm->endpoint, true);
    comm->endpoint = NULL;
    clab_bounce_free(comm);
}

int clab_comm_follow(struct clab_comm *comm, const struct clab_work *work)
{
    char what[TEXT], why[TEXT];
    describe(work, what);
    explain(comm, why);
    comm->err = comm->why.err;
    clab_error("%s: %s%s", what, why, clab_strerror(comm->err));
    record_failure(comm, work);
    disconnect(comm);
    report(comm);
    return comm->err;
}

static struct clab_notice revocation(const struct clab_job *job, uint64_t id, int err, int culprit)
{
    return (struct clab_notice){
        .kind = CLAB_NOTICE_REVOKED, .reporter = job->rank, .culprit = culprit, .err = err, .comm = id};
}

static void tell(struct clab_comm *comm, int err, int culprit)
{
    struct clab_bootstrap *boot = comm->job->bootstrap;
    const struct clab_notice found = revocation(comm->job, comm->id, err, culprit);
    boot->notify(boot, &found);
    clab_job_listen(comm->job); // another may have been first
    mark(comm, &found);         // if the job's store has not answered yet
}

int clab_comm_fail(struct clab_comm *comm, const struct clab_work *work, int err)
{
    int peer, stage;
    if (!clab_work_waits_for(work, &peer, &stage))
        peer = -1;
    if (err == CLAB_EMISMATCH)
        clab_check_ask(comm, job_rank(comm, peer));
    if (!comm->is_revoked)
        tell(comm, err, comm->other.is_known ? comm->other.rank : job_rank(comm, peer));
    return clab_comm_follow(comm, work);
}

int clab_job_refuse(struct clab_job *job, uint64_t id, int n, int err)
{
    const struct clab_notice refusal = revocation(job, id, err, -1);
    clab_error("a communicator of %d ranks can not be made: %s", n, clab_strerror(err));
    job->bootstrap->notify(job->bootstrap, &refusal);
    return err;
}

void clab_comm_give_up(struct clab_comm *comm, int err, bool quiet)
{
    char why[TEXT];
    if (!comm->is_revoked) {
        tell(comm, err, -1);
        return;
    }
    explain(comm, why);
    if (!quiet)
        clab_error("a communicator of %d ranks can not be made: %s%s", comm->nranks, why, clab_strerror(err));
}

void clab_comm_expel(struct clab_comm *comm, int member)
{
    struct clab_bootstrap *boot = comm->job->bootstrap;
    const struct clab_notice notice = {.kind = CLAB_NOTICE_EXPELLED,
                                       .reporter = boot->rank,
                                       .culprit = comm->job_ranks[member],
                                       .err = CLAB_EPEER,
                                       .comm = comm->id};
    boot->notify(boot, &notice);
    expel(comm, &notice);
}

int clab_comm_end(struct clab_comm *comm, int err, int culprit, const char *line)
{
    if (line && !comm->is_revoked)
        tell(comm, err, culprit);
    if (line)
        clab_error("%s", line);
    comm->err = err;
    disconnect(comm);
    return err;
}
