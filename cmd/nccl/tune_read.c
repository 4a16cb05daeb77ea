// SPDX-License-Identifier: MIT
// Times out of files (tune.h). The first line that is no remark shows which of two kinds a file is:
//
// - CSV with names: collective, bytes (or size_bytes), usec (or latency_us), ranks, and optionally nodes, algorithm,
//   protocol, channels, inplace, wrong. Our bench writes it (algorithm native), or it is any table with NCCL's names of
//   algorithms.
// - Output of nccl-tests, from 1.0 on, with the line that names its columns (cmd/kit/nccl_tests.h). Ranks and collective
//   are those of its lines above the table; else of the options, or of the file's name. A log of NCCL in between
//   (NCCL_DEBUG=INFO) states algorithm and protocol.
//
// We skip in-place rows: NCCL makes the same choice for both.

#include "cmd/nccl/tune.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kit/nccl_tests.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/vector.h"

int tune_label_read(const char *text, struct tune_label *label_p)
{
    char algorithm[32], protocol[32], channels[16] = "";
    struct tune_label label = {.channels = CLAB_NCCL_ANY};
    if (sscanf(text, "%31[^/]/%31[^/]/%15[^/]", algorithm, protocol, channels) < 2)
        return CLAB_EPARSE;
    label.algorithm = clab_nccl_algorithm_find(algorithm);
    label.protocol = clab_nccl_protocol_find(protocol);
    if (label.algorithm < 0 || label.protocol < 0)
        return CLAB_EPARSE;
    if (*channels)
        CLAB_TRY(clab_parse_int(channels, 1, CLAB_NCCL_MOST_CHANNELS, &label.channels));
    *label_p = label;
    return CLAB_OK;
}

static struct tune_time labelled(struct tune_label label)
{
    return (struct tune_time){.algorithm = label.is_own ? TUNE_UNKNOWN : label.algorithm,
                              .protocol = label.is_own ? TUNE_UNKNOWN : label.protocol,
                              .channels = label.is_own ? CLAB_NCCL_ANY : label.channels,
                              .is_own = label.is_own};
}

static bool take_usec(const char *text, double *usec_p)
{
    return clab_parse_number(text, usec_p) == CLAB_OK && *usec_p > 0;
}

// ---- CSV -----------------------------------------------------------------------------------------------------

// Of two names of a column, the one with a value in this row.
static const char *either(const struct clab_csv *csv, int row, const char *name, const char *other)
{
    return *clab_csv_cell(csv, row, name) || !*clab_csv_cell(csv, row, other) ? name : other;
}

static int refuse_cell(const struct clab_csv *csv, int row, const char *column, const char *what)
{
    return clab_csv_refuse(csv, row, column, "%s '%.40s'", what, clab_csv_cell(csv, row, column));
}

// Algorithm and protocol of the row go before the label. A row with an algorithm of commlab's own is no time of NCCL.
static int take_pair(const struct clab_csv *csv, int row, struct tune_time *time)
{
    const char *algorithm = clab_csv_cell(csv, row, "algorithm"), *channels = clab_csv_cell(csv, row, "channels");
    if (!*algorithm || !strcmp(algorithm, "native"))
        return CLAB_OK;
    time->is_own = !strcmp(algorithm, "own");
    if (time->is_own)
        return CLAB_OK;
    if ((time->algorithm = clab_nccl_algorithm_find(algorithm)) < 0)
        return refuse_cell(csv, row, "algorithm", "native, own or an algorithm of NCCL's is needed, not");
    if ((time->protocol = clab_nccl_protocol_find(clab_csv_cell(csv, row, "protocol"))) < 0)
        return refuse_cell(csv, row, "protocol", "there is no protocol");
    if (*channels && clab_parse_int(channels, CLAB_NCCL_ANY, CLAB_NCCL_MOST_CHANNELS, &time->channels))
        return refuse_cell(csv, row, "channels", "channels are -1 to 64, not");
    return CLAB_OK;
}

static int take_row(const struct clab_csv *csv, int row, struct tune_time time, struct tune_times *times)
{
    const char *bytes = either(csv, row, "bytes", "size_bytes"), *usec = either(csv, row, "usec", "latency_us");
    const char *nodes = clab_csv_cell(csv, row, "nodes"), *wrong = clab_csv_cell(csv, row, "wrong");
    time.function = clab_nccl_function_find(clab_csv_cell(csv, row, "collective"));
    if (time.function < 0 || !*clab_csv_cell(csv, row, usec) || !strcmp(clab_csv_cell(csv, row, "inplace"), "1"))
        return CLAB_OK; // unknown to NCCL's tuner; a refused time; in place
    if (clab_parse_size(clab_csv_cell(csv, row, bytes), &time.bytes))
        return refuse_cell(csv, row, bytes, "bytes are not");
    if (!take_usec(clab_csv_cell(csv, row, usec), &time.usec))
        return refuse_cell(csv, row, usec, "microseconds are not");
    if (clab_parse_int(clab_csv_cell(csv, row, "ranks"), 2, 1 << 24, &time.ranks))
        return refuse_cell(csv, row, "ranks", "ranks are 2 or more, not");
    if (*nodes && clab_parse_int(nodes, 1, 1 << 24, &time.nodes))
        return refuse_cell(csv, row, "nodes", "nodes are 1 or more, not");
    if (*wrong && strcmp(wrong, "0"))
        return refuse_cell(csv, row, "wrong", "a time of wrong results is worth nothing: elements that were wrong:");
    CLAB_TRY(take_pair(csv, row, &time));
    return tune_times_add(times, time);
}

static int read_csv(struct clab_input *input, const char *path, struct tune_label label, int nodes,
                    struct tune_times *times)
{
    struct clab_csv csv;
    struct tune_time time = labelled(label);
    CLAB_TRY(clab_csv_parse(input->text, input->bytes, path, &csv));
    int err = CLAB_OK;
    time.nodes = nodes;
    for (int row = 0; row < csv.nrows && !err; row++)
        err = take_row(&csv, row, time, times);
    clab_csv_free(&csv);
    return err;
}

// ---- nccl-tests ----------------------------------------------------------------------------------------------

enum { LINE = 4096, HOST = 64 };

struct tests {
    const char *path;
    int line;
    struct tests_head head;
    char (*hosts)[HOST]; // each once
    int nhosts, host_room;
    int algorithm, protocol; // by NCCL's log, or unknown
    const char *called;      // the next run's collective, by the command that begins it
    bool has_rows;           // of the run at hand
    struct tune_time time;   // the part that all rows share
    struct tune_missing missing;
};

static int refuse_line(const struct tests *t, const char *what)
{
    clab_error("%s:%d: %s", t->path, t->line, what);
    return CLAB_EPARSE;
}

static int take_rank(struct tests *t, const char *line)
{
    char host[HOST];
    int rank;
    if (!tests_rank_read(line, &rank, host))
        return CLAB_OK;
    t->time.ranks = rank >= t->time.ranks ? rank + 1 : t->time.ranks;
    for (int i = 0; i < t->nhosts; i++)
        if (!strcmp(t->hosts[i], host))
            return CLAB_OK;
    return CLAB_APPEND(t->hosts, t->nhosts, t->host_room, &host, 1);
}

// "# Out of bounds values : 2 FAILED", at the end: all that was printed before.
static int take_end(const struct tests *t, const char *line)
{
    const char *at = strstr(line, "Out of bounds values");
    int wrong;
    return at && sscanf(at, "Out of bounds values : %d", &wrong) == 1 && wrong > 0
               ? refuse_line(t, "wrong results: their times are worth nothing")
               : CLAB_OK;
}

static int take_function(struct tests *t, const char *name)
{
    if (name && (t->time.function = clab_nccl_function_find(name)) < 0)
        return refuse_line(t, "NCCL's tuner chooses for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
    return CLAB_OK;
}

// A log may have several runs, each with its own test, ranks and hosts.
static void begin_run(struct tests *t)
{
    t->time.function = -1;
    t->time.ranks = t->nhosts = 0;
    t->has_rows = false;
}

static int take_remark(struct tests *t, const char *line)
{
    struct tests_bench bench;
    if (tests_begins(line) && t->has_rows)
        begin_run(t);
    if (strstr(line, "Collective test starting:") && !tests_collective_started(line))
        return refuse_line(t, "NCCL's tuner chooses for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
    CLAB_TRY(take_function(t, tests_collective_started(line)));
    if (tests_begins(line) && t->time.function < 0)
        CLAB_TRY(take_function(t, t->called));
    if (tests_begins(line))
        t->called = NULL;
    if (tests_bench_read(line, &bench) && (strcmp(bench.backend, "nccl") || strcmp(bench.algorithm, "native")))
        return refuse_line(
            t, "times of the kit's own algorithms or of another backend, not of NCCL's: give those of `bench "
               "--backend nccl --algo native`");
    (void)tests_head_read(line, &t->head);
    return take_rank(t, line);
}

static void take_log(struct tests *t, const char *line)
{
    char word[32];
    const char *algorithm = strstr(line, "NCCL_ALGO set by environment to ");
    const char *protocol = strstr(line, "NCCL_PROTO set by environment to ");
    if (algorithm && sscanf(algorithm, "%*s set by environment to %31s", word) == 1)
        t->algorithm = clab_nccl_algorithm_find(word);
    if (protocol && sscanf(protocol, "%*s set by environment to %31s", word) == 1)
        t->protocol = clab_nccl_protocol_find(word);
}

// What the log has not said.
static int complete(const struct tests *t, struct tune_time *time)
{
    if (time->function < 0)
        time->function = t->missing.function;
    if (time->function < 0)
        return refuse_line(
            t, "of which collective? Name it behind the options: `commlab tune --from FILE allreduce`; or name "
               "the file after the test, as all_reduce_perf.txt");
    if (time->ranks > 0 && t->missing.ranks > 0 && time->ranks != t->missing.ranks) {
        clab_error("%s: its lines name %d ranks, and -n says %d: leave -n out", t->path, time->ranks, t->missing.ranks);
        return CLAB_EINVAL;
    }
    time->ranks = time->ranks ? time->ranks : t->missing.ranks;
    return time->ranks >= 2
               ? CLAB_OK
               : refuse_line(t, "of how many ranks? Add -n RANKS; lines `#  Rank  0 ... on host device  0` above "
                                "the table say it, too");
}

static int take_time(struct tests *t, char *line, struct tune_times *times)
{
    struct tune_time time = t->time;
    struct tests_row row;
    int words;
    if (!t->head.columns)
        return refuse_line(t, "a row before the line that names its columns: give all that nccl-tests has printed");
    CLAB_TRY(complete(t, &time));
    if (tests_row_read(&t->head, line, &row, &words) || clab_parse_size(row.bytes, &time.bytes) ||
        !take_usec(row.values[0].time, &time.usec))
        return refuse_line(t, "no size and time");
    time.usec *= t->head.is_msec ? 1e3 : 1;
    if (t->head.counts_wrong && strtod(row.values[0].wrong, NULL) > 0)
        return refuse_line(t, "wrong results: their time is worth nothing");
    if (time.is_own && (t->algorithm < 0) != (t->protocol < 0))
        return refuse_line(t, "its log says NCCL_ALGO or NCCL_PROTO, not both: --from ALGORITHM/PROTOCOL=FILE says it");
    if (time.is_own && t->algorithm >= 0) {
        time.is_own = false;
        time.algorithm = t->algorithm;
        time.protocol = t->protocol;
    }
    time.nodes = t->nhosts > time.nodes ? t->nhosts : time.nodes;
    t->has_rows = true;
    return tune_times_add(times, time);
}

// A size of 0 has no time: sizes below what the ranks can share are printed so.
static bool is_of_size_0(const char *line)
{
    return strtod(line, NULL) == 0;
}

// A name of a file says which test it is of, where neither a line nor an option does.
static int name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = tests_collective(slash ? slash + 1 : path);
    return name ? clab_nccl_function_find(name) : -1;
}

static int take_line(struct tests *t, char *line, struct tune_times *times)
{
    const char *called = tests_collective_called(line);
    take_log(t, line);
    t->called = called ? called : t->called;
    if (line[strspn(line, " \t\r\n")] == '#')
        CLAB_TRY(take_remark(t, strchr(line, '#')));
    CLAB_TRY(take_end(t, line));
    return isspace((unsigned char)line[0]) && tests_is_row(line) && !is_of_size_0(line) ? take_time(t, line, times)
                                                                                        : CLAB_OK;
}

static int read_tests(FILE *file, const char *path, struct tune_label label, struct tune_missing missing,
                      struct tune_times *times)
{
    struct tests t = {.path = path, .algorithm = -1, .protocol = -1, .missing = missing};
    const int before = times->n;
    char line[LINE];
    int err = CLAB_OK;
    t.time = labelled(label);
    t.time.function = -1;
    t.time.nodes = missing.nodes;
    t.missing.function = missing.function < 0 ? name_of_file(path) : missing.function;
    while (!err && fgets(line, sizeof line, file)) {
        t.line++;
        err = take_line(&t, tests_unlabelled(line), times);
    }
    free(t.hosts);
    if (!err && times->n == before) {
        clab_error("%s: neither CSV with names of columns, nor output of nccl-tests", path);
        err = CLAB_EPARSE;
    }
    return err;
}

// ---- either --------------------------------------------------------------------------------------------------

// Whether the first line that is no remark names columns.
static bool is_csv(FILE *file)
{
    char line[LINE];
    bool is = false;
    while (fgets(line, sizeof line, file))
        if (line[0] != '#' && line[strspn(line, " \t\r\n")]) {
            is = strpbrk(line, ",;") && strstr(line, "collective");
            break;
        }
    rewind(file);
    return is;
}

int tune_read_input(struct clab_input *input, const char *path, struct tune_label label, struct tune_missing missing,
                    struct tune_times *times)
{
    return is_csv(input->file) ? read_csv(input, path, label, missing.nodes, times)
                               : read_tests(input->file, path, label, missing, times);
}

int tune_read(const char *path, struct tune_label label, struct tune_missing missing, struct tune_times *times)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TABLE, &input));
    const int err = tune_read_input(&input, path, label, missing, times);
    clab_input_close(&input);
    return err;
}
