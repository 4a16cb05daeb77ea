// SPDX-License-Identifier: MIT
// The rows of a matrix and their samples, read (rows.h).

#include "labs/homework/h1/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"

static const char *const statuses[] = {
    [H1_OK] = "ok", [H1_NOISY] = "noisy", [H1_FAILED] = "failed", [H1_SKIPPED] = "skipped"};

bool h1_row_is_measured(const struct h1_row *row)
{
    return row->status == H1_OK || row->status == H1_NOISY;
}

const char *h1_row_text(const char *backend, int ranks, size_t bytes, char text[64])
{
    const double size = (double)bytes;
    if (size >= 1e9)
        snprintf(text, 64, "%s, %d ranks, %g GB", backend, ranks, size / 1e9);
    else if (size >= 1e6)
        snprintf(text, 64, "%s, %d ranks, %g MB", backend, ranks, size / 1e6);
    else
        snprintf(text, 64, "%s, %d ranks, %zu B", backend, ranks, bytes);
    return text;
}

const struct h1_row *h1_data_find(const struct h1_data *data, const char *backend, int ranks, size_t bytes)
{
    for (int i = 0; i < data->nrows; i++)
        if (data->rows[i].ranks == ranks && data->rows[i].bytes == bytes && !strcmp(data->rows[i].backend, backend))
            return &data->rows[i];
    return NULL;
}

// ---- tables --------------------------------------------------------------------------------------------------------

// A copy of the text, taken apart.
static int parse(const char *text, size_t bytes, const char *name, char **copy_p, struct clab_csv *csv_p,
                 char why[H1_WHY])
{
    struct clab_log_held held;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return CLAB_ENOMEM;
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    clab_log_hold(&held);
    const int err = clab_csv_parse(copy, bytes, name, csv_p);
    clab_log_release(&held);
    if (err) {
        snprintf(why, H1_WHY, "%.400s", held.text);
        free(copy);
    } else
        *copy_p = copy;
    return err;
}

static bool has_column(const struct clab_csv *csv, const char *name)
{
    for (int c = 0; c < csv->ncolumns; c++)
        if (!strcmp(csv->cells[c], name))
            return true;
    return false;
}

static int need_columns(const struct clab_csv *csv, const char *const names[], const char *file, char why[H1_WHY])
{
    for (int i = 0; names[i]; i++)
        if (!has_column(csv, names[i])) {
            snprintf(why, H1_WHY, "%s has no column '%s': hand in the file as bench --matrix wrote it", file, names[i]);
            return CLAB_EPARSE;
        }
    return CLAB_OK;
}

// A whole number in the cell from 0 to `most`; -1: it is none.
static double whole(const struct clab_csv *csv, int row, const char *column, double most)
{
    const double value = clab_csv_real(csv, row, column);
    return value >= 0 && value <= most && value == floor(value) ? value : -1;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static enum h1_status status_of(const char *text)
{
    for (int i = 0; i < H1_UNKNOWN; i++)
        if (!strcmp(text, statuses[i]))
            return (enum h1_status)i;
    return H1_UNKNOWN;
}

static int read_row(const struct clab_csv *csv, int i, struct h1_row *row_p, char why[H1_WHY])
{
    const double ranks = whole(csv, i, "ranks", 1024), bytes = whole(csv, i, "bytes", 1e12);
    struct h1_row row = {.status = status_of(clab_csv_cell(csv, i, "status")),
                         .reason = clab_csv_cell(csv, i, "reason"),
                         .usec = clab_csv_real(csv, i, "usec"),
                         .low = clab_csv_real(csv, i, "usec_low"),
                         .high = clab_csv_real(csv, i, "usec_high"),
                         .algbw = clab_csv_real(csv, i, "algbw_GBps"),
                         .busbw = clab_csv_real(csv, i, "busbw_GBps"),
                         .wrong = clab_csv_real(csv, i, "wrong"),
                         .sim = clab_csv_real(csv, i, "sim_usec"),
                         .calls = clab_csv_real(csv, i, "num_iters"),
                         .oversubscribed = whole(csv, i, "oversubscribed", 1) == 1,
                         .line = csv->lines[i + 1]};
    if (ranks < 1 || bytes < 0 || row.status == H1_UNKNOWN) {
        snprintf(why, H1_WHY, "matrix.csv:%d: %s", row.line,
                 row.status == H1_UNKNOWN ? "status is none of ok, noisy, failed and skipped"
                                          : "ranks or bytes are no whole number");
        return CLAB_EPARSE;
    }
    row.ranks = (int)ranks;
    row.bytes = (size_t)bytes;
    snprintf(row.backend, sizeof row.backend, "%s", clab_csv_cell(csv, i, "backend"));
    *row_p = row;
    return CLAB_OK;
}

static int read_rows(struct h1_data *data, char why[H1_WHY])
{
    char text[64];
    const struct clab_csv *csv = &data->matrix;
    data->rows = calloc((size_t)csv->nrows + 1, sizeof *data->rows);
    if (!data->rows)
        return CLAB_ENOMEM;
    for (int i = 0; i < csv->nrows && data->nrows < H1_MOST_ROWS; i++) {
        struct h1_row row;
        if (strcmp(clab_csv_cell(csv, i, "collective"), "allreduce"))
            continue;
        CLAB_TRY(read_row(csv, i, &row, why));
        const struct h1_row *other = h1_data_find(data, row.backend, row.ranks, row.bytes);
        if (other) {
            snprintf(why, H1_WHY, "matrix.csv:%d: %s is in line %d already: a cell has one row", row.line,
                     h1_row_text(row.backend, row.ranks, row.bytes, text), other->line);
            return CLAB_EPARSE;
        }
        data->rows[data->nrows++] = row;
    }
    return CLAB_OK;
}

// ---- samples -------------------------------------------------------------------------------------------------------

// The measured row that a line of the samples belongs to.
static struct h1_row *row_of(const struct h1_data *data, int line)
{
    const double ranks = whole(&data->samples, line, "ranks", 1024), bytes = whole(&data->samples, line, "bytes", 1e12);
    if (ranks < 1 || bytes < 0 || strcmp(clab_csv_cell(&data->samples, line, "collective"), "allreduce"))
        return NULL;
    return (struct h1_row *)h1_data_find(data, clab_csv_cell(&data->samples, line, "backend"), (int)ranks,
                                         (size_t)bytes);
}

static int count_calls(struct h1_data *data)
{
    for (int i = 0; i < data->samples.nrows; i++) {
        struct h1_row *row = row_of(data, i);
        const int batch = (int)whole(&data->samples, i, "batch", H1_MOST_CALLS - 1);
        if (row && batch >= row->nall)
            row->nall = batch + 1;
    }
    for (int i = 0; i < data->nrows; i++) {
        struct h1_row *row = &data->rows[i];
        if ((double)row->nall * row->ranks > data->samples.nrows) // a rank's times are missing, in any case
            row->nall = 0;
        const size_t n = (size_t)row->nall * (size_t)row->ranks;
        row->all = malloc((n + 1) * sizeof *row->all);
        row->times = calloc((size_t)row->nall + 1, sizeof *row->times); // holds which calls are kept, at first
        if (!row->all || !row->times)
            return CLAB_ENOMEM;
        for (size_t k = 0; k < n; k++)
            row->all[k] = NAN;
    }
    return CLAB_OK;
}

// The slowest rank's time of a call; NAN: a rank's is missing.
static double slowest(const struct h1_row *row, int call)
{
    double most = 0;
    for (int rank = 0; rank < row->ranks; rank++) {
        const double time = row->all[(size_t)call * (size_t)row->ranks + (size_t)rank];
        most = isnan(time) ? NAN : fmax(most, time);
        if (isnan(time))
            break;
    }
    return most;
}

static int read_samples(struct h1_data *data)
{
    CLAB_TRY(count_calls(data));
    for (int i = 0; i < data->samples.nrows; i++) {
        struct h1_row *row = row_of(data, i);
        const int call = (int)whole(&data->samples, i, "batch", H1_MOST_CALLS - 1);
        const int rank = row ? (int)whole(&data->samples, i, "rank", row->ranks - 1) : -1;
        if (!row || call < 0 || call >= row->nall || rank < 0)
            continue;
        row->all[(size_t)call * (size_t)row->ranks + (size_t)rank] = clab_csv_real(&data->samples, i, "usec");
        row->times[call] = whole(&data->samples, i, "kept", 1) == 1;
    }
    for (int i = 0; i < data->nrows; i++) {
        struct h1_row *row = &data->rows[i];
        for (int call = 0; call < row->nall; call++)
            if (row->times[call] > 0)
                row->times[row->ntimes++] = slowest(row, call);
    }
    return CLAB_OK;
}

// ---- all -----------------------------------------------------------------------------------------------------------

int h1_data_read(const char *matrix, size_t matrix_bytes, const char *samples, size_t samples_bytes,
                 struct h1_data *data_p, char why[H1_WHY])
{
    static const char *const columns[] = {"collective", "backend",  "ranks",     "bytes",
                                          "usec",       "usec_low", "usec_high", "algbw_GBps",
                                          "busbw_GBps", "wrong",    "num_iters", "oversubscribed",
                                          "sim_usec",   "status",   "reason",    NULL},
                             *const raw[] = {"collective", "backend", "ranks", "bytes", "batch",
                                             "kept",       "rank",    "usec",  NULL};
    struct h1_data data = {0};
    snprintf(why, H1_WHY, "there is no memory for it");
    int err = parse(matrix, matrix_bytes, "matrix.csv", &data.matrix_text, &data.matrix, why);
    if (!err)
        err = parse(samples, samples_bytes, "matrix_samples.csv", &data.samples_text, &data.samples, why);
    if (!err)
        err = need_columns(&data.matrix, columns, "matrix.csv", why);
    if (!err)
        err = need_columns(&data.samples, raw, "matrix_samples.csv", why);
    if (!err)
        err = read_rows(&data, why);
    if (!err)
        err = read_samples(&data);
    const char *seed = data.matrix_text ? clab_manifest_get(&data.matrix.manifest, "seed") : NULL;
    data.seed = seed ? strtoull(seed, NULL, 10) : 0;
    if (err)
        h1_data_free(&data);
    else
        *data_p = data;
    return err;
}

void h1_data_free(struct h1_data *data)
{
    for (int i = 0; i < data->nrows; i++) {
        free(data->rows[i].all);
        free(data->rows[i].times);
    }
    free(data->rows);
    if (data->matrix_text)
        clab_csv_free(&data->matrix);
    if (data->samples_text)
        clab_csv_free(&data->samples);
    free(data->matrix_text);
    free(data->samples_text);
    *data = (struct h1_data){0};
}
