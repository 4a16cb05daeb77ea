// SPDX-License-Identifier: MIT
// Where the chunks of MSCCL's buffers are, and that there are no more of them than the file's steps use: a small file
// can not ask for much memory.

#include "core/schedule/formats/msccl_inside.h"

#include "core/base/err.h"
#include "core/base/log.h"

enum clab_buffer msccl_buffer(const struct clab_msccl *m, int rank, char letter, int *first_p, int *size_p)
{
    const struct clab_problem problem = {.collective = m->collective, .nranks = m->ngpus};
    const int own = m->chunks / clab_problem_blocks(&problem);
    const bool is_part =
        (letter == 'i' && m->collective == CLAB_ALLGATHER) || (letter == 'o' && m->collective == CLAB_REDUCE_SCATTER);
    const int declared = letter == 'i' ? m->gpus[rank].inputs : m->gpus[rank].outputs, most = is_part ? own : m->chunks;
    *first_p = is_part ? rank * own : 0;
    *size_p = letter == 's' ? m->gpus[rank].scratch : declared < most ? declared : most;
    if (letter == 's')
        return CLAB_SCRATCH;
    return letter == 'i' && m->has_input ? CLAB_INPUT : CLAB_DATA;
}

// Behind a GPU's chunks of CLAB_DATA come those of CLAB_INPUT, and behind them those of CLAB_SCRATCH.
static int scratch_base(const struct clab_msccl *m)
{
    return m->has_input ? 2 * m->chunks : m->chunks;
}

int msccl_chunks(const struct clab_msccl *m, int rank)
{
    return scratch_base(m) + m->gpus[rank].scratch;
}

int msccl_chunk(const struct clab_msccl *m, int rank, const struct clab_msccl_step *step, bool src)
{
    int first, size;
    const enum clab_buffer buffer = msccl_buffer(m, rank, src ? step->src : step->dst, &first, &size);
    const int base = buffer == CLAB_DATA ? 0 : buffer == CLAB_INPUT ? m->chunks : scratch_base(m);
    return base + first + (src ? step->src_off : step->dst_off);
}

static int check_place(const struct clab_msccl *m, int rank, const struct clab_msccl_step *step, bool src)
{
    int first, size, offset = src ? step->src_off : step->dst_off;
    const char letter = src ? step->src : step->dst;
    const enum clab_buffer buffer = msccl_buffer(m, rank, letter, &first, &size);
    if (offset < 0 || offset > size - step->count)
        clab_error("%s:%d: chunks %d to %d of '%c', which has %d", m->path, step->line, offset,
                   offset + step->count - 1, letter, size);
    else if (!src && buffer == CLAB_INPUT)
        clab_error("%s:%d: it writes 'i', the caller's input, in a call that is not in place", m->path, step->line);
    else
        return CLAB_OK;
    return CLAB_EPARSE;
}

int msccl_check_places(const struct clab_msccl *m)
{
    for (int rank = 0; rank < m->ngpus; rank++) {
        const struct clab_msccl_gpu *gpu = &m->gpus[rank];
        for (int b = gpu->first; b < gpu->first + gpu->nblocks; b++)
            for (int i = m->blocks[b].first; i < m->blocks[b].first + m->blocks[b].nsteps; i++) {
                const struct clab_msccl_step *step = &m->steps[i];
                if (msccl_reads_src(step->type))
                    CLAB_TRY(check_place(m, rank, step, true));
                if (msccl_writes_dst(step->type))
                    CLAB_TRY(check_place(m, rank, step, false));
            }
    }
    return CLAB_OK;
}

// ---- bounds --------------------------------------------------------------------------------------------------

enum { ALWAYS = 64 }; // chunks that any file may have

// What the steps of a GPU use: the chunks of all of them together, and the end of the scratch that they reach.
static void count_uses(const struct clab_msccl *m, const struct clab_msccl_gpu *gpu, long *chunks_p, int *scratch_p)
{
    for (int b = gpu->first; b < gpu->first + gpu->nblocks; b++)
        for (int i = m->blocks[b].first; i < m->blocks[b].first + m->blocks[b].nsteps; i++) {
            const struct clab_msccl_step *s = &m->steps[i];
            const bool reads = msccl_reads_src(s->type), writes = msccl_writes_dst(s->type);
            const int src = reads && s->src == 's' ? s->src_off + s->count : 0,
                      dst = writes && s->dst == 's' ? s->dst_off + s->count : 0;
            *chunks_p += s->count;
            *scratch_p = src > *scratch_p ? src : *scratch_p;
            *scratch_p = dst > *scratch_p ? dst : *scratch_p;
        }
}

// Among several GPUs, each has to do with all chunks but its own part of them: half of them, or more.
int msccl_bound_chunks(struct clab_msccl *m)
{
    long all = 0;
    for (int rank = 0; rank < m->ngpus; rank++) {
        struct clab_msccl_gpu *gpu = &m->gpus[rank];
        long uses = 0;
        int scratch = 0;
        count_uses(m, gpu, &uses, &scratch);
        all += uses;
        if (m->chunks > ALWAYS && m->chunks > 2 * uses && !m->custom) {
            clab_error("%s:%d: nchunksperloop=\"%d\", but the steps of gpu %d use no more than %ld chunks", m->path,
                       gpu->line, m->chunks, rank, uses);
            return CLAB_EPARSE;
        }
        if (!m->staged && scratch < gpu->scratch)
            gpu->scratch = scratch;
    }
    if (m->custom && m->chunks > ALWAYS + 2 * all) {
        clab_error("%s:%d: nchunksperloop=\"%d\", but all steps together use no more than %ld chunks", m->path, m->line,
                   m->chunks, all);
        return CLAB_EPARSE;
    }
    for (int rank = 0; rank < m->ngpus; rank++)
        if (m->gpus[rank].scratch > ALWAYS + ALWAYS * all) {
            clab_error(
                "%s:%d: %d chunks of 's', but all steps together use no more than %ld chunks: number them from 0",
                m->path, m->gpus[rank].line, m->gpus[rank].scratch, all);
            return CLAB_EPARSE;
        }
    return CLAB_OK;
}
