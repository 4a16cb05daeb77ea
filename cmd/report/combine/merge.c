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
        {.name = "source", .kind = CLAB_KIND_TEXT},        {.name = "line", .kind = CLAB_KIND_INTEGER},
        {.name = "machine", .kind = CLAB_KIND_TEXT},       {.name = "device", .kind = CLAB_KIND_TEXT},
        {.name = "collective", .kind = CLAB_KIND_TEXT},    {.name = "algorithm", .kind = CLAB_KIND_TEXT},
        {.name = "backend", .kind = CLAB_KIND_TEXT},       {.name = "ranks", .kind = CLAB_KIND_INTEGER},
        {.name = "bytes", .kind = CLAB_KIND_INTEGER},      {.name = "count", .kind = CLAB_KIND_INTEGER},
        {.name = "type", .kind = CLAB_KIND_TEXT},          {.name = "op", .kind = CLAB_KIND_TEXT},
        {.name = "root", .kind = CLAB_KIND_INTEGER},       {.name = "inplace", .kind = CLAB_KIND_INTEGER},
        {.name = "mode", .kind = CLAB_KIND_TEXT},          {.name = "usec", .kind = CLAB_KIND_REAL},
        {.name = "usec_low", .kind = CLAB_KIND_REAL},      {.name = "usec_high", .kind = CLAB_KIND_REAL},
        {.name = "algbw_GBps", .kind = CLAB_KIND_REAL},    {.name = "busbw_GBps", .kind = CLAB_KIND_REAL},
        {.name = "wrong", .kind = CLAB_KIND_INTEGER},      {.name = "bytes_sent_per_rank", .kind = CLAB_KIND_INTEGER},
        {.name = "predicted_usec", .kind = CLAB_KIND_REAL}, {.name = "sim_usec", .kind = CLAB_KIND_REAL},
        {.name = "calls", .kind = CLAB_KIND_INTEGER},
        {.name = "num_warmup", .kind = CLAB_KIND_INTEGER}, {.name = "oversubscribed", .kind = CLAB_KIND_INTEGER},
        {.name = "status", .kind = CLAB_KIND_TEXT},        {.name = "reason", .kind = CLAB_KIND_TEXT},
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
