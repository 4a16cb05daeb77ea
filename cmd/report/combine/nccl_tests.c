// SPDX-License-Identifier: MIT
// What the programs of nccl-tests print (rows.h): lines with # that name devices, then a line per size.
//
//   #  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//       8388608       2097152     float     sum      -1    91.10   92.08  161.14      0    94.94   88.36  154.63      0
//
// - Ranks are those of the largest number among the devices. Without devices nobody knows them: the file is refused.
// - The collective is the one that a line or the file's name says. Else busbw / algbw and redop can say that it is an
//   allreduce; of others the file's name has to say it.
// - Older versions have no column `root`, or `error` in place of #wrong, which may be N/A where nothing was checked.
// - Other lines, such as NCCL's log, are passed over. There are no intervals.
// Source: nccl-tests, src/common.cu, and outputs in its issues.

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/combine/rows.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/vector.h"
#include "core/schedule/schedule.h"

enum { FIELDS = 13, MOST_RANKS = 1 << 20, MOST_LINES = 100000, HEAD = 16 };

// Names of its programs, and ours.
static const struct {
    const char *theirs, *ours;
} tests[] = {{"all_reduce", "allreduce"},   {"all_gather", "allgather"}, {"reduce_scatter", "reduce_scatter"},
             {"broadcast", "broadcast"},    {"alltoall", "alltoall"},    {"sendrecv", "sendrecv"},
             {"scatter", "scatter"},        {"gather", "gather"},        {"allreduce", "allreduce"},
             {"allgather", "allgather"},    {"reduce", "reduce"}};

static const char *collective_in(const char *text)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strstr(text, tests[i].theirs))
            return tests[i].ours;
    return NULL;
}

struct reader {
    struct report_rows *rows;
    const char *path, *collective;
    int line, ranks, warmup;
    bool has_root, has_head;
    int first; // row of this file
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

// ---- lines with # --------------------------------------------------------------------------------------------

static void take_device(struct reader *r, const char *line)
{
    int rank;
    char host[64];
    const char *name = strrchr(line, ']');
    if (sscanf(line, "# Rank %d", &rank) != 1 || rank < 0 || rank >= MOST_RANKS)
        return;
    r->ranks = rank >= r->ranks ? rank + 1 : r->ranks;
    const char *on = strstr(line, " on ");
    if (!on || sscanf(on, " on %63s", host) != 1 || r->source.machine[0])
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

static void take_remark(struct reader *r, const char *line)
{
    const char *test = strstr(line, "Collective test starting:"), *warm = strstr(line, "warmup iters:");
    if (test && collective_in(test))
        r->collective = collective_in(test);
    if (warm && sscanf(warm, "warmup iters: %d", &r->warmup) != 1)
        r->warmup = -1;
    take_settings(r, line);
    if (strstr(line, " size ") && strstr(line, " redop ")) {
        r->has_head = true;
        r->has_root = strstr(line, " root ") != NULL;
    }
    take_device(r, line);
}

// ---- rows ----------------------------------------------------------------------------------------------------

static bool read_number(const char *text, double low, double high, double *value_p)
{
    char *end;
    *value_p = strtod(text, &end);
    return *text && !*end && isfinite(*value_p) && *value_p >= low && *value_p <= high;
}

// Time, algbw, busbw and #wrong, from field `at` on.
static int take_placement(struct reader *r, struct report_row row, char *const fields[], int at)
{
    double wrong = -1;
    if (!read_number(fields[at], 1e-6, 1e12, &row.usec))
        return refuse(r, "column %d, time: '%.20s' is no time in us above 0", at + 1, fields[at]);
    if (!read_number(fields[at + 1], 0, 1e9, &row.algbw) || !read_number(fields[at + 2], 0, 1e9, &row.busbw))
        return refuse(r, "columns %d and %d, algbw and busbw: '%.20s' and '%.20s' are no rates in GB/s", at + 2,
                      at + 3, fields[at + 1], fields[at + 2]);
    if (strcmp(fields[at + 3], "N/A") && !read_number(fields[at + 3], 0, 1e18, &wrong))
        return refuse(r, "column %d, #wrong: '%.20s' is neither a count nor N/A", at + 4, fields[at + 3]);
    row.wrong = r->has_root ? (long long)wrong : -1; // before, the column was the largest error
    return CLAB_PUSH(r->rows->rows, r->rows->n, r->rows->room, row);
}

static int take_fields(struct reader *r, char *const fields[])
{
    const int at = r->has_root ? 5 : 4;
    double bytes, count, root = -1;
    if (!read_number(fields[0], 0, 1e15, &bytes) || !read_number(fields[1], 0, 1e15, &count))
        return refuse(r, "columns 1 and 2: '%.20s' and '%.20s' are no size and count", fields[0], fields[1]);
    if (r->has_root && !read_number(fields[4], -1, MOST_RANKS, &root))
        return refuse(r, "column 5, root: '%.20s' is no rank", fields[4]);
    struct report_row row = {.source = r->rows->nsources,
                             .line = r->line,
                             .collective = "",
                             .algorithm = "native",
                             .backend = "nccl",
                             .device = "cuda",
                             .mode = "throughput",
                             .reason = "",
                             .type = report_rows_text(r->rows, fields[2]),
                             .op = report_rows_text(r->rows, fields[3]),
                             .ranks = r->ranks,
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
                             .is_usual = true,
                             .place = {NAN, NAN, NAN}};
    if (!row.type || !row.op)
        return CLAB_ENOMEM;
    CLAB_TRY(take_placement(r, row, fields, at));
    row.is_in_place = true;
    row.is_usual = false;
    return take_placement(r, row, fields, at + 4);
}

// A line of numbers is a row; all other lines are somebody's log, also those that begin with a date.
static int take_row(struct reader *r, char *line)
{
    char *fields[FIELDS + 1], *save;
    int n = 0;
    const char *first = line + strspn(line, " \t");
    if (*first < '0' || *first > '9' || !strchr(" \t", first[strspn(first, "0123456789")]) || !r->has_head)
        return CLAB_OK;
    for (char *word = strtok_r(line, " \t", &save); word && n <= FIELDS; word = strtok_r(NULL, " \t", &save))
        fields[n++] = word;
    if (n != FIELDS - !r->has_root)
        return refuse(r, "%d%s columns, but the line above names %d: give the table as nccl-tests prints it", n,
                      n > FIELDS ? " or more" : "", FIELDS - !r->has_root);
    return take_fields(r, fields);
}

// ---- the collective ------------------------------------------------------------------------------------------

// An allreduce's busbw is 2 (n - 1) / n of its algbw: twice any other's.
static bool is_allreduce(const struct reader *r)
{
    const double factor = 2.0 * (r->ranks - 1) / r->ranks;
    for (int i = r->first; i < r->rows->n; i++) {
        const struct report_row *row = &r->rows->rows[i];
        if (row->algbw < 1 || r->ranks < 3)
            continue;
        return !strcmp(row->op, "sum") && fabs(row->busbw / row->algbw - factor) < 0.05;
    }
    return false;
}

static int finish(struct reader *r, const char *file)
{
    if (r->rows->n == r->first)
        return refuse(r, "no row of sizes and times: give all that nccl-tests has printed");
    if (r->ranks < 1)
        return refuse(r, "no line names ranks, as '#  Rank  0 ... on HOST device 0' does: give the lines above the "
                         "table, too");
    if (!r->collective)
        r->collective = collective_in(file) ? collective_in(file) : is_allreduce(r) ? "allreduce" : NULL;
    if (!r->collective)
        return refuse(r, "it does not say which collective it is of: name the file after the test, as "
                         "all_reduce_perf.txt");
    for (int i = r->first; i < r->rows->n; i++) {
        r->rows->rows[i].collective = r->collective;
        r->rows->rows[i].ranks = r->ranks;
        report_row_fix_root(&r->rows->rows[i]);
    }
    if (!r->source.machine[0])
        strcpy(r->source.machine, "unknown machine");
    CLAB_TRY(CLAB_PUSH(r->rows->sources, r->rows->nsources, r->rows->source_room, r->source));
    return report_rows_mark_contradictions(r->rows, r->first);
}

// Whether a line begins its table: "#  size  count  type  redop  root  time  algbw  busbw #wrong ...".
static bool is_head(const char *line, size_t length)
{
    static const char *const names[] = {" size ", " redop ", " time ", " algbw ", " busbw "};
    char text[400];
    snprintf(text, sizeof text, "%.*s ", (int)length, line);
    bool is = *line == '#';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is = is && strstr(text, names[i]);
    return is;
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

int report_rows_add_nccl_tests(struct report_rows *rows, char *text, const char *path, const char *file)
{
    struct reader r = {.rows = rows, .path = path, .warmup = -1, .first = rows->n, .source = {.is_text = true}};
    int err = (r.source.file = report_rows_text(rows, file)) ? CLAB_OK : CLAB_ENOMEM;
    for (char *line; !err && (line = strsep(&text, "\n"));) {
        line[strcspn(line, "\r")] = 0;
        if (++r.line > MOST_LINES)
            err = refuse(&r, "more than %d lines: give one run of nccl-tests per file", MOST_LINES);
        else if (*line == '#')
            take_remark(&r, line);
        else
            err = take_row(&r, line);
    }
    err = err ? err : finish(&r, file);
    if (err)
        rows->n = r.first;
    return err;
}
