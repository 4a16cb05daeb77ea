// SPDX-License-Identifier: MIT
// The manifest, CSV and JSON of a bench.
#pragma once

#include "core/base/files/manifest.h"
#include "core/base/files/table.h"

struct bench;

// The manifest: what is known before ranks start, then what they measured.  errors: CLAB_ENOMEM
int bench_manifest_make(const struct bench *bench, struct clab_manifest *manifest_p);
int bench_manifest_add_limits(const struct bench *bench, struct clab_manifest *manifest);

// The columns of both files.
extern const struct clab_column bench_columns[];
extern const int bench_ncolumns;
enum { BENCH_MATRIX_COLUMNS = 24 }; // the first of them, which the matrix's files have before their own
// A cell as such a file has it; NULL or "" is nothing.
struct clab_cell bench_cell_read(const struct clab_column *column, const char *text);

// Write the files that the user asked for, with one row per placement.  errors: CLAB_EIO, CLAB_ENOMEM
int bench_files_write(const struct bench *bench, const struct clab_manifest *manifest);
