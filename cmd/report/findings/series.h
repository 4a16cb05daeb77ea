// SPDX-License-Identifier: MIT
// The series of a figure: what each is called, and the table that is drawn. A series is a backend, a device, a machine, an
// emulated wire, settings and a number of ranks.
#pragma once

#include "cmd/report/combine/rows.h"
#include "core/base/files/table.h"

enum { SERIES_NAME = 80, SERIES_COLUMNS = 10 };

// What tells series apart: the device, the machine, the emulated wire and settings only where several are there.
struct series_names {
    const struct report_rows *rows;
    int source; // of the first
    bool has_devices, has_machines, has_wires, has_settings, has_ranks;
};

// Names for the series of these rows.
struct series_names series_names_of(const struct report_rows *rows, const struct report_row *const list[], int n);
void series_name(const struct series_names *names, const struct report_row *row, char out[SERIES_NAME]);
// The machine, or the letters of all.
void series_machines(const struct series_names *names, char out[300]);

// A figure's table; of a row of several runs `source` and `line` name each, with ; between them.
extern const struct clab_column series_columns[SERIES_COLUMNS];
//   errors: CLAB_ENOMEM
int series_add_row(struct clab_table *table, const struct series_names *names, const struct report_row *row);
