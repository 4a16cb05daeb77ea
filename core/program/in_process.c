// SPDX-License-Identifier: MIT
// All ranks' programs by one process.

#include "core/program/in_process.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

enum { NONE = -1 };

struct clab_play_lane {
    char *bases[CLAB_REGION_COUNT]; // its rank's
    int stage;
    int pending; // messages of the stage that are still to be taken or given
    bool in_stage, is_ready, is_over;
    int first, last; // messages towards it, in the order of their sending
};

struct clab_play_post {
    int src; // the sender's index among lanes
    int peer;
    const char *from;
    int next;
};

struct play {
    struct clab_player *player;
    const struct clab_part *parts;
    int nranks, nlanes, width, nready, left;
    enum clab_type type;
    enum clab_op op;
    size_t element_bytes;
    const struct clab_device *device;
    _Atomic uint32_t *beat;
    int err;
};

// ---- room ----------------------------------------------------------------------------------------------------

void clab_player_free(struct clab_player *player)
{
    free(player->lanes);
    free(player->landed);
    free(player->ready);
    free(player->posts);
    free(player->scratch);
}

static size_t region_bytes(const struct clab_program *program, int region, size_t element_bytes)
{
    return (program->region_elements[region] * element_bytes + 63) / 64 * 64;
}

static size_t scratch_bytes(const struct play *p)
{
    size_t bytes = 64;
    for (int rank = 0; rank < p->nranks; rank++)
        for (int region = CLAB_TEMP; region < CLAB_REGION_COUNT; region++)
            bytes += region_bytes(p->parts[rank].program, region, p->element_bytes);
    return bytes;
}

// Where the regions of all ranks lie: their own, and behind each other in the scratch memory.
static void place_regions(struct play *p)
{
    char *next = p->player->scratch;
    for (int rank = 0; rank < p->nranks; rank++) {
        const struct clab_part *part = &p->parts[rank];
        char **bases = p->player->lanes[rank * p->nlanes].bases;
        for (int region = CLAB_TEMP; region < CLAB_REGION_COUNT; region++) {
            bases[region] = next;
            next += region_bytes(part->program, region, p->element_bytes);
        }
        bases[CLAB_IN] = part->in ? (char *)(uintptr_t)part->in : p->player->scratch; // only read
        bases[CLAB_OUT] = part->out ? part->out : p->player->scratch;
        for (int lane = 1; lane < p->nlanes; lane++)
            memcpy(p->player->lanes[rank * p->nlanes + lane].bases, bases, sizeof p->player->lanes->bases);
    }
}

static int begin(struct play *p)
{
    struct clab_player *player = p->player;
    const size_t lanes = (size_t)p->nranks * (size_t)p->nlanes;
    CLAB_TRY(CLAB_RESERVE(player->lanes, player->lane_room, lanes));
    CLAB_TRY(CLAB_RESERVE(player->ready, player->ready_room, lanes));
    CLAB_TRY(CLAB_RESERVE(player->landed, player->landed_room, lanes * (size_t)p->width));
    CLAB_TRY(CLAB_RESERVE(player->scratch, player->scratch_room, scratch_bytes(p)));
    for (size_t i = 0; i < lanes; i++) {
        player->lanes[i] = (struct clab_play_lane){.first = NONE, .last = NONE, .is_ready = true};
        player->ready[i] = (int)(lanes - 1 - i);
    }
    place_regions(p);
    player->nposts = 0;
    player->spare = NONE;
    p->nready = p->left = (int)lanes;
    return CLAB_OK;
}

static void make_ready(struct play *p, int index)
{
    struct clab_play_lane *lane = &p->player->lanes[index];
    if (lane->is_ready || lane->is_over)
        return;
    lane->is_ready = true;
    p->player->ready[p->nready++] = index;
}

// ---- moves ---------------------------------------------------------------------------------------------------

static char *address(const struct play *p, const struct clab_play_lane *lane, struct clab_place place)
{
    return lane->bases[place.region] + place.start * p->element_bytes;
}

static void do_local(const struct play *p, const struct clab_play_lane *lane, const struct clab_move *moves, int n)
{
    for (const struct clab_move *m = moves; m < moves + n; m++)
        if (m->combines)
            p->device->reduce(p->type, p->op, address(p, lane, m->src), address(p, lane, m->other),
                              address(p, lane, m->dst), m->count);
        else
            p->device->copy(address(p, lane, m->dst), address(p, lane, m->src), m->count * p->element_bytes);
}

static void land(const struct play *p, const struct clab_play_lane *lane, const struct clab_move *m, const char *from)
{
    if (m->op == CLAB_RECV)
        p->device->copy(address(p, lane, m->dst), from, m->count * p->element_bytes);
    else
        p->device->reduce(p->type, p->op, address(p, lane, m->src), from, address(p, lane, m->dst), m->count);
    atomic_store_explicit(p->beat, atomic_load_explicit(p->beat, memory_order_relaxed) + 1, memory_order_relaxed);
}

// ---- messages ------------------------------------------------------------------------------------------------

static void post(struct play *p, int index, const struct clab_move *m)
{
    struct clab_player *player = p->player;
    const int to = m->peer * p->nlanes + index % p->nlanes;
    int at = player->spare;
    if (at != NONE)
        player->spare = player->posts[at].next;
    else if ((p->err = CLAB_RESERVE(player->posts, player->post_room, (size_t)player->nposts + 1)))
        return;
    else
        at = player->nposts++;
    player->posts[at] = (struct clab_play_post){
        .src = index, .peer = index / p->nlanes, .from = address(p, &player->lanes[index], m->src), .next = NONE};
    struct clab_play_lane *lane = &player->lanes[to];
    if (lane->last == NONE)
        lane->first = at;
    else
        player->posts[lane->last].next = at;
    lane->last = at;
    make_ready(p, to);
}

// Take the first message from `peer` out of those towards `lane`; NONE if there is none.
static int take(struct play *p, struct clab_play_lane *lane, int peer)
{
    struct clab_play_post *posts = p->player->posts;
    for (int at = lane->first, before = NONE; at != NONE; before = at, at = posts[at].next) {
        if (posts[at].peer != peer)
            continue;
        if (before == NONE)
            lane->first = posts[at].next;
        else
            posts[before].next = posts[at].next;
        if (lane->last == at)
            lane->last = before;
        posts[at].next = p->player->spare;
        p->player->spare = at;
        return at;
    }
    return NONE;
}

static void note_taken(struct play *p, int index)
{
    if (--p->player->lanes[index].pending == 0)
        make_ready(p, index);
}

// ---- stages --------------------------------------------------------------------------------------------------

static void begin_stage(struct play *p, int index, const struct clab_stage *stage)
{
    struct clab_play_lane *lane = &p->player->lanes[index];
    const struct clab_program *program = p->parts[index / p->nlanes].program;
    const struct clab_lane *plan = &program->lanes[index % p->nlanes];
    const struct clab_move *moves = program->moves + stage->first;
    do_local(p, lane, moves, stage->before);
    moves += stage->before;
    lane->in_stage = true;
    lane->pending = stage->transfers;
    memset(p->player->landed + (size_t)index * (size_t)p->width, 0, (size_t)stage->transfers);
    for (int i = 0; i < stage->transfers && !p->err; i++)
        if (moves[i].op == CLAB_SEND)
            post(p, index, &moves[i]);
    if (lane->stage == 0)
        do_local(p, lane, program->moves + plan->aside, plan->naside);
}

static void receive_what_is_there(struct play *p, int index, const struct clab_move *moves, int n)
{
    struct clab_play_lane *lane = &p->player->lanes[index];
    bool *landed = p->player->landed + (size_t)index * (size_t)p->width;
    for (int i = 0; i < n; i++) {
        if (moves[i].op == CLAB_SEND || landed[i])
            continue;
        const int at = take(p, lane, moves[i].peer);
        if (at == NONE)
            continue;
        land(p, lane, &moves[i], p->player->posts[at].from);
        landed[i] = true;
        lane->pending--;
        note_taken(p, p->player->posts[at].src);
    }
}

static void end_lane(struct play *p, int index)
{
    struct clab_play_lane *lane = &p->player->lanes[index];
    const struct clab_program *program = p->parts[index / p->nlanes].program;
    const struct clab_lane *plan = &program->lanes[index % p->nlanes];
    if (plan->nstages == 0)
        do_local(p, lane, program->moves + plan->aside, plan->naside);
    do_local(p, lane, program->moves + plan->finish, plan->nfinish);
    lane->is_over = true;
    p->left--;
}

static void advance(struct play *p, int index)
{
    struct clab_play_lane *lane = &p->player->lanes[index];
    const struct clab_program *program = p->parts[index / p->nlanes].program;
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

int clab_play(struct clab_player *player, const struct clab_part parts[], int nranks, enum clab_type type,
              enum clab_op op, const struct clab_device *device, _Atomic uint32_t *beat)
{
    struct play p = {.player = player,
                     .parts = parts,
                     .nranks = nranks,
                     .nlanes = parts[0].program->problem.lanes,
                     .width = 1,
                     .type = type,
                     .op = op,
                     .element_bytes = clab_type_bytes(type),
                     .device = device,
                     .beat = beat};
    for (int rank = 0; rank < nranks; rank++)
        p.width = parts[rank].program->width > p.width ? parts[rank].program->width : p.width;
    CLAB_TRY(begin(&p));
    while (p.nready > 0 && !p.err)
        advance(&p, player->ready[--p.nready]);
    if (!p.err && p.left > 0) {
        clab_error("%s: %d lanes wait for each other", parts[0].program->algorithm->name, p.left);
        return CLAB_EDEADLOCK;
    }
    return p.err;
}
