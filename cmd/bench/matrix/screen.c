// SPDX-License-Identifier: MIT
// What a matrix shows: the plan, a line per cell, and how long it will still take.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "cmd/kit/kit.h"
#include "cmd/kit/progress.h"
#include "core/base/machine/called.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

enum { TEXT = 64, CELL = 128 };

// ---- the plan --------------------------------------------------------------------------------------------------

static bool is_out(const struct matrix_cell *cell)
{
    return cell->status == MATRIX_SKIPPED || cell->status == MATRIX_FAILED;
}

// Cells that can not be measured, for one reason on one line.
static void print_skips(const struct matrix *matrix)
{
    char text[CELL], more[TEXT] = "";
    for (int i = 0; i < matrix->ncells; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        int same = 0, before = 0;
        for (int j = 0; j < matrix->ncells && is_out(cell); j++)
            if (is_out(&matrix->cells[j]) && !strcmp(matrix->cells[j].reason, cell->reason)) {
                same++;
                before += j < i;
            }
        if (!is_out(cell) || before)
            continue;
        snprintf(more, sizeof more, same > 1 ? ", and %d more cells" : "", same - 1);
        printf("# %s: %s%s: %s\n", matrix_status_name(cell->status), matrix_cell_text(cell, text, sizeof text), more,
               cell->reason);
    }
}

static void print_late(const struct matrix *matrix)
{
    char text[CELL], need[TEXT];
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].status == MATRIX_WAITING && matrix->cells[i].is_late && matrix->cells[i].call > 0)
            printf("# no time: %s: even %d calls take about %s; they are made if other cells end sooner\n",
                   matrix_cell_text(&matrix->cells[i], text, sizeof text), MATRIX_FEWEST,
                   clab_minutes_text(matrix_estimate_least(matrix, &matrix->cells[i]), need));
}

static void print_files(const struct matrix *matrix)
{
    for (int i = 0; i < matrix->nfiles; i++) {
        const char *samples = strrchr(matrix->files[i].samples, '/');
        printf("# file: %s, samples of each rank in %s\n", kit_relative(matrix->files[i].path),
               samples ? samples + 1 : matrix->files[i].samples);
    }
}

static void print_time(const struct matrix *matrix, double seconds)
{
    char estimated[TEXT], budget[TEXT];
    int few = 0, least = matrix->options.iterations, most = 0;
    for (int i = 0; i < matrix->ncells; i++) {
        const struct matrix_cell *cell = &matrix->cells[i];
        if (cell->status != MATRIX_WAITING || cell->is_late || cell->iterations >= matrix->options.iterations)
            continue;
        few++;
        least = cell->iterations < least ? cell->iterations : least;
        most = cell->iterations > most ? cell->iterations : most;
    }
    printf("# time: about %s, of a budget of %s", clab_minutes_text(seconds, estimated),
           clab_minutes_text(matrix->options.budget, budget));
    if (few)
        printf("; to keep it, %d cell%s time%s %d to %d calls instead of %d", few, few > 1 ? "s" : "",
               few > 1 ? "" : "s", least, most, matrix->options.iterations);
    printf("\n");
}

static void print_names(const struct matrix *matrix)
{
    const struct matrix_options *o = &matrix->options;
    const char *between = "";
    char size[TEXT];
    printf("# ");
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (o->collectives[c]) {
            printf("%s%s", between, clab_collective_name((enum clab_collective)c));
            between = ", ";
        }
    between = " over ";
    for (int b = 0; b < MATRIX_BACKENDS; b++)
        if (o->backends[b]) {
            printf("%s%s", between, matrix_backends[b].name);
            between = ", ";
        }
    for (int i = 0; i < o->nranks; i++)
        printf("%s%d", i ? ", " : "; ", o->ranks[i]);
    for (int i = 0; i < o->nsizes; i++)
        printf("%s%s", i ? ", " : " ranks; ", clab_size_text(o->sizes[i], size));
    printf(" (1 MB = 1,000,000 B)\n# each cell: calls to warm up: %d, timed: %d; float, in place where there is that; "
           "results checked; seed %llu\n", o->warmup, o->iterations, (unsigned long long)matrix->files[0].seed);
    if (o->emulate)
        printf("# messages are delayed as on %s\n", o->emulate);
}

static int count(const struct matrix *matrix, bool is_crowded)
{
    int n = 0;
    for (int i = 0; i < matrix->ncells; i++)
        n += is_crowded ? matrix->cells[i].oversubscribed && matrix->cells[i].status == MATRIX_WAITING
                        : matrix->cells[i].kept;
    return n;
}

static const struct clab_column columns[] = {
    {"backend", "backend", NULL, CLAB_KIND_TEXT, -7, 0, NULL},
    {"ranks", "ranks", NULL, CLAB_KIND_TEXT, 5, 0, NULL},
    {"size", "size", NULL, CLAB_KIND_TEXT, 8, 0, NULL},
    {"collective", "collective", NULL, CLAB_KIND_TEXT, -14, 0, NULL},
    {"usec", "time", "us", CLAB_KIND_TEXT, 11, 0, NULL},
    {"interval", "+-", "%", CLAB_KIND_TEXT, 5, 0, NULL},
    {"algbw", "algbw", "GB/s", CLAB_KIND_TEXT, 7, 0, NULL},
    {"busbw", "busbw", "GB/s", CLAB_KIND_TEXT, 7, 0, NULL},
    {"wrong", "#wrong", NULL, CLAB_KIND_TEXT, 6, 0, NULL},
    {"sim", "sim", "us", CLAB_KIND_TEXT, 11, 0, NULL},
    {"calls", "calls", NULL, CLAB_KIND_TEXT, 5, 0, NULL},
    {"status", "status", NULL, CLAB_KIND_TEXT, -8, 0, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

void matrix_screen_plan(const struct matrix *matrix, double seconds)
{
    struct clab_table table;
    const int kept = count(matrix, false), crowded = count(matrix, true);
    printf("# %d cell%s", matrix->ncells, matrix->ncells == 1 ? "" : "s");
    if (kept)
        printf(", of which an earlier run measured %d", kept);
    printf("; machine: %s%s\n", matrix->machine_text, matrix->hardware.is_wsl2 ? ", WSL2" : "");
    print_names(matrix);
    print_time(matrix, seconds);
    if (crowded)
        printf("# *: in %d cell%s more ranks than the %d cores share them; sim: if each rank had one\n", crowded,
               crowded > 1 ? "s" : "", matrix->hardware.cores);
    if (matrix->options.port)
        printf("# --master-port %d is not needed: ranks of one host meet in shared memory\n", matrix->options.port);
    print_files(matrix);
    print_skips(matrix);
    print_late(matrix);
    clab_table_init(&table, columns, COLUMNS);
    if (matrix_count(matrix, MATRIX_WAITING) && !matrix->options.plan_only)
        clab_table_print_header(&table, stdout);
    clab_table_free(&table);
    fflush(stdout);
}

// ---- a cell ----------------------------------------------------------------------------------------------------

static const char *value(const struct matrix_cell *cell, const char *name)
{
    int n;
    const struct clab_column *all = matrix_columns(&n);
    for (int c = 0; cell->values && c < n; c++)
        if (!strcmp(all[c].name, name))
            return cell->values[c];
    return "";
}

static struct clab_cell number(const char *text, char out[TEXT])
{
    const double v = atof(text);
    if (!*text)
        return clab_cell_none();
    snprintf(out, TEXT, "%.*f", v < 10 ? 3 : v < 100 ? 2 : v < 1000 ? 1 : 0, v);
    return clab_cell_text(out);
}

void matrix_screen_cell(const struct matrix_cell *cell)
{
    struct clab_table table;
    char text[COLUMNS][TEXT], width[TEXT] = "";
    const double usec = atof(value(cell, "usec"));
    if (usec > 0)
        snprintf(width, sizeof width, "%g", 50 * (atof(value(cell, "usec_high")) - atof(value(cell, "usec_low"))) / usec);
    snprintf(text[1], TEXT, "%d%s", cell->row.problem.nranks, cell->oversubscribed ? "*" : " ");
    const struct clab_cell cells[COLUMNS] = {
        clab_cell_text(matrix_backends[cell->backend].name),
        clab_cell_text(text[1]),
        clab_cell_text(clab_size_text(bench_bytes(&cell->row), text[2])),
        clab_cell_text(clab_collective_name(cell->row.problem.collective)),
        number(value(cell, "usec"), text[4]),
        number(width, text[5]),
        number(value(cell, "algbw_GBps"), text[6]),
        number(value(cell, "busbw_GBps"), text[7]),
        *value(cell, "wrong") ? clab_cell_text(value(cell, "wrong")) : clab_cell_none(),
        number(value(cell, "sim_usec"), text[9]),
        *value(cell, "num_iters") ? clab_cell_text(value(cell, "num_iters")) : clab_cell_none(),
        clab_cell_text(matrix_status_name(cell->status)),
    };
    kit_progress_clear();
    clab_table_init(&table, columns, COLUMNS);
    if (clab_table_add_row(&table, cells) == 0)
        clab_table_print_row(&table, 0, stdout);
    clab_table_free(&table);
    if (cell->status == MATRIX_FAILED || cell->status == MATRIX_SKIPPED)
        printf("#   %s: %s\n", matrix_status_name(cell->status), cell->reason);
    fflush(stdout);
}

void matrix_screen_progress(const struct matrix *matrix, const struct matrix_cell *cell)
{
    char text[CELL], left[TEXT];
    double seconds = 0;
    int done = 1;
    for (int i = 0; i < matrix->ncells; i++) {
        const bool due = matrix->cells[i].status == MATRIX_WAITING && !matrix->cells[i].is_late;
        seconds += due ? matrix_estimate_cell(&matrix->cells[i]) : 0;
        done += matrix->cells[i].status != MATRIX_WAITING;
    }
    matrix_cell_text(cell, text, sizeof text);
    clab_minutes_text(fmin(seconds, matrix_time_left(matrix)), left);
    if (isatty(STDERR_FILENO))
        kit_progress("%d of %d: %s; about %s left", done, matrix->ncells, text, left);
    else
        fprintf(stderr, "commlab bench: %d of %d: %s; about %s left\n", done, matrix->ncells, text, left);
}

void matrix_screen_end(const struct matrix *matrix)
{
    const int noisy = matrix_count(matrix, MATRIX_NOISY), measured = matrix_count(matrix, MATRIX_OK) + noisy;
    const int failed = matrix_count(matrix, MATRIX_FAILED), skipped = matrix_count(matrix, MATRIX_SKIPPED);
    char spent[TEXT];
    kit_progress_clear();
    printf("%d of %d cells are measured", measured, matrix->ncells);
    if (noisy)
        printf(" (%d noisy: wider than +-5 %%, or of too few calls)", noisy);
    if (failed)
        printf(", %d failed", failed);
    if (skipped)
        printf(", %d skipped", skipped);
    printf(", in %s", clab_minutes_text(matrix->options.budget - matrix_time_left(matrix), spent));
    printf("\n");
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].is_late) {
            printf("Some cells did not fit the budget. Run the same command again to measure them.\n");
            break;
        }
    if (measured)
        clab_say("draw and judge them: ./commlab report\n");
}
