// SPDX-License-Identifier: MIT
// The results of a matrix, a file per backend or one for all.
//
// - Each cell has one row: the columns of bench --csv, then those that tell how it came about.
// - The file is written anew, whole, after each cell. So a kill leaves the rows so far.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/files.h"
#include "cmd/bench/matrix/matrix.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/files/table.h"

// ---- columns ---------------------------------------------------------------------------------------------------

enum { DEVICE, MACHINE, NUM_WARMUP, NUM_ITERS, OVERSUBSCRIBED, SIM_USEC, STATUS, REASON, EXTRA, MOST = 64, NUMBER = 40 };

const struct clab_column *matrix_columns(int *n_p)
{
    static const struct clab_column extra[EXTRA] = {
        [DEVICE] = CLAB_COLUMN(TEXT, "device"),
        [MACHINE] = CLAB_COLUMN(TEXT, "machine"),
        [NUM_WARMUP] = CLAB_COLUMN(INTEGER, "num_warmup"),
        [NUM_ITERS] = CLAB_COLUMN(INTEGER, "num_iters"),
        [OVERSUBSCRIBED] = CLAB_COLUMN(INTEGER, "oversubscribed"),
        [SIM_USEC] = CLAB_COLUMN(REAL, "sim_usec"),
        [STATUS] = CLAB_COLUMN(TEXT, "status"),
        [REASON] = CLAB_COLUMN(TEXT, "reason"),
    };
    static struct clab_column columns[MOST];
    for (int c = 0; c < BENCH_MATRIX_COLUMNS; c++)
        columns[c] = bench_columns[c];
    memcpy(columns + BENCH_MATRIX_COLUMNS, extra, sizeof extra);
    *n_p = BENCH_MATRIX_COLUMNS + EXTRA;
    return columns;
}

// ---- a row -----------------------------------------------------------------------------------------------------

void matrix_file_drop(struct matrix_cell *cell)
{
    int n;
    matrix_columns(&n);
    for (int c = 0; cell->values && c < n; c++)
        free(cell->values[c]);
    free(cell->values);
    cell->values = NULL;
}

// What is known of a cell that was not measured: its place in the matrix.
static const char *planned(const struct matrix_cell *cell, const char *column, char number[NUMBER])
{
    const struct bench_row *row = &cell->row;
    const struct {
        const char *column, *text;
        double value;
    } known[] = {
        {"collective", clab_collective_name(row->problem.collective), 0},
        {"backend", matrix_backends[cell->backend].name, 0},
        {"type", bench_type_name(row), 0},
        {"op", bench_op_name(row), 0},
        {"mode", "throughput", 0},
        {"ranks", NULL, row->problem.nranks},
        {"bytes", NULL, (double)bench_bytes(row)},
        {"count", NULL, (double)row->problem.count},
        {"root", NULL, bench_root(row)},
        {"inplace", NULL, cell->placement == BENCH_IN_PLACE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].column, column)) {
            snprintf(number, NUMBER, "%.0f", known[i].value);
            return known[i].text ? known[i].text : number;
        }
    return "";
}

static const char *extra(const struct matrix *matrix, const struct matrix_cell *cell, int column, char number[NUMBER])
{
    const bool measured = cell->status == MATRIX_OK || cell->status == MATRIX_NOISY;
    double value = NAN;
    switch (column) {
    case DEVICE: return matrix_device_name(matrix_backends[cell->backend].device);
    case MACHINE: return matrix->machine_text;
    case STATUS: return matrix_status_name(cell->status);
    case REASON: return cell->reason;
    case NUM_WARMUP: value = measured ? cell->warmup : NAN; break;
    case NUM_ITERS: value = measured ? cell->iterations : NAN; break;
    case OVERSUBSCRIBED: value = cell->oversubscribed; break;
    case SIM_USEC: value = 1e6 * cell->simulated; break;
    }
    snprintf(number, NUMBER, "%.12g", value);
    return isnan(value) ? "" : number;
}

// What the library and the network were, once known.
static int learn_manifest(struct matrix_file *file, const struct clab_csv *measured)
{
    static const char *const keys[] = {"library", "network"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = clab_manifest_get(&measured->manifest, keys[i]);
        const char *known = clab_manifest_get(&file->manifest, keys[i]);
        if (value && (!known || !strstr(known, value)))
            CLAB_TRY(clab_manifest_add(&file->manifest, keys[i], "%s", value));
    }
    return CLAB_OK;
}

int matrix_file_fill(struct matrix *matrix, struct matrix_cell *cell, const struct clab_csv *measured)
{
    int n;
    char number[NUMBER];
    const struct clab_column *columns = matrix_columns(&n);
    matrix_file_drop(cell);
    cell->values = calloc((size_t)n, sizeof *cell->values);
    for (int c = 0; cell->values && c < n; c++) {
        const char *text = c >= BENCH_MATRIX_COLUMNS ? extra(matrix, cell, c - BENCH_MATRIX_COLUMNS, number)
                           : measured          ? clab_csv_cell(measured, 0, columns[c].name)
                                               : planned(cell, columns[c].name, number);
        if (!(cell->values[c] = strdup(text)))
            return CLAB_ENOMEM;
    }
    if (!cell->values)
        return CLAB_ENOMEM;
    return measured ? learn_manifest(&matrix->files[cell->file], measured) : CLAB_OK;
}

int matrix_file_write(struct matrix *matrix, int file)
{
    struct clab_table table;
    int n, err = CLAB_OK;
    const struct clab_column *columns = matrix_columns(&n);
    clab_table_init(&table, columns, n);
    for (int i = 0; i < matrix->ncells && !err; i++)
        for (int c = 0; c < n && matrix->cells[i].file == file && matrix->cells[i].values && !err; c++)
            err = clab_table_add(&table, bench_cell_read(&columns[c], matrix->cells[i].values[c]));
    if (!err)
        err = clab_table_write_csv(&table, &matrix->files[file].manifest, matrix->files[file].path);
    clab_table_free(&table);
    return err;
}
