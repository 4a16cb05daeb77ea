// SPDX-License-Identifier: MIT
// Races of a foreign file: two uses of a chunk, at least one of them a write, that nothing puts in an order.
//
// - What is ordered: the steps of a thread block; a step and those that wait for it by depid and deps; a message's
//   sending and its receipt. What is ordered is so by any way through these, also by way of other GPUs. How many messages
//   fit into a connection orders nothing here.
// - GPU by GPU: for each step of the file, how many steps of each of the GPU's blocks are certain to be over when it
//   begins (a vector clock). The log is one order that is possible. A use must come after the last write before it in the
//   log, and a write after all reads since then; then all orders give the same.
// Source: Flanagan and Freund 2009 (FastTrack), section 2.

#include "core/schedule/formats/msccl_inside.h"

#include <stdint.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

enum { NONE = -1 };

#define MOST_BYTES ((size_t)1 << 28) // of clocks

// A read since the last write of its chunk.
struct read {
    int step, next;
};

struct race {
    const struct clab_msccl *m;
    const struct msccl_order *order;
    int *block_of;     // (nsteps)
    int rank, nblocks; // the GPU at hand, and its blocks
    uint16_t *now;     // (all blocks, nblocks) steps of the GPU's blocks that are over for each block
    uint16_t *ended;   // (nsteps, nblocks) the same at the end of each step
    int *writer;       // (chunks) the step that wrote it last, or NONE
    int *readers;      // (chunks) the first of `reads` since then, or NONE
    struct read *reads;
    int nreads, read_room;
};

static bool is_mine(const struct race *r, int block)
{
    const int first = r->m->gpus[r->rank].first;
    return block >= first && block < first + r->nblocks;
}

static void join(const struct race *r, uint16_t *into, int step)
{
    const uint16_t *from = r->ended + (size_t)step * (size_t)r->nblocks;
    for (int b = 0; b < r->nblocks; b++)
        into[b] = from[b] > into[b] ? from[b] : into[b];
}

// Whether `step`, of this GPU, is over for `block`.
static bool is_over(const struct race *r, int block, int step)
{
    const int of = r->block_of[step], mine = of - r->m->gpus[r->rank].first;
    return of == block || r->now[(size_t)block * (size_t)r->nblocks + (size_t)mine] > step - r->m->blocks[of].first;
}

static int refuse(const struct race *r, int step, bool writes, int other, bool other_writes)
{
    const struct clab_msccl *m = r->m;
    clab_error("%s:%d: thread block %d of gpu %d %s a chunk that its thread block %d %s in line %d, and nothing orders "
               "the two%s: add depid and deps",
               m->path, m->steps[step].line, m->blocks[r->block_of[step]].id, r->rank, writes ? "writes" : "reads",
               m->blocks[r->block_of[other]].id, other_writes ? "writes" : "reads", m->steps[other].line,
               m->has_input ? "" : " (in place, 'i' and 'o' are one)");
    return CLAB_EWRONG;
}

static int note_read(struct race *r, int step, int chunk)
{
    const int writer = r->writer[chunk], block = r->block_of[step];
    if (writer != NONE && !is_over(r, block, writer))
        return refuse(r, step, false, writer, true);
    const int last = r->readers[chunk];
    if (last != NONE && r->block_of[r->reads[last].step] == block) {
        r->reads[last].step = step;
        return CLAB_OK;
    }
    CLAB_TRY(CLAB_PUSH(r->reads, r->nreads, r->read_room, (struct read){step, last}));
    r->readers[chunk] = r->nreads - 1;
    return CLAB_OK;
}

static int note_write(struct race *r, int step, int chunk)
{
    const int writer = r->writer[chunk], block = r->block_of[step];
    if (writer != NONE && !is_over(r, block, writer))
        return refuse(r, step, true, writer, true);
    for (int i = r->readers[chunk]; i != NONE; i = r->reads[i].next)
        if (!is_over(r, block, r->reads[i].step))
            return refuse(r, step, true, r->reads[i].step, false);
    r->writer[chunk] = step;
    r->readers[chunk] = NONE;
    return CLAB_OK;
}

static int note_uses(struct race *r, int index)
{
    const struct clab_msccl_step *step = &r->m->steps[index];
    for (int i = 0; i < step->count && msccl_reads_src(step->type); i++)
        CLAB_TRY(note_read(r, index, msccl_chunk(r->m, r->rank, step, true) + i));
    for (int i = 0; i < step->count && msccl_writes_dst(step->type); i++)
        CLAB_TRY(note_write(r, index, msccl_chunk(r->m, r->rank, step, false) + i));
    return CLAB_OK;
}

static int take(struct race *r, int index)
{
    const int block = r->block_of[index];
    uint16_t *now = r->now + (size_t)block * (size_t)r->nblocks;
    if (r->order->target[index] != NONE)
        join(r, now, r->order->target[index]);
    if (r->order->from[index] != NONE)
        join(r, now, r->order->from[index]);
    if (is_mine(r, block)) {
        CLAB_TRY(note_uses(r, index));
        now[block - r->m->gpus[r->rank].first] = (uint16_t)(index - r->m->blocks[block].first + 1);
    }
    memcpy(r->ended + (size_t)index * (size_t)r->nblocks, now, (size_t)r->nblocks * sizeof *now);
    return CLAB_OK;
}

static int check_gpu(struct race *r, int rank)
{
    const size_t chunks = (size_t)msccl_chunks(r->m, rank);
    r->rank = rank;
    r->nblocks = r->m->gpus[rank].nblocks;
    r->nreads = 0;
    memset(r->now, 0, (size_t)r->m->nblocks * (size_t)r->nblocks * sizeof *r->now);
    for (size_t c = 0; c < chunks; c++)
        r->writer[c] = r->readers[c] = NONE;
    for (int i = 0; i < r->order->nlog; i++)
        CLAB_TRY(take(r, r->order->log[i]));
    return CLAB_OK;
}

static int check_all(struct race *r)
{
    const struct clab_msccl *m = r->m;
    for (int b = 0; b < m->nblocks; b++)
        for (int i = m->blocks[b].first; i < m->blocks[b].first + m->blocks[b].nsteps; i++)
            r->block_of[i] = b;
    for (int rank = 0; rank < m->ngpus; rank++)
        if (m->gpus[rank].nblocks > 1)
            CLAB_TRY(check_gpu(r, rank));
    return CLAB_OK;
}

int msccl_check_races(const struct clab_msccl *m, const struct msccl_order *order)
{
    size_t blocks = 0, chunks = 0;
    for (int rank = 0; rank < m->ngpus; rank++) {
        const size_t n = (size_t)m->gpus[rank].nblocks, c = (size_t)msccl_chunks(m, rank);
        blocks = n > blocks ? n : blocks;
        chunks = c > chunks ? c : chunks;
    }
    const size_t clocks = ((size_t)m->nsteps + (size_t)m->nblocks) * blocks;
    if (clocks > MOST_BYTES / sizeof(uint16_t)) {
        clab_error("%s: %d steps with %zu thread blocks of a gpu are too many to be proved free of races", m->path,
                   m->nsteps, blocks);
        return CLAB_EUNSUPPORTED;
    }
    struct race r = {.m = m,
                     .order = order,
                     .block_of = malloc(((size_t)m->nsteps + 1) * sizeof *r.block_of),
                     .now = malloc(((size_t)m->nblocks * blocks + 1) * sizeof *r.now),
                     .ended = malloc(((size_t)m->nsteps * blocks + 1) * sizeof *r.ended),
                     .writer = malloc((chunks + 1) * sizeof *r.writer),
                     .readers = malloc((chunks + 1) * sizeof *r.readers)};
    int err = r.block_of && r.now && r.ended && r.writer && r.readers ? check_all(&r) : CLAB_ENOMEM;
    free(r.block_of);
    free(r.now);
    free(r.ended);
    free(r.writer);
    free(r.readers);
    free(r.reads);
    return err;
}
