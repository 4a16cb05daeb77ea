// SPDX-License-Identifier: MIT
// The board of a communicator in virtual time, and its members' side: enter, wait, leave. cache.c is the conductor's.

#include "core/comm/coordinator.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/comm/cache.h"
#include "backends/shm/board.h"
#include "backends/model/virtual.h"

// A member's line of the board.
struct seat {
    _Alignas(64) _Atomic uint32_t entered; // collectives; what follows is of the last
    bool in_place;
    struct clab_called called;
    double when;    // s of its clock
    size_t in, out; // in the memory file; CLAB_SHM_ELSEWHERE: none
    // The conductor's answer.
    _Alignas(64) _Atomic uint32_t left; // collectives that have been answered
    int err;
    int differs; // EMISMATCH: the member that calls something else
    double due;  // s
    struct clab_score_traffic traffic;
};

struct board {
    _Alignas(64) _Atomic uint32_t arrived; // entries, ever, of all members
    _Alignas(64) _Atomic uint32_t beat;    // counts on while the conductor is busy
    struct seat seats[];
};

struct clab_conducted {
    struct board *board;
    uint32_t entered;
    double free_from;         // s: when it has left the collective before
    struct clab_score *score; // member 0's; else NULL
};

size_t clab_conduct_board_bytes(int nranks)
{
    return sizeof(struct board) + (size_t)nranks * sizeof(struct seat);
}

int clab_conduct_open(struct clab_comm *comm, struct clab_conducted **conducted_p)
{
    struct clab_conducted *c = calloc(1, sizeof *c);
    int err = c ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        c->board = (struct board *)(void *)clab_sim_board(comm->endpoint);
    if (!err && comm->rank == 0)
        err = clab_score_create(comm->nranks, &c->score);
    if (err)
        free(c);
    else
        *conducted_p = c;
    return err;
}

void clab_conduct_close(struct clab_comm *comm)
{
    struct clab_conducted *c = comm->conducted;
    if (!c)
        return;
    clab_score_free(c->score);
    free(c);
    comm->conducted = NULL;
}

// ---- entering ------------------------------------------------------------------------------------------------

int clab_conduct_begin(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_conducted *c = comm->conducted;
    struct seat *seat = &c->board->seats[comm->rank];
    seat->in = clab_sim_offset(comm->endpoint, work->in);
    seat->out = clab_sim_offset(comm->endpoint, work->out);
    seat->in_place = work->in_place;
    seat->called = clab_check_called(work);
    work->started = work->started > c->free_from ? work->started : c->free_from;
    seat->when = work->started;
    atomic_store_explicit(&seat->entered, ++c->entered, memory_order_release);
    const uint32_t arrived = atomic_fetch_add_explicit(&c->board->arrived, 1, memory_order_acq_rel) + 1;
    if (arrived == c->entered * (uint32_t)comm->nranks && comm->rank != 0)
        clab_sim_ring(comm->endpoint, 0);
    return CLAB_OK;
}

static bool all_have_entered(const struct clab_comm *comm)
{
    const struct clab_conducted *c = comm->conducted;
    return atomic_load_explicit(&c->board->arrived, memory_order_acquire) == c->entered * (uint32_t)comm->nranks;
}

bool clab_conduct_waits_for(const struct clab_comm *comm, int *peer_p)
{
    const struct clab_conducted *c = comm->conducted;
    for (int r = 0; r < comm->nranks; r++)
        if (atomic_load_explicit(&c->board->seats[r].entered, memory_order_acquire) != c->entered) {
            *peer_p = r;
            return true;
        }
    return false;
}

size_t clab_conduct_moved(const struct clab_comm *comm)
{
    const struct board *board = comm->conducted->board;
    return (size_t)atomic_load_explicit(&board->beat, memory_order_relaxed) +
           atomic_load_explicit(&board->arrived, memory_order_relaxed);
}

// ---- conducting ----------------------------------------------------------------------------------------------

// A member that calls something else than member 0, else -1.
static int find_other(const struct clab_comm *comm)
{
    const struct seat *seats = comm->conducted->board->seats;
    for (int r = 1; r < comm->nranks; r++)
        if (memcmp(&seats[r].called, &seats[0].called, sizeof seats->called) != 0)
            return r;
    return -1;
}

static char *reach(const struct clab_comm *comm, size_t offset)
{
    return offset == CLAB_SHM_ELSEWHERE ? NULL : clab_sim_at(comm->endpoint, offset);
}

static int conduct(struct clab_comm *comm, const struct clab_work *work)
{
    struct clab_conducted *c = comm->conducted;
    struct seat *seats = c->board->seats;
    struct clab_score_call call = {.problem = &work->problem,
                                   .algorithm = work->algorithm,
                                   .type = work->type,
                                   .op = work->op,
                                   .net = comm->clock->net,
                                   .members = comm->job_ranks,
                                   .device = comm->backend->device,
                                   .beat = &c->board->beat};
    struct clab_score_member *members = clab_score_members(c->score);
    for (int r = 0; r < comm->nranks; r++)
        members[r] = (struct clab_score_member){.in = reach(comm, seats[r].in),
                                                .out = reach(comm, seats[r].out),
                                                .in_place = seats[r].in_place,
                                                .when = seats[r].when};
    CLAB_TRY(clab_score_play(c->score, &call));
    for (int r = 0; r < comm->nranks; r++) {
        seats[r].due = members[r].due;
        seats[r].traffic = members[r].traffic;
    }
    return CLAB_OK;
}

static void answer_all(struct clab_comm *comm, const struct clab_work *work)
{
    struct clab_conducted *c = comm->conducted;
    struct seat *seats = c->board->seats;
    const int other = find_other(comm), err = other < 0 ? conduct(comm, work) : CLAB_EMISMATCH;
    for (int r = comm->nranks - 1; r >= 0; r--) {
        const bool is_other = other >= 0 && memcmp(&seats[r].called, &seats[0].called, sizeof seats->called) != 0;
        seats[r].err = err;
        seats[r].differs = is_other ? 0 : other;
        atomic_store_explicit(&seats[r].left, c->entered, memory_order_release);
        if (r > 0)
            clab_sim_ring(comm->endpoint, r);
    }
}

// ---- leaving -------------------------------------------------------------------------------------------------

static int leave(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_conducted *c = comm->conducted;
    const struct seat *seat = &c->board->seats[comm->rank];
    if (seat->err == CLAB_EMISMATCH)
        clab_check_keep(comm, comm->job_ranks[seat->differs], &c->board->seats[seat->differs].called);
    CLAB_TRY(seat->err);
    work->due = c->free_from = seat->due;
    comm->traffic.algorithm = work->algorithm->name;
    comm->traffic.messages += seat->traffic.messages;
    comm->traffic.bytes_sent += seat->traffic.bytes_sent;
    comm->traffic.bytes_received += seat->traffic.bytes_received;
    return CLAB_OK;
}

int clab_conduct_advance(struct clab_comm *comm, struct clab_work *work, bool *done_p)
{
    struct clab_conducted *c = comm->conducted;
    const struct seat *seat = &c->board->seats[comm->rank];
    if (comm->rank == 0 && all_have_entered(comm))
        answer_all(comm, work);
    if (atomic_load_explicit(&seat->left, memory_order_acquire) != c->entered)
        return CLAB_OK;
    CLAB_TRY(leave(comm, work));
    *done_p = true;
    return CLAB_OK;
}
