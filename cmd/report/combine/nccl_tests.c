// SPDX-License-Identifier: MIT
// What the programs of nccl-tests print, and `bench --format nccl-tests`, as rows (rows.h). Its columns are nccl_tests.h's.
//
// - Ranks are those of the largest number among the devices. Without devices nobody knows them: the file is refused.
// - A log may have several runs, one after another: each has its own ranks and collective.
// - The collective is the one that a line, the run's command or the file's name says. Else busbw / algbw and redop can say that it is an
//   allreduce; of others the file's name has to say it.
// - Our bench says which backend and algorithm it was; else it is NCCL's own choice, on GPUs.
// - Other lines, such as NCCL's log, are passed over. There are no intervals.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kit/nccl_tests.h"
#include "cmd/report/combine/rows.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/vector.h"

enum { MOST_RANKS = 1 << 20, MOST_LINES = 100000, HEAD = 16 };

struct reader {
    struct report_rows *rows;
    struct report_missing missing;
    const char *path, *file;
    const char *collective, *called; // of the run at hand; of the next, by the command that began it
    int line, ranks, warmup;
    struct tests_head head;
    struct tests_bench bench; // that printed it; backend "": nccl-tests
    int first, run;           // row of this file; of the run at hand
    struct report_source source;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *r, const char *format, ...)
{
    char why[256];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    clab_error("%s:%d: %s", r->path, r->line, why);
    return CLAB_EPARSE;
}

// ---- the collective ------------------------------------------------------------------------------------------

// An allreduce's busbw is 2 (n - 1) / n of its algbw: twice any other's.
static bool is_allreduce(const struct reader *r)
{
    const double factor = 2.0 * (r->ranks - 1) / r->ranks;
    for (int i = r->run; i < r->rows->n; i++) {
        const struct report_row *row = &r->rows->rows[i];
        if (row->algbw < 1 || r->ranks < 3)
            continue;
        return !strcmp(row->op, "sum") && fabs(row->busbw / row->algbw - factor) < 0.05;
    }
    return false;
}

// A name goes before an option, which is for all files that say nothing.
static const char *find_collective(const struct reader *r)
{
    if (r->collective)
        return r->collective;
    const char *name = tests_collective(r->file) ? tests_collective(r->file) : r->missing.collective;
    return name ? name : is_allreduce(r) ? "allreduce" : NULL;
}

// The rows of a run get what its lines say.
static int end_run(struct reader *r)
{
    if (!r->ranks)
        r->ranks = r->missing.ranks;
    if (r->ranks < 1)
        return refuse(r, "no line names ranks, as '#  Rank  0 ... on HOST device 0' does: give the lines above the "
                         "table, too, or --log-ranks N");
    if (!(r->collective = find_collective(r)))
        return refuse(r, "it does not say which collective it is of: name the file after the test, as "
                         "all_reduce_perf.txt, or add --log-collective NAME");
    for (; r->run < r->rows->n; r->run++) {
        r->rows->rows[r->run].collective = r->collective;
        r->rows->rows[r->run].ranks = r->ranks;
        report_row_fix_root(&r->rows->rows[r->run]);
    }
    r->ranks = 0;
    r->collective = NULL;
    return CLAB_OK;
}

// ---- lines with # --------------------------------------------------------------------------------------------

static void take_device(struct reader *r, const char *line)
{
    int rank;
    char host[64];
    const char *name = strrchr(line, ']');
    if (!tests_rank_read(line, &rank, host))
        return;
    r->ranks = rank >= r->ranks ? rank + 1 : r->ranks;
    if (r->source.machine[0])
        return;
    name = name ? name + 1 + strspn(name + 1, " ") : "";
    snprintf(r->source.machine, sizeof r->source.machine, "%s%s%.90s", host, *name ? ", " : "", name);
}

// "agg iters: 1 validation: 1 graph: 0": calls per group, and CUDA graphs. Others than these change the time.
static void take_settings(struct reader *r, const char *line)
{
    const char *grouped = strstr(line, "agg iters:"), *graph = strstr(line, "graph:");
    int n;
    if (!grouped || !strstr(line, "# nThread "))
        return;
    struct clab_text text = clab_text_begin(r->source.settings, sizeof r->source.settings);
    if (sscanf(grouped, "agg iters: %d", &n) == 1 && n > 1)
        clab_text_add(&text, "%d calls per group", n);
    if (graph && sscanf(graph, "graph: %d", &n) == 1 && n > 0)
        clab_text_add(&text, "%sin a CUDA graph", text.used ? ", " : "");
}

static int take_remark(struct reader *r, const char *line)
{
    const char *collective = tests_collective_started(line), *warm = strstr(line, "warmup iters:");
    if (tests_begins(line) && r->run < r->rows->n)
        CLAB_TRY(end_run(r));
    if (collective || (r->called && tests_begins(line)))
        r->collective = collective ? collective : r->called;
    if (tests_begins(line))
        r->called = NULL;
    if (warm && sscanf(warm, "warmup iters: %d", &r->warmup) != 1)
        r->warmup = -1;
    take_settings(r, line);
    (void)tests_head_read(line, &r->head);
    (void)tests_bench_read(line, &r->bench);
    take_device(r, line);
    return CLAB_OK;
}

// ---- rows ----------------------------------------------------------------------------------------------------

static bool read_number(const char *text, double low, double high, double *value_p)
{
    char *end;
    *value_p = strtod(text, &end);
    return *text && !*end && isfinite(*value_p) && *value_p >= low && *value_p <= high;
}

// Time, algbw, busbw and #wrong; `at` counts the columns from 1.
static int take_placement(struct reader *r, struct report_row row, const struct tests_values *v, int at)
{
    double wrong = -1;
    if (!read_number(v->time, 1e-9, 1e12, &row.usec))
        return refuse(r, "column %d, time: '%.20s' is no time in %s above 0", at, v->time, r->head.is_msec ? "ms" : "us");
    if (!read_number(v->algbw, 0, 1e9, &row.algbw) || !read_number(v->busbw, 0, 1e9, &row.busbw))
        return refuse(r, "columns %d and %d, algbw and busbw: '%.20s' and '%.20s' are no rates in GB/s", at + 1, at + 2,
                      v->algbw, v->busbw);
    if (*v->wrong && strcmp(v->wrong, "N/A") && !read_number(v->wrong, 0, 1e300, &wrong))
        return refuse(r, "column %d, #wrong: '%.20s' is neither a count nor N/A", at + 3, v->wrong);
    row.usec *= r->head.is_msec ? 1e3 : 1;
    row.wrong = r->head.counts_wrong ? (long long)fmin(wrong, 1e18) : -1;
    return CLAB_PUSH(r->rows->rows, r->rows->n, r->rows->room, row);
}

static bool is_of_gpus(const struct reader *r)
{
    return !*r->bench.backend || strcmp(r->bench.backend, "nccl") == 0;
}

static int take_values(struct reader *r, const struct tests_row *values)
{
    struct report_rows *rows = r->rows;
    double bytes, count, root = -1;
    if (!read_number(values->bytes, 0, 1e15, &bytes) || !read_number(values->count, 0, 1e15, &count))
        return refuse(r, "columns 1 and 2: '%.20s' and '%.20s' are no size and count", values->bytes, values->count);
    if (*values->root && !read_number(values->root, -1, MOST_RANKS, &root))
        return refuse(r, "column %d, root: '%.20s' is no rank", r->head.root + 1, values->root);
    struct report_row row = {.source = rows->nsources,
                             .line = r->line,
                             .collective = "",
                             .algorithm = report_rows_text(rows, *r->bench.backend ? r->bench.algorithm : "native"),
                             .backend = report_rows_text(rows, *r->bench.backend ? r->bench.backend : "nccl"),
                             .device = is_of_gpus(r) ? "cuda" : "cpu",
                             .mode = report_rows_text(rows, *r->bench.backend ? r->bench.mode : "throughput"),
                             .reason = "",
                             .type = report_rows_text(rows, values->type),
                             .op = report_rows_text(rows, *values->op ? values->op : "none"),
                             .root = (int)root,
                             .bytes = (long long)bytes,
                             .count = (long long)count,
                             .sent = -1,
                             .calls = -1,
                             .warmup = r->warmup,
                             .low = NAN,
                             .high = NAN,
                             .predicted = NAN,
                             .simulated = NAN,
                             .place = {NAN, NAN, NAN}};
    if (!row.algorithm || !row.backend || !row.mode || !row.type || !row.op)
        return CLAB_ENOMEM;
    row.is_usual = true; // the first that has a time: our bench may have measured in place only
    for (int p = 0; p < values->placements; p++) {
        row.is_in_place = p == 1;
        if (!strcmp(values->values[p].time, "N/A"))
            continue;
        CLAB_TRY(take_placement(r, row, &values->values[p], r->head.first + 1 + p * r->head.width));
        row.is_usual = false;
    }
    return CLAB_OK;
}

// A line of numbers is a row; all other lines are somebody's log, also those that begin with a date.
static int take_row(struct reader *r, char *line)
{
    struct tests_row row;
    int n;
    const char *called = tests_collective_called(line);
    if (called)
        r->called = called;
    if (!r->head.columns || !tests_is_row(line))
        return CLAB_OK;
    if (tests_row_read(&r->head, line, &row, &n))
        return refuse(r, "%d%s columns, but the line above names %d: give the table as nccl-tests prints it", n,
                      n == TESTS_WORDS ? " or more" : "", r->head.columns);
    return take_values(r, &row);
}

// ---- the whole -----------------------------------------------------------------------------------------------

static int finish(struct reader *r)
{
    if (r->rows->n == r->first)
        return refuse(r, "no row of sizes and times: give all that nccl-tests has printed");
    if (r->run < r->rows->n)
        CLAB_TRY(end_run(r));
    if (!r->source.machine[0])
        strcpy(r->source.machine, "unknown machine");
    CLAB_TRY(CLAB_PUSH(r->rows->sources, r->rows->nsources, r->rows->source_room, r->source));
    return report_rows_mark_contradictions(r->rows, r->first);
}

// Whether a line names a table's columns.
static bool is_head(const char *line, size_t length)
{
    char text[400];
    struct tests_head head;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    return tests_head_read(tests_unlabelled(text), &head);
}

bool report_is_nccl_tests(const char *text)
{
    for (int i = 0; *text; i++) {
        const size_t length = strcspn(text, "\n");
        const char *threads = strstr(text, "# nThread "), *version = strstr(text, "nccl-tests version");
        if (i < HEAD && ((threads && threads < text + length) || (version && version < text + length)))
            return true;
        if (is_head(text, length))
            return true;
        text += length + (text[length] != 0);
    }
    return false;
}

int report_rows_add_nccl_tests(struct report_rows *rows, char *text, const char *path, const char *file,
                               struct report_missing missing)
{
    struct reader r = {.rows = rows,
                       .missing = missing,
                       .path = path,
                       .file = file,
                       .warmup = -1,
                       .first = rows->n,
                       .run = rows->n,
                       .source = {.is_text = true}};
    int err = (r.source.file = report_rows_text(rows, file)) ? CLAB_OK : CLAB_ENOMEM;
    for (char *line; !err && (line = strsep(&text, "\n"));) {
        line[strcspn(line, "\r")] = 0;
        line = tests_unlabelled(line);
        if (++r.line > MOST_LINES)
            err = refuse(&r, "more than %d lines: give one run of nccl-tests per file", MOST_LINES);
        else if (*line == '#')
            err = take_remark(&r, line);
        else
            err = take_row(&r, line);
    }
    err = err ? err : finish(&r);
    if (err)
        rows->n = r.first;
    return err;
}
