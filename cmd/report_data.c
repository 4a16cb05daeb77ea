// SPDX-License-Identifier: MIT
// Reads what commlab wrote: CSV by RFC 4180 with a manifest of # lines before it.

#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"

// A line's cells, taken apart in place. Quoted cells may hold commas and doubled quotes, and end within their line.
static int split(char *line, char **cells, int room)
{
    int n = 0;
    for (char *in = line; in && n < room; n++) {
        char *out = cells[n] = in;
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
        in = next;
    }
    return n;
}

static int add_row(struct report_data *data, char *line, const char *path, int number)
{
    char *cells[64];
    const int n = split(line, cells, 64);
    if (data->ncolumns && n != data->ncolumns) {
        clab_error("%s:%d: %d cells, but the file has %d columns", path, number, n, data->ncolumns);
        return CLAB_EPARSE;
    }
    const int rows = data->ncolumns ? data->nrows + 2 : 1;
    char **all = realloc(data->cells, (size_t)rows * (size_t)n * sizeof *all);
    if (!all)
        return CLAB_ENOMEM;
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
    line[strcspn(line, "\r\n")] = 0;
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

int report_data_read(const char *path, struct report_data *data_p)
{
    struct report_data data = {0};
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        clab_error("%s: %s", path, strerror(errno));
        return CLAB_ENOENT;
    }
    int err = CLAB_OK;
    for (int number = 1; !err && getline(&line, &size, file) > 0; number++)
        err = add_line(&data, line, path, number);
    free(line);
    fclose(file);
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
