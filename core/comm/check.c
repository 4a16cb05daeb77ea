// SPDX-License-Identifier: MIT
// Whether all ranks call the same, found in four ways.
//
// - Each message carries a number for its call (clab_transfer.call). This costs nothing, and finds ranks that exchange
//   messages of different calls.
// - A rank that has waited for some time reads the calls of the other ranks of its host in their flight recorders.
// - Native collectives of gloo and mpi send none of our messages, and the libraries compare nothing. So these backends
//   compare a number for the call before each native (clab_call.agreed): CLAB_CHECK=natives. It is the default, since
//   an unnoticed wrong result is worse than the time: some us per call for mpi, some tens of us for gloo. CLAB_CHECK=0
//   turns it off.
// - With CLAB_CHECK=1 each rank sends its call to the next rank before each collective. This finds every difference, on
//   any hosts, for one message of 24 bytes per rank (some 0.2 us over shared memory). If all neighbours agree, all do.

#include <stdlib.h>
#include <string.h>

#include "core/base/mix.h"
#include "core/base/variables.h"
#include "core/comm/comm.h"
#include "core/flight/find.h"

enum { CHECKS = 0xC4EC };              // clab_transfer.call of a check
static const double first_look = 0.02; // s of waiting, and the next ones each after twice the time

// ---- what others of this host call ---------------------------------------------------------------------------

static struct clab_flight *flight_of(const struct clab_comm *comm, int rank)
{
    const struct clab_bootstrap *boot = comm->job->bootstrap;
    for (int i = 0; i < boot->local_ranks; i++)
        if (boot->locals[i] == rank)
            return clab_flight_at(boot->flights, i);
    return NULL;
}

static bool differs(struct clab_comm *comm, int rank)
{
    struct clab_flight *theirs = flight_of(comm, rank);
    struct clab_flight_op mine;
    if (!theirs || !clab_flight_differ(comm->flight, theirs, comm->id, &mine, &comm->other.op))
        return false;
    comm->other.rank = rank;
    comm->other.is_known = true;
    return true;
}

static bool somebody_differs(struct clab_comm *comm)
{
    for (int r = 0; r < comm->nranks; r++)
        if (r != comm->rank && differs(comm, comm->job_ranks[r]))
            return true;
    return false;
}

void clab_check_ask(struct clab_comm *comm, int rank)
{
    if (rank < 0 && !comm->other.is_known)
        somebody_differs(comm);
    struct clab_flight *theirs = rank >= 0 && !comm->other.is_known ? flight_of(comm, rank) : NULL;
    if (!theirs || differs(comm, rank))
        return;
    comm->other.rank = rank;
    comm->other.is_known = clab_flight_find_message(theirs, comm->id, comm->job->rank, &comm->other.op);
}

bool clab_check_look(struct clab_comm *comm, double waited)
{
    struct clab_wait_state *p = &comm->wait_state;
    if (waited < (p->look > 0 ? p->look : first_look))
        return false;
    p->look = 2 * waited;
    return somebody_differs(comm);
}

// ---- by messages ---------------------------------------------------------------------------------------------

struct clab_check clab_check_wanted(void)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_CHECK);
    const bool is_said = text && *text, is_off = is_said && !strcmp(text, "0");
    const bool is_usual = !is_said || !strcmp(text, "natives");
    return (struct clab_check){.is_on = !is_usual && !is_off, .natives = !is_off};
}

void clab_comm_trust(struct clab_comm *comm)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_CHECK);
    if (!text || !*text)
        comm->check.natives = false;
}

// `work`, described for another rank.
static struct clab_called called_by(const struct clab_work *work)
{
    struct clab_flight_op op;
    clab_work_describe(work, &op);
    return (struct clab_called){.count = op.count,
                                .sequence = op.sequence,
                                .root = op.root,
                                .what = op.what,
                                .type = op.type,
                                .op = op.op,
                                .lanes = op.lanes,
                                .algorithm = op.algorithm};
}

uint64_t clab_check_number(const struct clab_work *work)
{
    const struct clab_called called = called_by(work);
    uint64_t words[sizeof called / sizeof(uint64_t)];
    memcpy(words, &called, sizeof called);
    return clab_mix(clab_mix(words[0], words[1]), words[2]) | 1;
}

// In comm->other, that `rank` of the job calls `c`: all that clab_flight_text looks at.
static void keep(struct clab_comm *comm, int rank, const struct clab_called *c)
{
    struct clab_flight_op *op = &comm->other.op;
    op->comm = comm->id;
    op->count = c->count;
    op->sequence = c->sequence;
    op->root = c->root;
    op->what = c->what;
    op->type = c->type;
    op->op = c->op;
    op->lanes = c->lanes;
    op->algorithm = c->algorithm;
    comm->other.rank = rank;
    comm->other.is_known = true;
}

static int begin(struct clab_comm *comm, const struct clab_work *work)
{
    struct clab_check *c = &comm->check;
    const int n = comm->nranks;
    c->mine = called_by(work);
    const struct clab_transfer t = {.op = CLAB_SEND,
                                    .peer = (comm->rank + 1) % n,
                                    .src = &c->mine,
                                    .count = sizeof c->mine,
                                    .bytes = sizeof c->mine,
                                    .type = CLAB_U8,
                                    .call = CHECKS};
    c->transfers[0] = c->transfers[1] = t;
    c->transfers[1].op = CLAB_RECV;
    c->transfers[1].peer = (comm->rank + n - 1) % n;
    c->transfers[1].dst = &c->theirs;
    c->is_under_way = true;
    for (int i = 0; i < 2; i++)
        CLAB_TRY(clab_bounce_transfer(comm, &c->transfers[i], &c->bounced[i]));
    return comm->backend->start(comm->endpoint, c->transfers, 2);
}

int clab_check_advance(struct clab_comm *comm, const struct clab_work *work, bool *passed_p)
{
    struct clab_check *c = &comm->check;
    if (!c->is_under_way)
        CLAB_TRY(begin(comm, work));
    CLAB_TRY(comm->backend->test(comm->endpoint, c->transfers, 2, passed_p));
    for (int i = 0; i < 2; i++)
        if (c->transfers[i].done)
            clab_bounce_end(comm, &c->bounced[i]);
    if (c->transfers[1].done && memcmp(&c->mine, &c->theirs, sizeof c->mine) != 0) {
        keep(comm, comm->job_ranks[c->transfers[1].peer], &c->theirs);
        return CLAB_EMISMATCH;
    }
    c->is_under_way = !*passed_p;
    return CLAB_OK;
}

bool clab_check_waits_for(const struct clab_comm *comm, int *peer_p)
{
    const struct clab_check *c = &comm->check;
    for (int i = 1; i >= 0 && c->is_under_way; i--)
        if (!c->transfers[i].done) {
            *peer_p = c->transfers[i].peer;
            return true;
        }
    return false;
}
