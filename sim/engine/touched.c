// SPDX-License-Identifier: MIT
// The bytes of a program's moves, each counted once.

#include "sim/engine/touched.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/order.h"

struct piece {
    int region;
    size_t begin, end; // elements
};

struct pieces {
    const struct clab_program *program;
    struct piece *all;
    size_t n;
};

// In place, `in` and `out` are one: the larger of them. A rank's block is behind the blocks of the ranks before it.
static struct clab_place place_of(const struct clab_program *program, struct clab_place place)
{
    const struct clab_problem *p = &program->problem;
    const int in = clab_problem_in_blocks(p, program->rank), out = clab_problem_out_blocks(p, program->rank);
    if (!program->in_place || place.region > CLAB_OUT)
        return place;
    if (in != out && (place.region == CLAB_IN) == (in < out))
        place.start += (size_t)program->rank * p->count;
    place.region = CLAB_OUT;
    return place;
}

static void add(struct pieces *pieces, struct clab_place place, size_t count)
{
    place = place_of(pieces->program, place);
    pieces->all[pieces->n++] = (struct piece){(int)place.region, place.start, place.start + count};
}

static int by_place(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return CLAB_ORDER(x->region, y->region) ?: CLAB_ORDER(x->begin, y->begin);
}

// The elements of all pieces, each counted once.
static size_t count_elements(struct pieces *pieces)
{
    size_t sum = 0, end = 0;
    qsort(pieces->all, pieces->n, sizeof *pieces->all, by_place);
    for (size_t i = 0; i < pieces->n; i++) {
        const struct piece *p = &pieces->all[i];
        const size_t begin = i > 0 && pieces->all[i - 1].region == p->region && end > p->begin ? end : p->begin;
        if (i == 0 || pieces->all[i - 1].region != p->region)
            end = 0;
        sum += p->end > begin ? p->end - begin : 0;
        end = p->end > end ? p->end : end;
    }
    return sum;
}

// What the rank's core writes.
static void add_written(struct pieces *pieces)
{
    const struct clab_program *program = pieces->program;
    for (const struct clab_move *m = program->moves; m < program->moves + program->nmoves; m++)
        if (m->op != CLAB_SEND)
            add(pieces, m->dst, m->count);
}

// What it reads of its own memory. Beside that it reads what it receives from peers' memory.
static void add_read(struct pieces *pieces)
{
    const struct clab_program *program = pieces->program;
    for (const struct clab_move *m = program->moves; m < program->moves + program->nmoves; m++) {
        if (m->op == CLAB_SEND)
            continue;
        if (m->op != CLAB_RECV)
            add(pieces, m->src, m->count);
        if (m->combines)
            add(pieces, m->other, m->count);
    }
}

// What peers read of it.
static void add_sent(struct pieces *pieces)
{
    const struct clab_program *program = pieces->program;
    for (const struct clab_move *m = program->moves; m < program->moves + program->nmoves; m++)
        if (m->op == CLAB_SEND)
            add(pieces, m->src, m->count);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int add_program(const struct clab_program *program, size_t element_bytes, struct touched *touched)
{
    struct pieces pieces = {program, calloc((size_t)program->nmoves * 3 + 1, sizeof *pieces.all), 0};
    if (!pieces.all)
        return CLAB_ENOMEM;
    add_written(&pieces);
    touched->written = most(touched->written, count_elements(&pieces) * element_bytes);
    add_read(&pieces);
    const size_t core = (count_elements(&pieces) + program->elements_received) * element_bytes;
    add_sent(&pieces);
    touched->all += count_elements(&pieces) * element_bytes;
    touched->core = most(touched->core, core);
    free(pieces.all);
    return CLAB_OK;
}

static int add_rank(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank, bool in_place,
                    size_t element_bytes, struct touched *touched)
{
    struct clab_program *program;
    CLAB_TRY(clab_program_compile(problem, algorithm, rank, in_place, &program));
    const int err = add_program(program, element_bytes, touched);
    clab_program_free(program);
    return err;
}

// More would take longer to compile than to simulate.
enum { OTHERS = 15 };

int touched_by(const struct clab_problem *problem, const struct clab_algorithm *algorithm, bool in_place,
               size_t element_bytes, struct touched *touched_p)
{
    const int others = problem->nranks - 1, seen = others < OTHERS ? others : OTHERS;
    struct touched root = {0}, some = {0};
    CLAB_TRY(add_rank(problem, algorithm, problem->root, in_place, element_bytes, &root));
    for (int i = 0; i < seen; i++) {
        const int distance = 1 + (int)((long)i * others / seen);
        CLAB_TRY(
            add_rank(problem, algorithm, (problem->root + distance) % problem->nranks, in_place, element_bytes, &some));
    }
    const size_t unseen = seen > 0 ? some.all / (size_t)seen * (size_t)(others - seen) : 0;
    *touched_p = (struct touched){.all = root.all + some.all + unseen,
                                  .core = most(root.core, some.core),
                                  .written = most(root.written, some.written)};
    return CLAB_OK;
}
