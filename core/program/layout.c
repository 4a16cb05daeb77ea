// SPDX-License-Identifier: MIT
// Where chunks lie. See layout.h for the rules.

#include "core/program/layout.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

int layout_create(struct clab_program *program, struct layout *layout_p)
{
    const struct clab_problem *problem = &program->problem;
    const struct clab_algorithm *algorithm = program->algorithm;
    struct layout l = {.problem = problem,
                       .algorithm = algorithm,
                       .rank = program->rank,
                       .in_place = program->in_place,
                       .region_elements = program->region_elements};
    l.per_block = algorithm->chunks(problem);
    l.nchunks[CLAB_DATA] = clab_problem_blocks(problem) * l.per_block;
    l.nchunks[CLAB_INPUT] = problem->collective == CLAB_ALLTOALL ? l.nchunks[CLAB_DATA] : 0;
    l.nchunks[CLAB_SCRATCH] = algorithm->scratch(problem) * l.per_block;
    bool complete = (l.steps = calloc((size_t)algorithm->width(problem) + 1, sizeof *l.steps)) != NULL;
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        complete &= (l.chunks[b] = calloc((size_t)l.nchunks[b] + 1, sizeof *l.chunks[b])) != NULL;
    *layout_p = l;
    return complete ? CLAB_OK : CLAB_ENOMEM;
}

void layout_free(struct layout *layout)
{
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        free(layout->chunks[b]);
    free(layout->steps);
}

// ---- places --------------------------------------------------------------------------------------------------

void layout_use(struct layout *l, struct clab_place place, size_t count)
{
    size_t *elements = &l->region_elements[place.region];
    if (place.region > CLAB_OUT && place.start + count > *elements)
        *elements = place.start + count;
}

struct clab_place layout_place_in(struct layout *l, enum clab_buffer buffer, int index, enum clab_region region,
                                  size_t *count_p)
{
    size_t start, n = l->problem->count;
    int block = index / l->per_block;
    *count_p = clab_problem_elements(l->problem, l->per_block, l->lane, index, &start);
    if (buffer == CLAB_DATA && region == CLAB_IN)
        start += (size_t)clab_problem_in_block(l->problem, l->rank, block) * n - (size_t)block * n;
    if (buffer == CLAB_DATA && region == CLAB_OUT)
        start += (size_t)clab_problem_out_block(l->problem, l->rank, block) * n - (size_t)block * n;
    return (struct clab_place){region, start};
}

struct clab_place layout_place(struct layout *l, enum clab_buffer buffer, int index, size_t *count_p)
{
    return layout_place_in(l, buffer, index, layout_chunk(l, buffer, index)->region, count_p);
}

bool layout_is_contiguous(struct layout *l, struct clab_span span, enum clab_region region, struct clab_place *first_p,
                          size_t *count_p)
{
    struct clab_place first = {CLAB_PACK, 0};
    size_t total = 0;
    for (int i = 0; i < span.count; i++) {
        size_t count;
        int index = span.first + i;
        enum clab_region where = region == CLAB_REGION_COUNT ? layout_chunk(l, span.buffer, index)->region : region;
        struct clab_place place = layout_place_in(l, span.buffer, index, where, &count);
        if (total && count && (place.region != first.region || place.start != first.start + total))
            return false;
        if (!total)
            first = place;
        total += count;
    }
    *first_p = first;
    *count_p = total;
    return true;
}

size_t layout_elements(const struct layout *l, struct clab_span span)
{
    size_t total = 0, start;
    for (int i = 0; i < span.count; i++)
        total += clab_problem_elements(l->problem, l->per_block, l->lane, span.first + i, &start);
    return total;
}

// ---- stages --------------------------------------------------------------------------------------------------

bool layout_begin_stage(struct layout *l, int stage)
{
    l->stage = stage;
    l->nsteps = l->algorithm->stage(l->problem, l->rank, l->lane, stage, l->steps);
    for (int s = 0; s < l->nsteps; s++) {
        const struct clab_step *step = &l->steps[s];
        for (int i = 0; (step->op == CLAB_SEND || step->op == CLAB_COPY) && i < step->src.count; i++)
            layout_chunk(l, step->src.buffer, step->src.first + i)->read_stage = stage;
    }
    return l->nsteps != CLAB_DONE;
}

// The state on entry: the input lies in `in`; in place, what is wanted lies in `out` already.
static void locate_inputs(struct layout *l)
{
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        for (int i = 0; i < l->nchunks[b]; i++) {
            struct chunk *chunk = &l->chunks[b][i];
            int block = i / l->per_block;
            chunk->wanted = b == CLAB_DATA && clab_problem_wants(l->problem, l->rank, block);
            chunk->located = b == CLAB_INPUT || (b == CLAB_DATA && clab_problem_holds(l->problem, l->rank, block));
            chunk->region = l->in_place && chunk->wanted ? CLAB_OUT : CLAB_IN;
            chunk->read_stage = -1;
        }
}

// ---- the first walk ------------------------------------------------------------------------------------------

static void note_mixture(struct layout *l, struct clab_span span)
{
    bool moved = false;
    for (int i = 0; i < span.count; i++)
        moved |= layout_chunk(l, span.buffer, span.first + i)->region != CLAB_IN;
    for (int i = 0; moved && i < span.count; i++)
        if (layout_chunk(l, span.buffer, span.first + i)->region == CLAB_IN)
            layout_chunk(l, span.buffer, span.first + i)->early = true;
}

static void note_write(struct layout *l, struct clab_span span)
{
    for (int i = 0; i < span.count; i++) {
        struct chunk *chunk = layout_chunk(l, span.buffer, span.first + i);
        bool free_choice = !chunk->located || (chunk->region == CLAB_IN && !chunk->early);
        if (!free_choice && chunk->read_stage == l->stage)
            chunk->conflicts++;
        chunk->located = true;
        chunk->region = CLAB_OUT; // or wherever: no longer in `in`
    }
}

void layout_begin_lane(struct layout *l, int lane)
{
    l->lane = lane;
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        memset(l->chunks[b], 0, (size_t)l->nchunks[b] * sizeof *l->chunks[b]);
    locate_inputs(l);
    for (int stage = 0; layout_begin_stage(l, stage); stage++) {
        for (int s = 0; s < l->nsteps; s++)
            if (l->steps[s].op == CLAB_SEND && l->steps[s].src.buffer == CLAB_DATA)
                note_mixture(l, l->steps[s].src);
        for (int s = 0; s < l->nsteps; s++)
            if (l->steps[s].op != CLAB_SEND)
                note_write(l, l->steps[s].dst);
    }
    locate_inputs(l);
}

// ---- writes --------------------------------------------------------------------------------------------------

static enum clab_region other_place(enum clab_region region)
{
    return region == CLAB_SCRATCH_TEMP ? CLAB_SCRATCH_ALT : CLAB_ALT;
}

// Whether a write of `span` to `region` would hit what a send or copy of this stage is reading.
static bool is_read_in(struct layout *l, struct clab_span span, enum clab_region region)
{
    for (int i = 0; i < span.count; i++) {
        const struct chunk *chunk = layout_chunk(l, span.buffer, span.first + i);
        if (chunk->located && chunk->read_stage == l->stage && chunk->region == region)
            return true;
    }
    return false;
}

enum clab_region layout_choose(struct layout *l, struct clab_span span)
{
    enum clab_region home = span.buffer == CLAB_SCRATCH ? CLAB_SCRATCH_TEMP : CLAB_OUT;
    for (int i = 0; i < span.count && home == CLAB_OUT; i++)
        if (!layout_chunk(l, span.buffer, span.first + i)->wanted)
            home = CLAB_TEMP;
    enum clab_region away = other_place(home);
    if (is_read_in(l, span, home))
        return away;
    bool odd = layout_chunk(l, span.buffer, span.first)->conflicts % 2;
    return odd && !is_read_in(l, span, away) ? away : home;
}

void layout_settle(struct layout *l, struct clab_span span, enum clab_region region)
{
    for (int i = 0; i < span.count; i++) {
        struct chunk *chunk = layout_chunk(l, span.buffer, span.first + i);
        size_t count;
        if (chunk->read_stage == l->stage && chunk->located && chunk->region != CLAB_IN && chunk->conflicts)
            chunk->conflicts--;
        chunk->located = true;
        chunk->region = region;
        struct clab_place place = layout_place_in(l, span.buffer, span.first + i, region, &count);
        layout_use(l, place, count);
    }
}
