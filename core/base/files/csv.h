// SPDX-License-Identifier: MIT
// Comma-separated values as commlab's own files have them: `# key: value` lines, a line of column names, rows.
//
// - Quotes as in RFC 4180; a row is one line. A byte order mark, empty lines and carriage returns are passed over.
// - Cells are asked for by row and column name, so columns may come in any order and more may be there.
// - A refusal is one line that names the file, the line and what to do.
// - Tables write such files: clab_table_write_csv (table.h).
// - NCCL's own tables of choices are no such file: their columns are fixed, and NCCL's reader knows no quotes
//   (sim/nccl/rows.h).
//
// Source: RFC 4180.
#pragma once

#include <stddef.h>

#include "core/base/files/input.h"
#include "core/base/files/manifest.h"

struct clab_csv {
    struct clab_manifest manifest;
    char **cells;        // (nrows + 1, ncolumns); row 0 holds the names
    int nrows, ncolumns; // rows without the names
    int *lines;          // (nrows + 1) of the file
    char *path;
    struct clab_input input; // whose text the cells lie in; all zeros: the caller's
    int ncells, cell_room, nlines, line_room;
};

// Read the file `path`. Freed by clab_csv_free.
//   out:    *csv_p, on success only
//   errors: those of clab_input_open, CLAB_EPARSE, CLAB_ENOMEM (logged, but for the last)
int clab_csv_load(const char *path, struct clab_csv *csv_p);

// The same of a text of `bytes` bytes that ends in a 0. It is taken apart in place, and must outlive *csv_p. Messages
// call it `path`.
int clab_csv_parse(char *text, size_t bytes, const char *path, struct clab_csv *csv_p);
void clab_csv_free(struct clab_csv *csv);

// The cell of `row` (from 0) in the column `name`; "" where there is no such row or column.
const char *clab_csv_cell(const struct clab_csv *csv, int row, const char *name);
// The same as a number; NAN where the cell is none.
double clab_csv_real(const struct clab_csv *csv, int row, const char *name);

// Log one line that names the file, the line of `row`, and `column` (NULL: no one column). Returns CLAB_EPARSE.
int clab_csv_refuse(const struct clab_csv *csv, int row, const char *column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
