// SPDX-License-Identifier: MIT
// From MSCCL's thread blocks to a listing: the steps here of each step there, in its stages (msccl_stages.c).

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
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
    int scratch, temporaries; // blocks of scratch: of the files's, and those that are made for rrs
    int *begin;               // (nsteps) the first stages of foreign steps
    struct part *parts;
    int nparts, room;
};

// A place is a lane's chunks.
struct place {
    int lane;
    struct clab_span span;
};

// ---- where chunks are ----------------------------------------------------------------------------------------

enum clab_buffer msccl_buffer(const struct clab_msccl *m, int rank, char letter, int *first_p, int *size_p)
{
    const struct clab_problem problem = {.collective = m->collective, .nranks = m->ngpus};
    const int own = m->chunks / clab_problem_blocks(&problem);
    const bool is_part =
        (letter == 'i' && m->collective == CLAB_ALLGATHER) || (letter == 'o' && m->collective == CLAB_REDUCE_SCATTER);
    *first_p = is_part ? rank * own : 0;
    *size_p = letter == 's' ? m->gpus[rank].scratch : is_part ? own : m->chunks;
    if (letter == 's')
        return CLAB_SCRATCH;
    return letter == 'i' && m->collective == CLAB_ALLTOALL ? CLAB_INPUT : CLAB_DATA;
}

static int find_place(const struct lowering *w, int rank, const struct clab_msccl_step *step, bool src,
                      struct place *place_p)
{
    const struct clab_msccl *m = w->m;
    int first, size, offset = src ? step->src_off : step->dst_off, k = w->chunks;
    char letter = src ? step->src : step->dst;
    enum clab_buffer buffer = msccl_buffer(m, rank, letter, &first, &size);
    if (offset < 0 || offset > size - step->count) {
        clab_error("%s:%d: chunks %d to %d of '%c', which has %d", m->path, step->line, offset,
                   offset + step->count - 1, letter, size);
        return CLAB_EPARSE;
    }
    int at = first + offset, lane = at / k % m->lanes;
    if (m->lanes > 1 && at % k + step->count > k) {
        clab_error("%s:%d: chunks of several lanes at once", m->path, step->line);
        return CLAB_EPARSE;
    }
    *place_p = (struct place){lane, {buffer, at / (k * m->lanes) * k + at % k, step->count}};
    return CLAB_OK;
}

// ---- steps ---------------------------------------------------------------------------------------------------

// The step at hand, and what its parts have in common.
struct context {
    struct lowering *w;
    const struct clab_msccl_block *block;
    const struct clab_msccl_step *step;
    int rank, lane, stage;
    long order;
    int *sent, *received; // messages of the block so far
};

static int add_part(struct context *c, struct clab_step step)
{
    struct lowering *w = c->w;
    CLAB_TRY(CLAB_RESERVE(w->parts, w->room, w->nparts + 1));
    int number = step.op == CLAB_SEND ? (*c->sent)++ : step.op == CLAB_COPY ? 0 : (*c->received)++;
    w->parts[w->nparts++] = (struct part){.step = step,
                                          .rank = c->rank,
                                          .lane = c->lane,
                                          .stage = c->stage++,
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

static int add_send(struct context *c, struct clab_span span)
{
    CLAB_TRY(need_peer(c, c->block->send, "send"));
    return add_part(c, (struct clab_step){.op = CLAB_SEND, .peer = c->block->send, .src = span});
}

static int add_receive(struct context *c, enum clab_step_op op, struct clab_span span)
{
    CLAB_TRY(need_peer(c, c->block->recv, "recv"));
    return add_part(c, (struct clab_step){.op = op, .peer = c->block->recv, .dst = span});
}

static bool is_same(struct clab_span a, struct clab_span b)
{
    return a.buffer == b.buffer && a.first == b.first;
}

static int add_copy(struct context *c, struct clab_span src, struct clab_span dst)
{
    return is_same(src, dst) ? CLAB_OK : add_part(c, (struct clab_step){.op = CLAB_COPY, .src = src, .dst = dst});
}

// What is received, combined with src, comes to dst.
static int add_reduction(struct context *c, struct clab_span src, struct clab_span dst)
{
    CLAB_TRY(add_copy(c, src, dst));
    return add_receive(c, CLAB_RECV_REDUCE, dst);
}

// A place for what is sent on and not kept: blocks of scratch behind those of the file.
static struct clab_span temporary(struct lowering *w, int count)
{
    int first = (w->scratch + w->temporaries) * w->chunks;
    w->temporaries += (count + w->chunks - 1) / w->chunks;
    return (struct clab_span){CLAB_SCRATCH, first, count};
}

static int add_parts(struct context *c, const struct place *src, const struct place *dst)
{
    struct clab_span span;
    switch (c->step->type) {
    case CLAB_MSCCL_S: return add_send(c, src->span);
    case CLAB_MSCCL_R: return add_receive(c, CLAB_RECV, dst->span);
    case CLAB_MSCCL_RCS: CLAB_TRY(add_receive(c, CLAB_RECV, dst->span)); return add_send(c, dst->span);
    case CLAB_MSCCL_RRC: return add_reduction(c, src->span, dst->span);
    case CLAB_MSCCL_RRCS: CLAB_TRY(add_reduction(c, src->span, dst->span)); return add_send(c, dst->span);
    case CLAB_MSCCL_RRS:
        span = temporary(c->w, c->step->count);
        CLAB_TRY(add_reduction(c, src->span, span));
        return add_send(c, span);
    case CLAB_MSCCL_CPY: return add_copy(c, src->span, dst->span);
    case CLAB_MSCCL_NOP: return CLAB_OK;
    default:
        clab_error("%s:%d: this reduces what is here already; schedules reduce only what they receive (rrc)",
                   c->w->m->path, c->step->line);
        return CLAB_EPARSE;
    }
}

static int add_step(struct context *c)
{
    struct lowering *w = c->w;
    enum clab_msccl_type type = c->step->type;
    struct place src = {0}, dst = {0};
    bool reads_src = type != CLAB_MSCCL_R && type != CLAB_MSCCL_RCS,
         writes_dst = type != CLAB_MSCCL_S && type != CLAB_MSCCL_RRS;
    if (type == CLAB_MSCCL_NOP)
        return CLAB_OK;
    if (reads_src)
        CLAB_TRY(find_place(w, c->rank, c->step, true, &src));
    if (writes_dst)
        CLAB_TRY(find_place(w, c->rank, c->step, false, &dst));
    if (reads_src && writes_dst && src.lane != dst.lane) {
        clab_error("%s:%d: from lane %d to lane %d", w->m->path, c->step->line, src.lane, dst.lane);
        return CLAB_EPARSE;
    }
    c->lane = reads_src ? src.lane : dst.lane;
    long index = c->step - w->m->steps;
    c->stage = w->m->staged ? c->step->stage : w->begin[index];
    c->order = w->m->staged ? c->step->at : ((long)c->block->channel << 32) + index - c->block->first;
    return add_parts(c, &src, &dst);
}

static int add_blocks(struct lowering *w, int rank)
{
    const struct clab_msccl_gpu *gpu = &w->m->gpus[rank];
    for (int b = gpu->first; b < gpu->first + gpu->nblocks; b++) {
        int sent = 0, received = 0;
        struct context c = {.w = w, .block = &w->m->blocks[b], .rank = rank, .sent = &sent, .received = &received};
        for (int i = 0; i < c.block->nsteps; i++) {
            c.step = &w->m->steps[c.block->first + i];
            CLAB_TRY(add_step(&c));
        }
    }
    return CLAB_OK;
}

// ---- the listing ---------------------------------------------------------------------------------------------

static int by_stage(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
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
    if (x->src != y->src)
        return x->src - y->src;
    if (x->dst != y->dst)
        return x->dst - y->dst;
    return x->lane != y->lane ? x->lane - y->lane : x->part - y->part;
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
        else if (part->step.op != CLAB_COPY)
            receives[nreceives++] = (struct end){part->step.peer, part->rank, part->lane, i};
    }
    qsort(ends, (size_t)nsends, sizeof *ends, by_pair);
    qsort(receives, (size_t)nreceives, sizeof *receives, by_pair);
    int err = compare_ends(w, ends, nsends, receives, nreceives);
    free(ends);
    return err;
}

static int list(struct lowering *w, struct clab_listing *listing)
{
    int next = 0;
    if (w->nparts)
        qsort(w->parts, (size_t)w->nparts, sizeof *w->parts, by_stage);
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
    listing->scratch = w->scratch + w->temporaries;
    listing->even = !m->staged;
    int err = list(w, listing);
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
        clab_error("%s: nchunksperloop=\"%d\" is not a multiple of %d blocks and %d lanes", m->path, m->chunks,
                   w->blocks, m->lanes);
        return CLAB_EPARSE;
    }
    if (m->root && !clab_collective_rooted(m->collective)) {
        clab_error("%s: root=\"%d\" of a collective that has none", m->path, m->root);
        return CLAB_EPARSE;
    }
    for (int i = 0; i < m->ngpus; i++)
        scratch = m->gpus[i].scratch > scratch ? m->gpus[i].scratch : scratch;
    w->scratch = (scratch + w->chunks * m->lanes - 1) / (w->chunks * m->lanes);
    return CLAB_OK;
}

static int lower(struct lowering *w, struct clab_listing **listing_p)
{
    CLAB_TRY(find_shape(w));
    CLAB_TRY(msccl_stages(w->m, &w->begin));
    for (int rank = 0; rank < w->m->ngpus; rank++)
        CLAB_TRY(add_blocks(w, rank));
    return make_listing(w, listing_p);
}

int clab_msccl_lower(const struct clab_msccl *msccl, struct clab_listing **listing_p)
{
    struct lowering w = {.m = msccl};
    int err = lower(&w, listing_p);
    free(w.begin);
    free(w.parts);
    return err;
}
