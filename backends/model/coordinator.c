// SPDX-License-Identifier: MIT
// The board of a communicator in virtual time, and its members' side: enter, wait, leave. cache.c prices and runs.

#include "backends/model/coordinator.h"

#include <stdlib.h>

#include "backends/model/cache.h"
#include "backends/model/model.h"
#include "backends/shm/board.h"
#include "sim/net/members.h"

// A member's part of the board.
struct rank_slot {
    _Alignas(64) _Atomic uint32_t entered; // collectives; what follows is of the last
    bool in_place;
    uint64_t agreed;
    double when;    // s of its clock
    size_t in, out; // in the memory file; CLAB_SHM_ELSEWHERE: none
    // The coordinator's answer.
    _Alignas(64) _Atomic uint32_t left; // collectives that have been answered
    int err;
    int differs; // EMISMATCH: the member that calls something else
    double due;  // s
    struct model_traffic traffic;
};

struct board {
    _Alignas(64) _Atomic uint32_t arrived; // entries, ever, of all members
    _Alignas(64) _Atomic uint32_t beat;    // counts on while the coordinator is busy
    struct rank_slot slots[];
};

struct model_coordinator {
    struct board *board;
    uint32_t entered;
    double free_from;          // s: when it has left the collective before
    struct clab_call call;     // under way
    struct model_cache *cache; // member 0's; else NULL
};

size_t model_board_bytes(int nranks)
{
    return sizeof(struct board) + (size_t)nranks * sizeof(struct rank_slot);
}

// Communicators that were split at the same time are busy at the same time: that is what they are made for.
static int create_cache(struct model_endpoint *e, const struct clab_group *group)
{
    const struct clab_net *net = e->domain->net;
    const int rivals = clab_members_rivals(e->job_ranks, e->nranks, group->parties, e->domain->nranks, net);
    return model_cache_create(net, rivals, e->job_ranks, e->nranks, &e->coordinator->cache);
}

int model_coordinator_create(struct model_endpoint *e, const struct clab_group *group)
{
    struct model_coordinator *c = calloc(1, sizeof *c);
    if (!c)
        return CLAB_ENOMEM;
    e->coordinator = c;
    c->board = (struct board *)(void *)clab_shm_board(e->inner);
    return e->rank == 0 ? create_cache(e, group) : CLAB_OK;
}

void model_coordinator_free(struct model_coordinator *c)
{
    if (!c)
        return;
    model_cache_free(c->cache);
    free(c);
}

// ---- entering ------------------------------------------------------------------------------------------------

static bool has_none(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    (void)collective, (void)type, (void)op;
    return false;
}

static bool reaches(struct clab_domain *domain, const void *memory)
{
    return clab_shm_offset(model_domain(domain)->inner, memory) != CLAB_SHM_ELSEWHERE;
}

static int start(struct clab_endpoint *endpoint, const struct clab_call *call)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    struct model_coordinator *c = e->coordinator;
    struct rank_slot *slot = &c->board->slots[e->rank];
    c->call = *call;
    slot->in = clab_shm_offset(e->domain->inner, call->in);
    slot->out = clab_shm_offset(e->domain->inner, call->out);
    slot->in_place = call->in_place;
    slot->agreed = call->agreed;
    slot->when = call->when > c->free_from ? call->when : c->free_from;
    atomic_store_explicit(&slot->entered, ++c->entered, memory_order_release);
    const uint32_t arrived = atomic_fetch_add_explicit(&c->board->arrived, 1, memory_order_acq_rel) + 1;
    if (arrived == c->entered * (uint32_t)e->nranks && e->rank != 0)
        clab_shm_wake(e->inner, 0);
    return CLAB_OK;
}

static bool all_have_entered(const struct model_endpoint *e)
{
    const struct model_coordinator *c = e->coordinator;
    return atomic_load_explicit(&c->board->arrived, memory_order_acquire) == c->entered * (uint32_t)e->nranks;
}

// The first member that has not entered what this one has.
static void look(const struct clab_endpoint *endpoint, int *peer_p, size_t *moved_p)
{
    const struct model_endpoint *e = model_endpoint(endpoint);
    const struct model_coordinator *c = e->coordinator;
    *moved_p = (size_t)atomic_load_explicit(&c->board->beat, memory_order_relaxed) +
               atomic_load_explicit(&c->board->arrived, memory_order_relaxed);
    *peer_p = -1;
    for (int r = 0; r < e->nranks && *peer_p < 0; r++)
        if (atomic_load_explicit(&c->board->slots[r].entered, memory_order_acquire) != c->entered)
            *peer_p = r;
}

// ---- coordinating --------------------------------------------------------------------------------------------

// A member that calls something else than member 0, else -1.
static int find_other(const struct model_endpoint *e)
{
    const struct rank_slot *slots = e->coordinator->board->slots;
    for (int r = 1; r < e->nranks; r++)
        if (slots[r].agreed != slots[0].agreed)
            return r;
    return -1;
}

static char *at(const struct model_endpoint *e, size_t offset)
{
    return offset == CLAB_SHM_ELSEWHERE ? NULL : clab_shm_at(e->domain->inner, offset);
}

static bool are_on_several_nodes(const struct model_endpoint *e)
{
    const struct clab_net *net = e->domain->net;
    for (int r = 1; r < e->nranks; r++)
        if (model_node_of(net, e->job_ranks[r]) != model_node_of(net, e->job_ranks[0]))
            return true;
    return false;
}

static int run(struct model_endpoint *e)
{
    struct model_coordinator *c = e->coordinator;
    struct rank_slot *slots = c->board->slots;
    struct model_rank *ranks = model_cache_ranks(c->cache);
    for (int r = 0; r < e->nranks; r++)
        ranks[r] = (struct model_rank){
            .in = at(e, slots[r].in), .out = at(e, slots[r].out), .in_place = slots[r].in_place, .when = slots[r].when};
    CLAB_TRY(model_cache_run(c->cache, &c->call, &c->board->beat));
    size_t messages = 0;
    for (int r = 0; r < e->nranks; r++)
        messages += ranks[r].traffic.messages;
    const double stall =
        are_on_several_nodes(e) ? clab_clock_round(model_stall(e->domain, messages, c->entered)) : 0;
    for (int r = 0; r < e->nranks; r++) {
        slots[r].due = ranks[r].due + stall;
        slots[r].traffic = ranks[r].traffic;
    }
    return CLAB_OK;
}

static void answer_all(struct model_endpoint *e)
{
    struct model_coordinator *c = e->coordinator;
    struct rank_slot *slots = c->board->slots;
    const int other = find_other(e), err = other < 0 ? run(e) : CLAB_EMISMATCH;
    for (int r = e->nranks - 1; r >= 0; r--) {
        slots[r].err = err;
        slots[r].differs = other >= 0 && slots[r].agreed != slots[0].agreed ? 0 : other;
        atomic_store_explicit(&slots[r].left, c->entered, memory_order_release);
        if (r > 0)
            clab_shm_wake(e->inner, r);
    }
}

// ---- leaving -------------------------------------------------------------------------------------------------

static int test(struct clab_endpoint *endpoint, struct clab_answer *answer_p)
{
    struct model_endpoint *e = model_endpoint(endpoint);
    struct model_coordinator *c = e->coordinator;
    const struct rank_slot *slot = &c->board->slots[e->rank];
    if (e->rank == 0 && all_have_entered(e))
        answer_all(e);
    if (atomic_load_explicit(&slot->left, memory_order_acquire) != c->entered)
        return CLAB_OK;
    answer_p->differs = slot->differs;
    CLAB_TRY(slot->err);
    c->free_from = slot->due;
    answer_p->done = true;
    answer_p->begun = slot->when;
    answer_p->due = slot->due;
    answer_p->messages = slot->traffic.messages;
    answer_p->bytes_sent = slot->traffic.bytes_sent;
    answer_p->bytes_across = slot->traffic.bytes_across;
    answer_p->bytes_received = slot->traffic.bytes_received;
    return CLAB_OK;
}

const struct clab_collectives model_collectives = {
    .runs_schedules = true,
    .has = has_none,
    .reaches = reaches,
    .start = start,
    .test = test,
    .record = clab_no_recording,
    .recorded = clab_nothing_recorded,
    .forget = clab_forget_nothing,
    .ran = clab_ran_unknown,
    .look = look,
};
