// SPDX-License-Identifier: MIT
// All rows of all files in one, combined_benchmark.csv (rows.h): the bench's columns, the matrix's, and where each row
// comes from: `source` and `line`, the file; `machine`, whose it is.

#include <string.h>

#include "cmd/report/combine/rows.h"
#include "core/base/files/table.h"

static struct clab_cell count_cell(long long value)
{
    return value < 0 ? clab_cell_none() : clab_cell_integer(value);
}

static int add_row(struct clab_table *table, const struct report_rows *rows, const struct report_row *row)
{
    const struct report_source *source = &rows->sources[row->source];
    const struct clab_cell cells[] = {
        clab_cell_text(source->file),
        clab_cell_integer(row->line),
        clab_cell_text(source->machine),
        clab_cell_text(row->device),
        clab_cell_text(row->collective),
        clab_cell_text(row->algorithm),
        clab_cell_text(row->backend),
        clab_cell_integer(row->ranks),
        clab_cell_integer(row->bytes),
        count_cell(row->count),
        clab_cell_text(row->type),
        clab_cell_text(row->op),
        clab_cell_integer(row->root),
        clab_cell_integer(row->is_in_place),
        clab_cell_text(row->mode),
        clab_cell_real(row->usec),
        clab_cell_real(row->low),
        clab_cell_real(row->high),
        clab_cell_real(row->algbw),
        clab_cell_real(row->busbw),
        count_cell(row->wrong),
        count_cell(row->sent),
        clab_cell_real(row->predicted),
        clab_cell_real(row->simulated),
        count_cell(row->calls),
        count_cell(row->warmup),
        clab_cell_integer(row->is_crowded),
        clab_cell_text(report_status_name(report_row_status(row))),
        clab_cell_text(row->reason),
    };
    return clab_table_add_row(table, cells);
}

const char *report_machine_letter(const struct report_rows *rows, int source)
{
    static const char *const letters[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
                                          "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z"};
    int others = 0; // machines before this one
    for (int i = 0; i < rows->nsources; i++) {
        bool is_new = true;
        for (int k = 0; k < i && is_new; k++)
            is_new = strcmp(rows->sources[i].machine, rows->sources[k].machine) != 0;
        if (!strcmp(rows->sources[i].machine, rows->sources[source].machine))
            break;
        others += is_new;
    }
    return others < 26 ? letters[others] : "?";
}

int report_rows_write(const struct report_rows *rows, const char *path)
{
    static const struct clab_column columns[] = {
        CLAB_COLUMN(TEXT, "source"), CLAB_COLUMN(INTEGER, "line"), CLAB_COLUMN(TEXT, "machine"),
        CLAB_COLUMN(TEXT, "device"), CLAB_COLUMN(TEXT, "collective"), CLAB_COLUMN(TEXT, "algorithm"),
        CLAB_COLUMN(TEXT, "backend"), CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(INTEGER, "bytes"),
        CLAB_COLUMN(INTEGER, "count"), CLAB_COLUMN(TEXT, "type"), CLAB_COLUMN(TEXT, "op"), CLAB_COLUMN(INTEGER, "root"),
        CLAB_COLUMN(INTEGER, "inplace"), CLAB_COLUMN(TEXT, "mode"), CLAB_COLUMN(REAL, "usec"),
        CLAB_COLUMN(REAL, "usec_low"), CLAB_COLUMN(REAL, "usec_high"), CLAB_COLUMN(REAL, "algbw_GBps"),
        CLAB_COLUMN(REAL, "busbw_GBps"), CLAB_COLUMN(INTEGER, "wrong"), CLAB_COLUMN(INTEGER, "bytes_sent_per_rank"),
        CLAB_COLUMN(REAL, "predicted_usec"), CLAB_COLUMN(REAL, "sim_usec"), CLAB_COLUMN(INTEGER, "calls"),
        CLAB_COLUMN(INTEGER, "num_warmup"), CLAB_COLUMN(INTEGER, "oversubscribed"), CLAB_COLUMN(TEXT, "status"),
        CLAB_COLUMN(TEXT, "reason"),
    };
    struct clab_table table;
    struct clab_manifest manifest = {0};
    int err = clab_manifest_add(&manifest, "what", "%d rows of %d files, put together by commlab report", rows->n,
                                rows->nsources);
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; !err && i < rows->n; i++)
        err = add_row(&table, rows, &rows->rows[i]);
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    return err;
}
