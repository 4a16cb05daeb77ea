// SPDX-License-Identifier: MIT
// A table as comma-separated values (table.h): manifest in # lines, names, rows. Source: RFC 4180.

#include "core/base/table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/output.h"

// Whether a spreadsheet would take the text for a formula, which can run a program when somebody opens the file. Quotes
// around a cell do not prevent that; an apostrophe before it does, and no text of ours begins with one.
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@\t", *text);
}

// A row is one line, and one that begins with # is none.
static void write_text(FILE *out, const char *text)
{
    const bool quoted = *text == '#' || strpbrk(text, ",\"\r\n");
    fputs(quoted ? "\"" : "", out);
    fputs(is_formula(text) ? "'" : "", out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
    }
    if (quoted)
        fputc('"', out);
}

static void write_cell(FILE *out, struct clab_cell cell)
{
    if (cell.kind == CLAB_KIND_TEXT)
        write_text(out, cell.text);
    else if (cell.kind == CLAB_KIND_INTEGER)
        fprintf(out, "%lld", cell.integer);
    else if (cell.kind == CLAB_KIND_REAL && isfinite(cell.real))
        fprintf(out, "%.12g", cell.real);
}

static void write_row(FILE *out, const struct clab_table *table, int row)
{
    for (int i = 0; i < table->ncolumns; i++) {
        if (i > 0)
            fputc(',', out);
        write_cell(out, clab_table_cell(table, row, i));
    }
    fputc('\n', out);
}

// A spreadsheet cuts a line of the manifest into cells at its commas, too.
static void write_entry(FILE *out, const struct clab_manifest_entry *entry)
{
    fprintf(out, "# %s: ", entry->key);
    for (const char *at = entry->value; *at; at++) {
        fputc(*at, out);
        if (*at == ',' && is_formula(at + 1))
            fputc('\'', out);
    }
    fputc('\n', out);
}

void clab_table_print_csv(const struct clab_table *table, const struct clab_manifest *manifest, FILE *out)
{
    for (int i = 0; manifest && i < manifest->count; i++)
        write_entry(out, &manifest->entries[i]);
    for (int i = 0; i < table->ncolumns; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", table->columns[i].name);
    fputc('\n', out);
    for (int row = 0; row < clab_table_rows(table); row++)
        write_row(out, table, row);
}

int clab_table_write_csv(const struct clab_table *table, const struct clab_manifest *manifest, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    clab_table_print_csv(table, manifest, output.file);
    return clab_output_close(&output);
}
