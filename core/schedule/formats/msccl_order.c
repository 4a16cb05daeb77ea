// SPDX-License-Identifier: MIT
// The order of a foreign file: its thread blocks are run as MSCCL's interpreter runs them, and each step gets a stage.
//
// - A message is sent when its block comes to it, if fewer than `slots` of its connection are on their way. It is
//   received when the receiver's block comes to it.
// - Time goes in rounds. In a round each GPU does what one stage can do at once (schedule.h, rule 1): nothing reads what
//   the round writes, no chunk is written twice, no copy writes what the round reads. So a round is a stage.
// - A message belongs to the round in which it is received, at both ends: there, no rank waits for a later round of
//   another. If its source is overwritten between its sending and this round, the sender copies it aside at once, as
//   MSCCL does with every message.
// - When nothing moves any more, thread blocks wait for each other: a deadlock of MSCCL, too.

#include "core/schedule/formats/msccl_inside.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/vector.h"

enum { NONE = -1 };

enum wait { NOTHING, FOR_STEP, FOR_MESSAGE, FOR_ROOM, FOR_ROUND, ENDED };

struct block {
    int next;           // step
    bool half;          // it has received, and is still to send
    int sent, received; // messages
    enum wait wait;
    int waiter; // the next of those who wait for the same block
};

struct run {
    const struct clab_msccl *m;
    struct msccl_order order;
    struct msccl_ends *ends;                // (nblocks)
    struct block *blocks;                   // (nblocks)
    int *numbers;                           // all of those below
    int *waiters;                           // (nblocks) the first who waits for one of its steps, or NONE
    int *queue, head, tail, *later, nlater; // blocks that may go on: in this round, and in the next one
    int *base;                              // (ngpus) where each GPU's chunks begin in what follows
    int *written, *sent, *used; // (chunks) the last round in which it was written, sent, read otherwise; 0: none
    int round, left;
    long messages;
};

static const struct clab_msccl_step *step_at(const struct run *w, int index)
{
    return &w->m->steps[index];
}

static int step_of(const struct run *w, int block)
{
    return w->m->blocks[block].first + w->blocks[block].next;
}

// ---- rounds --------------------------------------------------------------------------------------------------

static void wake(struct run *w, int block)
{
    w->blocks[block].wait = NOTHING;
    w->queue[w->tail++ % w->m->nblocks] = block;
}

// The chunks of a step that have the round's stamp.
static bool has_stamp(const struct run *w, int rank, const struct clab_msccl_step *step, bool src, const int *stamps)
{
    const int first = w->base[rank] + msccl_chunk(w->m, rank, step, src);
    for (int i = 0; i < step->count; i++)
        if (stamps[first + i] == w->round)
            return true;
    return false;
}

static void stamp(struct run *w, int rank, const struct clab_msccl_step *step, bool src, int *stamps)
{
    const int first = w->base[rank] + msccl_chunk(w->m, rank, step, src);
    for (int i = 0; i < step->count; i++)
        stamps[first + i] = w->round;
}

static bool is_local(enum clab_msccl_type type)
{
    return type == CLAB_MSCCL_CPY || type == CLAB_MSCCL_RE;
}

// Whether this round's stage can have the step, as far as it receives, copies or combines.
static bool fits_round(const struct run *w, int rank, const struct clab_msccl_step *step)
{
    const enum clab_msccl_type type = step->type;
    if (msccl_reads_src(type) && has_stamp(w, rank, step, true, w->written))
        return false;
    if (!msccl_writes_dst(type))
        return true;
    return !has_stamp(w, rank, step, false, w->written) && !has_stamp(w, rank, step, false, w->used) &&
           !(is_local(type) && has_stamp(w, rank, step, false, w->sent));
}

static void begin_step(struct run *w, int block, int index)
{
    const struct clab_msccl_step *step = step_at(w, index);
    struct block *b = &w->blocks[block];
    w->order.when[index].begin = w->round;
    if (msccl_reads_src(step->type))
        stamp(w, w->ends[block].rank, step, true, w->used);
    if (msccl_writes_dst(step->type))
        stamp(w, w->ends[block].rank, step, false, w->written);
    if (!msccl_receives(step->type))
        return;
    struct msccl_when *sender = &w->order.when[w->order.from[index]];
    sender->through = w->round;
    sender->shipping = w->order.when[index].receipt = w->messages++;
    b->received++;
    if (w->blocks[w->ends[block].from].wait == FOR_ROOM)
        wake(w, w->ends[block].from);
}

// What it sends: its source, or what it has just received.
static bool sends_src(enum clab_msccl_type type)
{
    return type == CLAB_MSCCL_S;
}

static bool can_post(const struct run *w, int block, int index)
{
    const struct clab_msccl_step *step = step_at(w, index);
    if (step->type == CLAB_MSCCL_RRS)
        return w->order.when[index].begin < w->round;
    return !has_stamp(w, w->ends[block].rank, step, sends_src(step->type), w->written);
}

static void post(struct run *w, int block, int index)
{
    const struct clab_msccl_step *step = step_at(w, index);
    struct block *b = &w->blocks[block];
    w->order.when[index].post = w->round;
    if (step->type != CLAB_MSCCL_RRS)
        stamp(w, w->ends[block].rank, step, sends_src(step->type), w->sent);
    b->sent++;
    if (w->blocks[w->ends[block].to].wait == FOR_MESSAGE)
        wake(w, w->ends[block].to);
}

static void end_step(struct run *w, int block, int index)
{
    struct block *b = &w->blocks[block];
    w->order.log[w->order.nlog++] = index;
    b->half = false;
    b->next++;
    for (int other = w->waiters[block], next; other != NONE; other = next) {
        next = w->blocks[other].waiter;
        wake(w, other);
    }
    w->waiters[block] = NONE;
}

static bool is_done(const struct run *w, int block, int index)
{
    return index < step_of(w, block);
}

static int block_of(const struct run *w, int rank, int index)
{
    return w->m->gpus[rank].first + step_at(w, index)->depid;
}

// What the block's next step waits for; NOTHING if it can be taken.
static enum wait what_for(struct run *w, int block)
{
    const struct block *b = &w->blocks[block];
    if (b->next == w->m->blocks[block].nsteps)
        return ENDED;
    const int index = step_of(w, block);
    const struct clab_msccl_step *step = step_at(w, index);
    if (b->half)
        return can_post(w, block, index) ? NOTHING : FOR_ROUND;
    const int target = w->order.target[index];
    if (target != NONE && !is_done(w, block_of(w, w->ends[block].rank, index), target))
        return FOR_STEP;
    if (msccl_receives(step->type) && b->received == w->blocks[w->ends[block].from].sent)
        return FOR_MESSAGE;
    if (msccl_sends(step->type) && b->sent - w->blocks[w->ends[block].to].received >= w->m->slots)
        return FOR_ROOM;
    if (step->type == CLAB_MSCCL_NOP)
        return NOTHING;
    if (step->type == CLAB_MSCCL_S)
        return can_post(w, block, index) ? NOTHING : FOR_ROUND;
    return fits_round(w, w->ends[block].rank, step) ? NOTHING : FOR_ROUND;
}

static void take(struct run *w, int block)
{
    struct block *b = &w->blocks[block];
    const int index = step_of(w, block);
    const enum clab_msccl_type type = step_at(w, index)->type;
    const bool posts = b->half || type == CLAB_MSCCL_S;
    if (posts)
        post(w, block, index);
    else if (type != CLAB_MSCCL_NOP)
        begin_step(w, block, index);
    if (posts || !msccl_sends(type))
        end_step(w, block, index);
    else
        b->half = true;
}

static void advance(struct run *w, int block)
{
    struct block *b = &w->blocks[block];
    enum wait wait;
    while ((wait = what_for(w, block)) == NOTHING)
        take(w, block);
    b->wait = wait;
    if (wait == ENDED) {
        w->left--;
    } else if (wait == FOR_ROUND) {
        w->later[w->nlater++] = block;
    } else if (wait == FOR_STEP) {
        const int other = block_of(w, w->ends[block].rank, step_of(w, block));
        b->waiter = w->waiters[other];
        w->waiters[other] = block;
    }
}

static void run_rounds(struct run *w)
{
    for (int b = 0; b < w->m->nblocks; b++)
        wake(w, b);
    for (w->round = 1;; w->round++) {
        while (w->head < w->tail)
            advance(w, w->queue[w->head++ % w->m->nblocks]);
        if (!w->nlater)
            return;
        w->head = w->tail = 0;
        for (int i = 0; i < w->nlater; i++)
            wake(w, w->later[i]);
        w->nlater = 0;
    }
}

// ---- when nothing moves any more -----------------------------------------------------------------------------

static int awaited(const struct run *w, int block)
{
    const struct msccl_ends *ends = &w->ends[block];
    const enum wait wait = w->blocks[block].wait;
    return wait == FOR_STEP ? block_of(w, ends->rank, step_of(w, block)) : wait == FOR_MESSAGE ? ends->from : ends->to;
}

static int refuse_circle(const struct run *w)
{
    int block = 0;
    while (w->blocks[block].wait == ENDED)
        block++;
    for (int i = 0; i < w->m->nblocks; i++) // into the circle
        block = awaited(w, block);
    const int other = awaited(w, block);
    static const char *const whats[] = {
        [FOR_STEP] = "a step of", [FOR_MESSAGE] = "a message from", [FOR_ROOM] = "room for one more message to"};
    const struct clab_msccl *m = w->m;
    clab_error("%s:%d: thread blocks wait for each other: here block %d of gpu %d waits for %s block %d of gpu %d, "
               "which in line %d waits for %s another, and so on in a circle (%d messages fit into a connection)",
               m->path, m->steps[step_of(w, block)].line, m->blocks[block].id, w->ends[block].rank,
               whats[w->blocks[block].wait], m->blocks[other].id, w->ends[other].rank, m->steps[step_of(w, other)].line,
               whats[w->blocks[other].wait], m->slots);
    return CLAB_EDEADLOCK;
}

// ---- sources that are overwritten ----------------------------------------------------------------------------

struct change {
    int chunk, round;
    bool is_local;
};

static int by_chunk(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return CLAB_ORDER(x->chunk, y->chunk) ?: CLAB_ORDER(x->round, y->round);
}

struct changes {
    struct change *items;
    int n, room;
};

static int note_changes(const struct run *w, int block, struct changes *c)
{
    const struct clab_msccl_block *b = &w->m->blocks[block];
    const int rank = w->ends[block].rank;
    for (int i = b->first; i < b->first + b->nsteps; i++) {
        const struct clab_msccl_step *step = step_at(w, i);
        if (!msccl_writes_dst(step->type))
            continue;
        const int first = w->base[rank] + msccl_chunk(w->m, rank, step, false);
        for (int k = 0; k < step->count; k++)
            CLAB_TRY(CLAB_PUSH(c->items, c->n, c->room,
                               (struct change){first + k, w->order.when[i].begin, is_local(step->type)}));
    }
    return CLAB_OK;
}

// Whether `chunk` changes from round `post` on, before it is read in round `through`.
static bool changes_between(const struct changes *c, int chunk, int post, int through)
{
    int low = 0, high = c->n;
    const struct change key = {chunk, post, false};
    while (low < high) {
        const int middle = (low + high) / 2;
        if (by_chunk(&c->items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->n && c->items[low].chunk == chunk && c->items[low].round <= through; low++)
        if (c->items[low].round < through || c->items[low].is_local)
            return true;
    return false;
}

static void find_overwritten(struct run *w, const struct changes *c, int block)
{
    const struct clab_msccl_block *b = &w->m->blocks[block];
    const int rank = w->ends[block].rank;
    for (int i = b->first; i < b->first + b->nsteps; i++) {
        const struct clab_msccl_step *step = step_at(w, i);
        struct msccl_when *when = &w->order.when[i];
        if (!msccl_sends(step->type) || step->type == CLAB_MSCCL_RRS || when->through == when->post)
            continue;
        const int first = w->base[rank] + msccl_chunk(w->m, rank, step, sends_src(step->type));
        for (int k = 0; k < step->count; k++)
            when->is_overwritten |= changes_between(c, first + k, when->post, when->through);
    }
}

static int find_all_overwritten(struct run *w)
{
    struct changes c = {0};
    int err = CLAB_OK;
    for (int b = 0; b < w->m->nblocks && !err; b++)
        err = note_changes(w, b, &c);
    if (c.n > 1)
        qsort(c.items, (size_t)c.n, sizeof *c.items, by_chunk);
    for (int b = 0; b < w->m->nblocks && !err; b++)
        find_overwritten(w, &c, b);
    free(c.items);
    return err;
}

// ---- interface -----------------------------------------------------------------------------------------------

void msccl_order_free(struct msccl_order *order)
{
    free(order->when);
    free(order->target);
    free(order->from);
    free(order->log);
}

// The next `n` of the run's numbers.
static int *cut(int **rest, int n)
{
    int *first = *rest;
    *rest += n;
    return first;
}

static int begin(struct run *w)
{
    const struct clab_msccl *m = w->m;
    const size_t steps = (size_t)m->nsteps, blocks = (size_t)m->nblocks;
    int chunks = 0;
    for (int rank = 0; rank < m->ngpus; rank++)
        chunks += msccl_chunks(m, rank);
    w->order.when = calloc(steps + 1, sizeof *w->order.when);
    w->order.target = calloc(steps + 1, sizeof *w->order.target);
    w->order.from = calloc(steps + 1, sizeof *w->order.from);
    w->order.log = calloc(steps + 1, sizeof *w->order.log);
    w->ends = calloc(blocks + 1, sizeof *w->ends);
    w->blocks = calloc(blocks + 1, sizeof *w->blocks);
    w->numbers = calloc((size_t)m->ngpus + 3 * blocks + 3 * (size_t)chunks + 1, sizeof *w->numbers);
    if (!w->order.when || !w->order.target || !w->order.from || !w->order.log || !w->ends || !w->blocks || !w->numbers)
        return CLAB_ENOMEM;
    int *rest = w->numbers;
    w->base = cut(&rest, m->ngpus);
    w->waiters = cut(&rest, m->nblocks), w->queue = cut(&rest, m->nblocks), w->later = cut(&rest, m->nblocks);
    w->written = cut(&rest, chunks), w->sent = cut(&rest, chunks), w->used = cut(&rest, chunks);
    for (int rank = 1; rank < m->ngpus; rank++)
        w->base[rank] = w->base[rank - 1] + msccl_chunks(m, rank - 1);
    for (int b = 0; b < m->nblocks; b++)
        w->waiters[b] = NONE;
    w->left = m->nblocks;
    return CLAB_OK;
}

int msccl_order_make(const struct clab_msccl *m, struct msccl_order *order_p)
{
    struct run w = {.m = m};
    int err = begin(&w);
    if (!err)
        err = msccl_connect(m, w.ends, w.order.from, w.order.target);
    if (!err)
        run_rounds(&w);
    if (!err && w.left > 0)
        err = refuse_circle(&w);
    if (!err)
        err = find_all_overwritten(&w);
    free(w.ends);
    free(w.blocks);
    free(w.numbers);
    if (err)
        msccl_order_free(&w.order);
    else
        *order_p = w.order;
    return err;
}
