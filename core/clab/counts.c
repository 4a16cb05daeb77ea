// SPDX-License-Identifier: MIT
// What the library counts for a rank, and the file of it (counts.h).

#include "core/clab/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files/csv.h"
#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/base/vector.h"
#include "core/comm/job.h"
#include "core/comm/progress.h"

enum { OPEN_SPANS = 16, NOT_ENDED = -1 };

struct clab_count_log {
    const char *path;
    struct clab_count_row *rows; // of spans, in the order in which they began
    int nrows, room;
    int open[OPEN_SPANS], nopen; // rows of spans that have not ended, innermost last; more are not kept
    int err;                     // there was no memory for a row
};

// ---- the columns: a counter is a double or a size_t at a place of struct clab_counts ---------------------------

struct column {
    const char *name;
    size_t at;
    bool is_seconds;
};

#define SECONDS(field) {#field, offsetof(struct clab_counts, field), true}
#define NUMBER(field) {#field, offsetof(struct clab_counts, field), false}
#define COLLECTIVE(kind, name) {name, offsetof(struct clab_counts, collectives) + sizeof(size_t) * (kind), false},
static const struct column columns[] = {
    CLAB_COLLECTIVES(COLLECTIVE) SECONDS(seconds), SECONDS(computed),         NUMBER(communicators),
    NUMBER(monitored_barriers),                    NUMBER(sends),             NUMBER(receives),
    NUMBER(messages),                              NUMBER(bytes_sent),        NUMBER(bytes_received),
    NUMBER(registrations),                         NUMBER(bytes_registered),  NUMBER(failed_allocations),
    NUMBER(communicators_destroyed),               NUMBER(collectives_queued), NUMBER(bytes_across),
    NUMBER(resent),                                NUMBER(started),           NUMBER(waited_for)};
enum { NCOLUMNS = sizeof columns / sizeof *columns };

static double get(const struct clab_counts *counts, const struct column *c)
{
    const char *place = (const char *)counts + c->at;
    return c->is_seconds ? *(const double *)place : (double)*(const size_t *)place;
}

static void set(struct clab_counts *counts, const struct column *c, double value)
{
    char *place = (char *)counts + c->at;
    if (c->is_seconds)
        *(double *)place = value;
    else
        *(size_t *)place = (size_t)value;
}

// What has been counted from `before` to `now`.
static struct clab_counts since(const struct clab_counts *before, const struct clab_counts *now)
{
    struct clab_counts difference;
    for (int i = 0; i < NCOLUMNS; i++)
        set(&difference, &columns[i], get(now, &columns[i]) - get(before, &columns[i]));
    return difference;
}

struct clab_counts clab_counts_most(const struct clab_counts *a, const struct clab_counts *b)
{
    struct clab_counts most;
    for (int i = 0; i < NCOLUMNS; i++)
        set(&most, &columns[i], fmax(get(a, &columns[i]), get(b, &columns[i])));
    return most;
}

// ---- counting ------------------------------------------------------------------------------------------------

// The counters, with clab_seconds for seconds.
static struct clab_counts read_now(const struct clab_job *job)
{
    struct clab_counts now;
    clab_job_enter(job);
    now = job->counts;
    now.seconds = clab_seconds();
    now.resent = job->backend->time->resent(job->domain);
    clab_job_leave(job);
    return now;
}

struct clab_counts clab_job_counts(const struct clab_job *job)
{
    const struct clab_counts began = {.seconds = job->counts.seconds}, now = read_now(job);
    return since(&began, &now);
}

bool clab_count_poisons(void)
{
    bool poisons;
    return clab_variable_switch(CLAB_VARIABLE_POISON, &poisons) == CLAB_OK && poisons;
}

int clab_count_open(struct clab_job *job)
{
    bool poisons;
    const char *path = clab_variable_given(CLAB_VARIABLE_COUNTS);
    if (clab_variable_switch(CLAB_VARIABLE_POISON, &poisons) != CLAB_OK) {
        clab_error("CLAB_POISON is '%s', not 0 or 1", clab_variable_text(CLAB_VARIABLE_POISON));
        return CLAB_EINVAL;
    }
    job->counts = (struct clab_counts){.seconds = clab_seconds()};
    if (!path)
        return CLAB_OK;
    job->count_log = calloc(1, sizeof *job->count_log);
    if (!job->count_log)
        return CLAB_ENOMEM;
    job->count_log->path = path;
    return CLAB_OK;
}

void clab_count_begin(struct clab_job *job, const char *span)
{
    struct clab_count_log *log = job->count_log;
    if (!log)
        return;
    struct clab_count_row row = {.rank = NOT_ENDED, .counts = read_now(job)};
    row.at = row.counts.seconds - job->counts.seconds;
    snprintf(row.span, sizeof row.span, "%s", span);
    if (log->nopen < OPEN_SPANS && !log->err)
        log->err = CLAB_PUSH(log->rows, log->nrows, log->room, row);
    if (log->nopen < OPEN_SPANS)
        log->open[log->nopen] = log->nrows - 1;
    log->nopen++;
}

void clab_count_end(struct clab_job *job)
{
    struct clab_count_log *log = job->count_log;
    if (!log || log->nopen == 0 || --log->nopen >= OPEN_SPANS || log->err)
        return;
    struct clab_count_row *row = &log->rows[log->open[log->nopen]];
    const struct clab_counts now = read_now(job);
    row->counts = since(&row->counts, &now);
    row->rank = job->rank;
}

// ---- the file ------------------------------------------------------------------------------------------------

static void print_names(FILE *out)
{
    fprintf(out, "rank,span,at");
    for (int i = 0; i < NCOLUMNS; i++)
        fprintf(out, ",%s", columns[i].name);
    fprintf(out, ",backend\n");
}

static void print_row(const struct clab_count_row *row, const char *backend, FILE *out)
{
    fprintf(out, "%d,%s,%.12g", row->rank, row->span, row->at);
    for (int i = 0; i < NCOLUMNS; i++)
        fprintf(out, ",%.15g", get(&row->counts, &columns[i]));
    fprintf(out, ",%s\n", backend);
}

// A name with a comma would be two cells.
static void clean(char name[CLAB_SPAN_NAME])
{
    for (char *c = name; *c; c++)
        if (*c == ',' || *c == '"' || *c < ' ')
            *c = '_';
}

// Spans that have not ended have no row.
static char *write_text(const struct clab_job *job, bool has_names, size_t *bytes_p)
{
    const struct clab_count_log *log = job->count_log;
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes_p);
    if (!out)
        return NULL;
    if (has_names)
        print_names(out);
    for (int i = 0; i < log->nrows; i++) {
        clean(log->rows[i].span);
        if (log->rows[i].rank != NOT_ENDED)
            print_row(&log->rows[i], job->backend_name, out);
    }
    print_row(&(struct clab_count_row){.rank = job->rank, .span = "job", .counts = clab_job_counts(job)},
              job->backend_name, out);
    return fclose(out) == 0 ? text : NULL;
}

// All rows of this rank, at the end of a file that is locked meanwhile: those of ranks do not mix. The first rank writes
// the names, too.
static int append(const struct clab_job *job, int fd)
{
    struct stat status;
    size_t bytes;
    if (flock(fd, LOCK_EX) != 0 || fstat(fd, &status) != 0)
        return CLAB_EIO;
    char *text = write_text(job, status.st_size == 0, &bytes);
    if (!text)
        return CLAB_ENOMEM;
    errno = ENOSPC; // unless write says otherwise: it wrote a part
    const int err = write(fd, text, bytes) == (ssize_t)bytes ? CLAB_OK : CLAB_EIO;
    free(text);
    return err;
}

static int write_rows(const struct clab_job *job)
{
    const char *path = job->count_log->path;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const int err = fd < 0 ? CLAB_EIO : append(job, fd);
    if (err == CLAB_EIO)
        clab_error("CLAB_COUNTS: '%s' can not be written: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return err;
}

int clab_count_close(struct clab_job *job)
{
    struct clab_count_log *log = job->count_log;
    if (!log)
        return CLAB_OK;
    const int err = log->err ? log->err : write_rows(job);
    free(log->rows);
    free(log);
    job->count_log = NULL;
    return err;
}

// ---- reading -------------------------------------------------------------------------------------------------

static int read_row(const struct clab_csv *csv, int at, struct clab_count_row *row)
{
    const double rank = clab_csv_real(csv, at, "rank");
    *row = (struct clab_count_row){.rank = (int)rank, .at = clab_csv_real(csv, at, "at")};
    bool is_whole = rank >= 0 && rank < CLAB_MAX_RANKS && row->at >= 0;
    for (int i = 0; i < NCOLUMNS; i++) {
        const double value = clab_csv_real(csv, at, columns[i].name);
        is_whole &= value >= 0 && value < 1e18;
        set(&row->counts, &columns[i], value >= 0 && value < 1e18 ? value : 0);
    }
    snprintf(row->span, sizeof row->span, "%s", clab_csv_cell(csv, at, "span"));
    snprintf(row->backend, sizeof row->backend, "%s", clab_csv_cell(csv, at, "backend"));
    return is_whole ? CLAB_OK : clab_csv_refuse(csv, at, NULL, "the library has not written this row");
}

int clab_counts_read(const char *path, struct clab_count_row **rows_p, int *nrows_p)
{
    struct clab_csv csv;
    CLAB_TRY(clab_csv_load(path, &csv));
    struct clab_count_row *rows = calloc((size_t)csv.nrows + 1, sizeof *rows);
    int err = rows ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; i < csv.nrows && !err; i++)
        err = read_row(&csv, i, &rows[i]);
    if (!err) {
        *rows_p = rows;
        *nrows_p = csv.nrows;
    } else {
        free(rows);
    }
    clab_csv_free(&csv);
    return err;
}
