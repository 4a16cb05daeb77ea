// SPDX-License-Identifier: MIT
// Rows of results, and how the screen shows them (table.h). Files: csv.c, json.c.

#include "core/base/files/table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

// A cell's text is written here; a real of 1e308 with digits fits.
enum { CELL_BYTES = 352 };

void clab_table_init(struct clab_table *table, const struct clab_column *columns, int ncolumns)
{
    *table = (struct clab_table){.columns = columns, .ncolumns = ncolumns};
}

static void free_text(struct clab_cell cell)
{
    if (cell.kind == CLAB_KIND_TEXT)
        free((char *)cell.text); // our copy
}

void clab_table_free(struct clab_table *table)
{
    for (size_t i = 0; i < table->ncells; i++)
        free_text(table->cells[i]);
    free(table->cells);
    clab_table_init(table, table->columns, table->ncolumns);
}

int clab_table_add(struct clab_table *table, struct clab_cell cell)
{
    const struct clab_column *column = &table->columns[table->ncells % (size_t)table->ncolumns];
    if (cell.kind != CLAB_KIND_NONE && cell.kind != column->kind) {
        clab_error("a cell of column `%s` is of the wrong kind", column->name);
        return CLAB_EINVAL;
    }
    if (cell.kind == CLAB_KIND_TEXT)
        cell.text = strdup(cell.text);
    if ((cell.kind != CLAB_KIND_TEXT || cell.text) &&
        CLAB_PUSH(table->cells, table->ncells, table->room, cell) == CLAB_OK)
        return CLAB_OK;
    free_text(cell);
    clab_error("no memory for a cell of column `%s`", column->name);
    return CLAB_ENOMEM;
}

int clab_table_add_row(struct clab_table *table, const struct clab_cell *cells)
{
    size_t start = table->ncells;
    if (start % (size_t)table->ncolumns != 0) {
        clab_error("the row before is incomplete: column `%s` comes next",
                   table->columns[start % (size_t)table->ncolumns].name);
        return CLAB_EINVAL;
    }
    int err = CLAB_OK;
    for (int i = 0; i < table->ncolumns && !err; i++)
        err = clab_table_add(table, cells[i]);
    while (err && table->ncells > start)
        free_text(table->cells[--table->ncells]);
    return err;
}

int clab_table_rows(const struct clab_table *table)
{
    return (int)(table->ncells / (size_t)table->ncolumns);
}

struct clab_cell clab_table_cell(const struct clab_table *table, int row, int column)
{
    return table->cells[(size_t)row * (size_t)table->ncolumns + (size_t)column];
}

// ---- the screen ----------------------------------------------------------------------------------------------

static const char *cell_text(const struct clab_column *column, struct clab_cell cell, char out[CELL_BYTES])
{
    switch (cell.kind) {
    case CLAB_KIND_TEXT:
        return cell.text;
    case CLAB_KIND_INTEGER:
        snprintf(out, CELL_BYTES, "%lld", cell.integer);
        return out;
    case CLAB_KIND_REAL:
        if (!isfinite(cell.real))
            return "-";
        snprintf(out, CELL_BYTES, "%.*f", column->digits, cell.real);
        return out;
    default:
        return "-";
    }
}

// The columns from `first` on that stand under one heading: their number, and the width of all.
static int group_at(const struct clab_table *table, int first, int *width_p)
{
    const char *name = table->columns[first].group;
    int n = 0, width = -1;
    for (int i = first; i < table->ncolumns; i++, n++) {
        const char *other = table->columns[i].group;
        if (n > 0 && (!name || !other || strcmp(name, other) != 0))
            break;
        if (table->columns[i].width != 0)
            width += abs(table->columns[i].width) + 1;
    }
    *width_p = width;
    return n;
}

static bool has_groups(const struct clab_table *table)
{
    for (int i = 0; i < table->ncolumns; i++)
        if (table->columns[i].group)
            return true;
    return false;
}

// `# `, then each group's name in the middle of its columns.
static void print_groups(const struct clab_table *table, FILE *out)
{
    fputc('#', out);
    for (int i = 0, width; i < table->ncolumns; i += group_at(table, i, &width)) {
        group_at(table, i, &width);
        if (width < 0)
            continue;
        const char *name = table->columns[i].group ? table->columns[i].group : "";
        int right = (width - (int)strlen(name)) / 2;
        right = right > 0 ? right : 0;
        fprintf(out, " %*s%*s", width - right, name, right, "");
    }
    fputc('\n', out);
}

static bool has_units(const struct clab_table *table)
{
    for (int i = 0; i < table->ncolumns; i++)
        if (table->columns[i].unit && table->columns[i].width != 0)
            return true;
    return false;
}

static void print_units(const struct clab_table *table, FILE *out)
{
    fputc('#', out);
    for (int i = 0; i < table->ncolumns; i++) {
        const struct clab_column *column = &table->columns[i];
        char unit[64] = "";
        if (column->unit)
            snprintf(unit, sizeof unit, "(%s)", column->unit);
        if (column->width != 0)
            fprintf(out, " %*s", column->width, unit);
    }
    fputc('\n', out);
}

void clab_table_print_header(const struct clab_table *table, FILE *out)
{
    if (has_groups(table))
        print_groups(table, out);
    fputc('#', out);
    for (int i = 0; i < table->ncolumns; i++) {
        const struct clab_column *column = &table->columns[i];
        if (column->width != 0)
            fprintf(out, " %*s", column->width, column->heading ? column->heading : column->name);
    }
    fputc('\n', out);
    if (has_units(table))
        print_units(table, out);
    fflush(out); // as rows are: the first may take long
}

void clab_table_print_row(const struct clab_table *table, int row, FILE *out)
{
    char text[CELL_BYTES];
    fputc(' ', out);
    for (int i = 0; i < table->ncolumns; i++) {
        const struct clab_column *column = &table->columns[i];
        if (column->width != 0)
            fprintf(out, " %*s", column->width, cell_text(column, clab_table_cell(table, row, i), text));
    }
    fputc('\n', out);
    fflush(out); // a long bench is watched through a pipe, too
}

void clab_table_print(const struct clab_table *table, FILE *out)
{
    clab_table_print_header(table, out);
    for (int row = 0; row < clab_table_rows(table); row++)
        clab_table_print_row(table, row, out);
}

int clab_table_write(const struct clab_table *table, const struct clab_manifest *manifest, const char *csv,
                     const char *json)
{
    if (csv)
        CLAB_TRY(clab_table_write_csv(table, manifest, csv));
    return json ? clab_table_write_json(table, manifest, json) : CLAB_OK;
}
