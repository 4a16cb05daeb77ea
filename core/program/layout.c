// SPDX-License-Identifier: MIT
// Where chunks lie. See layout.h for the rules.

#include "core/program/layout.h"

#include <assert.h>

static_assert(sizeof(struct chunk) == 1, "a byte a chunk");
static_assert((int)CLAB_ALT <= (int)REGION_BITS && CLAB_SCRATCH_ALT - CLAB_SCRATCH_TEMP == CLAB_ALT - CLAB_TEMP,
              "chunk.region is enough");

void layout_init(struct layout *layout, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                 bool in_place)
{
    const int per_block = algorithm->chunks(problem);
    *layout = (struct layout){.problem = problem,
                              .algorithm = algorithm,
                              .in_place = in_place,
                              .per_block = per_block,
                              .nchunks = clab_problem_blocks(problem) * per_block,
                              .nscratch = algorithm->scratch(problem) * per_block};
}

// The state on entry: the input lies in `in`; in place, what is wanted lies in `out` already.
static struct chunk chunk_on_entry(const struct layout *l, int block)
{
    const bool wanted = clab_problem_wants(l->problem, l->rank, block);
    return (struct chunk){.region = l->in_place && wanted ? CLAB_OUT : CLAB_IN,
                          .is_located = clab_problem_holds(l->problem, l->rank, block),
                          .is_wanted = wanted};
}

void layout_begin(struct layout *l)
{
    const struct chunk mask = {.region = REGION_BITS, .is_located = 1, .is_wanted = 1, .is_read = 1, .is_odd = 1};
    const int blocks = l->nchunks / l->per_block, own = blocks > 1 ? l->rank : 0;
    // A rank holds and wants its own block, or all alike (problem.c).
    chunks_set(l->chunks, l->nchunks, mask, chunk_on_entry(l, (own + 1) % blocks));
    chunks_set(l->chunks + own * l->per_block, l->per_block, mask, chunk_on_entry(l, own));
    chunks_set(l->chunks + l->nchunks, l->nscratch, mask, (struct chunk){0});
    for (int i = 0; l->walk.alternates && i < l->nchunks + l->nscratch; i++)
        l->chunks[i].is_odd = l->chunks[i].begins_odd;
}

// ---- the first walk ------------------------------------------------------------------------------------------

// Chunks that still lie in `in` and are sent with others that do not are early; whether there are any.
static bool note_mixture(const struct layout *l, struct clab_span span)
{
    struct chunk *chunks = layout_chunks(l, span);
    bool moved = false, any = false;
    for (int i = 0; i < span.count; i++)
        moved |= chunks[i].region != CLAB_IN;
    for (int i = 0; moved && i < span.count; i++)
        if (chunks[i].region == CLAB_IN) {
            chunks[i].is_early = true;
            any = true;
        }
    return any;
}

// Whether any chunk can not land where it lies, since the stage reads it there.
static bool note_write(const struct layout *l, struct clab_span span)
{
    struct chunk *chunks = layout_chunks(l, span);
    bool any = false;
    for (int i = 0; i < span.count; i++) {
        const bool is_free = !chunks[i].is_located || (chunks[i].region == CLAB_IN && !chunks[i].is_early);
        any |= !is_free && chunks[i].is_read;
        chunks[i].begins_odd ^= !is_free && chunks[i].is_read;
        chunks[i].is_located = true;
        chunks[i].region = CLAB_OUT; // or wherever: no longer in `in`
    }
    return any;
}

struct layout_walk layout_first_walk(struct layout *l)
{
    struct layout_walk found = {0};
    int n;
    layout_begin(l);
    l->walk.alternates = true; // for all that is known
    for (int stage = 0; (n = l->algorithm->stage(l->problem, l->rank, l->lane, stage, l->steps)) != CLAB_DONE;
         stage++) {
        layout_begin_stage(l, l->steps, n);
        for (int i = 0; i < n; i++)
            if (l->steps[i].op == CLAB_SEND && l->steps[i].src.buffer == CLAB_DATA)
                found.moves_early |= note_mixture(l, l->steps[i].src);
        for (int i = 0; i < n; i++)
            if (l->steps[i].op != CLAB_SEND && l->steps[i].op != CLAB_CALC)
                found.alternates |= note_write(l, l->steps[i].dst);
        layout_end_stage(l, l->steps, n);
    }
    return l->walk = found;
}

// ---- copies --------------------------------------------------------------------------------------------------

int layout_next_early(const struct layout *l, int from)
{
    for (int i = from; i < l->nchunks; i++)
        if (l->chunks[i].is_early && l->chunks[i].region == CLAB_IN)
            return i;
    return -1;
}

static bool is_unwritten(const struct chunk *chunk)
{
    return chunk->is_wanted && chunk->is_located && chunk->region == CLAB_IN && !chunk->is_early;
}

int layout_next_unwritten(const struct layout *l, int from)
{
    for (int i = from; i < l->nchunks; i++)
        if (is_unwritten(&l->chunks[i]))
            return i;
    return -1;
}

int layout_next_away(const struct layout *l, int from)
{
    const struct chunk mask = {.is_wanted = 1, .region = REGION_BITS}, home = {.is_wanted = 1, .region = CLAB_OUT};
    for (int i = from; i < l->nchunks; i++) {
        i += chunks_with(&l->chunks[i], l->nchunks - i, mask, home);
        if (i < l->nchunks && l->chunks[i].is_wanted && l->chunks[i].region > CLAB_OUT)
            return i;
    }
    return -1;
}

// A lane's elements of a block.
static size_t slice_of(const struct layout *l)
{
    return clab_part_size(l->problem->count, l->problem->lanes, l->lane);
}

// Chunks of a block that have elements: the first ones.
static int filled_of(const struct layout *l)
{
    const size_t slice = slice_of(l);
    return slice < (size_t)l->per_block ? (int)slice : l->per_block;
}

// Whether the span is one piece if all of it lies in one region: a lane's slices of several blocks lie apart, unless
// they are whole blocks.
static bool is_one_piece(const struct layout *l, struct clab_span span)
{
    const int at = span.first % l->per_block;
    if (span.count <= 1 || at + span.count <= l->per_block)
        return true;
    const int filled = filled_of(l), blocks = (at < filled) + (at + span.count - 1) / l->per_block;
    return filled == 0 || blocks == 1 || slice_of(l) == l->problem->count;
}

// Chunks without elements lie anywhere.
static bool is_one_region_but_for_empties(const struct layout *l, struct clab_span span)
{
    const struct chunk *chunks = layout_chunks(l, span);
    const int filled = filled_of(l);
    int region = -1;
    for (int i = 0; i < span.count; i++) {
        if ((span.first + i) % l->per_block >= filled)
            continue;
        if (region >= 0 && chunks[i].region != region)
            return false;
        region = chunks[i].region;
    }
    return true;
}

bool layout_is_together(const struct layout *l, struct clab_span span)
{
    if (!is_one_piece(l, span))
        return false;
    return span.buffer == CLAB_INPUT || layout_run(layout_chunks(l, span), span.count) == span.count ||
           is_one_region_but_for_empties(l, span);
}

bool layout_unpacks(const struct layout *l, const struct clab_step *step)
{
    return !is_one_piece(l, step->dst) || (step->op == CLAB_RECV_REDUCE && !layout_is_together(l, layout_added(step)));
}

// ---- places --------------------------------------------------------------------------------------------------

struct clab_place layout_place_in(const struct layout *l, enum clab_buffer buffer, int index, enum clab_region region,
                                  size_t *count_p)
{
    size_t start, n = l->problem->count;
    int block = index / l->per_block;
    *count_p = clab_problem_elements(l->problem, l->per_block, l->lane, index, &start);
    if (buffer != CLAB_SCRATCH && region == CLAB_IN)
        start += (size_t)clab_problem_in_block(l->problem, l->rank, block) * n - (size_t)block * n;
    if (buffer == CLAB_DATA && region == CLAB_OUT)
        start += (size_t)clab_problem_out_block(l->problem, l->rank, block) * n - (size_t)block * n;
    return (struct clab_place){layout_region(buffer, region), start};
}

struct clab_place layout_place(const struct layout *l, enum clab_buffer buffer, int index, size_t *count_p)
{
    const struct clab_span span = {buffer, index, 1};
    const enum clab_region region = buffer == CLAB_INPUT ? CLAB_IN : layout_chunks(l, span)->region;
    return layout_place_in(l, buffer, index, region, count_p);
}

size_t layout_elements(const struct layout *l, struct clab_span span)
{
    size_t total = 0, start;
    for (int i = 0; i < span.count; i++)
        total += clab_problem_elements(l->problem, l->per_block, l->lane, span.first + i, &start);
    return total;
}
