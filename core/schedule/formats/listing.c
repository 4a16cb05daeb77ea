// SPDX-License-Identifier: MIT
// Listings: the algorithm whose stages are looked up, and how they are written.

#include "core/schedule/formats/listing.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/schedule/verify/verify.h"

// Chunks of all ranks that proving a schedule may follow: it holds a set of contributors for each.
enum { MOST_CHUNKS = 1 << 22, MOST_STAGES = 1 << 25, MOST_WORDS = 1 << 25, MOST_POSTS = 1 << 22 };

// ---- the algorithm -------------------------------------------------------------------------------------------

static bool are_signals(const struct clab_problem *problem)
{
    return problem->listing->loose && problem->count == 0;
}

static bool supports(const struct clab_problem *problem)
{
    const struct clab_listing *l = problem->listing;
    return l && problem->nranks == l->problem.nranks && problem->root == l->problem.root &&
           problem->lanes == l->problem.lanes &&
           (!l->even || problem->count % ((size_t)l->chunks * (size_t)problem->lanes) == 0);
}

static int chunks(const struct clab_problem *problem)
{
    return are_signals(problem) ? 1 : problem->listing->chunks;
}

// All messages of a loose listing's stage come to the same chunk; while it is replayed, each has a chunk of its own.
static int scratch(const struct clab_problem *problem)
{
    const struct clab_listing *l = problem->listing;
    return l->loose && (problem->count == 0 || !l->is_closed) ? l->width : l->scratch;
}

static int width(const struct clab_problem *problem)
{
    return problem->listing->width;
}

static struct clab_cost cost(const struct clab_problem *problem)
{
    return are_signals(problem) ? problem->listing->signals : problem->listing->cost;
}

static int stage(const struct clab_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    const struct clab_listing *l = problem->listing;
    size_t program = (size_t)rank * (size_t)problem->lanes + (size_t)lane;
    size_t at = l->programs[program] + (size_t)s;
    if (at >= l->programs[program + 1])
        return CLAB_DONE;
    size_t first = l->stages[at], n = l->stages[at + 1] - first;
    if (n > 0) // there may be no step at all, and no memory for any
        memcpy(out, l->steps + first, n * sizeof *out);
    for (size_t i = 0; are_signals(problem) && i < n; i++)
        if (out[i].op != CLAB_CALC)
            out[i].src.count = out[i].dst.count = 1;
    return (int)n;
}

// ---- writing -------------------------------------------------------------------------------------------------

static struct clab_algorithm algorithm_of(const struct clab_listing *l)
{
    return (struct clab_algorithm){.name = l->name,
                                   .title = "read from a file",
                                   .source = "a file",
                                   .collective = l->problem.collective,
                                   .default_lanes = l->problem.lanes,
                                   .supports = supports,
                                   .chunks = chunks,
                                   .scratch = scratch,
                                   .width = width,
                                   .stage = stage,
                                   .cost = cost};
}

int clab_listing_create(const struct clab_problem *problem, const char *name, struct clab_listing **listing_p)
{
    struct clab_listing *l = calloc(1, sizeof *l);
    if (!l)
        return CLAB_ENOMEM;
    l->problem = *problem;
    l->problem.listing = l;
    l->chunks = l->width = 1;
    l->unit = 1;
    strncpy(l->name, name, sizeof l->name - 1);
    l->algorithm = algorithm_of(l);
    l->programs = calloc((size_t)problem->nranks * (size_t)problem->lanes + 1, sizeof *l->programs);
    l->stages = calloc(1, sizeof *l->stages);
    l->stage_room = 1;
    if (!l->programs || !l->stages) {
        clab_listing_free(l);
        return CLAB_ENOMEM;
    }
    *listing_p = l;
    return CLAB_OK;
}

void clab_listing_free(struct clab_listing *l)
{
    if (!l)
        return;
    free(l->programs);
    free(l->stages);
    free(l->steps);
    free(l->lines);
    free(l->inputs);
    free(l->outputs);
    free(l->ends);
    free(l->end_sets);
    free(l->head);
    free(l);
}

int clab_listing_make_custom(struct clab_listing *l)
{
    l->inputs = calloc((size_t)l->problem.nranks, sizeof *l->inputs);
    l->outputs = calloc((size_t)l->problem.nranks, sizeof *l->outputs);
    return l->inputs && l->outputs ? CLAB_OK : CLAB_ENOMEM;
}

int clab_listing_begin_stage(struct clab_listing *l)
{
    if (l->nstages == MOST_STAGES)
        return CLAB_ENOMEM;
    CLAB_TRY(CLAB_RESERVE(l->stages, l->stage_room, l->nstages + 2));
    l->stages[++l->nstages] = l->nsteps;
    return CLAB_OK;
}

int clab_listing_add(struct clab_listing *l, const struct clab_step *step)
{
    CLAB_TRY(CLAB_RESERVE(l->lines, l->line_room, l->nsteps + 1));
    l->lines[l->nsteps] = l->line;
    CLAB_TRY(CLAB_PUSH(l->steps, l->nsteps, l->step_room, *step));
    l->combines |= step->op == CLAB_COMBINE;
    l->stages[l->nstages] = l->nsteps;
    int n = (int)(l->nsteps - l->stages[l->nstages - 1]);
    l->width = n > l->width ? n : l->width;
    return CLAB_OK;
}

void clab_listing_end_program(struct clab_listing *l)
{
    l->programs[++l->nprograms] = l->nstages;
}

// ---- closing -------------------------------------------------------------------------------------------------

// Whether the proof fits into memory: of each rank's chunks, a bit for every rank.
static bool can_be_followed(const struct clab_listing *l)
{
    const struct clab_problem *p = &l->problem;
    double chunks = l->loose ? 1 + l->width : (2.0 * clab_problem_blocks(p) + l->scratch) * l->chunks;
    double words = (p->nranks + 63) / 64;
    return p->nranks * chunks * words <= MOST_WORDS && (double)p->nranks * l->width <= MOST_POSTS;
}

static bool has_chunk(struct clab_span span, int chunk)
{
    return chunk >= span.first && chunk < span.first + span.count;
}

// The line of the step that is to blame: the first of the flaw's stage that uses its chunk; of a wrong end, the last of
// its rank that writes the chunk. If there is none, another of them; 0: there is none at all.
static int line_of(const struct clab_listing *l, const struct clab_verify_result *result)
{
    if (result->rank < 0)
        return 0;
    const bool at_end = result->stage < 0;
    const size_t program = (size_t)result->rank * (size_t)l->problem.lanes + (size_t)result->lane;
    const size_t first = l->programs[program] + (at_end ? 0 : (size_t)result->stage);
    const size_t end = at_end ? l->programs[program + 1] : first + 1;
    int line = 0;
    for (size_t i = l->stages[first]; i < l->stages[end]; i++) {
        const struct clab_step *s = &l->steps[i];
        const bool writes = s->op != CLAB_SEND && has_chunk(s->dst, result->chunk);
        if (!line || (at_end && writes && s->dst.buffer == CLAB_DATA))
            line = l->lines[i];
        if (!at_end && (writes || has_chunk(s->src, result->chunk)))
            return l->lines[i];
    }
    return line;
}

static void report(const struct clab_listing *l, const struct clab_verify_result *result, const char *path)
{
    const int line = line_of(l, result);
    if (line)
        clab_error("%s:%d: %s: %s", path, line, clab_flaw_text(result->flaw), result->text);
    else
        clab_error("%s: %s: %s", path, clab_flaw_text(result->flaw), result->text);
}

// ---- the result of a collective of its own -------------------------------------------------------------------

static int words_of(const struct clab_listing *l)
{
    return (l->problem.nranks + 63) / 64;
}

// The last write stays.
static void note_end(void *context, const struct clab_write *write)
{
    struct clab_listing *l = context;
    const size_t at = (size_t)write->rank * (size_t)l->chunks + (size_t)write->chunk;
    if (write->buffer != CLAB_DATA)
        return;
    l->ends[at].chunk = write->identity;
    memcpy(l->end_sets + at * (size_t)words_of(l), write->set, (size_t)words_of(l) * sizeof *l->end_sets);
}

static int begin_ends(struct clab_listing *l)
{
    const size_t n = (size_t)l->problem.nranks * (size_t)l->chunks, words = (size_t)words_of(l);
    l->ends = calloc(n + 1, sizeof *l->ends);
    l->end_sets = calloc(n * words + 1, sizeof *l->end_sets);
    if (!l->ends || !l->end_sets)
        return CLAB_ENOMEM;
    for (int rank = 0; rank < l->problem.nranks; rank++)
        for (int c = 0; c < l->chunks; c++) {
            const size_t at = (size_t)rank * (size_t)l->chunks + (size_t)c;
            const bool holds = !l->has_input && c < l->inputs[rank];
            l->ends[at].chunk = holds ? c : -1;
            if (holds)
                l->end_sets[at * words + (size_t)rank / 64] = UINT64_C(1) << rank % 64;
        }
    return CLAB_OK;
}

static void count_contributors(struct clab_listing *l)
{
    const int words = words_of(l);
    for (size_t at = 0; at < (size_t)l->problem.nranks * (size_t)l->chunks; at++) {
        struct clab_end *end = &l->ends[at];
        const uint64_t *set = l->end_sets + at * (size_t)words;
        for (int w = 0; w < words; w++)
            for (uint64_t left = set[w]; left; left &= left - 1, end->n++)
                end->origin = 64 * w + __builtin_ctzll(left);
        if (end->n > 1)
            end->origin = end->n == l->problem.nranks ? CLAB_EVERYONE : CLAB_SOME;
        l->most = end->n > l->most ? end->n : l->most;
    }
}

// Replay the listing to count its cost. Of a loose listing's cost only the bytes are used. So if there are too many
// chunks to replay, all messages may count as the longest.
static int count(struct clab_listing *l, struct clab_verifier *verifier, const char *path)
{
    struct clab_problem problem = l->problem;
    struct clab_verify_result result;
    const struct clab_observer observer = {.context = l, .write = clab_listing_is_custom(l) ? note_end : NULL};
    problem.count = 0;
    if (clab_listing_is_custom(l))
        CLAB_TRY(begin_ends(l));
    int err = clab_verify_observed(verifier, &problem, &l->algorithm, &observer, &result);
    if (err == CLAB_EWRONG && result.flaw != CLAB_FLAW_COST) {
        report(l, &result, path);
        return err;
    }
    if (err == CLAB_ENOMEM)
        return err;
    l->cost = l->signals = result.found;
    if (clab_listing_is_custom(l))
        count_contributors(l);
    if (!l->loose)
        return CLAB_OK;
    l->calc = 1e-9 * (double)result.found.reduced;
    l->cost.serial *= l->chunks;
    l->cost.sent_max *= l->chunks;
    l->cost.sent_total *= l->chunks;
    err = CLAB_OK;
    if ((double)l->chunks * l->problem.nranks * (l->width + 1) * ((l->problem.nranks + 63) / 64) <= MOST_CHUNKS)
        err = clab_verify(verifier, &l->problem, &l->algorithm, &result);
    if (err == CLAB_EWRONG && result.flaw == CLAB_FLAW_COST)
        l->cost = result.found;
    l->cost.reduced = l->cost.reduced_max = 0; // those are nanoseconds
    return err == CLAB_ENOMEM ? err : CLAB_OK;
}

int clab_listing_close(struct clab_listing *l, const char *path)
{
    struct clab_verifier *verifier;
    if (!can_be_followed(l)) {
        clab_error("%s: %d ranks with %d chunks of a block and %d steps in a stage are too many to be proved", path,
                   l->problem.nranks, l->chunks, l->width);
        return CLAB_EUNSUPPORTED;
    }
    CLAB_TRY(clab_verifier_create(&verifier));
    int err = count(l, verifier, path);
    clab_verifier_free(verifier);
    l->is_closed = true;
    return err;
}

int clab_listing_problem(const struct clab_listing *l, size_t bytes, size_t element_bytes,
                         struct clab_problem *problem_p)
{
    struct clab_problem problem = l->problem;
    size_t blocks = (size_t)clab_problem_blocks(&problem), parts = (size_t)l->chunks * (size_t)problem.lanes;
    if (!l->loose) {
        problem.count = bytes / (blocks * element_bytes);
        problem.count -= l->even ? problem.count % parts : 0;
        if (problem.count == 0) {
            clab_error("%s: %zu bytes are less than an element of %zu for each of its %zu chunks", l->name, bytes,
                       element_bytes, blocks * parts);
            return CLAB_EINVAL;
        }
    }
    *problem_p = problem;
    return CLAB_OK;
}

// FNV-1a over numbers: a struct's padding is not compared.
static void hash(uint64_t *hash, const int numbers[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ (unsigned)numbers[i]) * UINT64_C(1099511628211);
}

#define HASH(value, ...) hash(value, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

uint64_t clab_listing_hash(const struct clab_listing *l)
{
    uint64_t value = UINT64_C(14695981039346656037);
    const struct clab_problem *p = &l->problem;
    for (int rank = 0; rank < p->nranks && clab_listing_is_custom(l); rank++)
        HASH(&value, l->inputs[rank], l->outputs[rank]);
    HASH(&value, (int)p->collective, p->nranks, p->root, p->lanes, l->chunks, l->scratch, l->has_input, l->even);
    for (size_t i = 0; i <= l->nprograms; i++)
        HASH(&value, (int)l->programs[i]);
    for (size_t i = 0; i <= l->nstages; i++)
        HASH(&value, (int)l->stages[i]);
    for (const struct clab_step *s = l->steps; s < l->steps + l->nsteps; s++)
        HASH(&value, (int)s->op, s->peer, (int)s->src.buffer, s->src.first, s->src.count, (int)s->dst.buffer,
             s->dst.first, s->dst.count);
    return value;
}
