// SPDX-License-Identifier: MIT
// All ranks' programs by one process.

#include "core/program/in_process.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/numbers/copy.h"
#include "core/base/numbers/reduce.h"
#include "core/base/vector.h"

enum { NONE = -1 };

struct clab_in_process_lane {
    char *bases[CLAB_REGION_COUNT]; // its rank's
    int stage;
    int pending; // messages of the stage that are still to be taken or given
    bool in_stage, is_ready, is_over;
    int first, last; // messages towards it, in the order of their sending
};

struct clab_in_process_message {
    int src; // the sender's index among lanes
    int peer;
    const char *from;
    int next;
};

struct run {
    struct clab_in_process *memory;
    const struct clab_rank_arguments *ranks;
    int nranks, nlanes, width, nready, left;
    enum clab_type type;
    enum clab_op op;
    size_t element_bytes;
    _Atomic uint32_t *beat;
    int err;
};

// ---- room ----------------------------------------------------------------------------------------------------

void clab_in_process_free(struct clab_in_process *memory)
{
    free(memory->lanes);
    free(memory->landed);
    free(memory->ready);
    free(memory->messages);
    free(memory->scratch);
}

static size_t region_bytes(const struct clab_program *program, int region, size_t element_bytes)
{
    return (program->region_elements[region] * element_bytes + 63) / 64 * 64;
}

static size_t scratch_bytes(const struct run *p)
{
    size_t bytes = 64;
    for (int rank = 0; rank < p->nranks; rank++)
        for (int region = CLAB_TEMP; region < CLAB_REGION_COUNT; region++)
            bytes += region_bytes(p->ranks[rank].program, region, p->element_bytes);
    return bytes;
}

// Where the regions of all ranks lie: their own, and behind each other in the scratch memory.
static void place_regions(struct run *p)
{
    char *next = p->memory->scratch;
    for (int rank = 0; rank < p->nranks; rank++) {
        const struct clab_rank_arguments *mine = &p->ranks[rank];
        char **bases = p->memory->lanes[rank * p->nlanes].bases;
        for (int region = CLAB_TEMP; region < CLAB_REGION_COUNT; region++) {
            bases[region] = next;
            next += region_bytes(mine->program, region, p->element_bytes);
        }
        bases[CLAB_IN] = mine->in ? (char *)(uintptr_t)mine->in : p->memory->scratch; // only read
        bases[CLAB_OUT] = mine->out ? mine->out : p->memory->scratch;
        for (int lane = 1; lane < p->nlanes; lane++)
            memcpy(p->memory->lanes[rank * p->nlanes + lane].bases, bases, sizeof p->memory->lanes->bases);
    }
}

static int begin(struct run *p)
{
    struct clab_in_process *memory = p->memory;
    const size_t lanes = (size_t)p->nranks * (size_t)p->nlanes;
    CLAB_TRY(CLAB_RESERVE(memory->lanes, memory->lane_room, lanes));
    CLAB_TRY(CLAB_RESERVE(memory->ready, memory->ready_room, lanes));
    CLAB_TRY(CLAB_RESERVE(memory->landed, memory->landed_room, lanes * (size_t)p->width));
    CLAB_TRY(CLAB_RESERVE(memory->scratch, memory->scratch_room, scratch_bytes(p)));
    for (size_t i = 0; i < lanes; i++) {
        memory->lanes[i] = (struct clab_in_process_lane){.first = NONE, .last = NONE, .is_ready = true};
        memory->ready[i] = (int)(lanes - 1 - i);
    }
    place_regions(p);
    memory->nmessages = 0;
    memory->spare = NONE;
    p->nready = p->left = (int)lanes;
    return CLAB_OK;
}

static void make_ready(struct run *p, int index)
{
    struct clab_in_process_lane *lane = &p->memory->lanes[index];
    if (lane->is_ready || lane->is_over)
        return;
    lane->is_ready = true;
    p->memory->ready[p->nready++] = index;
}

// ---- moves ---------------------------------------------------------------------------------------------------

static char *address(const struct run *p, const struct clab_in_process_lane *lane, struct clab_place place)
{
    return lane->bases[place.region] + place.start * p->element_bytes;
}

static void do_local(const struct run *p, const struct clab_in_process_lane *lane, const struct clab_move *moves, int n)
{
    for (const struct clab_move *m = moves; m < moves + n; m++)
        if (m->combines)
            clab_elements_reduce(p->type, p->op, address(p, lane, m->src), address(p, lane, m->other),
                                 address(p, lane, m->dst), m->count);
        else
            clab_bytes_copy(address(p, lane, m->dst), address(p, lane, m->src), m->count * p->element_bytes);
}

static void land(const struct run *p, const struct clab_in_process_lane *lane, const struct clab_move *m,
                 const char *from)
{
    if (m->op == CLAB_RECV)
        clab_bytes_copy(address(p, lane, m->dst), from, m->count * p->element_bytes);
    else
        clab_elements_reduce(p->type, p->op, address(p, lane, m->src), from, address(p, lane, m->dst), m->count);
    atomic_store_explicit(p->beat, atomic_load_explicit(p->beat, memory_order_relaxed) + 1, memory_order_relaxed);
}

// ---- messages ------------------------------------------------------------------------------------------------

static void send(struct run *p, int index, const struct clab_move *m)
{
    struct clab_in_process *memory = p->memory;
    const int to = m->peer * p->nlanes + index % p->nlanes;
    int at = memory->spare;
    if (at != NONE)
        memory->spare = memory->messages[at].next;
    else if ((p->err = CLAB_RESERVE(memory->messages, memory->message_room, (size_t)memory->nmessages + 1)))
        return;
    else
        at = memory->nmessages++;
    memory->messages[at] = (struct clab_in_process_message){
        .src = index, .peer = index / p->nlanes, .from = address(p, &memory->lanes[index], m->src), .next = NONE};
    struct clab_in_process_lane *lane = &memory->lanes[to];
    if (lane->last == NONE)
        lane->first = at;
    else
        memory->messages[lane->last].next = at;
    lane->last = at;
    make_ready(p, to);
}

// Take the first message from `peer` out of those towards `lane`; NONE if there is none.
static int take(struct run *p, struct clab_in_process_lane *lane, int peer)
{
    struct clab_in_process_message *messages = p->memory->messages;
    for (int at = lane->first, before = NONE; at != NONE; before = at, at = messages[at].next) {
        if (messages[at].peer != peer)
            continue;
        if (before == NONE)
            lane->first = messages[at].next;
        else
            messages[before].next = messages[at].next;
        if (lane->last == at)
            lane->last = before;
        messages[at].next = p->memory->spare;
        p->memory->spare = at;
        return at;
    }
    return NONE;
}

static void note_taken(struct run *p, int index)
{
    if (--p->memory->lanes[index].pending == 0)
        make_ready(p, index);
}

// ---- stages --------------------------------------------------------------------------------------------------

static void begin_stage(struct run *p, int index, const struct clab_stage *stage)
{
    struct clab_in_process_lane *lane = &p->memory->lanes[index];
    const struct clab_program *program = p->ranks[index / p->nlanes].program;
    const struct clab_lane *plan = &program->lanes[index % p->nlanes];
    const struct clab_move *moves = program->moves + stage->first;
    do_local(p, lane, moves, stage->before);
    moves += stage->before;
    lane->in_stage = true;
    lane->pending = stage->transfers;
    memset(p->memory->landed + (size_t)index * (size_t)p->width, 0, (size_t)stage->transfers);
    for (int i = 0; i < stage->transfers && !p->err; i++)
        if (moves[i].op == CLAB_SEND)
            send(p, index, &moves[i]);
    if (lane->stage == 0)
        do_local(p, lane, program->moves + plan->aside, plan->naside);
}

static void receive_what_is_there(struct run *p, int index, const struct clab_move *moves, int n)
{
    struct clab_in_process_lane *lane = &p->memory->lanes[index];
    bool *landed = p->memory->landed + (size_t)index * (size_t)p->width;
    for (int i = 0; i < n; i++) {
        if (moves[i].op == CLAB_SEND || landed[i])
            continue;
        const int at = take(p, lane, moves[i].peer);
        if (at == NONE)
            continue;
        land(p, lane, &moves[i], p->memory->messages[at].from);
        landed[i] = true;
        lane->pending--;
        note_taken(p, p->memory->messages[at].src);
    }
}

static void end_lane(struct run *p, int index)
{
    struct clab_in_process_lane *lane = &p->memory->lanes[index];
    const struct clab_program *program = p->ranks[index / p->nlanes].program;
    const struct clab_lane *plan = &program->lanes[index % p->nlanes];
    if (plan->nstages == 0)
        do_local(p, lane, program->moves + plan->aside, plan->naside);
    do_local(p, lane, program->moves + plan->finish, plan->nfinish);
    lane->is_over = true;
    p->left--;
}

static void advance(struct run *p, int index)
{
    struct clab_in_process_lane *lane = &p->memory->lanes[index];
    const struct clab_program *program = p->ranks[index / p->nlanes].program;
    const struct clab_lane *plan = &program->lanes[index % p->nlanes];
    lane->is_ready = false;
    while (lane->stage < plan->nstages && !p->err) {
        const struct clab_stage *stage = &program->stages[plan->first_stage + lane->stage];
        const struct clab_move *transfers = program->moves + stage->first + stage->before;
        if (!lane->in_stage)
            begin_stage(p, index, stage);
        receive_what_is_there(p, index, transfers, stage->transfers);
        if (lane->pending > 0)
            return;
        do_local(p, lane, transfers + stage->transfers, stage->after);
        lane->in_stage = false;
        lane->stage++;
    }
    end_lane(p, index);
}

int clab_in_process_run(struct clab_in_process *memory, const struct clab_rank_arguments ranks[], int nranks,
                        enum clab_type type, enum clab_op op, _Atomic uint32_t *beat)
{
    struct run p = {.memory = memory,
                    .ranks = ranks,
                    .nranks = nranks,
                    .nlanes = ranks[0].program->problem.lanes,
                    .width = 1,
                    .type = type,
                    .op = op,
                    .element_bytes = clab_type_bytes(type),
                    .beat = beat};
    for (int rank = 0; rank < nranks; rank++)
        p.width = ranks[rank].program->width > p.width ? ranks[rank].program->width : p.width;
    CLAB_TRY(begin(&p));
    while (p.nready > 0 && !p.err)
        advance(&p, memory->ready[--p.nready]);
    if (!p.err && p.left > 0) {
        clab_error("%s: %d lanes wait for each other", ranks[0].program->algorithm->name, p.left);
        return CLAB_EDEADLOCK;
    }
    return p.err;
}
