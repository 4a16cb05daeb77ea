// SPDX-License-Identifier: MIT
// Prices of the sweep. Threads first take the cells, one after another, then the lines, whose crossovers they search.
//
// - The best algorithm is the first within one part in a million of the fastest, so that equals do not alternate.
// - Halving finds the crossover between two sizes of the grid. If a third algorithm wins there, both halves are
//   searched.

#include "cmd/sim/sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/machine/machine.h"
#include "core/base/vector.h"
#include "core/comm/comm.h"
#include "sim/engine/engine.h"
#include "sim/engine/in_network.h"

enum { MOST_THREADS = 64, MOST_DEPTH = 4 };
#define QUICK_MESSAGES 2e5 // a step of a search simulates no more
#define EQUAL          1e-6

size_t sweep_bytes(const struct sweep *sweep, const struct sweep_line *line, size_t count)
{
    const struct clab_problem problem = {.collective = line->collective, .nranks = line->nranks};
    return count * clab_type_bytes(sweep->type) * (size_t)clab_problem_blocks(&problem);
}

// ---- one answer ----------------------------------------------------------------------------------------------

static struct clab_problem problem_of(const struct sweep_line *line, const struct clab_algorithm *algorithm,
                                      size_t count)
{
    return (struct clab_problem){.collective = line->collective,
                                 .nranks = line->nranks,
                                 .lanes = algorithm ? algorithm->default_lanes : 1,
                                 .group = clab_net_group(line->net, line->nranks),
                                 .count = count};
}

static struct clab_sim_options options_of(const struct sweep *sweep)
{
    return (struct clab_sim_options){.element_bytes = clab_type_bytes(sweep->type)};
}

// How many messages the engine simulates: few where ranks are alike.
static double messages_of(const struct sweep *sweep, const struct sweep_line *line,
                          const struct clab_algorithm *algorithm, size_t count)
{
    int period;
    char why[CLAB_SIM_WHY];
    const struct clab_problem problem = problem_of(line, algorithm, count);
    const struct clab_sim_options options = options_of(sweep);
    if (clab_engine_folds(&problem, algorithm, line->net, &options, &period, why))
        return (double)algorithm->cost(&problem).rounds * period;
    return clab_engine_messages(&problem, algorithm, 1);
}

// Price an entry at `count`; NaN seconds and *messages_p if that would simulate more than `at_most` messages.
static int price(const struct sweep *sweep, const struct sweep_line *line, int entry, size_t count, double at_most,
                 struct clab_sim_result *result_p, double *messages_p)
{
    const struct clab_algorithm *algorithm = line->entries[entry].algorithm;
    const struct clab_problem problem = problem_of(line, algorithm, count);
    const struct clab_sim_options options = options_of(sweep);
    if (!algorithm)
        return clab_sim_in_network(&problem, line->net, options.element_bytes, result_p);
    *messages_p = messages_of(sweep, line, algorithm, count);
    result_p->seconds = NAN;
    if (*messages_p > at_most)
        return CLAB_OK;
    return clab_sim_run(&problem, algorithm, line->net, &options, result_p);
}

// ---- one size ------------------------------------------------------------------------------------------------

static int first_of_fastest(const struct sweep_line *line, const struct sweep_cell *cell, int but)
{
    double least = INFINITY;
    for (int i = 0; i < line->nentries; i++)
        if (i != but && cell->results[i].seconds < least)
            least = cell->results[i].seconds;
    for (int i = 0; i < line->nentries; i++)
        if (i != but && cell->results[i].seconds <= least * (1 + EQUAL))
            return i;
    return SWEEP_NOBODY;
}

// The library's choice, which need not be among the entries.
static int price_choice(const struct sweep *sweep, const struct sweep_line *line, struct sweep_cell *cell)
{
    struct clab_problem problem = problem_of(line, NULL, cell->count);
    const struct clab_sim_options options = options_of(sweep);
    const struct clab_algorithm *choice = clab_select(&problem, options.element_bytes, (struct clab_placement){0});
    struct clab_sim_result result;
    cell->chosen_seconds = NAN;
    cell->chosen_name = choice ? choice->name : NULL;
    for (int i = 0; i < line->nentries && choice; i++)
        if (line->entries[i].algorithm == choice && problem.lanes == choice->default_lanes) {
            cell->chosen_seconds = cell->results[i].seconds;
            return CLAB_OK;
        }
    if (!choice || messages_of(sweep, line, choice, cell->count) > sweep->messages_at_most)
        return CLAB_OK;
    CLAB_TRY(clab_sim_run(&problem, choice, line->net, &options, &result));
    cell->chosen_seconds = result.seconds;
    return CLAB_OK;
}

static int price_cell(const struct sweep *sweep, const struct sweep_line *line, struct sweep_cell *cell)
{
    for (int i = 0; i < line->nentries; i++)
        CLAB_TRY(price(sweep, line, i, cell->count, sweep->messages_at_most, &cell->results[i], &cell->messages[i]));
    cell->best = first_of_fastest(line, cell, SWEEP_NOBODY);
    cell->second = first_of_fastest(line, cell, cell->best);
    return price_choice(sweep, line, cell);
}

// ---- crossovers ----------------------------------------------------------------------------------------------

// The number of chunks that all entries' ranks share equally, or as nearly as possible.
static size_t share_of(const struct sweep_line *line, int a, int b)
{
    size_t share = 1;
    for (int i = 0; i < 2; i++) {
        const struct clab_algorithm *algorithm = line->entries[i ? b : a].algorithm;
        const struct clab_problem problem = problem_of(line, algorithm, 1);
        const size_t chunks = algorithm ? (size_t)algorithm->chunks(&problem) * (size_t)problem.lanes : 1;
        share = chunks % share == 0 ? chunks : share % chunks == 0 ? share : share * chunks;
    }
    return share;
}

// Whether `b` beats `a` at `count`; *known_p is false if simulating that would take too long.
static int beats(const struct sweep *sweep, const struct sweep_line *line, int a, int b, size_t count, bool *known_p,
                 bool *beats_p)
{
    struct clab_sim_result results[2];
    double messages;
    CLAB_TRY(price(sweep, line, a, count, QUICK_MESSAGES, &results[0], &messages));
    CLAB_TRY(price(sweep, line, b, count, QUICK_MESSAGES, &results[1], &messages));
    *known_p = !isnan(results[0].seconds) && !isnan(results[1].seconds);
    *beats_p = results[1].seconds * (1 + EQUAL) < results[0].seconds;
    return CLAB_OK;
}

// The least count in (low, high] at which `b` beats `a`. At `low`, `a` wins.
static int find_crossover(const struct sweep *sweep, const struct sweep_line *line, int a, int b, size_t low,
                          size_t high, size_t *count_p)
{
    const size_t share = share_of(line, a, b);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2, shared = middle / share * share;
        bool known, b_wins;
        if (shared > low)
            middle = shared;
        else if (shared + share < high)
            middle = shared + share;
        CLAB_TRY(beats(sweep, line, a, b, middle, &known, &b_wins));
        if (!known)
            break;
        *(b_wins ? &high : &low) = middle;
    }
    *count_p = high;
    return CLAB_OK;
}

static int insert_cell(struct sweep_line *line, int at, const struct sweep_cell *cell)
{
    CLAB_TRY(CLAB_RESERVE(line->cells, line->room, line->ncells + 1));
    memmove(&line->cells[at + 1], &line->cells[at], (size_t)(line->ncells - at) * sizeof *cell);
    line->cells[at] = *cell;
    line->ncells++;
    return CLAB_OK;
}

// Search between cells `at` and at + 1; *added_p: cells added between them.
static int add_crossovers(const struct sweep *sweep, struct sweep_line *line, int at, int depth, int *added_p)
{
    const struct sweep_cell *low = &line->cells[at], *high = &line->cells[at + 1];
    struct sweep_cell cell = {0};
    *added_p = 0;
    if (low->best < 0 || high->best < 0 || low->best == high->best || high->count - low->count <= 1 || !depth)
        return CLAB_OK;
    CLAB_TRY(find_crossover(sweep, line, low->best, high->best, low->count, high->count, &cell.count));
    if (cell.count == high->count)
        return CLAB_OK;
    CLAB_TRY(price_cell(sweep, line, &cell));
    CLAB_TRY(insert_cell(line, at + 1, &cell));
    int before, behind;
    CLAB_TRY(add_crossovers(sweep, line, at, depth - 1, &before));
    CLAB_TRY(add_crossovers(sweep, line, at + 1 + before, depth - 1, &behind));
    *added_p = 1 + before + behind;
    return CLAB_OK;
}

static int add_all_crossovers(const struct sweep *sweep, struct sweep_line *line)
{
    for (int at = 0, added; at + 1 < line->ncells; at += 1 + added)
        CLAB_TRY(add_crossovers(sweep, line, at, MOST_DEPTH, &added));
    return CLAB_OK;
}

// ---- all cores -----------------------------------------------------------------------------------------------

struct work {
    struct sweep *sweep;
    atomic_int next, err;
    bool searches; // for crossovers, else it fills cells
};

// Task `i`: the lines of the most ranks come first, since they take longest.
static int do_task(const struct work *work, int i, bool *is_there_p)
{
    struct sweep *sweep = work->sweep;
    for (int l = sweep->nlines - 1; l >= 0; l--) {
        struct sweep_line *line = &sweep->lines[l];
        const int tasks = work->searches ? 1 : line->ncells;
        if (i < tasks) {
            *is_there_p = true;
            return work->searches ? add_all_crossovers(sweep, line) : price_cell(sweep, line, &line->cells[i]);
        }
        i -= tasks;
    }
    *is_there_p = false;
    return CLAB_OK;
}

static void *take_tasks(void *context)
{
    struct work *work = context;
    for (bool is_there = true; is_there && !atomic_load(&work->err);) {
        const int err = do_task(work, atomic_fetch_add(&work->next, 1), &is_there);
        if (err)
            atomic_store(&work->err, err);
    }
    return NULL;
}

// This thread, and one more per further core where the system allows it.
static int do_all(struct sweep *sweep, bool searches)
{
    pthread_t threads[MOST_THREADS];
    struct work work = {.sweep = sweep, .searches = searches};
    const int cores = clab_machine_cores(NULL);
    int n = 0;
    while (n < cores - 1 && n < MOST_THREADS && pthread_create(&threads[n], NULL, take_tasks, &work) == 0)
        n++;
    take_tasks(&work);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    return atomic_load(&work.err);
}

int sweep_price(struct sweep *sweep)
{
    CLAB_TRY(do_all(sweep, false));
    return do_all(sweep, true);
}
