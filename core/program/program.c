// SPDX-License-Identifier: MIT
// The compiler from stages to moves. Where data lies is layout.c's; here are the moves that follow from it.

#include "core/program/program.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/program/layout.h"

// What was decided for a step of the stage at hand.
struct plan {
    enum clab_region region; // where a receive or copy lands
    bool packs, unpacks;     // a send into `pack`, before the transfers; a receive out of it, after them
    struct clab_place pack;
};

struct compiler {
    struct clab_program *program;
    struct layout layout;
    struct plan *plans;           // (width)
    size_t pack_start, pack_used; // this lane's part of CLAB_PACK, and what the stage has used of it
    int nsteps;                   // of the stage at hand, layout.steps
    int stage_room, move_room;
    int err;
};

// The layout's memory; layout_free is right after an error, too.
static int layout_create(struct clab_program *program, struct layout *l)
{
    layout_init(l, &program->problem, program->algorithm, program->in_place);
    l->rank = program->rank;
    l->chunks = calloc((size_t)l->nchunks + (size_t)l->nscratch + 1, sizeof *l->chunks);
    l->steps = calloc((size_t)l->algorithm->width(l->problem) + 1, sizeof *l->steps);
    return l->chunks && l->steps ? CLAB_OK : CLAB_ENOMEM;
}

static void layout_free(struct layout *l)
{
    free(l->chunks);
    free(l->steps);
}

// All chunks of `lane` where they lie before the first stage.
static void begin_lane(struct layout *l, int lane)
{
    l->lane = lane;
    memset(l->chunks, 0, ((size_t)l->nchunks + (size_t)l->nscratch) * sizeof *l->chunks);
    layout_first_walk(l);
    layout_begin(l);
}

// ---- growing arrays ------------------------------------------------------------------------------------------

static void emit(struct compiler *c, struct clab_move move)
{
    struct clab_program *p = c->program;
    if (c->err || (c->err = CLAB_PUSH(p->moves, p->nmoves, c->move_room, move)))
        return;
    if (move.op == CLAB_SEND) {
        p->messages++;
        p->elements_sent += move.count;
    } else if (move.op != CLAB_COPY) {
        p->elements_received += move.count;
    }
}

static void emit_copy(struct compiler *c, struct clab_place src, struct clab_place dst, size_t count)
{
    if (count)
        emit(c, (struct clab_move){.op = CLAB_COPY, .src = src, .dst = dst, .count = count});
}

static struct clab_stage *begin_stage(struct compiler *c)
{
    struct clab_program *p = c->program;
    if (!c->err)
        c->err = CLAB_PUSH(p->stages, p->nstages, c->stage_room, (struct clab_stage){.first = p->nmoves});
    return c->err ? NULL : &p->stages[p->nstages - 1];
}

// Note that `count` elements at `place` are used.
static void use(struct compiler *c, struct clab_place place, size_t count)
{
    size_t *elements = &c->program->region_elements[place.region];
    if (place.region > CLAB_OUT && place.start + count > *elements)
        *elements = place.start + count;
}

static struct clab_place take_pack(struct compiler *c, size_t count)
{
    struct clab_place place = {CLAB_PACK, c->pack_start + c->pack_used};
    c->pack_used += count;
    use(c, place, count);
    return place;
}

// ---- steps ---------------------------------------------------------------------------------------------------

static void refuse(struct compiler *c, const char *why)
{
    if (!c->err)
        clab_error("%s can not be run: in stage %d rank %d %s", c->program->algorithm->name,
                   c->program->nstages - c->program->lanes[c->layout.lane].first_stage - 1, c->program->rank, why);
    c->err = CLAB_EUNSUPPORTED;
}

// Where a receive or copy into `span` lands. There are two places for a chunk: a stage may read one of them.
static enum clab_region choose_region(struct compiler *c, struct clab_span span)
{
    const enum clab_region region = layout_choose(&c->layout, span);
    if (c->layout.walk.alternates && layout_is_read_in(layout_chunks(&c->layout, span), span.count, region))
        refuse(c, "writes chunks that it reads in both of their places");
    return region;
}

static void emit_combine(struct compiler *c, struct clab_place src, struct clab_place other, struct clab_place dst,
                         size_t count)
{
    if (count)
        emit(c, (struct clab_move){
                    .op = CLAB_COPY, .combines = true, .src = src, .other = other, .dst = dst, .count = count});
}

// A COPY, or a COMBINE, which adds to where its chunks lie and writes to where they belong.
static enum clab_region compile_copy(struct compiler *c, const struct clab_step *step)
{
    enum clab_region region = choose_region(c, step->dst);
    for (int i = 0; i < step->src.count; i++) {
        size_t count;
        struct clab_place src = layout_place(&c->layout, step->src.buffer, step->src.first + i, &count);
        struct clab_place old = layout_place(&c->layout, step->dst.buffer, step->dst.first + i, &count);
        struct clab_place dst = layout_place_in(&c->layout, step->dst.buffer, step->dst.first + i, region, &count);
        if (step->op == CLAB_COMBINE)
            emit_combine(c, old, src, dst, count);
        else
            emit_copy(c, src, dst, count);
    }
    return region;
}

// Copies that bring a scattered message together; its send reads the pack.
static void compile_packing(struct compiler *c, const struct clab_step *step, struct plan *plan)
{
    plan->packs = layout_packs(&c->layout, step->src);
    if (!plan->packs)
        return;
    struct clab_place pack = plan->pack = take_pack(c, layout_elements(&c->layout, step->src));
    for (int i = 0; i < step->src.count; i++) {
        size_t count;
        struct clab_place src = layout_place(&c->layout, step->src.buffer, step->src.first + i, &count);
        emit_copy(c, src, pack, count);
        pack.start += count;
    }
}

static const struct clab_place no_place = {CLAB_PACK, 0}; // of a message without elements

// Where `span` begins now: at its first chunk that has elements.
static struct clab_place place_now(const struct compiler *c, struct clab_span span)
{
    for (int i = 0; i < span.count; i++) {
        size_t count;
        const struct clab_place place = layout_place(&c->layout, span.buffer, span.first + i, &count);
        if (count)
            return place;
    }
    return no_place;
}

// Likewise if it lay in `region`.
static struct clab_place place_in(const struct compiler *c, struct clab_span span, enum clab_region region)
{
    for (int i = 0; i < span.count; i++) {
        size_t count;
        const struct clab_place place = layout_place_in(&c->layout, span.buffer, span.first + i, region, &count);
        if (count)
            return place;
    }
    return no_place;
}

static void compile_send(struct compiler *c, const struct clab_step *step, const struct plan *plan)
{
    emit(c, (struct clab_move){.op = CLAB_SEND,
                               .peer = step->peer,
                               .src = plan->packs ? plan->pack : place_now(c, step->src),
                               .count = layout_elements(&c->layout, step->src)});
}

// A receive lands where it belongs, or, when that is no one piece, in a pack.
static void compile_receive(struct compiler *c, const struct clab_step *step, struct plan *plan)
{
    struct clab_move move = {.op = step->op, .peer = step->peer, .count = layout_elements(&c->layout, step->dst)};
    plan->region = choose_region(c, step->dst);
    plan->unpacks = layout_unpacks(&c->layout, step);
    if (plan->unpacks) {
        move.op = CLAB_RECV;
        move.dst = plan->pack = take_pack(c, move.count);
    } else {
        move.dst = place_in(c, step->dst, plan->region);
        if (step->op == CLAB_RECV_REDUCE)
            move.src = place_now(c, layout_added(step));
    }
    emit(c, move);
}

static void compile_unpacking(struct compiler *c, const struct clab_step *step, const struct plan *plan)
{
    struct clab_place pack = plan->pack;
    for (int i = 0; i < step->dst.count; i++) {
        size_t count;
        const struct clab_span added = layout_added(step);
        struct clab_place old = layout_place(&c->layout, added.buffer, added.first + i, &count);
        struct clab_place dst =
            layout_place_in(&c->layout, step->dst.buffer, step->dst.first + i, plan->region, &count);
        if (step->op == CLAB_RECV)
            emit_copy(c, pack, dst, count);
        else
            emit_combine(c, old, pack, dst, count);
        pack.start += count;
    }
}

// ---- stages --------------------------------------------------------------------------------------------------

static void compile_local(struct compiler *c)
{
    for (int i = 0; i < c->nsteps; i++) {
        const struct clab_step *step = &c->layout.steps[i];
        c->plans[i] = (struct plan){0};
        if (step->op == CLAB_COPY || step->op == CLAB_COMBINE)
            c->plans[i].region = compile_copy(c, step);
        else if (step->op == CLAB_SEND)
            compile_packing(c, step, &c->plans[i]);
    }
}

static void compile_transfers(struct compiler *c)
{
    for (int i = 0; i < c->nsteps; i++) {
        const struct clab_step *step = &c->layout.steps[i];
        if (step->op == CLAB_SEND)
            compile_send(c, step, &c->plans[i]);
        else if (step->op < CLAB_COPY)
            compile_receive(c, step, &c->plans[i]);
    }
}

static void settle(struct compiler *c, struct clab_span span, enum clab_region region)
{
    layout_settle(&c->layout, span, region);
    for (int i = 0; i < span.count; i++) {
        size_t count;
        struct clab_place place = layout_place(&c->layout, span.buffer, span.first + i, &count);
        use(c, place, count);
    }
}

// Copy a chunk to where it belongs.
static void bring_home(struct compiler *c, int index)
{
    const struct clab_span chunk = {CLAB_DATA, index, 1};
    const enum clab_region home = layout_home(&c->layout, chunk);
    size_t count;
    struct clab_place src = layout_place(&c->layout, CLAB_DATA, index, &count);
    settle(c, chunk, home);
    emit_copy(c, src, layout_place(&c->layout, CLAB_DATA, index, &count), count);
}

static void bring_each_home(struct compiler *c, int (*next)(const struct layout *, int))
{
    for (int i = next(&c->layout, 0); i >= 0; i = next(&c->layout, i + 1))
        bring_home(c, i);
}

// Computation (of a GOAL file) is simulated only.
static bool refuse_computation(struct compiler *c)
{
    for (int i = 0; i < c->nsteps; i++)
        if (c->layout.steps[i].op == CLAB_CALC)
            refuse(c, "computes");
    return c->err != CLAB_OK;
}

// Chunks change their place only when all is emitted, since all steps of a stage read the state on entry.
static void compile_stage(struct compiler *c, bool is_first)
{
    struct clab_stage *stage = begin_stage(c);
    struct clab_program *p = c->program;
    const struct clab_step *steps = c->layout.steps;
    if (!stage || refuse_computation(c))
        return;
    c->pack_used = 0;
    if (is_first)
        bring_each_home(c, layout_next_early);
    layout_begin_stage(&c->layout, steps, c->nsteps);
    compile_local(c);
    stage->before = p->nmoves - stage->first;
    compile_transfers(c);
    stage->transfers = p->nmoves - stage->first - stage->before;
    for (int i = 0; i < c->nsteps; i++)
        if (c->plans[i].unpacks)
            compile_unpacking(c, &steps[i], &c->plans[i]);
    stage->after = p->nmoves - stage->first - stage->before - stage->transfers;
    for (int i = 0; i < c->nsteps; i++)
        if (steps[i].op != CLAB_SEND)
            settle(c, steps[i].dst, c->plans[i].region);
    layout_end_stage(&c->layout, steps, c->nsteps);
    if (stage->transfers > p->width)
        p->width = stage->transfers;
}

// The steps of the lane's `stage`; false: there is no such stage.
static bool compute_stage(struct compiler *c, int stage)
{
    const struct layout *l = &c->layout;
    c->nsteps = l->algorithm->stage(l->problem, l->rank, l->lane, stage, l->steps);
    return c->nsteps != CLAB_DONE;
}

static void compile_lane(struct compiler *c, int index)
{
    struct clab_program *p = c->program;
    struct clab_lane *lane = &p->lanes[index];
    begin_lane(&c->layout, index);
    lane->first_stage = p->nstages;
    for (int stage = 0; !c->err && compute_stage(c, stage); stage++)
        compile_stage(c, stage == 0);
    lane->nstages = p->nstages - lane->first_stage;
    lane->aside = p->nmoves;
    bring_each_home(c, layout_next_unwritten);
    lane->finish = p->nmoves;
    bring_each_home(c, layout_next_away);
    lane->naside = lane->finish - lane->aside;
    lane->nfinish = p->nmoves - lane->finish;
    c->pack_start = p->region_elements[CLAB_PACK];
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

// FNV-1a over what must be the same on all ranks.
static unsigned fingerprint(const struct clab_problem *problem, const struct clab_algorithm *algorithm)
{
    unsigned hash = 2166136261u;
    const int numbers[] = {(int)problem->collective, problem->root, problem->lanes, problem->group};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = (hash ^ (unsigned)numbers[i]) * 16777619u;
    for (const char *c = algorithm->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

int clab_program_compile(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank,
                         bool in_place, struct clab_program **program_p)
{
    struct clab_program *program = calloc(1, sizeof *program);
    if (!program)
        return CLAB_ENOMEM;
    *program = (struct clab_program){.problem = *problem,
                                     .algorithm = algorithm,
                                     .rank = rank,
                                     .in_place = in_place,
                                     .elements_touched =
                                         (size_t)clab_problem_buffer_blocks(problem, rank, in_place) * problem->count,
                                     .fingerprint = fingerprint(problem, algorithm)};
    struct compiler c = {.program = program};
    c.err = layout_create(program, &c.layout);
    if (!c.err) // an empty program has an array, too: those who run it take parts of it
        c.err = CLAB_RESERVE(program->moves, c.move_room, 1) ? CLAB_ENOMEM
                                                              : CLAB_RESERVE(program->stages, c.stage_room, 1);
    if (!c.err && !(c.plans = calloc((size_t)algorithm->width(problem) + 1, sizeof *c.plans)))
        c.err = CLAB_ENOMEM;
    for (int lane = 0; !c.err && lane < problem->lanes; lane++)
        compile_lane(&c, lane);
    layout_free(&c.layout);
    free(c.plans);
    if (c.err) {
        clab_program_free(program);
        return c.err;
    }
    *program_p = program;
    return CLAB_OK;
}

void clab_program_count_across(struct clab_program *program, const int hosts[])
{
    program->elements_across = 0;
    for (const struct clab_move *m = program->moves; m < program->moves + program->nmoves; m++)
        if (m->op == CLAB_SEND && hosts[m->peer] != hosts[program->rank])
            program->elements_across += m->count;
}
