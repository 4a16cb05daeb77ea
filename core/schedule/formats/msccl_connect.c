// SPDX-License-Identifier: MIT
// Who belongs together in a foreign file: the two thread blocks of a connection, the two ends of a message, and a step
// and the one that it waits for.
//
// - A connection is of one block at each end: those that name each other as peers on one channel.
// - The k-th message that a block sends is the k-th that the block at the other end receives.

#include "core/schedule/formats/msccl_inside.h"

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"

enum { NONE = -1 };

// One end of a connection; `sends` says which.
struct end {
    int src, dst, channel, block;
    bool sends;
};

// How messages name it, by `sends`.
static const struct {
    const char *does, *does_to, *peer;
} words[] = {{"receives", "receives from", "recv"}, {"sends", "sends to", "send"}};

static int own(const struct end *end)
{
    return end->sends ? end->src : end->dst;
}

static int peer(const struct end *end)
{
    return end->sends ? end->dst : end->src;
}

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst) ?: CLAB_ORDER(x->channel, y->channel);
}

// The next step from the block's `*at` on that sends, or that receives; *at goes behind it.
static int next_message(const struct clab_msccl *m, const struct clab_msccl_block *block, bool sends, int *at)
{
    while (*at < block->nsteps) {
        const int index = block->first + (*at)++;
        if (sends ? msccl_sends(m->steps[index].type) : msccl_receives(m->steps[index].type))
            return index;
    }
    return NONE;
}

// The ends of connections that are used: those that send, or those that receive, sorted.
static int gather(const struct clab_msccl *m, const struct msccl_ends *of, bool sends, struct end *ends, int *n_p)
{
    int n = 0;
    for (int b = 0; b < m->nblocks; b++) {
        const struct clab_msccl_block *block = &m->blocks[b];
        const int named = sends ? block->send : block->recv, rank = of[b].rank;
        if (next_message(m, block, sends, &(int){0}) == NONE)
            continue;
        if (named < 0) {
            clab_error("%s:%d: thread block %d of gpu %d %s, but names no %s peer", m->path, block->line, block->id,
                       rank, words[sends].does, words[sends].peer);
            return CLAB_EPARSE;
        }
        ends[n++] = (struct end){sends ? rank : named, sends ? named : rank, block->channel, b, sends};
    }
    if (n > 1)
        qsort(ends, (size_t)n, sizeof *ends, compare_ends);
    for (int i = 1; i < n; i++)
        if (!compare_ends(&ends[i - 1], &ends[i])) {
            clab_error("%s:%d: gpu %d %s gpu %d on channel %d by two thread blocks, here and in line %d: a connection "
                       "is of one",
                       m->path, m->blocks[ends[i].block].line, own(&ends[i]), words[sends].does_to, peer(&ends[i]),
                       ends[i].channel, m->blocks[ends[i - 1].block].line);
            return CLAB_EPARSE;
        }
    *n_p = n;
    return CLAB_OK;
}

// An end without another.
static int refuse_end(const struct clab_msccl *m, const struct end *end)
{
    clab_error("%s:%d: gpu %d %s gpu %d on channel %d, but no thread block of gpu %d %s there", m->path,
               m->blocks[end->block].line, own(end), words[end->sends].does_to, peer(end), end->channel, peer(end),
               words[!end->sends].does);
    return CLAB_EPARSE;
}

static int join_ends(const struct clab_msccl *m, struct msccl_ends *of, struct end *out, struct end *in)
{
    int nout, nin;
    CLAB_TRY(gather(m, of, true, out, &nout));
    CLAB_TRY(gather(m, of, false, in, &nin));
    for (int i = 0; i < nout || i < nin; i++) {
        const int which = i == nout ? 1 : i == nin ? -1 : compare_ends(&out[i], &in[i]);
        if (which)
            return refuse_end(m, which < 0 ? &out[i] : &in[i]);
        of[out[i].block].to = in[i].block;
        of[in[i].block].from = out[i].block;
    }
    return CLAB_OK;
}

static int find_ends(const struct clab_msccl *m, struct msccl_ends *of)
{
    struct end *out = malloc(((size_t)m->nblocks + 1) * 2 * sizeof *out);
    for (int rank = 0; rank < m->ngpus; rank++)
        for (int b = m->gpus[rank].first; b < m->gpus[rank].first + m->gpus[rank].nblocks; b++)
            of[b] = (struct msccl_ends){rank, NONE, NONE};
    const int err = out ? join_ends(m, of, out, out + m->nblocks + 1) : CLAB_ENOMEM;
    free(out);
    return err;
}

// Each message of the thread block has two ends, of the same length.
static int join_messages(const struct clab_msccl *m, const struct msccl_ends *of, int block, int *from)
{
    const struct clab_msccl_block *a = &m->blocks[block], *b = &m->blocks[of[block].to];
    for (int i = 0, j = 0;;) {
        const int s = next_message(m, a, true, &i), r = next_message(m, b, false, &j);
        if (s == NONE && r == NONE)
            return CLAB_OK;
        if (s == NONE || r == NONE) {
            clab_error("%s:%d: this message %s gpu %d on channel %d is never %s", m->path,
                       m->steps[s == NONE ? r : s].line, s == NONE ? "from" : "to",
                       s == NONE ? of[block].rank : a->send, a->channel, s == NONE ? "sent" : "received");
            return CLAB_EPARSE;
        }
        if (m->steps[s].count != m->steps[r].count) {
            clab_error("%s:%d: this message of %d chunks is received in line %d as one of %d", m->path,
                       m->steps[s].line, m->steps[s].count, m->steps[r].line, m->steps[r].count);
            return CLAB_EPARSE;
        }
        from[r] = s;
    }
}

// A block says how far it is only at steps with hasdep: the one that is waited for, or the next such one.
static int find_target(const struct clab_msccl *m, const struct clab_msccl_gpu *gpu, int index, int *target_p)
{
    const struct clab_msccl_step *step = &m->steps[index];
    if (step->depid < 0)
        return CLAB_OK;
    const struct clab_msccl_block *other = step->depid < gpu->nblocks ? &m->blocks[gpu->first + step->depid] : NULL;
    if (!other || step->deps < 0 || step->deps >= other->nsteps) {
        clab_error("%s:%d: it waits for step %d of thread block %d (deps, depid), which the gpu does not have", m->path,
                   step->line, step->deps, step->depid);
        return CLAB_EPARSE;
    }
    for (int at = other->first + step->deps; at < other->first + other->nsteps; at++)
        if (m->steps[at].type != CLAB_MSCCL_NOP && m->steps[at].hasdep) {
            *target_p = at;
            return CLAB_OK;
        }
    clab_error("%s:%d: it waits for step %d of thread block %d (line %d), but neither that nor a later one has "
               "hasdep=\"1\"",
               m->path, step->line, step->deps, step->depid, m->steps[other->first + step->deps].line);
    return CLAB_EPARSE;
}

int msccl_connect(const struct clab_msccl *m, struct msccl_ends *ends, int *from, int *target)
{
    for (int i = 0; i < m->nsteps; i++)
        from[i] = target[i] = NONE;
    CLAB_TRY(find_ends(m, ends));
    for (int b = 0; b < m->nblocks; b++)
        if (ends[b].to != NONE)
            CLAB_TRY(join_messages(m, ends, b, from));
    for (int b = 0; b < m->nblocks; b++)
        for (int i = m->blocks[b].first; i < m->blocks[b].first + m->blocks[b].nsteps; i++)
            CLAB_TRY(find_target(m, &m->gpus[ends[b].rank], i, &target[i]));
    return CLAB_OK;
}
