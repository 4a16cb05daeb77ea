// SPDX-License-Identifier: MIT
// Rows of results, printed as an aligned text table, as CSV and as JSON.
// - A column has a name for files and a layout for the screen. A cell holds text, an integer, a real, or nothing.
// - A value that was not measured is a cell of nothing: "-" on the screen, empty in CSV, null in JSON. So is a real
//   that is not finite.
// - A bench prints while it runs: clab_table_print_header once, then clab_table_print_row after each row.
// - Files are written whole or not at all (output.h), with the manifest first. JSON needs jansson (json.h).
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "core/base/files/cell.h"
#include "core/base/files/manifest.h"

struct clab_column {
    const char *name;    // in CSV and JSON: "usec_low"
    const char *heading; // on the screen; NULL: the name
    const char *unit;    // on the screen in brackets below the heading: "us"; NULL: none
    enum clab_kind kind; // of its cells; a cell of nothing fits every column
    int width;           // on the screen, at least; negative aligns left; 0: in files only
    int digits;          // of a real on the screen, after the point
    const char *group;   // on the screen, above adjacent columns of the same group ("out-of-place"); NULL: none
};

// Of a file: of texts (kind: TEXT), of whole numbers (INTEGER) or of others (REAL).
#define CLAB_COLUMN(of, title) {.name = (title), .kind = CLAB_KIND_##of}

struct clab_table {
    const struct clab_column *columns; // the caller's, kept; usually a static const array
    int ncolumns;
    struct clab_cell *cells; // (nrows, ncolumns), then the cells of the row that is being filled
    size_t ncells, room;
};

// An empty table; `columns` must outlive it. ncolumns >= 1
void clab_table_init(struct clab_table *table, const struct clab_column *columns, int ncolumns);
void clab_table_free(struct clab_table *table);

// Append one cell; the row is complete with its last column. Text is copied.
//   errors: CLAB_EINVAL (not the column's kind), CLAB_ENOMEM
int clab_table_add(struct clab_table *table, struct clab_cell cell);

// Append a row of ncolumns cells, all or nothing.
//   errors: CLAB_EINVAL (not a column's kind, or the last row is incomplete), CLAB_ENOMEM
int clab_table_add_row(struct clab_table *table, const struct clab_cell *cells);

// Complete rows.
int clab_table_rows(const struct clab_table *table);

// The cell of a complete row. 0 <= row < rows, 0 <= column < ncolumns
struct clab_cell clab_table_cell(const struct clab_table *table, int row, int column);

// To the screen: headings (lines that begin with #), one row, or all.
void clab_table_print_header(const struct clab_table *table, FILE *out);
void clab_table_print_row(const struct clab_table *table, int row, FILE *out);
void clab_table_print(const struct clab_table *table, FILE *out);

// `# key: value` lines of the manifest (NULL: none), the column names, the rows; quoted as RFC 4180 says. A row is
// one line: line breaks in a text become spaces.
//   errors: CLAB_EIO, CLAB_ENOMEM; `path` is then as it was
int clab_table_write_csv(const struct clab_table *table, const struct clab_manifest *manifest, const char *path);
// The same to a file that is open; what goes wrong is for ferror to tell.
void clab_table_print_csv(const struct clab_table *table, const struct clab_manifest *manifest, FILE *out);

// {"manifest": {"key": "value", ...}, "rows": [{"name": cell, ...}, ...]}
//   errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_EIO, CLAB_ENOMEM; `path` is then as it was
int clab_table_write_json(const struct clab_table *table, const struct clab_manifest *manifest, const char *path);

// Write CSV to `csv` and JSON to `json`, where these are not NULL.  errors: those of the two above
int clab_table_write(const struct clab_table *table, const struct clab_manifest *manifest, const char *csv,
                     const char *json);
