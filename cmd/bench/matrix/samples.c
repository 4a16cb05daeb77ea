// SPDX-License-Identifier: MIT
// The raw samples of a matrix: FILE_samples.csv, with a row per timed call and rank, in the columns of bench --samples.
//
// - A cell's samples are added before its row is. After a kill there may be samples without a row: they go.
// - Samples are copied as they were written, so that they never change.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"

// ---- lines -----------------------------------------------------------------------------------------------------

// No cell of samples holds a comma or a quote. row: -1 is that of the names
static void print_row(const struct clab_csv *csv, int row, FILE *out)
{
    for (int c = 0; c < csv->ncolumns; c++)
        fprintf(out, "%s%s", c ? "," : "", csv->cells[(row + 1) * csv->ncolumns + c]);
    fputc('\n', out);
}

static void print_head(const struct matrix_file *file, const struct clab_csv *csv, FILE *out)
{
    const char *name = strrchr(file->path, '/');
    fprintf(out, "# samples of: %s\n# plan: %s\n# seed: %llu\n", name ? name + 1 : file->path, file->plan,
            (unsigned long long)file->seed);
    print_row(csv, -1, out);
}

// ---- an earlier run --------------------------------------------------------------------------------------------

// Count the samples of each cell of the file, and forget the cells that lack some.
static int check_cells(struct matrix *matrix, int file, const struct clab_csv *csv)
{
    int *counts = calloc((size_t)matrix->ncells + 1, sizeof *counts);
    for (int row = 0; counts && csv && row < csv->nrows; row++) {
        const struct matrix_cell *cell = matrix_file_cell(matrix, csv, row);
        if (cell)
            counts[cell - matrix->cells]++;
    }
    for (int i = 0; counts && i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        if (cell->file != file || !cell->kept || counts[i] == (long long)cell->iterations * cell->row.problem.nranks)
            continue;
        matrix_file_drop(cell);
        cell->kept = false;
        cell->status = MATRIX_WAITING;
        cell->reason[0] = '\0';
        cell->warmup = matrix->options.warmup;
        cell->iterations = matrix->options.iterations;
    }
    free(counts);
    return counts ? CLAB_OK : CLAB_ENOMEM;
}

static int write_kept(struct matrix *matrix, int file, const struct clab_csv *csv)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(matrix->files[file].samples, &output));
    print_head(&matrix->files[file], csv, output.file);
    for (int row = 0; row < csv->nrows; row++) {
        const struct matrix_cell *cell = matrix_file_cell(matrix, csv, row);
        if (cell && cell->kept)
            print_row(csv, row, output.file);
    }
    return clab_output_close(&output);
}

static int check_ours(const char *path, const struct clab_csv *csv)
{
    if (clab_manifest_get(&csv->manifest, "plan"))
        return CLAB_OK;
    clab_error("%s has no samples of bench --matrix: it has no line `# plan:`; --fresh replaces it, --output FILE.csv "
               "writes elsewhere", path);
    return CLAB_EINVAL;
}

int matrix_samples_open(struct matrix *matrix, int file)
{
    const char *path = matrix->files[file].samples;
    struct matrix_found found = {0};
    if (matrix->options.fresh && !matrix->options.plan_only) {
        CLAB_TRY(clab_output_announce(path));
        unlink(path);
    }
    if (!matrix->options.fresh)
        CLAB_TRY(matrix_load(path, &found));
    if (!found.is_there)
        return check_cells(matrix, file, NULL);
    int err = check_ours(path, &found.csv);
    if (!err && found.is_torn)
        matrix_say_torn(matrix, path);
    if (!err)
        err = check_cells(matrix, file, &found.csv);
    if (!err && !matrix->options.plan_only)
        err = write_kept(matrix, file, &found.csv);
    clab_csv_free(&found.csv);
    return err;
}

// ---- a cell ----------------------------------------------------------------------------------------------------

static int count_kept(const struct clab_csv *csv)
{
    int kept = 0;
    for (int row = 0; row < csv->nrows; row++)
        kept += clab_csv_real(csv, row, "rank") == 0 && clab_csv_real(csv, row, "kept") == 1;
    return kept;
}

int matrix_samples_add(const struct matrix_file *file, const char *path, int *calls_p, int *kept_p)
{
    struct clab_csv csv;
    CLAB_TRY(clab_csv_load(path, &csv));
    FILE *out = fopen(file->samples, "ae");
    if (out && ftell(out) == 0)
        print_head(file, &csv, out);
    for (int row = 0; out && row < csv.nrows; row++)
        print_row(&csv, row, out);
    const bool failed = !out || ferror(out);
    if ((out && fclose(out) != 0) || failed)
        clab_error("%s: can not be written: %m", file->samples);
    *calls_p = csv.nrows ? (int)clab_csv_real(&csv, csv.nrows - 1, "batch") + 1 : 0;
    *kept_p = count_kept(&csv);
    clab_csv_free(&csv);
    return failed ? CLAB_EIO : CLAB_OK;
}
