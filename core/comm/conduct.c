// SPDX-License-Identifier: MIT
// The board of a communicator in virtual time, and its members' side: enter, wait, leave. score.c is the conductor's.

#include "comm/conduct.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "comm/score.h"
#include "shm/board.h"
#include "sim/virtual.h"

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

// Memory that all reach, for a buffer that they do not.
struct stand_in {
    char *memory;
    size_t bytes;
    char *out;     // the caller's
    char *result;  // what goes there at the end
    size_t length; // of it; 0: nothing goes there
};

struct clab_conducted {
    struct board *board;
    uint32_t entered;
    double free_from; // s: when it has left the collective before
    struct stand_in in, out;
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
    clab_free(comm->job, c->in.memory);
    clab_free(comm->job, c->out.memory);
    clab_score_free(c->score);
    free(c);
    comm->conducted = NULL;
}

// ---- buffers -------------------------------------------------------------------------------------------------

// Bytes of the caller's in and out.
static void sizes_of(const struct clab_comm *comm, const struct clab_work *work, size_t *in_p, size_t *out_p)
{
    const struct clab_problem *p = &work->problem;
    const size_t block = p->count * clab_type_bytes(work->type);
    size_t in = 0, out = 0;
    for (int b = 0; b < clab_problem_blocks(p) && block; b++) {
        in += clab_problem_in_block(p, comm->rank, b) >= 0;
        out += clab_problem_out_block(p, comm->rank, b) >= 0;
    }
    *in_p = in * block;
    *out_p = out * block;
}

static int reserve(struct clab_comm *comm, struct stand_in *s, size_t bytes)
{
    if (bytes <= s->bytes)
        return CLAB_OK;
    clab_free(comm->job, s->memory);
    s->memory = NULL;
    s->bytes = 0;
    void *memory;
    CLAB_TRY(clab_alloc(comm->job, bytes, &memory));
    s->memory = memory;
    s->bytes = bytes;
    return CLAB_OK;
}

// Where all find `bytes` of `memory`: there, or in a stand-in that holds what it holds.
static int share(struct clab_comm *comm, struct stand_in *s, const void *memory, size_t bytes, bool is_read,
                 size_t *offset_p)
{
    *offset_p = bytes ? clab_sim_offset(comm->endpoint, memory) : CLAB_SHM_ELSEWHERE;
    if (*offset_p != CLAB_SHM_ELSEWHERE || !bytes)
        return CLAB_OK;
    CLAB_TRY(reserve(comm, s, bytes));
    if (is_read)
        memcpy(s->memory, memory, bytes);
    *offset_p = clab_sim_offset(comm->endpoint, s->memory);
    return CLAB_OK;
}

// In place, one buffer lies in the other.
static int share_one(struct clab_comm *comm, const struct clab_work *work, size_t in, size_t out, struct seat *seat)
{
    struct clab_conducted *c = comm->conducted;
    const char *first = (const char *)work->in < (char *)work->out ? work->in : work->out;
    const size_t bytes = in > out ? in : out, ahead = (size_t)((char *)work->out - first);
    size_t offset;
    CLAB_TRY(share(comm, &c->out, first, bytes, true, &offset));
    seat->in = offset + (size_t)((const char *)work->in - first);
    seat->out = offset + ahead;
    if (bytes && clab_sim_offset(comm->endpoint, first) == CLAB_SHM_ELSEWHERE)
        c->out.result = c->out.memory + ahead;
    return CLAB_OK;
}

static int share_buffers(struct clab_comm *comm, const struct clab_work *work, struct seat *seat)
{
    struct clab_conducted *c = comm->conducted;
    size_t in, out;
    sizes_of(comm, work, &in, &out);
    c->out.result = NULL;
    c->out.out = work->out;
    c->out.length = out;
    if (work->in_place)
        return share_one(comm, work, in, out, seat);
    CLAB_TRY(share(comm, &c->in, work->in, in, true, &seat->in));
    CLAB_TRY(share(comm, &c->out, work->out, out, false, &seat->out));
    if (out && clab_sim_offset(comm->endpoint, work->out) == CLAB_SHM_ELSEWHERE)
        c->out.result = c->out.memory;
    return CLAB_OK;
}

// ---- entering ------------------------------------------------------------------------------------------------

int clab_conduct_begin(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_conducted *c = comm->conducted;
    struct seat *seat = &c->board->seats[comm->rank];
    CLAB_TRY(share_buffers(comm, work, seat));
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
    if (c->out.result && c->out.length)
        memcpy(c->out.out, c->out.result, c->out.length);
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
