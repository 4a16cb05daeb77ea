// SPDX-License-Identifier: MIT
// The order of a foreign file: its thread blocks are run as MSCCL's interpreter runs them, and each step gets a stage.
//
// - A message is sent when its block comes to it, if fewer than `slots` of its connection are on their way. It is
//   received when the receiver's block comes to it. The k-th message that a thread block sends is the k-th that the
//   block at the other end of its connection (peer, channel) receives.
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
    int rank;
    int next;           // step
    bool half;          // it has received, and is still to send
    int to, from;       // the blocks at the other ends, or NONE
    int sent, received; // messages
    enum wait wait;
    int waiter; // the next of those who wait for the same block
};

struct run {
    const struct clab_msccl *m;
    struct msccl_order order;
    struct block *blocks;                   // (nblocks)
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

// ---- connections ---------------------------------------------------------------------------------------------

struct end {
    int src, dst, channel, block;
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst) ?: CLAB_ORDER(x->channel, y->channel);
}

static int count_messages(const struct clab_msccl *m, int block, bool sends)
{
    int n = 0;
    for (int i = m->blocks[block].first; i < m->blocks[block].first + m->blocks[block].nsteps; i++)
        n += sends ? msccl_sends(m->steps[i].type) : msccl_receives(m->steps[i].type);
    return n;
}

// The ends of connections that are used: those that send, or those that receive, sorted.
static int gather(const struct run *w, bool sends, struct end *ends, int *n_p)
{
    const struct clab_msccl *m = w->m;
    int n = 0;
    for (int b = 0; b < m->nblocks; b++) {
        const struct clab_msccl_block *block = &m->blocks[b];
        const int peer = sends ? block->send : block->recv, rank = w->blocks[b].rank;
        if (!count_messages(m, b, sends))
            continue;
        if (peer < 0) {
            clab_error("%s:%d: thread block %d of gpu %d %s, but names no %s peer", m->path, block->line, block->id,
                       rank, sends ? "sends" : "receives", sends ? "send" : "recv");
            return CLAB_EPARSE;
        }
        ends[n++] = sends ? (struct end){rank, peer, block->channel, b} : (struct end){peer, rank, block->channel, b};
    }
    if (n > 1)
        qsort(ends, (size_t)n, sizeof *ends, compare_ends);
    for (int i = 1; i < n; i++)
        if (!compare_ends(&ends[i - 1], &ends[i])) {
            clab_error("%s:%d: gpu %d %s gpu %d on channel %d by two thread blocks, here and in line %d: a connection "
                       "is of one",
                       m->path, m->blocks[ends[i].block].line, sends ? ends[i].src : ends[i].dst,
                       sends ? "sends to" : "receives from", sends ? ends[i].dst : ends[i].src, ends[i].channel,
                       m->blocks[ends[i - 1].block].line);
            return CLAB_EPARSE;
        }
    *n_p = n;
    return CLAB_OK;
}

// An end without another.
static int refuse_end(const struct clab_msccl *m, const struct end *end, bool sends)
{
    clab_error("%s:%d: gpu %d %s gpu %d on channel %d, but no thread block of gpu %d %s there", m->path,
               m->blocks[end->block].line, sends ? end->src : end->dst, sends ? "sends to" : "receives from",
               sends ? end->dst : end->src, end->channel, sends ? end->dst : end->src, sends ? "receives" : "sends");
    return CLAB_EPARSE;
}

static int join_ends(struct run *w, const struct end *out, int nout, const struct end *in, int nin)
{
    for (int i = 0; i < nout || i < nin; i++) {
        const int which = i == nout ? 1 : i == nin ? -1 : compare_ends(&out[i], &in[i]);
        if (which)
            return which < 0 ? refuse_end(w->m, &out[i], true) : refuse_end(w->m, &in[i], false);
        w->blocks[out[i].block].to = in[i].block;
        w->blocks[in[i].block].from = out[i].block;
    }
    return CLAB_OK;
}

// The i-th step from the block's `*at` on that sends, or that receives; *at goes behind it.
static int next_message(const struct clab_msccl *m, const struct clab_msccl_block *block, bool sends, int *at)
{
    for (; *at < block->nsteps; ++*at) {
        const enum clab_msccl_type type = m->steps[block->first + *at].type;
        if (sends ? msccl_sends(type) : msccl_receives(type))
            return block->first + (*at)++;
    }
    return NONE;
}

// Each message has two ends, of the same length.
static int join_messages(struct run *w, int from)
{
    const struct clab_msccl *m = w->m;
    const struct clab_msccl_block *a = &m->blocks[from], *b = &m->blocks[w->blocks[from].to];
    for (int i = 0, j = 0;;) {
        const int s = next_message(m, a, true, &i), r = next_message(m, b, false, &j);
        if (s == NONE && r == NONE)
            return CLAB_OK;
        if (s == NONE || r == NONE) {
            clab_error("%s:%d: this message %s gpu %d on channel %d is never %s", m->path,
                       m->steps[s == NONE ? r : s].line, s == NONE ? "from" : "to",
                       s == NONE ? w->blocks[from].rank : a->send, a->channel, s == NONE ? "sent" : "received");
            return CLAB_EPARSE;
        }
        if (m->steps[s].count != m->steps[r].count) {
            clab_error("%s:%d: this message of %d chunks is received in line %d as one of %d", m->path,
                       m->steps[s].line, m->steps[s].count, m->steps[r].line, m->steps[r].count);
            return CLAB_EPARSE;
        }
        w->order.from[r] = s;
    }
}

static int connect_blocks(struct run *w)
{
    struct end *out = malloc(((size_t)w->m->nblocks + 1) * 2 * sizeof *out), *in = out + w->m->nblocks + 1;
    int nout, nin;
    if (!out)
        return CLAB_ENOMEM;
    int err = gather(w, true, out, &nout);
    if (!err)
        err = gather(w, false, in, &nin);
    if (!err)
        err = join_ends(w, out, nout, in, nin);
    for (int b = 0; b < w->m->nblocks && !err; b++)
        if (w->blocks[b].to != NONE)
            err = join_messages(w, b);
    free(out);
    return err;
}

// ---- dependences ---------------------------------------------------------------------------------------------

// A block says how far it is only at steps with hasdep: the one that is waited for, or the next such one.
static int find_target(struct run *w, const struct clab_msccl_gpu *gpu, int index)
{
    const struct clab_msccl *m = w->m;
    const struct clab_msccl_step *step = step_at(w, index);
    w->order.target[index] = NONE;
    if (step->depid < 0)
        return CLAB_OK;
    const struct clab_msccl_block *other = step->depid < gpu->nblocks ? &m->blocks[gpu->first + step->depid] : NULL;
    if (!other || step->deps < 0 || step->deps >= other->nsteps) {
        clab_error("%s:%d: it waits for step %d of thread block %d (deps, depid), which the gpu does not have", m->path,
                   step->line, step->deps, step->depid);
        return CLAB_EPARSE;
    }
    int at = step->deps;
    while (at < other->nsteps &&
           (m->steps[other->first + at].type == CLAB_MSCCL_NOP || !m->steps[other->first + at].hasdep))
        at++;
    if (at == other->nsteps) {
        clab_error("%s:%d: it waits for step %d of thread block %d (line %d), but neither that nor a later one has "
                   "hasdep=\"1\"",
                   m->path, step->line, step->deps, step->depid, m->steps[other->first + step->deps].line);
        return CLAB_EPARSE;
    }
    w->order.target[index] = other->first + at;
    return CLAB_OK;
}

static int find_targets(struct run *w)
{
    for (int rank = 0; rank < w->m->ngpus; rank++) {
        const struct clab_msccl_gpu *gpu = &w->m->gpus[rank];
        for (int b = gpu->first; b < gpu->first + gpu->nblocks; b++)
            for (int i = w->m->blocks[b].first; i < w->m->blocks[b].first + w->m->blocks[b].nsteps; i++)
                CLAB_TRY(find_target(w, gpu, i));
    }
    return CLAB_OK;
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
        stamp(w, b->rank, step, true, w->used);
    if (msccl_writes_dst(step->type))
        stamp(w, b->rank, step, false, w->written);
    if (!msccl_receives(step->type))
        return;
    struct msccl_when *sender = &w->order.when[w->order.from[index]];
    sender->through = w->round;
    sender->shipping = w->order.when[index].receipt = w->messages++;
    b->received++;
    if (w->blocks[b->from].wait == FOR_ROOM)
        wake(w, b->from);
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
    return !has_stamp(w, w->blocks[block].rank, step, sends_src(step->type), w->written);
}

static void post(struct run *w, int block, int index)
{
    const struct clab_msccl_step *step = step_at(w, index);
    struct block *b = &w->blocks[block];
    w->order.when[index].post = w->round;
    if (step->type != CLAB_MSCCL_RRS)
        stamp(w, b->rank, step, sends_src(step->type), w->sent);
    b->sent++;
    if (w->blocks[b->to].wait == FOR_MESSAGE)
        wake(w, b->to);
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
    if (target != NONE && !is_done(w, block_of(w, b->rank, index), target))
        return FOR_STEP;
    if (msccl_receives(step->type) && b->received == w->blocks[b->from].sent)
        return FOR_MESSAGE;
    if (msccl_sends(step->type) && b->sent - w->blocks[b->to].received >= w->m->slots)
        return FOR_ROOM;
    if (step->type == CLAB_MSCCL_NOP)
        return NOTHING;
    if (step->type == CLAB_MSCCL_S)
        return can_post(w, block, index) ? NOTHING : FOR_ROUND;
    return fits_round(w, b->rank, step) ? NOTHING : FOR_ROUND;
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
        const int other = block_of(w, b->rank, step_of(w, block));
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
    const struct block *b = &w->blocks[block];
    return b->wait == FOR_STEP ? block_of(w, b->rank, step_of(w, block)) : b->wait == FOR_MESSAGE ? b->from : b->to;
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
               m->path, m->steps[step_of(w, block)].line, m->blocks[block].id, w->blocks[block].rank,
               whats[w->blocks[block].wait], m->blocks[other].id, w->blocks[other].rank,
               m->steps[step_of(w, other)].line, whats[w->blocks[other].wait], m->slots);
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
    const int rank = w->blocks[block].rank;
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
    const int rank = w->blocks[block].rank;
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

static int *numbers(size_t n, int value)
{
    int *array = malloc((n + 1) * sizeof *array);
    for (size_t i = 0; array && i < n; i++)
        array[i] = value;
    return array;
}

static int begin(struct run *w)
{
    const struct clab_msccl *m = w->m;
    const size_t steps = (size_t)m->nsteps, blocks = (size_t)m->nblocks;
    size_t chunks = 0;
    if (!(w->base = numbers((size_t)m->ngpus, 0)))
        return CLAB_ENOMEM;
    for (int rank = 0; rank < m->ngpus; rank++) {
        w->base[rank] = (int)chunks;
        chunks += (size_t)msccl_chunks(m, rank);
    }
    w->order.when = calloc(steps + 1, sizeof *w->order.when);
    w->order.target = numbers(steps, NONE);
    w->order.from = numbers(steps, NONE);
    w->order.log = numbers(steps, 0);
    w->blocks = calloc(blocks + 1, sizeof *w->blocks);
    w->waiters = numbers(blocks, NONE);
    w->queue = numbers(blocks, 0);
    w->later = numbers(blocks, 0);
    w->written = numbers(chunks, 0);
    w->sent = numbers(chunks, 0);
    w->used = numbers(chunks, 0);
    w->left = m->nblocks;
    for (int rank = 0; rank < m->ngpus && w->blocks; rank++)
        for (int b = m->gpus[rank].first; b < m->gpus[rank].first + m->gpus[rank].nblocks; b++)
            w->blocks[b] = (struct block){.rank = rank, .to = NONE, .from = NONE};
    return w->order.when && w->order.target && w->order.from && w->order.log && w->blocks && w->waiters && w->queue &&
                   w->later && w->written && w->sent && w->used
               ? CLAB_OK
               : CLAB_ENOMEM;
}

int msccl_order_make(const struct clab_msccl *m, struct msccl_order *order_p)
{
    struct run w = {.m = m};
    int err = begin(&w);
    if (!err)
        err = connect_blocks(&w);
    if (!err)
        err = find_targets(&w);
    if (!err)
        run_rounds(&w);
    if (!err && w.left > 0)
        err = refuse_circle(&w);
    if (!err)
        err = find_all_overwritten(&w);
    free(w.base);
    free(w.blocks);
    free(w.waiters);
    free(w.queue);
    free(w.later);
    free(w.written);
    free(w.sent);
    free(w.used);
    if (err)
        msccl_order_free(&w.order);
    else
        *order_p = w.order;
    return err;
}
