// SPDX-License-Identifier: MIT
// From MSCCL's thread blocks to stages. msccl.h says which stage a step is in.

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "schedule/msccl.h"

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
    int *begin, *end;         // (nsteps) stages of foreign steps: the first one, and the one behind the last
    int *done;                // (nblocks) steps whose stages are known
    bool *busy;               // (nblocks)
    struct part *parts;
    int nparts, room;
};

// A place is a lane's chunks.
struct place {
    int lane;
    struct clab_span span;
};

// ---- where chunks are ----------------------------------------------------------------------------------------

// The buffer that `letter` means at `rank`, how many chunks it has in the file, and where these begin.
static enum clab_buffer buffer_of(const struct lowering *w, int rank, char letter, int *first_p, int *size_p)
{
    const struct clab_msccl *m = w->m;
    int own = w->chunks * m->lanes;
    bool is_part =
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
    enum clab_buffer buffer = buffer_of(w, rank, letter, &first, &size);
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

// ---- stages of foreign files ---------------------------------------------------------------------------------

static bool sends_only(enum clab_msccl_type type)
{
    return type == CLAB_MSCCL_S;
}

static bool receives(enum clab_msccl_type type)
{
    return type == CLAB_MSCCL_R || type == CLAB_MSCCL_RCS || type == CLAB_MSCCL_RRS || type == CLAB_MSCCL_RRC ||
           type == CLAB_MSCCL_RRCS;
}

static bool moves_by_reducing(const struct clab_msccl_step *step)
{
    return step->src != step->dst || step->src_off != step->dst_off;
}

// How many stages a step takes.
static int length_of(const struct clab_msccl_step *step)
{
    switch (step->type) {
    case CLAB_MSCCL_NOP: return 0;
    case CLAB_MSCCL_RCS: return 2;
    case CLAB_MSCCL_RRC: return 1 + moves_by_reducing(step);
    case CLAB_MSCCL_RRCS: return 2 + moves_by_reducing(step);
    case CLAB_MSCCL_RRS: return 3;
    default: return 1;
    }
}

static int later(int a, int b)
{
    return a > b ? a : b;
}

// Whether step `a` may be in the stage of `b`, which it waits for: a receive of what a send or copy reads, since those see
// the stage's entry.
static bool goes_along(const struct lowering *w, int rank, const struct clab_msccl_step *a,
                       const struct clab_msccl_step *b)
{
    int a_first, b_first, size;
    if (!receives(a->type) || moves_by_reducing(a))
        return false;
    if (sends_only(b->type))
        return true;
    bool same = buffer_of(w, rank, a->dst, &a_first, &size) == buffer_of(w, rank, b->dst, &b_first, &size);
    a_first += a->dst_off;
    b_first += b->dst_off;
    return b->type == CLAB_MSCCL_CPY && !(same && a_first < b_first + b->count && b_first < a_first + a->count);
}

// A nop waits for the step behind it. A block that waits for itself wants a stage of its own.
static void place_step(struct lowering *w, const struct clab_msccl_gpu *gpu, int b, int s)
{
    const struct clab_msccl_block *block = &w->m->blocks[gpu->first + b];
    const struct clab_msccl_step *steps = w->m->steps + block->first, *step = &steps[s], *for_whom = step;
    int *begin = w->begin + block->first, *end = w->end + block->first, at = 0, rank = (int)(gpu - w->m->gpus);
    while (for_whom->type == CLAB_MSCCL_NOP && for_whom + 1 < steps + block->nsteps)
        for_whom++;
    if (s > 0) // a receive goes along with the send before it
        at = sends_only(steps[s - 1].type) && goes_along(w, rank, for_whom, &steps[s - 1]) ? begin[s - 1] : end[s - 1];
    if (step->depid >= 0) {
        int other = w->m->blocks[gpu->first + step->depid].first + step->deps;
        bool along = step->depid != b && goes_along(w, rank, for_whom, &w->m->steps[other]);
        at = later(at, along ? w->begin[other] : w->end[other]);
    }
    begin[s] = at;
    end[s] = at + length_of(step);
}

// Give stages to the steps of a GPU's thread block up to `last`; where one waits for another block, that one first.
// stack: (nblocks of the GPU, 2) blocks, and how far each is wanted
static int place_block(struct lowering *w, const struct clab_msccl_gpu *gpu, int wanted, int *stack)
{
    int depth = 0;
    stack[0] = wanted;
    stack[1] = w->m->blocks[gpu->first + wanted].nsteps;
    w->busy[gpu->first + wanted] = true;
    while (depth >= 0) {
        int b = stack[2 * depth], *done = &w->done[gpu->first + b];
        const struct clab_msccl_block *block = &w->m->blocks[gpu->first + b];
        const struct clab_msccl_step *step = &w->m->steps[block->first + *done];
        if (*done >= stack[2 * depth + 1]) {
            w->busy[gpu->first + b] = false;
            depth--;
        } else if (step->depid < 0 || w->done[gpu->first + step->depid] > step->deps) {
            place_step(w, gpu, b, (*done)++);
        } else if (w->busy[gpu->first + step->depid]) {
            clab_error("%s:%d: this waits for step %d of thread block %d, which waits for it, perhaps by way of others",
                       w->m->path, step->line, step->deps, step->depid);
            return CLAB_EPARSE;
        } else {
            depth++;
            stack[2 * depth] = step->depid;
            stack[2 * depth + 1] = step->deps + 1;
            w->busy[gpu->first + step->depid] = true;
        }
    }
    return CLAB_OK;
}

static int check_dependences(const struct lowering *w, const struct clab_msccl_gpu *gpu)
{
    for (int b = gpu->first; b < gpu->first + gpu->nblocks; b++) {
        const struct clab_msccl_block *block = &w->m->blocks[b];
        for (int i = block->first; i < block->first + block->nsteps; i++) {
            const struct clab_msccl_step *step = &w->m->steps[i];
            bool is_there = step->depid < gpu->nblocks && step->deps >= 0 &&
                            step->deps < (step->depid < 0 ? 0 : w->m->blocks[gpu->first + step->depid].nsteps);
            if (step->depid >= 0 && !is_there) {
                clab_error("%s:%d: there is no step %d of thread block %d", w->m->path, step->line, step->deps,
                           step->depid);
                return CLAB_EPARSE;
            }
        }
    }
    return CLAB_OK;
}

static int place_gpu(struct lowering *w, const struct clab_msccl_gpu *gpu)
{
    CLAB_TRY(check_dependences(w, gpu));
    int *stack = malloc(((size_t)gpu->nblocks + 1) * 2 * sizeof *stack);
    int err = stack ? CLAB_OK : CLAB_ENOMEM;
    for (int b = 0; b < gpu->nblocks && !err; b++)
        err = place_block(w, gpu, b, stack);
    free(stack);
    return err;
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
    if (w->nparts == w->room) {
        int room = 2 * w->room + 256;
        struct part *more = realloc(w->parts, (size_t)room * sizeof *more);
        if (!more)
            return CLAB_ENOMEM;
        w->parts = more;
        w->room = room;
    }
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
        scratch = later(scratch, m->gpus[i].scratch);
    w->scratch = (scratch + w->chunks * m->lanes - 1) / (w->chunks * m->lanes);
    return CLAB_OK;
}

static int lower(struct lowering *w, struct clab_listing **listing_p)
{
    const struct clab_msccl *m = w->m;
    CLAB_TRY(find_shape(w));
    w->begin = calloc((size_t)m->nsteps + 1, sizeof *w->begin);
    w->end = calloc((size_t)m->nsteps + 1, sizeof *w->end);
    w->done = calloc((size_t)m->nblocks + 1, sizeof *w->done);
    w->busy = calloc((size_t)m->nblocks + 1, sizeof *w->busy);
    if (!w->begin || !w->end || !w->done || !w->busy)
        return CLAB_ENOMEM;
    for (int rank = 0; rank < m->ngpus; rank++) {
        CLAB_TRY(place_gpu(w, &m->gpus[rank]));
        CLAB_TRY(add_blocks(w, rank));
    }
    return make_listing(w, listing_p);
}

int clab_msccl_lower(const struct clab_msccl *msccl, struct clab_listing **listing_p)
{
    struct lowering w = {.m = msccl};
    int err = lower(&w, listing_p);
    free(w.begin);
    free(w.end);
    free(w.done);
    free(w.busy);
    free(w.parts);
    return err;
}
