// SPDX-License-Identifier: MIT
// Times out of files (tune.h). The first line that is no remark shows which of two kinds a file is:
//
// - CSV with names: collective, bytes (or size_bytes), usec (or latency_us), ranks, and optionally nodes, algorithm,
//   protocol, channels, inplace, wrong. Our bench writes it (algorithm native), or it is any table with NCCL's names of
//   algorithms.
// - Output of nccl-tests, with their heading: `# Collective test starting: all_reduce_perf`, one line per rank, and the
//   columns. A log of NCCL in between (NCCL_DEBUG=INFO) states algorithm and protocol.
//
// We skip in-place rows: NCCL makes the same choice for both. Source: nccl-tests, src/util.cu.

#include "cmd/nccl/tune.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/csv.h"
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

enum { LINE = 4096, COLUMNS = 32, HOST = 64 };

struct tests {
    const char *path;
    int line, time_at, wrong_at; // columns; -1: no heading yet
    char (*hosts)[HOST];         // each once
    int nhosts, host_room;
    int algorithm, protocol; // by NCCL's log, or unknown
    struct tune_time time;   // the part that all rows share
};

static int refuse_line(const struct tests *t, const char *what)
{
    clab_error("%s:%d: %s", t->path, t->line, what);
    return CLAB_EPARSE;
}

static int cut(char *line, char *words[COLUMNS])
{
    int n = 0;
    for (char *rest, *word = strtok_r(line, " \t\r\n", &rest); word && n < COLUMNS;
         word = strtok_r(NULL, " \t\r\n", &rest))
        words[n++] = word;
    return n;
}

// `#  Rank  0 Group  0 Pid  123 on  host device  0 [0x07] NVIDIA H100`
static int take_rank(struct tests *t, const char *line)
{
    char host[HOST];
    if (sscanf(line, "# Rank %*d Group %*d Pid %*d on %63s device", host) != 1)
        return CLAB_OK;
    t->time.ranks++;
    for (int i = 0; i < t->nhosts; i++)
        if (!strcmp(t->hosts[i], host))
            return CLAB_OK;
    return CLAB_APPEND(t->hosts, t->nhosts, t->host_room, &host, 1);
}

// `#  size  count  type  redop  root  time  algbw  busbw  #wrong  time ...`: the first of each is out of place.
static void take_heading(struct tests *t, char *line)
{
    char *words[COLUMNS];
    const int n = cut(line + 1, words);
    if (n < 2 || strcmp(words[0], "size"))
        return;
    t->time_at = t->wrong_at = -1;
    for (int i = n - 1; i > 0; i--) {
        t->time_at = strcmp(words[i], "time") ? t->time_at : i;
        t->wrong_at = strcmp(words[i], "#wrong") && strcmp(words[i], "error") ? t->wrong_at : i;
    }
}

static int take_remark(struct tests *t, char *line)
{
    char name[64];
    if (sscanf(line, "# Collective test starting: %63s", name) == 1) {
        char *end = strstr(name, "_perf");
        if (end)
            *end = '\0';
        if ((t->time.function = clab_nccl_function_find(name)) < 0)
            return refuse_line(t, "NCCL's tuner chooses for all_reduce, all_gather, reduce_scatter, broadcast, reduce");
        return CLAB_OK;
    }
    CLAB_TRY(take_rank(t, line));
    take_heading(t, line);
    return CLAB_OK;
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

static int take_time(struct tests *t, char *line, struct tune_times *times)
{
    char *words[COLUMNS];
    struct tune_time time = t->time;
    const int n = cut(line, words);
    if (t->time_at < 0)
        return refuse_line(t, "a row before the heading with size and time: this is not what nccl-tests print");
    if (time.function < 0)
        return refuse_line(t, "of which collective? A line `# Collective test starting: all_reduce_perf` says so");
    if (time.ranks < 2)
        return refuse_line(t, "of how many ranks? Lines `#  Rank  0 Group  0 Pid  1 on host device  0` say so");
    if (n <= t->time_at || clab_parse_size(words[0], &time.bytes) || !take_usec(words[t->time_at], &time.usec))
        return refuse_line(t, "no size and time in microseconds");
    if (t->wrong_at >= 0 && t->wrong_at < n && strtod(words[t->wrong_at], NULL) > 0)
        return refuse_line(t, "wrong results: their time is worth nothing");
    if (time.is_own && (t->algorithm < 0) != (t->protocol < 0))
        return refuse_line(t, "its log says NCCL_ALGO or NCCL_PROTO, not both: --from ALGORITHM/PROTOCOL=FILE says it");
    if (time.is_own && t->algorithm >= 0) {
        time.is_own = false;
        time.algorithm = t->algorithm;
        time.protocol = t->protocol;
    }
    time.nodes = t->nhosts > time.nodes ? t->nhosts : time.nodes;
    return tune_times_add(times, time);
}

static int read_tests(FILE *file, const char *path, struct tune_label label, int nodes, struct tune_times *times)
{
    struct tests t = {.path = path, .time_at = -1, .wrong_at = -1, .algorithm = -1, .protocol = -1};
    const int before = times->n;
    char line[LINE];
    int err = CLAB_OK;
    t.time = labelled(label);
    t.time.function = -1;
    t.time.nodes = nodes;
    while (!err && fgets(line, sizeof line, file)) {
        t.line++;
        const char first = line[strspn(line, " \t\r\n")];
        take_log(&t, line);
        if (first == '#')
            err = take_remark(&t, strchr(line, '#'));
        else if (isdigit((unsigned char)first) && isspace((unsigned char)line[0]))
            err = take_time(&t, line, times);
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

int tune_read_input(struct clab_input *input, const char *path, struct tune_label label, int nodes,
                    struct tune_times *times)
{
    return is_csv(input->file) ? read_csv(input, path, label, nodes, times)
                               : read_tests(input->file, path, label, nodes, times);
}

int tune_read(const char *path, struct tune_label label, int nodes, struct tune_times *times)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_TABLE, &input));
    const int err = tune_read_input(&input, path, label, nodes, times);
    clab_input_close(&input);
    return err;
}
