// SPDX-License-Identifier: MIT
// The rows of a bench (plan.h).
//
// - Sizes are bytes of the whole buffer, as in nccl-tests. A size that does not divide into ranks and elements is
//   rounded to at least one element per block. Sizes that become equal thereby are measured once.
// - An algorithm that does not support this number of ranks is skipped, with the reason. A name that no collective has
//   is an error.

#include "cmd/bench/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/options.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/vector.h"
#include "core/comm/comm.h"
#include "core/transport/backend.h"

enum { MOST_ROWS = 100000 };

// ---- rows ----------------------------------------------------------------------------------------------------

static int add_row(struct bench_plan *plan, const struct bench_row *row)
{
    if (plan->nrows == MOST_ROWS) {
        clab_error("these are more than %d rows: ask for fewer sizes, types or algorithms", MOST_ROWS);
        return CLAB_EINVAL;
    }
    CLAB_TRY(CLAB_PUSH(plan->rows, plan->nrows, plan->row_room, *row));
    const size_t bytes = bench_bytes(row);
    plan->buffer_bytes = bytes > plan->buffer_bytes ? bytes : plan->buffer_bytes;
    return CLAB_OK;
}

static int add_skip(struct bench_plan *plan, enum clab_collective collective, const char *algorithm, const char *reason)
{
    struct bench_skip skip = {.collective = collective, .reason = reason};
    snprintf(skip.algorithm, sizeof skip.algorithm, "%s", algorithm);
    return CLAB_PUSH(plan->skips, plan->nskips, plan->skip_room, skip);
}

// ---- sizes ---------------------------------------------------------------------------------------------------

// The size after `bytes`, or 0 after the last.
static size_t next_size(const struct bench_options *options, size_t bytes)
{
    const size_t room = options->last - bytes;
    if (options->step)
        return options->step <= room ? bytes + options->step : 0;
    return bytes <= options->last / (size_t)options->factor ? bytes * (size_t)options->factor : 0;
}

static bool has_native(const struct bench_options *options, const struct bench_row *row)
{
    return clab_native_has(options->backend, row->problem.collective, row->type, row->op);
}

static struct clab_placement placement_of(const struct bench_options *options, const struct bench_row *row)
{
    const struct clab_backend *backend = options->backend;
    return (struct clab_placement){
        .crowded = row->problem.nranks > options->cores && !backend->time->is_exact,
        .cores = options->cores,
        .sockets = backend->sockets,
        .nodes = options->nodes,
        .table = &options->table,
    };
}

// The library's choice depends on the size, so each row has its own. Only schedules have lanes.
static const struct clab_algorithm *choose(const struct bench_options *options, struct bench_row *row)
{
    if (!options->lanes && has_native(options, row))
        return &clab_native_algorithm;
    return clab_select(&row->problem, clab_type_bytes(row->type), placement_of(options, row));
}

// The parts of a block that the count must divide into: a file's chunks are of one size.
static size_t parts_of(const struct clab_problem *problem)
{
    const struct clab_listing *listing = problem->listing;
    return clab_listing_is_even(listing) ? (size_t)listing->chunks * (size_t)problem->lanes : 1;
}

static int add_size(const struct bench_options *options, struct bench_row row, size_t bytes, struct bench_plan *plan)
{
    const size_t whole = clab_type_bytes(row.type) * (size_t)clab_problem_blocks(&row.problem);
    const size_t parts = parts_of(&row.problem), fits = bytes / whole / parts * parts, count = fits ? fits : parts;
    if (row.problem.count == count)
        return CLAB_OK;
    row.problem.count = bench_has_data(row.problem.collective) ? count : 0;
    if (row.automatic)
        row.algorithm = choose(options, &row);
    if (options->lanes)
        row.problem.lanes = options->lanes;
    return row.algorithm ? add_row(plan, &row)
                         : add_skip(plan, row.problem.collective, "auto", "no algorithm supports this");
}

static int add_sizes(const struct bench_options *options, struct bench_row row, struct bench_plan *plan)
{
    if (!bench_has_data(row.problem.collective))
        return add_size(options, row, 1, plan);
    for (size_t bytes = options->first; bytes; bytes = next_size(options, bytes)) {
        const int before = plan->nrows;
        CLAB_TRY(add_size(options, row, bytes, plan));
        if (plan->nrows > before)
            row.problem.count = plan->rows[before].problem.count; // so that no size comes twice
    }
    return CLAB_OK;
}

// ---- algorithms ----------------------------------------------------------------------------------------------

static bool is_native(const char *name)
{
    return !strcmp(name, clab_native_algorithm.name);
}

static int add_native(const struct bench_options *options, struct bench_row row, struct bench_plan *plan)
{
    if (!has_native(options, &row))
        return add_skip(plan, row.problem.collective, "native", "the backend has none of its own");
    if (options->lanes)
        return add_skip(plan, row.problem.collective, "native", "it has no lanes");
    row.algorithm = &clab_native_algorithm;
    return add_sizes(options, row, plan);
}

static int add_algorithm(const struct bench_options *options, struct bench_row row, const char *name,
                         struct bench_plan *plan)
{
    if (is_native(name))
        return add_native(options, row, plan);
    row.automatic = !strcmp(name, "auto");
    row.algorithm = row.automatic ? NULL : clab_algorithm_find(row.problem.collective, name);
    if (row.automatic)
        return add_sizes(options, row, plan);
    if (!row.algorithm)
        return add_skip(plan, row.problem.collective, name, "it has no such algorithm");
    row.problem.lanes = options->lanes;
    if (!clab_placement_suits(placement_of(options, &row), row.algorithm, &row.problem))
        return add_skip(plan, row.problem.collective, row.algorithm->name, "not for this number of ranks or lanes");
    return add_sizes(options, row, plan);
}

// The next name of a comma-separated list; false at its end.
static bool take_name(const char **list_p, char name[BENCH_NAME])
{
    size_t length = 0;
    const char *word;
    while ((word = clab_list_next(list_p, &length)) && !length)
        continue;
    if (word)
        snprintf(name, BENCH_NAME, "%.*s", (int)length, word);
    return word != NULL;
}

static int add_algorithms(const struct bench_options *options, struct bench_row row, struct bench_plan *plan)
{
    char name[BENCH_NAME];
    if (row.algorithm) // a file's
        return add_sizes(options, row, plan);
    if (!strcmp(options->algorithms, "all")) {
        if (has_native(options, &row))
            CLAB_TRY(add_native(options, row, plan));
        for (int i = 0; clab_algorithms[i]; i++)
            if (clab_algorithms[i]->collective == row.problem.collective)
                CLAB_TRY(add_algorithm(options, row, clab_algorithms[i]->name, plan));
        return CLAB_OK;
    }
    for (const char *list = options->algorithms; take_name(&list, name);)
        CLAB_TRY(add_algorithm(options, row, name, plan));
    return CLAB_OK;
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int add_roots(const struct bench_options *options, struct bench_row row, struct bench_plan *plan)
{
    const bool all = options->root == BENCH_ALL_ROOTS && clab_collective_rooted(row.problem.collective);
    const int first = all || !clab_collective_rooted(row.problem.collective) ? 0 : options->root;
    const int last = all ? options->nranks - 1 : first;
    if (row.algorithm)
        return add_algorithms(options, row, plan);
    for (row.problem.root = first; row.problem.root <= last; row.problem.root++)
        CLAB_TRY(add_algorithms(options, row, plan));
    return CLAB_OK;
}

static int add_ops(const struct bench_options *options, struct bench_row row, struct bench_plan *plan)
{
    if (!clab_collective_reduces(row.problem.collective))
        return add_roots(options, row, plan);
    for (int op = 0; op < CLAB_OP_COUNT; op++) {
        row.op = (enum clab_op)op;
        if (options->ops[op])
            CLAB_TRY(add_roots(options, row, plan));
    }
    return CLAB_OK;
}

static int add_collective(const struct bench_options *options, enum clab_collective collective, struct bench_plan *plan)
{
    struct bench_row row = {.problem = {.collective = collective, .nranks = options->nranks, .lanes = 1}};
    if (options->listing) {
        row.problem = options->listing->problem;
        row.algorithm = &options->listing->algorithm;
    }
    if (bench_has_data(collective) && !options->placements[BENCH_OUT_OF_PLACE] && !bench_has_in_place(&row.problem))
        return add_skip(plan, collective, row.algorithm ? row.algorithm->name : options->algorithms,
                        "it is not defined in place");
    for (int type = 0; type < CLAB_TYPE_COUNT; type++) {
        row.type = (enum clab_type)type;
        if (options->types[type])
            CLAB_TRY(add_ops(options, row, plan));
        if (options->types[type] && !bench_has_data(collective))
            break; // a barrier has no element type
    }
    return CLAB_OK;
}

// ---- what can not be -----------------------------------------------------------------------------------------

static bool is_known(const struct bench_options *options, const char *name)
{
    bool known = !strcmp(name, "auto") || is_native(name);
    for (int i = 0; i < options->ncollectives; i++)
        known |= clab_algorithm_find(options->collectives[i], name) != NULL;
    return known;
}

// One line: `allreduce has ring tree; broadcast has binomial`.
static void list_algorithms(const struct bench_options *options, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < options->ncollectives && used < room; i++) {
        used += (size_t)snprintf(text + used, room - used, "%s%s has", i ? "; " : "",
                                 clab_collective_name(options->collectives[i]));
        for (int a = 0; clab_algorithms[a] && used < room; a++)
            if (clab_algorithms[a]->collective == options->collectives[i])
                used += (size_t)snprintf(text + used, room - used, " %s", clab_algorithms[a]->name);
    }
}

static int check_names(const struct bench_options *options)
{
    char name[BENCH_NAME], there_are[2048];
    if (!strcmp(options->algorithms, "all"))
        return CLAB_OK;
    for (const char *list = options->algorithms; take_name(&list, name);)
        if (!is_known(options, name)) {
            struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
            for (int i = 0; i < options->ncollectives; i++)
                clab_algorithm_offer(options->collectives[i], &nearest);
            list_algorithms(options, there_are, sizeof there_are);
            clab_error("--algo: there is no algorithm '%s'%s; there are auto, all, native, and: %s", name,
                       clab_nearest_hint(&nearest), there_are);
            return CLAB_ENOENT;
        }
    return CLAB_OK;
}

static int check_memory(const struct bench_options *options, const struct bench_plan *plan)
{
    const double needed = (double)plan->buffers * (double)options->nranks * (double)plan->buffer_bytes;
    const double available = (double)clab_machine_available_bytes();
    if (available == 0 || needed <= available)
        return CLAB_OK;
    char each[CLAB_TEXT], all[CLAB_TEXT], have[CLAB_TEXT];
    clab_error("-e: %d ranks with %s of %s need %s, and %s of memory are available: choose smaller sizes", options->nranks,
               plan->buffers > 1 ? "two buffers" : "a buffer", clab_size_text(plan->buffer_bytes, each),
               clab_size_text((size_t)fmin(needed, 0x1p63), all), clab_size_text((size_t)available, have));
    return CLAB_EINVAL;
}

static int check_rows(const struct bench_plan *plan)
{
    const struct bench_skip *first = plan->skips;
    if (plan->nrows)
        return CLAB_OK;
    if (first)
        clab_error("nothing is left to measure: %s %s: %s", clab_collective_name(first->collective), first->algorithm,
                   first->reason);
    else
        clab_error("--algo names no algorithm: auto, all, or names with commas between them");
    return CLAB_EINVAL;
}

int bench_plan_make(const struct bench_options *options, struct bench_plan *plan_p)
{
    struct bench_plan plan = {.buffers = options->placements[BENCH_OUT_OF_PLACE] ? 2 : 1};
    int err = check_names(options);
    for (int i = 0; i < options->ncollectives && err == CLAB_OK; i++)
        err = add_collective(options, options->collectives[i], &plan);
    if (err == CLAB_OK)
        err = check_rows(&plan);
    if (err == CLAB_OK)
        err = check_memory(options, &plan);
    if (err == CLAB_OK)
        *plan_p = plan;
    else
        bench_plan_free(&plan);
    return err;
}

void bench_plan_free(struct bench_plan *plan)
{
    free(plan->rows);
    free(plan->skips);
    *plan = (struct bench_plan){0};
}
