// SPDX-License-Identifier: MIT
// The conductor's memory, and one call: find or compile the programs, find or compute the price, play.

#include "core/comm/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/model/clock.h"
#include "core/program/in_process.h"
#include "sim/sim.h"

enum { PATTERNS = 8, SHEETS = 16 };
static const size_t most_program_bytes = (size_t)256 << 20; // of all sheets

// When members leave, of those that enter so many s after the first.
struct pattern {
    bool in_place; // member 0's
    size_t element_bytes;
    unsigned used;
    double *delays, *ends; // (nranks), (nranks)
};

// What is known of a problem.
struct sheet {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm; // NULL: an empty sheet
    struct clab_program **programs;         // (nranks, 2): out of place, in place; NULL: not compiled yet
    size_t bytes;                           // of them
    unsigned used;
    struct pattern patterns[PATTERNS];
};

struct clab_score {
    int nranks;
    unsigned calls;
    struct sheet sheets[SHEETS];
    size_t bytes; // of all programs
    struct clab_in_process player;
    struct clab_score_member *members; // (nranks)
    struct clab_rank_arguments *parts; // (nranks)
    double *delays;                    // (nranks)
};

int clab_score_create(int nranks, struct clab_score **score_p)
{
    const size_t n = (size_t)nranks;
    struct clab_score *score = calloc(1, sizeof *score);
    if (!score)
        return CLAB_ENOMEM;
    score->nranks = nranks;
    score->members = calloc(n, sizeof *score->members);
    score->parts = calloc(n, sizeof *score->parts);
    score->delays = calloc(n, sizeof *score->delays);
    if (!score->members || !score->parts || !score->delays) {
        clab_score_free(score);
        return CLAB_ENOMEM;
    }
    *score_p = score;
    return CLAB_OK;
}

static void empty(struct clab_score *score, struct sheet *sheet)
{
    for (int i = 0; i < 2 * score->nranks && sheet->programs; i++)
        clab_program_free(sheet->programs[i]);
    for (int i = 0; i < PATTERNS; i++)
        free(sheet->patterns[i].delays);
    free(sheet->programs);
    score->bytes -= sheet->bytes;
    *sheet = (struct sheet){0};
}

void clab_score_free(struct clab_score *score)
{
    if (!score)
        return;
    for (int i = 0; i < SHEETS; i++)
        empty(score, &score->sheets[i]);
    clab_in_process_free(&score->player);
    free(score->members);
    free(score->parts);
    free(score->delays);
    free(score);
}

struct clab_score_member *clab_score_members(struct clab_score *score)
{
    return score->members;
}

// ---- sheets --------------------------------------------------------------------------------------------------

static bool is_of(const struct sheet *sheet, const struct clab_score_call *call)
{
    const struct clab_problem *a = &sheet->problem, *b = call->problem;
    return sheet->algorithm == call->algorithm && a->collective == b->collective && a->count == b->count &&
           a->root == b->root && a->lanes == b->lanes && a->group == b->group;
}

// The sheet that was used longest ago; but `kept`.
static struct sheet *oldest(struct clab_score *score, const struct sheet *kept)
{
    struct sheet *found = NULL;
    for (struct sheet *s = score->sheets; s < score->sheets + SHEETS; s++)
        if (s != kept && (!found || s->used < found->used))
            found = s;
    return found;
}

static int find_sheet(struct clab_score *score, const struct clab_score_call *call, struct sheet **sheet_p)
{
    struct sheet *sheet = score->sheets;
    while (sheet < score->sheets + SHEETS && !is_of(sheet, call))
        sheet++;
    if (sheet == score->sheets + SHEETS) {
        sheet = oldest(score, NULL);
        empty(score, sheet);
        if (!(sheet->programs = calloc(2 * (size_t)score->nranks, sizeof *sheet->programs)))
            return CLAB_ENOMEM;
        sheet->problem = *call->problem;
        sheet->algorithm = call->algorithm;
    }
    sheet->used = ++score->calls;
    *sheet_p = sheet;
    return CLAB_OK;
}

static int find_program(struct clab_score *score, struct sheet *sheet, int rank, bool in_place,
                        const struct clab_program **program_p)
{
    struct clab_program **slot = &sheet->programs[2 * rank + in_place];
    if (!*slot) {
        struct clab_program *program;
        CLAB_TRY(clab_program_compile(&sheet->problem, sheet->algorithm, rank, in_place, &program));
        *slot = program;
        const size_t bytes = sizeof *program + (size_t)program->nmoves * sizeof *program->moves +
                             (size_t)program->nstages * sizeof *program->stages;
        sheet->bytes += bytes;
        score->bytes += bytes;
    }
    *program_p = *slot;
    return CLAB_OK;
}

static int find_programs(struct clab_score *score, struct sheet *sheet, const struct clab_score_call *call)
{
    for (int r = 0; r < score->nranks; r++) {
        struct clab_score_member *m = &score->members[r];
        const struct clab_program *program;
        CLAB_TRY(find_program(score, sheet, r, m->in_place, &program));
        score->parts[r] = (struct clab_rank_arguments){.program = program, .in = m->in, .out = m->out};
        const size_t each = clab_type_bytes(call->type);
        m->traffic = (struct clab_score_traffic){.messages = program->messages,
                                                 .bytes_sent = program->elements_sent * each,
                                                 .bytes_received = program->elements_received * each};
    }
    for (struct sheet *old; score->bytes > most_program_bytes && (old = oldest(score, sheet))->bytes;)
        empty(score, old);
    return CLAB_OK;
}

// ---- prices --------------------------------------------------------------------------------------------------

static int compute(struct clab_score *score, const struct clab_score_call *call, struct pattern *p)
{
    const size_t n = (size_t)score->nranks;
    if (!p->delays && !(p->delays = malloc(2 * n * sizeof *p->delays)))
        return CLAB_ENOMEM;
    p->ends = p->delays + n;
    bool together = true;
    for (size_t r = 0; r < n; r++)
        together &= score->delays[r] == 0;
    const struct clab_sim_options options = {.element_bytes = p->element_bytes,
                                             .in_place = p->in_place,
                                             .delays = together ? NULL : score->delays,
                                             .members = call->members,
                                             .ends = p->ends};
    struct clab_sim_result result;
    CLAB_TRY(clab_sim_run(call->problem, call->algorithm, call->net, &options, &result));
    memcpy(p->delays, score->delays, n * sizeof *p->delays);
    return CLAB_OK;
}

static int find_pattern(struct clab_score *score, struct sheet *sheet, const struct clab_score_call *call,
                        const struct pattern **pattern_p)
{
    const size_t n = (size_t)score->nranks, element_bytes = clab_type_bytes(call->type);
    const bool in_place = score->members[0].in_place;
    struct pattern *oldest = sheet->patterns;
    for (struct pattern *p = sheet->patterns; p < sheet->patterns + PATTERNS; p++) {
        if (p->used && p->in_place == in_place && p->element_bytes == element_bytes &&
            memcmp(p->delays, score->delays, n * sizeof *p->delays) == 0) {
            p->used = score->calls;
            *pattern_p = p;
            return CLAB_OK;
        }
        if (p->used < oldest->used)
            oldest = p;
    }
    oldest->used = 0;
    oldest->in_place = in_place;
    oldest->element_bytes = element_bytes;
    CLAB_TRY(compute(score, call, oldest));
    oldest->used = score->calls;
    *pattern_p = oldest;
    return CLAB_OK;
}

static int price(struct clab_score *score, struct sheet *sheet, const struct clab_score_call *call)
{
    const struct pattern *pattern;
    double first = INFINITY;
    for (int r = 0; r < score->nranks; r++)
        first = fmin(first, score->members[r].when);
    for (int r = 0; r < score->nranks; r++)
        score->delays[r] = score->members[r].when - first;
    CLAB_TRY(find_pattern(score, sheet, call, &pattern));
    for (int r = 0; r < score->nranks; r++)
        score->members[r].due = fmax(score->members[r].when, first + clab_clock_round(pattern->ends[r]));
    return CLAB_OK;
}

int clab_score_play(struct clab_score *score, const struct clab_score_call *call)
{
    struct sheet *sheet;
    CLAB_TRY(find_sheet(score, call, &sheet));
    CLAB_TRY(price(score, sheet, call));
    CLAB_TRY(find_programs(score, sheet, call));
    return clab_in_process_run(&score->player, score->parts, score->nranks, call->type, call->op, call->beat);
}
