// SPDX-License-Identifier: MIT
// Reads what commlab wrote: CSV by RFC 4180 with a manifest of # lines before it.

#include "cmd/report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/input.h"
#include "core/base/log.h"

enum { MOST_COLUMNS = 64, MOST_REMARKS = 512 };

// A cell that begins at `in`, in place. Where the next one begins; NULL: it was the last.
//   *is_open_p: its quotes were not closed
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
    *out = 0;
    *is_open_p = quoted;
    return next;
}

// A line's cells, taken apart in place. Quoted cells may hold commas and doubled quotes, and end within their line.
// What is wrong with it, or NULL.
static const char *split(char *line, char *cells[MOST_COLUMNS], int *n_p)
{
    bool is_open = false;
    int n = 0;
    for (char *in = line; in && !is_open; n++) {
        if (n == MOST_COLUMNS)
            return "more than 64 cells";
        cells[n] = in;
        in = take_cell(in, &is_open);
    }
    *n_p = n;
    return is_open ? "a quoted cell that does not end on its line" : NULL;
}

static int add_row(struct report_data *data, char *line, const char *path, int number)
{
    char *cells[MOST_COLUMNS];
    int n;
    const char *wrong = split(line, cells, &n);
    if (wrong) {
        clab_error("%s:%d: %s", path, number, wrong);
        return CLAB_EPARSE;
    }
    if (data->ncolumns && n != data->ncolumns) {
        clab_error("%s:%d: %d cells, but the file has %d columns", path, number, n, data->ncolumns);
        return CLAB_EPARSE;
    }
    const int rows = data->ncolumns ? data->nrows + 2 : 1;
    char **all = realloc(data->cells, (size_t)rows * (size_t)n * sizeof *all);
    if (!all)
        return CLAB_ENOMEM;
    memset(all + (rows - 1) * n, 0, (size_t)n * sizeof *all);
    data->cells = all;
    data->ncolumns = n;
    data->nrows = rows - 1;
    for (int i = 0; i < n; i++)
        if (!(all[(rows - 1) * n + i] = strdup(cells[i])))
            return CLAB_ENOMEM;
    return CLAB_OK;
}

static int add_line(struct report_data *data, char *line, const char *path, int number)
{
    if (!*line)
        return CLAB_OK;
    if (*line != '#')
        return add_row(data, line, path, number);
    char *colon = strstr(line, ": ");
    if (!colon)
        return CLAB_OK; // a remark
    *colon = 0;
    return clab_manifest_add(&data->manifest, line + 1 + strspn(line + 1, " "), "%s", colon + 2);
}

// The line without its end. False: there is a zero byte in it.
static bool trim(char *line, size_t bytes)
{
    if (strlen(line) != bytes)
        return false;
    if (bytes && line[bytes - 1] == '\n')
        line[--bytes] = 0;
    if (bytes && line[bytes - 1] == '\r')
        line[--bytes] = 0;
    return true;
}

// A line that repeats a key is joined to the earlier ones, which takes longer each time.
static bool has_too_many_remarks(const char *line, const char *path, int number, int *remarks)
{
    if (*line != '#' || ++*remarks <= MOST_REMARKS)
        return false;
    clab_error("%s:%d: more than %d lines of remarks: no table of commlab has so many", path, number, MOST_REMARKS);
    return true;
}

// Behind the mark (U+FEFF) that spreadsheets put before UTF-8, if there is one.
static void skip_mark(FILE *file)
{
    char mark[3];
    if (fread(mark, 1, sizeof mark, file) != sizeof mark || memcmp(mark, "\xef\xbb\xbf", sizeof mark) != 0)
        rewind(file);
}

int report_data_read(FILE *file, const char *path, struct report_data *data_p)
{
    struct report_data data = {0};
    char *line = NULL;
    size_t size = 0;
    int err = CLAB_OK, remarks = 0;
    ssize_t bytes;
    skip_mark(file);
    for (int number = 1; !err && (bytes = getline(&line, &size, file)) > 0; number++)
        if (has_too_many_remarks(line, path, number, &remarks)) {
            err = CLAB_EPARSE;
        } else if (trim(line, (size_t)bytes)) {
            err = add_line(&data, line, path, number);
        } else {
            clab_error("%s:%d: a zero byte: this is no text", path, number);
            err = CLAB_EPARSE;
        }
    free(line);
    if (!err && !data.ncolumns) {
        clab_error("%s: no column names", path);
        err = CLAB_EPARSE;
    }
    if (err)
        report_data_free(&data);
    else
        *data_p = data;
    return err;
}

int report_data_load(const char *path, struct report_data *data_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TABLE, &input));
    const int err = report_data_read(input.file, path, data_p);
    clab_input_close(&input);
    return err;
}

void report_data_free(struct report_data *data)
{
    for (int i = 0; i < (data->nrows + 1) * data->ncolumns; i++)
        free(data->cells[i]);
    free(data->cells);
    clab_manifest_free(&data->manifest);
    memset(data, 0, sizeof *data);
}

const char *report_data_cell(const struct report_data *data, int row, const char *name)
{
    for (int i = 0; i < data->ncolumns; i++)
        if (row < data->nrows && !strcmp(data->cells[i], name))
            return data->cells[(row + 1) * data->ncolumns + i];
    return "";
}
