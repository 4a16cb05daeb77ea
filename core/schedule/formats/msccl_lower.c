// SPDX-License-Identifier: MIT
// From MSCCL's thread blocks to a listing: the steps here of each step there, in the stages that the file names, or
// those of the order in which its thread blocks run (msccl_order.c).

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/vector.h"
#include "core/schedule/formats/msccl_inside.h"

enum { NONE = -1 };

// A step here, made of one there or of a part of it.
struct part {
    struct clab_step step;
    int rank, lane, stage;
    int channel, number; // of a message: the how manieth of its pair and channel
    int line;
    long order; // in its stage
};

struct lowering {
    const struct clab_msccl *m;
    int chunks, blocks;       // of a block and lane; of the collective
    int scratch, aside;       // chunks of scratch: the file's; and of the GPU that has most of them for what is sent
                              // on and not kept, or is overwritten before it leaves
    struct msccl_order order; // of foreign steps
    struct part *parts;
    int nparts, room;
};

// A place is a lane's chunks.
struct place {
    int lane;
    struct clab_span span;
};

// ---- where chunks are ----------------------------------------------------------------------------------------

static int find_place(const struct lowering *w, int rank, const struct clab_msccl_step *step, bool src,
                      struct place *place_p)
{
    const struct clab_msccl *m = w->m;
    int first, size, offset = src ? step->src_off : step->dst_off, k = w->chunks;
    char letter = src ? step->src : step->dst;
    enum clab_buffer buffer = msccl_buffer(m, rank, letter, &first, &size);
    int at = first + offset, lane = at / k % m->lanes;
    if (m->lanes > 1 && at % k + step->count > k) {
        clab_error("%s:%d: chunks of several lanes at once", m->path, step->line);
        return CLAB_EPARSE;
    }
    *place_p = (struct place){lane, {buffer, at / (k * m->lanes) * k + at % k, step->count}};
    return CLAB_OK;
}

// ---- steps ---------------------------------------------------------------------------------------------------

// A place for what is sent on and not kept: free from the stage on after the one in which it has been sent.
struct aside {
    int first, until;
};

// The step at hand, and what its parts have in common.
struct context {
    struct lowering *w;
    const struct clab_msccl_block *block;
    const struct clab_msccl_step *step;
    const struct msccl_when *when; // NULL: the file has stages
    int rank, lane, stage;
    long order;
    int sent, received;   // messages of the block so far
    int used;             // chunks of the GPU's places aside
    int longest;          // message that the block sends, in chunks
    struct aside *asides; // the block's
    int nasides, aside_room;
};

static int add_part(struct context *c, struct clab_step step)
{
    struct lowering *w = c->w;
    CLAB_TRY(CLAB_RESERVE(w->parts, w->room, w->nparts + 1));
    int number = step.op == CLAB_SEND ? c->sent++ : step.op >= CLAB_COPY ? 0 : c->received++;
    w->parts[w->nparts++] = (struct part){.step = step,
                                          .rank = c->rank,
                                          .lane = c->lane,
                                          .stage = c->stage,
                                          .channel = c->block->channel,
                                          .number = number,
                                          .line = c->step->line,
                                          .order = c->order};
    return CLAB_OK;
}

static int need_peer(const struct context *c, int peer, const char *name)
{
    if (peer >= 0)
        return CLAB_OK;
    clab_error("%s:%d: thread block %d of gpu %d has no %s peer", c->w->m->path, c->step->line, c->block->id, c->rank,
               name);
    return CLAB_EPARSE;
}

static int add_local(struct context *c, enum clab_step_op op, struct clab_span src, struct clab_span dst)
{
    if (op == CLAB_COPY && src.buffer == dst.buffer && src.first == dst.first)
        return CLAB_OK;
    return add_part(c, (struct clab_step){.op = op, .src = src, .dst = dst});
}

static int add_receive(struct context *c, enum clab_step_op op, struct clab_span src, struct clab_span dst)
{
    const bool is_same = src.buffer == dst.buffer && src.first == dst.first;
    CLAB_TRY(need_peer(c, c->block->recv, "recv"));
    if (c->when) {
        c->stage = c->when->begin;
        c->order = c->when->receipt;
    }
    if (op == CLAB_RECV || is_same)
        return add_part(c, (struct clab_step){.op = op, .peer = c->block->recv, .dst = dst});
    return add_part(c, (struct clab_step){.op = op, .peer = c->block->recv, .src = src, .dst = dst});
}

// A place aside for the step's chunks, from stage `from` on.
static int find_aside(struct context *c, int from, struct clab_span *span_p)
{
    int i = 0;
    while (i < c->nasides && c->asides[i].until >= from)
        i++;
    if (i == c->nasides) {
        CLAB_TRY(CLAB_PUSH(c->asides, c->nasides, c->aside_room, (struct aside){.first = c->used}));
        c->used += c->longest;
    }
    c->asides[i].until = c->when->through;
    *span_p = (struct clab_span){CLAB_SCRATCH, c->w->scratch + c->asides[i].first, c->step->count};
    return CLAB_OK;
}

// A foreign send takes place when it is received. What is overwritten before is copied aside.
static int add_send(struct context *c, struct clab_span span)
{
    CLAB_TRY(need_peer(c, c->block->send, "send"));
    if (c->when && c->when->is_overwritten) {
        struct clab_span aside;
        CLAB_TRY(find_aside(c, c->when->post, &aside));
        c->stage = c->when->post;
        CLAB_TRY(add_local(c, CLAB_COPY, span, aside));
        span = aside;
    }
    if (c->when) {
        c->stage = c->when->through;
        c->order = c->when->shipping;
    }
    return add_part(c, (struct clab_step){.op = CLAB_SEND, .peer = c->block->send, .src = span});
}

static int add_parts(struct context *c, const struct place *src, const struct place *dst)
{
    struct clab_span span;
    switch (c->step->type) {
    case CLAB_MSCCL_S: return add_send(c, src->span);
    case CLAB_MSCCL_R: return add_receive(c, CLAB_RECV, src->span, dst->span);
    case CLAB_MSCCL_RCS: CLAB_TRY(add_receive(c, CLAB_RECV, src->span, dst->span)); return add_send(c, dst->span);
    case CLAB_MSCCL_RRC: return add_receive(c, CLAB_RECV_REDUCE, src->span, dst->span);
    case CLAB_MSCCL_RRCS:
        CLAB_TRY(add_receive(c, CLAB_RECV_REDUCE, src->span, dst->span));
        return add_send(c, dst->span);
    case CLAB_MSCCL_RRS:
        CLAB_TRY(find_aside(c, c->when->begin, &span));
        CLAB_TRY(add_receive(c, CLAB_RECV_REDUCE, src->span, span));
        return add_send(c, span);
    case CLAB_MSCCL_CPY: return add_local(c, CLAB_COPY, src->span, dst->span);
    case CLAB_MSCCL_RE: return add_local(c, CLAB_COMBINE, src->span, dst->span);
    default: return CLAB_OK;
    }
}

// What one of our files can not have in a stage.
static int check_staged(const struct context *c)
{
    const enum clab_msccl_type type = c->step->type;
    if (c->when || !(msccl_sends(type) && msccl_receives(type)))
        return CLAB_OK;
    clab_error("%s:%d: it receives and sends, which is two stages: leave out \"stage\" and \"at\"", c->w->m->path,
               c->step->line);
    return CLAB_EPARSE;
}

static int add_step(struct context *c)
{
    struct lowering *w = c->w;
    enum clab_msccl_type type = c->step->type;
    struct place src = {0}, dst = {0};
    const bool reads_src = msccl_reads_src(type), writes_dst = msccl_writes_dst(type);
    if (type == CLAB_MSCCL_NOP)
        return CLAB_OK;
    CLAB_TRY(check_staged(c));
    if (reads_src)
        CLAB_TRY(find_place(w, c->rank, c->step, true, &src));
    if (writes_dst)
        CLAB_TRY(find_place(w, c->rank, c->step, false, &dst));
    if (reads_src && writes_dst && src.lane != dst.lane) {
        clab_error("%s:%d: from lane %d to lane %d", w->m->path, c->step->line, src.lane, dst.lane);
        return CLAB_EPARSE;
    }
    c->lane = reads_src ? src.lane : dst.lane;
    c->stage = c->when ? c->when->begin : c->step->stage;
    c->order = c->when ? c->step - w->m->steps : c->step->at;
    return add_parts(c, &src, &dst);
}

static int longest_sent(const struct clab_msccl *m, const struct clab_msccl_block *block)
{
    int longest = 0;
    for (int i = block->first; i < block->first + block->nsteps; i++)
        if (msccl_sends(m->steps[i].type) && m->steps[i].count > longest)
            longest = m->steps[i].count;
    return longest;
}

static int add_blocks(struct lowering *w, int rank)
{
    const struct clab_msccl_gpu *gpu = &w->m->gpus[rank];
    struct context c = {.w = w, .rank = rank};
    int err = CLAB_OK;
    for (int b = gpu->first; b < gpu->first + gpu->nblocks && !err; b++) {
        c.block = &w->m->blocks[b];
        c.sent = c.received = c.nasides = 0;
        c.longest = longest_sent(w->m, c.block);
        for (int i = c.block->first; i < c.block->first + c.block->nsteps && !err; i++) {
            c.step = &w->m->steps[i];
            c.when = w->order.when ? &w->order.when[i] : NULL;
            err = add_step(&c);
        }
    }
    w->aside = c.used > w->aside ? c.used : w->aside;
    free(c.asides);
    return err;
}

// ---- the listing ---------------------------------------------------------------------------------------------

static int by_stage(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->lane, y->lane) ?: CLAB_ORDER(x->stage, y->stage)
        ?: CLAB_ORDER(x->order, y->order);
}

// A stage that nothing is in is a stage all the same, if the file says so.
static int list_program(struct lowering *w, int rank, int lane, int *next, struct clab_listing *listing)
{
    int stage = NONE;
    for (; *next < w->nparts && w->parts[*next].rank == rank && w->parts[*next].lane == lane; ++*next) {
        const struct part *part = &w->parts[*next];
        int gap = part->stage - stage;
        for (int i = 0; i < (w->m->staged ? gap : gap > 0); i++)
            CLAB_TRY(clab_listing_begin_stage(listing));
        stage = part->stage;
        listing->line = part->line;
        CLAB_TRY(clab_listing_add(listing, &part->step));
    }
    clab_listing_end_program(listing);
    return CLAB_OK;
}

// A message as one end sees it.
struct end {
    int src, dst, lane, part;
};

static int by_pair(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst) ?: CLAB_ORDER(x->lane, y->lane)
        ?: CLAB_ORDER(x->part, y->part);
}

static int compare_ends(const struct lowering *w, const struct end *sends, int nsends, const struct end *receives,
                        int nreceives)
{
    for (int i = 0; i < nsends && i < nreceives; i++) {
        const struct part *s = &w->parts[sends[i].part], *r = &w->parts[receives[i].part];
        bool is_pair = sends[i].src == receives[i].src && sends[i].dst == receives[i].dst;
        if (is_pair && (s->channel != r->channel || s->number != r->number)) {
            clab_error(
                "%s:%d: among the messages from gpu %d to gpu %d this one is not the one received in line %d: send "
                "and receive them in the same order",
                w->m->path, s->line, s->rank, r->rank, r->line);
            return CLAB_EPARSE;
        }
        if (!is_pair)
            break;
    }
    return CLAB_OK; // that there is one for each is the proof's matter
}

// Between a pair messages match in order here, over all channels of a lane.
static int check_order(const struct lowering *w)
{
    struct end *ends = malloc(((size_t)w->nparts + 1) * 2 * sizeof *ends), *receives = ends + w->nparts + 1;
    int nsends = 0, nreceives = 0;
    if (!ends)
        return CLAB_ENOMEM;
    for (int i = 0; i < w->nparts; i++) {
        const struct part *part = &w->parts[i];
        if (part->step.op == CLAB_SEND)
            ends[nsends++] = (struct end){part->rank, part->step.peer, part->lane, i};
        else if (part->step.op < CLAB_COPY)
            receives[nreceives++] = (struct end){part->step.peer, part->rank, part->lane, i};
    }
    qsort(ends, (size_t)nsends, sizeof *ends, by_pair);
    qsort(receives, (size_t)nreceives, sizeof *receives, by_pair);
    int err = compare_ends(w, ends, nsends, receives, nreceives);
    free(ends);
    return err;
}

static int declare(const struct clab_msccl *m, struct clab_listing *listing)
{
    CLAB_TRY(clab_listing_make_custom(listing));
    for (int rank = 0; rank < m->ngpus; rank++) {
        const int in = m->gpus[rank].inputs, out = m->gpus[rank].outputs;
        if (in > m->chunks || out > m->chunks) {
            clab_error("%s:%d: i_chunks=\"%d\" and o_chunks=\"%d\" are more than nchunksperloop=\"%d\"", m->path,
                       m->gpus[rank].line, in, out, m->chunks);
            return CLAB_EPARSE;
        }
        listing->inputs[rank] = in;
        listing->outputs[rank] = out;
    }
    return CLAB_OK;
}

static int list(struct lowering *w, struct clab_listing *listing)
{
    int next = 0;
    if (w->nparts)
        qsort(w->parts, (size_t)w->nparts, sizeof *w->parts, by_stage);
    if (w->m->staged)
        CLAB_TRY(check_order(w));
    for (int rank = 0; rank < w->m->ngpus; rank++)
        for (int lane = 0; lane < w->m->lanes; lane++)
            CLAB_TRY(list_program(w, rank, lane, &next, listing));
    return clab_listing_close(listing, w->m->path);
}

static int make_listing(struct lowering *w, struct clab_listing **listing_p)
{
    const struct clab_msccl *m = w->m;
    const struct clab_problem problem = {
        .collective = m->collective, .nranks = m->ngpus, .root = m->root, .lanes = m->lanes};
    struct clab_listing *listing;
    CLAB_TRY(clab_listing_create(&problem, m->name, &listing));
    listing->chunks = w->chunks;
    listing->scratch = (w->scratch + w->aside + w->chunks - 1) / w->chunks;
    listing->even = m->even;
    listing->has_input = m->has_input;
    int err = m->custom ? declare(m, listing) : CLAB_OK;
    if (!err)
        err = list(w, listing);
    if (err)
        clab_listing_free(listing);
    else
        *listing_p = listing;
    return err;
}

// ---- interface -----------------------------------------------------------------------------------------------

static int find_shape(struct lowering *w)
{
    const struct clab_msccl *m = w->m;
    const struct clab_problem problem = {.collective = m->collective, .nranks = m->ngpus};
    int scratch = 0;
    w->blocks = clab_problem_blocks(&problem);
    w->chunks = m->chunks / w->blocks / m->lanes;
    if (w->chunks < 1 || w->chunks * w->blocks * m->lanes != m->chunks) {
        clab_error(
            "%s:%d: nchunksperloop=\"%d\" is not a multiple of %d, the blocks of this collective times %d lane%s",
            m->path, m->line, m->chunks, w->blocks * m->lanes, m->lanes, m->lanes == 1 ? "" : "s");
        return CLAB_EPARSE;
    }
    if (m->root && !clab_collective_rooted(m->collective)) {
        clab_error("%s:%d: root=\"%d\" of a collective that has none", m->path, m->line, m->root);
        return CLAB_EPARSE;
    }
    for (int i = 0; i < m->ngpus; i++)
        scratch = m->gpus[i].scratch > scratch ? m->gpus[i].scratch : scratch;
    w->scratch = (scratch + w->chunks * m->lanes - 1) / (w->chunks * m->lanes) * w->chunks;
    return CLAB_OK;
}

static int lower(struct lowering *w, struct clab_listing **listing_p)
{
    CLAB_TRY(find_shape(w));
    CLAB_TRY(msccl_check_places(w->m));
    if (!w->m->staged) {
        CLAB_TRY(msccl_order_make(w->m, &w->order));
        CLAB_TRY(msccl_check_races(w->m, &w->order));
    }
    for (int rank = 0; rank < w->m->ngpus; rank++)
        CLAB_TRY(add_blocks(w, rank));
    return make_listing(w, listing_p);
}

static int lower_for(const struct clab_msccl *msccl, bool in_place, struct clab_listing **listing_p)
{
    struct clab_msccl m = *msccl;
    struct lowering w = {.m = &m};
    m.has_input = !in_place;
    int err = lower(&w, listing_p);
    msccl_order_free(&w.order);
    free(w.parts);
    return err;
}

// A file that is for both is proved for both; what is right in place is run out of place, too.
int clab_msccl_lower(const struct clab_msccl *m, struct clab_listing **listing_p)
{
    struct clab_listing *out_of_place;
    if (!m->inplace)
        return lower_for(m, false, listing_p);
    if (m->outofplace) {
        CLAB_TRY(lower_for(m, false, &out_of_place));
        clab_listing_free(out_of_place);
    }
    return lower_for(m, true, listing_p);
}
