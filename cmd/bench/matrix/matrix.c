// SPDX-License-Identifier: MIT
// bench --matrix: the order of events (matrix.h).

#include "cmd/bench/matrix/matrix.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/kit/child.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "sim/sim.h"

// The first cell that waits, and for which there is time.
static struct matrix_cell *next_cell(struct matrix *matrix)
{
    for (int i = 0; i < matrix->ncells; i++)
        if (matrix->cells[i].status == MATRIX_WAITING && !matrix->cells[i].is_late)
            return &matrix->cells[i];
    return NULL;
}

static int run_cells(struct matrix *matrix)
{
    struct matrix_cell *cell;
    while ((cell = next_cell(matrix))) {
        matrix_screen_progress(matrix, cell);
        CLAB_TRY(matrix_cell_measure(matrix, cell));
        if (!cell->values)
            CLAB_TRY(matrix_file_fill(matrix, cell, NULL));
        CLAB_TRY(matrix_file_write(matrix, cell->file));
        matrix_screen_cell(cell);
        matrix_estimate_divide(matrix);
    }
    return CLAB_OK;
}

// The rows of all cells that were not measured, with their reasons.
static int write_rest(struct matrix *matrix)
{
    for (int i = 0; i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        if (cell->status == MATRIX_WAITING)
            matrix_cell_skip(cell, "it did not fit the budget of %g s; the same command goes on, and --budget gives more",
                             matrix->options.budget);
        if (!cell->values)
            CLAB_TRY(matrix_file_fill(matrix, cell, NULL));
    }
    for (int i = 0; i < matrix->nfiles; i++)
        CLAB_TRY(matrix_file_write(matrix, i));
    return CLAB_OK;
}

static int measure(struct matrix *matrix)
{
    if (!next_cell(matrix)) {
        matrix_screen_plan(matrix, 0);
        return matrix->options.plan_only ? CLAB_OK : write_rest(matrix);
    }
    CLAB_TRY(matrix_estimate_begin(matrix));
    const double seconds = matrix_estimate_divide(matrix);
    matrix_screen_plan(matrix, seconds);
    if (matrix->options.plan_only)
        return CLAB_OK;
    CLAB_TRY(run_cells(matrix));
    return write_rest(matrix);
}

// ---- before and after ------------------------------------------------------------------------------------------

// --net and --emulate are checked before anything is started.
static int check_net(const struct matrix *matrix)
{
    struct clab_net *net = NULL;
    if (matrix->options.net)
        CLAB_TRY(clab_net_load(matrix->options.net, &net));
    clab_net_free(net);
    net = NULL;
    if (matrix->options.emulate)
        CLAB_TRY(clab_net_load(matrix->options.emulate, &net));
    clab_net_free(net);
    return CLAB_OK;
}

static int read_machine(struct matrix *matrix)
{
    struct clab_manifest m = {0};
    clab_machine_read(&matrix->machine);
    matrix_hardware_read(matrix->options.root, &matrix->hardware);
    const int err = clab_machine_describe_as(&matrix->machine, &m);
    if (!err)
        snprintf(matrix->machine_text, sizeof matrix->machine_text, "%s", clab_manifest_get(&m, "machine"));
    clab_manifest_free(&m);
    return err;
}

static int open_all(struct matrix *matrix)
{
    CLAB_TRY(read_machine(matrix));
    CLAB_TRY(check_net(matrix));
    CLAB_TRY(matrix_cells_make(matrix));
    CLAB_TRY(matrix_files_open(matrix));
    matrix_hardware_fit(matrix);
    return CLAB_OK;
}

static int judge(const struct matrix *matrix)
{
    if (matrix_count(matrix, MATRIX_FAILED))
        return EXIT_FAILURE;
    bool is_late = false;
    for (int i = 0; i < matrix->ncells; i++)
        is_late |= matrix->cells[i].is_late;
    if (matrix->options.plan_only || matrix_count(matrix, MATRIX_SKIPPED) < matrix->ncells)
        return EXIT_SUCCESS;
    return is_late ? EXIT_FAILURE : STATUS_LACKING;
}

static int run(struct matrix *matrix)
{
    int err = open_all(matrix);
    if (!err && matrix->options.plan_only)
        err = child_folder_make(matrix->scratch);
    if (!err)
        err = measure(matrix);
    if (*matrix->scratch)
        child_folder_remove(matrix->scratch);
    if (!err && !matrix->options.plan_only)
        matrix_screen_end(matrix);
    const int status = err ? command_status(err) : judge(matrix);
    matrix_files_close(matrix);
    free(matrix->cells);
    return status;
}

int bench_matrix(int argc, char **argv)
{
    struct matrix matrix = {.lock = -1, .start = clab_now()};
    int n = 0, status;
    for (int i = 0; i < argc; i++) // the flag has done its work
        if (strcmp(argv[i], "--matrix"))
            argv[n++] = argv[i];
    argv[n] = NULL;
    argv[0] = "commlab bench --matrix";
    const int err = matrix_options_parse(n, argv, &matrix.options);
    if (err) {
        matrix_options_free(&matrix.options);
        return command_status(err);
    }
    child_watch();
    status = run(&matrix);
    const int ended_by = child_unwatch();
    matrix_options_free(&matrix.options);
    if (ended_by) {
        fprintf(stderr, "commlab bench: stopped; the same command goes on where this one was\n");
        raise(ended_by);
    }
    return status;
}
