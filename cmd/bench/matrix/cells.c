// SPDX-License-Identifier: MIT
// All cells of a matrix, in the order in which they run: by collective, ranks and size, and of these each backend in
// turn, so that what disturbs the machine for a while disturbs all backends.
//
// - Calls are in place where the collective has that, as torch.distributed's are: half of the memory.
// - Sizes that are equal once they divide into ranks and elements are one cell.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/matrix/matrix.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/vector.h"

enum { MOST_CELLS = 10000 };

const struct matrix_backend matrix_backends[MATRIX_BACKENDS] = {
    [MATRIX_GLOO] = {.name = "gloo", .device = MATRIX_CPU, .sockets = true},
    [MATRIX_NCCL] = {.name = "nccl", .device = MATRIX_CUDA, .shm_bytes = (size_t)32 << 20},
    [MATRIX_SHM] = {.name = "shm", .device = MATRIX_CPU},
    [MATRIX_OFI] = {.name = "ofi", .device = MATRIX_CPU, .sockets = true},
    [MATRIX_MPI] = {.name = "mpi", .device = MATRIX_CPU, .scratch = 1, .shm_bytes = (size_t)8 << 20},
    [MATRIX_SIM] = {.name = "sim", .device = MATRIX_CPU, .is_exact = true},
};

const char *matrix_device_name(enum matrix_device device)
{
    return device == MATRIX_CUDA ? "cuda" : "cpu";
}

const char *matrix_status_name(enum matrix_status status)
{
    static const char *const names[] = {"", "ok", "noisy", "failed", "skipped"};
    return names[status];
}

void matrix_cell_skip(struct matrix_cell *cell, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(cell->reason, sizeof cell->reason, format, values);
    va_end(values);
    cell->status = MATRIX_SKIPPED;
}

int matrix_count(const struct matrix *matrix, enum matrix_status status)
{
    int n = 0;
    for (int i = 0; i < matrix->ncells; i++)
        n += matrix->cells[i].status == status;
    return n;
}

const char *matrix_cell_text(const struct matrix_cell *cell, char *text, size_t room)
{
    char size[CLAB_TEXT];
    snprintf(text, room, "%s, %d rank%s, %s, %s", matrix_backends[cell->backend].name, cell->row.problem.nranks,
             cell->row.problem.nranks > 1 ? "s" : "", clab_size_text(bench_bytes(&cell->row), size),
             clab_collective_name(cell->row.problem.collective));
    return text;
}

// ---- making them -----------------------------------------------------------------------------------------------

static struct bench_row row_of(enum clab_collective collective, int nranks, size_t bytes)
{
    struct bench_row row = {
        .problem = {.collective = collective, .nranks = nranks, .lanes = 1}, .type = CLAB_F32, .op = CLAB_SUM};
    const size_t whole = clab_type_bytes(row.type) * (size_t)clab_problem_blocks(&row.problem);
    if (bench_has_data(collective))
        row.problem.count = bytes / whole ? bytes / whole : 1;
    return row;
}

static bool is_there(const struct matrix *matrix, const struct bench_row *row, int backend)
{
    for (int i = 0; i < matrix->ncells; i++) {
        const struct clab_problem *p = &matrix->cells[i].row.problem;
        if (matrix->cells[i].backend == backend && p->collective == row->problem.collective &&
            p->nranks == row->problem.nranks && p->count == row->problem.count)
            return true;
    }
    return false;
}

static int add_cells(struct matrix *matrix, enum clab_collective collective, int nranks, size_t bytes,
                     const int file_of[])
{
    for (int b = 0; b < MATRIX_BACKENDS; b++) {
        struct matrix_cell cell = {
            .row = row_of(collective, nranks, bytes),
            .placement = bench_has_in_place(&(struct clab_problem){.collective = collective}) ? BENCH_IN_PLACE : BENCH_OUT_OF_PLACE,
            .backend = b,
            .file = file_of[b],
            .oversubscribed = nranks > matrix->hardware.cores && !matrix_backends[b].is_exact,
            .simulated = NAN,
            .warmup = matrix->options.warmup,
            .iterations = matrix->options.iterations,
        };
        if (!matrix->options.backends[b] || is_there(matrix, &cell.row, b))
            continue;
        if (matrix->ncells == MOST_CELLS) {
            clab_error("these are more than %d cells: ask for fewer ranks, sizes, backends or collectives", MOST_CELLS);
            return CLAB_EINVAL;
        }
        CLAB_TRY(CLAB_PUSH(matrix->cells, matrix->ncells, matrix->cell_room, cell));
    }
    return CLAB_OK;
}

int matrix_cells_make(struct matrix *matrix)
{
    const struct matrix_options *o = &matrix->options;
    int file_of[MATRIX_BACKENDS] = {0};
    for (int b = 0; b < MATRIX_BACKENDS; b++)
        if (o->backends[b])
            file_of[b] = o->output ? 0 : matrix->nfiles++;
    if (o->output)
        matrix->nfiles = 1;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        for (int n = 0; n < o->nranks && o->collectives[c]; n++)
            for (int s = 0; s < o->nsizes; s++)
                CLAB_TRY(add_cells(matrix, (enum clab_collective)c, o->ranks[n], o->sizes[s], file_of));
    return CLAB_OK;
}
