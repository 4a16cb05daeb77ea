// SPDX-License-Identifier: MIT
// The stages of the steps of a foreign file, which says only what waits for what. msccl.h says which stage that makes.
//
// - A GPU's steps are placed block by block; where one waits for another block, that one is placed first. So no stack
//   is as deep as the file would like, and a circle is seen by a block that waits for itself.

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/schedule/formats/msccl_inside.h"

struct placing {
    const struct clab_msccl *m;
    int *begin, *end; // (nsteps) stages: the first one, and the one behind the last
    int *done;        // (nblocks) steps whose stages are known
    bool *busy;       // (nblocks)
};

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

// Whether step `a` may be in the stage of `b`, which it waits for: a receive of what a send or copy reads, since those
// see the stage's entry.
static bool goes_along(const struct clab_msccl *m, int rank, const struct clab_msccl_step *a,
                       const struct clab_msccl_step *b)
{
    int a_first, b_first, size;
    if (!receives(a->type) || moves_by_reducing(a))
        return false;
    if (sends_only(b->type))
        return true;
    bool same = msccl_buffer(m, rank, a->dst, &a_first, &size) == msccl_buffer(m, rank, b->dst, &b_first, &size);
    a_first += a->dst_off;
    b_first += b->dst_off;
    return b->type == CLAB_MSCCL_CPY && !(same && a_first < b_first + b->count && b_first < a_first + a->count);
}

// A nop waits for the step behind it. A block that waits for itself wants a stage of its own.
static void place_step(struct placing *w, const struct clab_msccl_gpu *gpu, int b, int s)
{
    const struct clab_msccl_block *block = &w->m->blocks[gpu->first + b];
    const struct clab_msccl_step *steps = w->m->steps + block->first, *step = &steps[s], *for_whom = step;
    int *begin = w->begin + block->first, *end = w->end + block->first, at = 0, rank = (int)(gpu - w->m->gpus);
    while (for_whom->type == CLAB_MSCCL_NOP && for_whom + 1 < steps + block->nsteps)
        for_whom++;
    if (s > 0) { // a receive goes along with the send before it
        const bool along = sends_only(steps[s - 1].type) && goes_along(w->m, rank, for_whom, &steps[s - 1]);
        at = along ? begin[s - 1] : end[s - 1];
    }
    if (step->depid >= 0) {
        int other = w->m->blocks[gpu->first + step->depid].first + step->deps;
        bool along = step->depid != b && goes_along(w->m, rank, for_whom, &w->m->steps[other]);
        at = later(at, along ? w->begin[other] : w->end[other]);
    }
    begin[s] = at;
    end[s] = at + length_of(step);
}

// Give stages to all steps of the GPU's thread block `wanted`; where one waits for another block, that one's first, as
// far as it is waited for.
//   stack: (nblocks of the GPU, 2) blocks, and how many steps of each are wanted
static int place_block(struct placing *w, const struct clab_msccl_gpu *gpu, int wanted, int *stack)
{
    int depth = 0;
    stack[0] = wanted;
    stack[1] = w->m->blocks[gpu->first + wanted].nsteps;
    w->busy[gpu->first + wanted] = true;
    while (depth >= 0) {
        int b = stack[2 * depth], *done = &w->done[gpu->first + b];
        const struct clab_msccl_block *block = &w->m->blocks[gpu->first + b];
        if (*done >= stack[2 * depth + 1]) { // before a step is looked at: there may be none in the whole file
            w->busy[gpu->first + b] = false;
            depth--;
            continue;
        }
        const struct clab_msccl_step *step = &w->m->steps[block->first + *done];
        if (step->depid < 0 || w->done[gpu->first + step->depid] > step->deps) {
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

static int check_dependences(const struct placing *w, const struct clab_msccl_gpu *gpu)
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

static int place_gpu(struct placing *w, const struct clab_msccl_gpu *gpu)
{
    CLAB_TRY(check_dependences(w, gpu));
    int *stack = malloc(((size_t)gpu->nblocks + 1) * 2 * sizeof *stack);
    int err = stack ? CLAB_OK : CLAB_ENOMEM;
    for (int b = 0; b < gpu->nblocks && !err; b++)
        err = place_block(w, gpu, b, stack);
    free(stack);
    return err;
}

int msccl_stages(const struct clab_msccl *m, int **begin_p)
{
    struct placing w = {.m = m,
                        .begin = calloc((size_t)m->nsteps + 1, sizeof *w.begin),
                        .end = calloc((size_t)m->nsteps + 1, sizeof *w.end),
                        .done = calloc((size_t)m->nblocks + 1, sizeof *w.done),
                        .busy = calloc((size_t)m->nblocks + 1, sizeof *w.busy)};
    int err = w.begin && w.end && w.done && w.busy ? CLAB_OK : CLAB_ENOMEM;
    for (int rank = 0; rank < m->ngpus && !err; rank++)
        err = place_gpu(&w, &m->gpus[rank]);
    free(w.end);
    free(w.done);
    free(w.busy);
    if (err)
        free(w.begin);
    else
        *begin_p = w.begin;
    return err;
}
