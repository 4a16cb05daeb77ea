// SPDX-License-Identifier: MIT
// Comma-separated values, written (table.h) and read (csv.h): a manifest in # lines, column names, rows.

#include "core/base/files/csv.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/vector.h"

// ---- writing -------------------------------------------------------------------------------------------------

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

// ---- reading -------------------------------------------------------------------------------------------------

enum { MOST_COLUMNS = 64, MOST_REMARKS = 512 };

// What is being read.
struct reader {
    struct clab_csv csv;
    int line, remarks; // `remarks`: lines with # so far
};

#define refuse(r, format, ...) \
    (clab_error("%s:%d: " format, (r)->csv.path, (r)->line, ##__VA_ARGS__), CLAB_EPARSE)

// Take the cell that begins at `in` out of its quotes, in place. Returns where the next begins; NULL after the last.
//   *is_open_p: its quotes do not end on the line
static char *take_cell(char *in, bool *is_open_p)
{
    char *out = in;
    bool quoted = *in == '"';
    for (in += quoted; *in && (quoted || *in != ','); in++) {
        if (quoted && *in == '"' && *++in != '"') {
            quoted = false;
            in--;
            continue;
        }
        *out++ = *in;
    }
    char *next = *in ? in + 1 : NULL;
    *out = '\0';
    *is_open_p = quoted;
    return next;
}

static int take_cells(struct reader *r, char *line)
{
    struct clab_csv *csv = &r->csv;
    bool is_open = false;
    int n = 0;
    for (char *in = line; in && !is_open; n++) {
        if (n == MOST_COLUMNS)
            return refuse(r, "more than %d cells: files of commlab have fewer columns", MOST_COLUMNS);
        CLAB_TRY(CLAB_PUSH(csv->cells, csv->ncells, csv->cell_room, in));
        in = take_cell(in, &is_open);
    }
    if (is_open)
        return refuse(r, "column %d: the quotes of this cell do not end on its line: close them, or double each quote "
                         "that is part of the text", n);
    return CLAB_OK;
}

// A file that a spreadsheet wrote where numbers have a decimal comma, or one of another program.
static int check_names(const struct reader *r, const char *line)
{
    static const struct {
        char sign;
        const char *name;
    } others[] = {{';', "semicolons"}, {'\t', "tabs"}};
    for (size_t i = 0; i < sizeof others / sizeof *others && !strchr(line, ','); i++)
        if (strchr(line, others[i].sign))
            return refuse(r, "%s separate its columns, but commas are expected: save it as comma-separated values",
                          others[i].name);
    return CLAB_OK;
}

static int take_row(struct reader *r, char *line)
{
    struct clab_csv *csv = &r->csv;
    const int before = csv->ncells;
    if (!csv->ncolumns)
        CLAB_TRY(check_names(r, line));
    CLAB_TRY(take_cells(r, line));
    const int n = csv->ncells - before;
    CLAB_TRY(CLAB_PUSH(csv->lines, csv->nlines, csv->line_room, r->line));
    if (csv->ncolumns && n != csv->ncolumns)
        return refuse(r, "%d cell%s, but line %d names %d columns: a text that holds commas needs quotes", n,
                      n == 1 ? "" : "s", csv->lines[0], csv->ncolumns);
    csv->ncolumns = n;
    csv->nrows = csv->nlines - 1;
    return CLAB_OK;
}

// A line that repeats a key is joined to the earlier ones, which takes longer each time: hence a limit.
static int take_remark(struct reader *r, char *line)
{
    char *colon = strstr(line, ": ");
    if (++r->remarks > MOST_REMARKS)
        return refuse(r, "more than %d lines that begin with #: files of commlab have fewer", MOST_REMARKS);
    if (!colon)
        return CLAB_OK;
    *colon = '\0';
    return clab_manifest_add(&r->csv.manifest, line + 1 + strspn(line + 1, " "), "%s", colon + 2);
}

static int take_line(struct reader *r, char *line)
{
    const size_t length = strlen(line);
    if (length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return *line == '#' ? take_remark(r, line) : *line ? take_row(r, line) : CLAB_OK;
}

static int check_text(struct reader *r, const char *text, size_t bytes)
{
    const char *zero = memchr(text, 0, bytes);
    r->line = 1;
    for (const char *at = text; zero && at < zero; at++)
        r->line += *at == '\n';
    return zero ? refuse(r, "a zero byte: this is no text") : CLAB_OK;
}

static int read_text(struct reader *r, char *text, size_t bytes)
{
    static const char mark[] = "\xef\xbb\xbf"; // spreadsheets put it before UTF-8
    CLAB_TRY(check_text(r, text, bytes));
    char *rest = strncmp(text, mark, strlen(mark)) ? text : text + strlen(mark);
    for (char *line; (line = strsep(&rest, "\n")); r->line++)
        CLAB_TRY(take_line(r, line));
    if (r->csv.ncolumns)
        return CLAB_OK;
    clab_error("%s: no column names: a line such as `bytes,usec` comes before the rows", r->csv.path);
    return CLAB_EPARSE;
}

int clab_csv_parse(char *text, size_t bytes, const char *path, struct clab_csv *csv_p)
{
    struct reader r = {.csv = {.path = strdup(path)}};
    const int err = r.csv.path ? read_text(&r, text, bytes) : CLAB_ENOMEM;
    if (err)
        clab_csv_free(&r.csv);
    else
        *csv_p = r.csv;
    return err;
}

int clab_csv_load(const char *path, struct clab_csv *csv_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TABLE, &input));
    const int err = clab_csv_parse(input.text, input.bytes, path, csv_p);
    if (err)
        clab_input_close(&input);
    else
        csv_p->input = input;
    return err;
}

void clab_csv_free(struct clab_csv *csv)
{
    free(csv->cells);
    free(csv->lines);
    free(csv->path);
    clab_manifest_free(&csv->manifest);
    if (csv->input.file)
        clab_input_close(&csv->input);
    *csv = (struct clab_csv){0};
}

// ---- cells ---------------------------------------------------------------------------------------------------

const char *clab_csv_cell(const struct clab_csv *csv, int row, const char *name)
{
    for (int i = 0; i < csv->ncolumns && row < csv->nrows; i++)
        if (!strcmp(csv->cells[i], name))
            return csv->cells[(row + 1) * csv->ncolumns + i];
    return "";
}

double clab_csv_real(const struct clab_csv *csv, int row, const char *name)
{
    const char *text = clab_csv_cell(csv, row, name);
    char *end;
    const double value = strtod(text, &end);
    return *text && !*end ? value : NAN;
}

int clab_csv_refuse(const struct clab_csv *csv, int row, const char *column, const char *format, ...)
{
    char why[512];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    clab_error("%s:%d: %s%s%s%s", csv->path, csv->lines[row + 1], column ? "column `" : "", column ? column : "",
               column ? "`: " : "", why);
    return CLAB_EPARSE;
}
