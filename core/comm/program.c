// SPDX-License-Identifier: MIT
// The compiler from stages to moves. See program.h for what it decides.

#include "comm/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// What is known of a chunk while the stages are walked.
struct chunk {
    bool located;           // its value lies in `region`; false: there is none yet
    enum clab_region region;
    bool wanted;            // in `out` at the end
    bool early;             // copied out of `in` at the start, to lie beside the chunks that it is sent with
    int read_stage;         // the last stage that sends or copies it; -1: none
    int conflicts;          // stages to come that both read and receive it, and so change its place
};

// What the compiler decided for a receive or copy of the stage at hand.
struct plan {
    enum clab_region region;  // where it lands
    bool unpacks;             // out of `pack`, after the transfers
    struct clab_place pack;
};

struct compiler {
    struct clab_program *program;
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    int rank, lane, per_block;
    int nchunks[CLAB_BUFFER_COUNT];
    struct chunk *chunks[CLAB_BUFFER_COUNT];
    int stage;                    // at hand
    struct clab_step *steps;      // its steps, and what was decided for each
    struct plan *plans;
    size_t pack_start, pack_used; // this lane's part of CLAB_PACK, and what the stage has used of it
    int stage_room, move_room;
    int err;
};

// ---- growing arrays ------------------------------------------------------------------------------------------

static void *grow(struct compiler *c, void *array, int used, int *room, size_t each)
{
    if (used < *room)
        return array;
    int more = *room ? 2 * *room : 64;
    void *bigger = realloc(array, (size_t)more * each);
    if (!bigger) {
        c->err = CLAB_ENOMEM;
        return array;
    }
    *room = more;
    return bigger;
}

static void emit(struct compiler *c, struct clab_move move)
{
    struct clab_program *p = c->program;
    p->moves = grow(c, p->moves, p->nmoves, &c->move_room, sizeof *p->moves);
    if (c->err)
        return;
    p->moves[p->nmoves++] = move;
    if (move.op == CLAB_SEND) {
        p->messages++;
        p->elements_sent += move.count;
    }
}

static struct clab_stage *begin_stage(struct compiler *c)
{
    struct clab_program *p = c->program;
    p->stages = grow(c, p->stages, p->nstages, &c->stage_room, sizeof *p->stages);
    if (c->err)
        return NULL;
    p->stages[p->nstages] = (struct clab_stage){.first = p->nmoves};
    return &p->stages[p->nstages++];
}

// ---- chunks and places ---------------------------------------------------------------------------------------

static struct chunk *chunk_at(struct compiler *c, enum clab_buffer buffer, int index)
{
    return &c->chunks[buffer][index];
}

// The place of a chunk in `region`, and its elements.
static struct clab_place place_in(struct compiler *c, enum clab_buffer buffer, int index, enum clab_region region, size_t *count_p)
{
    size_t start, n = c->problem->count;
    int block = index / c->per_block;
    *count_p = clab_problem_elements(c->problem, c->per_block, c->lane, index, &start);
    if (buffer == CLAB_DATA && region == CLAB_IN)
        start += (size_t)clab_problem_in_block(c->problem, c->rank, block) * n - (size_t)block * n;
    if (buffer == CLAB_DATA && region == CLAB_OUT)
        start += (size_t)clab_problem_out_block(c->problem, c->rank, block) * n - (size_t)block * n;
    return (struct clab_place){region, start};
}

static struct clab_place place_of(struct compiler *c, enum clab_buffer buffer, int index, size_t *count_p)
{
    return place_in(c, buffer, index, chunk_at(c, buffer, index)->region, count_p);
}

static void need(struct compiler *c, struct clab_place place, size_t count)
{
    size_t *elements = &c->program->region_elements[place.region];
    if (place.region > CLAB_OUT && place.start + count > *elements)
        *elements = place.start + count;
}

// Whether the chunks of `span` lie one behind the other, each in its own region or (region >= 0) all in that one.
static bool is_contiguous(struct compiler *c, struct clab_span span, int region, struct clab_place *first_p, size_t *count_p)
{
    struct clab_place first = {CLAB_PACK, 0};
    size_t total = 0;
    for (int i = 0; i < span.count; i++) {
        size_t count;
        struct clab_place place = region < 0 ? place_of(c, span.buffer, span.first + i, &count)
                                             : place_in(c, span.buffer, span.first + i, (enum clab_region)region, &count);
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

static size_t span_elements(struct compiler *c, struct clab_span span)
{
    size_t total = 0, start;
    for (int i = 0; i < span.count; i++)
        total += clab_problem_elements(c->problem, c->per_block, c->lane, span.first + i, &start);
    return total;
}

static struct clab_place take_pack(struct compiler *c, size_t count)
{
    struct clab_place place = {CLAB_PACK, c->pack_start + c->pack_used};
    c->pack_used += count;
    need(c, place, count);
    return place;
}

// ---- the first walk: what will be read while it is written ---------------------------------------------------

static void note_all_reads(struct compiler *c, int nsteps)
{
    for (int i = 0; i < nsteps; i++)
        if (c->steps[i].op == CLAB_SEND || c->steps[i].op == CLAB_COPY)
            for (int k = 0; k < c->steps[i].src.count; k++)
                chunk_at(c, c->steps[i].src.buffer, c->steps[i].src.first + k)->read_stage = c->stage;
}

// A message of chunks that were received and chunks that were not: the latter must be brought beside the former.
static void note_mixture(struct compiler *c, struct clab_span span)
{
    bool moved = false;
    for (int i = 0; i < span.count; i++)
        moved |= chunk_at(c, span.buffer, span.first + i)->region != CLAB_IN;
    for (int i = 0; moved && i < span.count; i++)
        if (chunk_at(c, span.buffer, span.first + i)->region == CLAB_IN)
            chunk_at(c, span.buffer, span.first + i)->early = true;
}

static void note_writes(struct compiler *c, struct clab_span span)
{
    for (int i = 0; i < span.count; i++) {
        struct chunk *chunk = chunk_at(c, span.buffer, span.first + i);
        bool free_choice = !chunk->located || (chunk->region == CLAB_IN && !chunk->early);
        if (!free_choice && chunk->read_stage == c->stage)
            chunk->conflicts++;
        chunk->located = true;
        chunk->region = CLAB_OUT; // or wherever: no longer in `in`
    }
}

// The steps of stage c->stage, into c->steps: how many, or CLAB_DONE.
static int compute_steps(struct compiler *c)
{
    return c->algorithm->stage(c->problem, c->rank, c->lane, c->stage, c->steps);
}

static void look_ahead(struct compiler *c)
{
    int n;
    for (c->stage = 0; (n = compute_steps(c)) != CLAB_DONE; c->stage++) {
        note_all_reads(c, n);
        for (int i = 0; i < n; i++)
            if (c->steps[i].op == CLAB_SEND && c->steps[i].src.buffer == CLAB_DATA)
                note_mixture(c, c->steps[i].src);
        for (int i = 0; i < n; i++)
            if (c->steps[i].op != CLAB_SEND)
                note_writes(c, c->steps[i].dst);
    }
}

// ---- the second walk: moves ----------------------------------------------------------------------------------

// The state on entry: the input lies in `in`. In place, what is wanted lies in `out` already.
static void locate_inputs(struct compiler *c)
{
    for (int i = 0; i < c->nchunks[CLAB_DATA]; i++) {
        struct chunk *chunk = chunk_at(c, CLAB_DATA, i);
        int block = i / c->per_block;
        chunk->wanted = clab_problem_wants(c->problem, c->rank, block);
        chunk->located = clab_problem_holds(c->problem, c->rank, block);
        chunk->region = c->program->in_place && chunk->wanted ? CLAB_OUT : CLAB_IN;
        chunk->read_stage = -1;
    }
    for (int i = 0; i < c->nchunks[CLAB_INPUT]; i++) {
        c->chunks[CLAB_INPUT][i].located = true;
        c->chunks[CLAB_INPUT][i].region = CLAB_IN;
        c->chunks[CLAB_INPUT][i].read_stage = -1;
    }
    for (int i = 0; i < c->nchunks[CLAB_SCRATCH]; i++) {
        c->chunks[CLAB_SCRATCH][i].located = false;
        c->chunks[CLAB_SCRATCH][i].read_stage = -1;
    }
}

static enum clab_region other_region(enum clab_region region)
{
    switch (region) {
    case CLAB_OUT:
    case CLAB_TEMP: return CLAB_ALT;
    case CLAB_SCRATCH_TEMP: return CLAB_SCRATCH_ALT;
    default: return region;
    }
}

// Whether a write to `region` would hit what a send or copy of this stage is reading.
static bool is_read_in(struct compiler *c, struct clab_span span, enum clab_region region)
{
    for (int i = 0; i < span.count; i++) {
        const struct chunk *chunk = chunk_at(c, span.buffer, span.first + i);
        if (chunk->located && chunk->read_stage == c->stage && chunk->region == region)
            return true;
    }
    return false;
}

// Where a write of `span` lands.
static enum clab_region choose_region(struct compiler *c, struct clab_span span)
{
    enum clab_region home = span.buffer == CLAB_SCRATCH ? CLAB_SCRATCH_TEMP : CLAB_OUT;
    for (int i = 0; i < span.count && home == CLAB_OUT; i++)
        if (!chunk_at(c, span.buffer, span.first + i)->wanted)
            home = CLAB_TEMP;
    struct chunk *first = chunk_at(c, span.buffer, span.first);
    enum clab_region away = other_region(home);
    if (is_read_in(c, span, home))
        return away;
    return first->conflicts % 2 && !is_read_in(c, span, away) ? away : home;
}

static void settle(struct compiler *c, struct clab_span span, enum clab_region region)
{
    for (int i = 0; i < span.count; i++) {
        struct chunk *chunk = chunk_at(c, span.buffer, span.first + i);
        size_t count;
        if (chunk->read_stage == c->stage && chunk->located && chunk->region != CLAB_IN && chunk->conflicts)
            chunk->conflicts--;
        chunk->located = true;
        chunk->region = region;
        struct clab_place place = place_in(c, span.buffer, span.first + i, region, &count);
        need(c, place, count);
    }
}

static enum clab_region compile_copy(struct compiler *c, const struct clab_step *step)
{
    enum clab_region region = choose_region(c, step->dst);
    for (int i = 0; i < step->src.count; i++) {
        size_t count;
        struct clab_place src = place_of(c, step->src.buffer, step->src.first + i, &count);
        struct clab_place dst = place_in(c, step->dst.buffer, step->dst.first + i, region, &count);
        if (count)
            emit(c, (struct clab_move){.op = CLAB_COPY, .src = src, .dst = dst, .count = count});
    }
    return region;
}

// Copies that bring a scattered message together; its send reads the pack.
static void compile_packing(struct compiler *c, const struct clab_step *step)
{
    struct clab_place first;
    size_t total;
    if (is_contiguous(c, step->src, -1, &first, &total))
        return;
    struct clab_place pack = take_pack(c, span_elements(c, step->src));
    for (int i = 0; i < step->src.count; i++) {
        size_t count;
        struct clab_place src = place_of(c, step->src.buffer, step->src.first + i, &count);
        if (count)
            emit(c, (struct clab_move){.op = CLAB_COPY, .src = src, .dst = pack, .count = count});
        pack.start += count;
    }
}

static void compile_send(struct compiler *c, const struct clab_step *step, size_t *packed)
{
    struct clab_move move = {.op = CLAB_SEND, .peer = step->peer};
    if (!is_contiguous(c, step->src, -1, &move.src, &move.count)) {
        move.count = span_elements(c, step->src);
        move.src = (struct clab_place){CLAB_PACK, c->pack_start + *packed};
        *packed += move.count;
    }
    emit(c, move);
}

// A receive that lands where it belongs, or (returns false) must be unpacked.
static bool compile_receive(struct compiler *c, const struct clab_step *step, enum clab_region region)
{
    struct clab_move move = {.op = step->op, .peer = step->peer};
    size_t total;
    bool direct = is_contiguous(c, step->dst, (int)region, &move.dst, &move.count) &&
                  (step->op == CLAB_RECV || is_contiguous(c, step->dst, -1, &move.src, &total));
    if (!direct) {
        move.op = CLAB_RECV;
        move.count = span_elements(c, step->dst);
        move.dst = take_pack(c, move.count);
    }
    emit(c, move);
    return direct;
}

static void compile_unpacking(struct compiler *c, const struct clab_step *step, const struct plan *plan)
{
    struct clab_place pack = plan->pack;
    for (int i = 0; i < step->dst.count; i++) {
        size_t count;
        struct clab_move move = {.op = CLAB_COPY, .src = pack, .combines = step->op == CLAB_RECV_REDUCE};
        move.dst = place_in(c, step->dst.buffer, step->dst.first + i, plan->region, &count);
        if (move.combines) {
            move.src = place_of(c, step->dst.buffer, step->dst.first + i, &count);
            move.other = pack;
        }
        move.count = count;
        if (count)
            emit(c, move);
        pack.start += count;
    }
}

// Local copies first, then the transfers, then what has to be unpacked.
static void compile_local(struct compiler *c, int n)
{
    for (int i = 0; i < n; i++) {
        c->plans[i] = (struct plan){0};
        if (c->steps[i].op == CLAB_COPY)
            c->plans[i].region = compile_copy(c, &c->steps[i]);
        else if (c->steps[i].op == CLAB_SEND)
            compile_packing(c, &c->steps[i]);
    }
}

static void compile_transfers(struct compiler *c, int n)
{
    size_t packed = 0;
    for (int i = 0; i < n; i++) {
        struct plan *plan = &c->plans[i];
        if (c->steps[i].op == CLAB_SEND) {
            compile_send(c, &c->steps[i], &packed);
        } else if (c->steps[i].op != CLAB_COPY) {
            plan->region = choose_region(c, c->steps[i].dst);
            plan->pack = (struct clab_place){CLAB_PACK, c->pack_start + c->pack_used};
            plan->unpacks = !compile_receive(c, &c->steps[i], plan->region);
        }
    }
}

// Places change only when all is emitted, since all steps of a stage read the state on entry.
static void compile_stage(struct compiler *c, int n)
{
    struct clab_stage *stage = begin_stage(c);
    struct clab_program *p = c->program;
    if (!stage)
        return;
    c->pack_used = 0;
    note_all_reads(c, n);
    compile_local(c, n);
    stage->before = p->nmoves - stage->first;
    compile_transfers(c, n);
    stage->transfers = p->nmoves - stage->first - stage->before;
    for (int i = 0; i < n; i++)
        if (c->plans[i].unpacks)
            compile_unpacking(c, &c->steps[i], &c->plans[i]);
    stage->after = p->nmoves - stage->first - stage->before - stage->transfers;
    for (int i = 0; i < n; i++)
        if (c->steps[i].op != CLAB_SEND)
            settle(c, c->steps[i].dst, c->plans[i].region);
    if (stage->transfers > p->width)
        p->width = stage->transfers;
}

// Copies to `out` of what is wanted there and lies elsewhere: `when` says which.
static void compile_copies_home(struct compiler *c, bool early)
{
    for (int i = 0; i < c->nchunks[CLAB_DATA]; i++) {
        struct chunk *chunk = chunk_at(c, CLAB_DATA, i);
        enum clab_region home = chunk->wanted ? CLAB_OUT : CLAB_TEMP;
        size_t count;
        if (!chunk->located || chunk->region == home || (early ? !chunk->early : !chunk->wanted))
            continue;
        struct clab_place src = place_of(c, CLAB_DATA, i, &count), dst = place_in(c, CLAB_DATA, i, home, &count);
        need(c, dst, count);
        chunk->region = home;
        if (count)
            emit(c, (struct clab_move){.op = CLAB_COPY, .src = src, .dst = dst, .count = count});
    }
}

static void compile_lane(struct compiler *c)
{
    struct clab_lane *lane = &c->program->lanes[c->lane];
    int n;
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        memset(c->chunks[b], 0, (size_t)c->nchunks[b] * sizeof *c->chunks[b]);
    locate_inputs(c);
    look_ahead(c);
    locate_inputs(c);
    lane->first_stage = c->program->nstages;
    struct clab_stage *early = begin_stage(c); // early copies are a stage of their own, dropped if there are none
    if (!early)
        return;
    compile_copies_home(c, true);
    early->before = c->program->nmoves - early->first;
    if (!early->before)
        c->program->nstages--;
    for (c->stage = 0; !c->err && (n = compute_steps(c)) != CLAB_DONE; c->stage++)
        compile_stage(c, n);
    lane->nstages = c->program->nstages - lane->first_stage;
    lane->finish = c->program->nmoves;
    compile_copies_home(c, false);
    lane->nfinish = c->program->nmoves - lane->finish;
    c->pack_start = c->program->region_elements[CLAB_PACK];
}

// ---- interface -----------------------------------------------------------------------------------------------

void clab_program_free(struct clab_program *program)
{
    if (!program)
        return;
    free(program->stages);
    free(program->moves);
    free(program);
}

static int prepare(struct compiler *c)
{
    int blocks = clab_problem_blocks(c->problem);
    c->per_block = c->algorithm->chunks(c->problem);
    c->nchunks[CLAB_DATA] = blocks * c->per_block;
    c->nchunks[CLAB_INPUT] = c->problem->collective == CLAB_ALLTOALL ? c->nchunks[CLAB_DATA] : 0;
    c->nchunks[CLAB_SCRATCH] = c->algorithm->scratch(c->problem) * c->per_block;
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        if (!(c->chunks[b] = calloc((size_t)c->nchunks[b] + 1, sizeof *c->chunks[b])))
            return CLAB_ENOMEM;
    size_t width = (size_t)c->algorithm->width(c->problem);
    c->steps = calloc(width + 1, sizeof *c->steps);
    c->plans = calloc(width + 1, sizeof *c->plans);
    return c->steps && c->plans ? CLAB_OK : CLAB_ENOMEM;
}

int clab_program_compile(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank, bool in_place,
                         struct clab_program **program_p)
{
    struct clab_program *program = calloc(1, sizeof *program);
    if (!program)
        return CLAB_ENOMEM;
    *program = (struct clab_program){.problem = *problem, .algorithm = algorithm, .rank = rank, .in_place = in_place};
    struct compiler c = {.program = program, .problem = problem, .algorithm = algorithm, .rank = rank};
    c.err = prepare(&c);
    for (c.lane = 0; !c.err && c.lane < problem->lanes; c.lane++)
        compile_lane(&c);
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        free(c.chunks[b]);
    free(c.steps);
    free(c.plans);
    if (c.err) {
        clab_program_free(program);
        return c.err;
    }
    *program_p = program;
    return CLAB_OK;
}
