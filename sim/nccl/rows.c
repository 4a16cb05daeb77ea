// SPDX-License-Identifier: MIT
// Choices for NCCL, read and written (rows.h).

#include "sim/nccl/rows.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "core/base/vector.h"

enum {
    LINE_BYTES = 512,
    MOST_ROWS = 1 << 16,
    MOST_BYTES = 64 << 20,
    MOST_RANKS = 1 << 24,
    FIELDS = 10,
    WHY = CLAB_NCCL_WHY
};
enum { COLLECTIVE, FIRST, LAST, ALGORITHM, PROTOCOL, CHANNELS, NODES, RANKS, OPS, REGISTERED };

static const char *const columns[FIELDS] = {"collective_type", "min_bytes", "max_bytes", "algorithm",  "protocol",
                                            "channels",        "nNodes",    "nRanks",    "numPipeOps", "regBuff"};
static const char *const functions[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce", NULL};
static const char *const algorithms[] = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree",
                                         "pat",  NULL};
static const char *const protocols[] = {"ll", "ll128", "simple", NULL};

// ---- words ---------------------------------------------------------------------------------------------------

const char *clab_nccl_function_word(int function)
{
    return functions[function];
}

const char *clab_nccl_algorithm_word(int algorithm)
{
    return algorithms[algorithm];
}

const char *clab_nccl_protocol_word(int protocol)
{
    return protocols[protocol];
}

static bool is_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

static int find(const char *const words[], const char *word)
{
    for (int i = 0; words[i]; i++)
        if (is_same(words[i], word))
            return i;
    return -1;
}

int clab_nccl_function_find(const char *word)
{
    return find(functions, word);
}

int clab_nccl_algorithm_find(const char *word)
{
    return find(algorithms, word);
}

int clab_nccl_protocol_find(const char *word)
{
    return find(protocols, word);
}

// ---- reading -------------------------------------------------------------------------------------------------

struct reader {
    const char *path;
    int line;
    char *why; // (WHY)
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *r, const char *format, ...)
{
    char what[WHY / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->why, WHY, "%.220s:%d: %s", r->path, r->line, what);
    return CLAB_EPARSE;
}

static int take_word(const struct reader *r, const char *what, const char *const words[], const char *text, int *p)
{
    char known[128] = "";
    if ((*p = find(words, text)) >= 0)
        return CLAB_OK;
    for (int i = 0; words[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), " %s", words[i]);
    return refuse(r, "there is no %s '%.24s'; there is:%s", what, text, known);
}

static int take_int(const struct reader *r, const char *what, const char *text, int low, int high, int *p)
{
    if (clab_parse_int(text, CLAB_NCCL_ANY, high, p) == CLAB_OK && (*p >= low || *p == CLAB_NCCL_ANY))
        return CLAB_OK;
    return refuse(r, "%s '%.24s' is not a number from %d to %d, or -1 for any", what, text, low, high);
}

static int take_bytes(const struct reader *r, const char *what, const char *text, bool is_last, size_t *bytes_p)
{
    if (is_last && !strcmp(text, "-1")) {
        *bytes_p = SIZE_MAX;
        return CLAB_OK;
    }
    if (clab_parse_size(text, bytes_p) == CLAB_OK)
        return CLAB_OK;
    return refuse(r, "%s '%.24s' is not a number of bytes", what, text);
}

// Cut a line at its commas, and blanks off its fields. How many there are; only FIELDS of them are kept.
static int cut(char *line, char *fields[FIELDS])
{
    int n = 0;
    for (char *next = line; next; n++) {
        char *field = strsep(&next, ",");
        field += strspn(field, " \t");
        for (size_t length = strlen(field); length && strchr(" \t", field[length - 1]);)
            field[--length] = '\0';
        if (n < FIELDS)
            fields[n] = field;
    }
    return n;
}

// The names of the columns, where a file begins with them.
static int take_heading(const struct reader *r, char *line)
{
    char *fields[FIELDS] = {NULL};
    const int n = cut(line, fields);
    for (int i = 0; i < n && i < FIELDS; i++)
        if (!is_same(fields[i], columns[i]))
            return refuse(r, "column %d is '%.24s', not '%s'", i + 1, fields[i], columns[i]);
    return CLAB_OK;
}

// Whether the line's first field is the name of the first column.
static bool is_heading(const char *line)
{
    char first[32] = "";
    sscanf(line, " %31[^, \t]", first);
    return is_same(first, columns[COLLECTIVE]);
}

static int take_topology(const struct reader *r, char *const fields[FIELDS], struct clab_nccl_row *row)
{
    CLAB_TRY(take_int(r, "nNodes", fields[NODES], 1, MOST_RANKS, &row->nodes));
    CLAB_TRY(take_int(r, "nRanks", fields[RANKS], 1, MOST_RANKS, &row->ranks));
    CLAB_TRY(take_int(r, "numPipeOps", fields[OPS], 1, INT_MAX, &row->ops));
    return take_int(r, "regBuff", fields[REGISTERED], 0, 1, &row->registered);
}

static int take_row(const struct reader *r, char *line, struct clab_nccl_row *row_p, bool *is_short_p)
{
    char any[] = "-1", *fields[FIELDS] = {NULL, NULL, NULL, NULL, NULL, NULL, any, any, any, any};
    struct clab_nccl_row row = {.line = r->line};
    const int n = cut(line, fields);
    if (n < CHANNELS + 1 || n == RANKS)
        return refuse(r,
                      "%d field%s, not 6, 8, 9 or 10: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,"
                      "nNodes,nRanks,numPipeOps,regBuff",
                      n, n == 1 ? "" : "s");
    CLAB_TRY(take_word(r, "collective", functions, fields[COLLECTIVE], &row.function));
    CLAB_TRY(take_bytes(r, "min_bytes", fields[FIRST], false, &row.first));
    CLAB_TRY(take_bytes(r, "max_bytes", fields[LAST], true, &row.last));
    if (row.first > row.last)
        return refuse(r, "min_bytes %zu is above max_bytes %zu", row.first, row.last);
    CLAB_TRY(take_word(r, "algorithm", algorithms, fields[ALGORITHM], &row.algorithm));
    CLAB_TRY(take_word(r, "protocol", protocols, fields[PROTOCOL], &row.protocol));
    CLAB_TRY(take_int(r, "channels", fields[CHANNELS], 0, CLAB_NCCL_MOST_CHANNELS, &row.channels));
    CLAB_TRY(take_topology(r, fields, &row));
    *row_p = row;
    *is_short_p = n == CHANNELS + 1;
    return CLAB_OK;
}

static int add(struct clab_nccl_rows *rows, const struct clab_nccl_row *row)
{
    return CLAB_PUSH(rows->rows, rows->n, rows->room, *row);
}

// Fowler, Noll and Vo's hash, 32 bits.
static uint32_t hash(uint32_t seed, const char *text)
{
    for (; *text; text++)
        seed = (seed ^ (unsigned char)*text) * 16777619u;
    return seed;
}

static int read_line(const struct reader *r, char *line, struct clab_nccl_rows *rows)
{
    const size_t length = strcspn(line, "\r\n");
    struct clab_nccl_row row;
    bool is_short = false;
    if (!line[length] && length + 1 == LINE_BYTES)
        return refuse(r, "more than %d characters: this is no table of choices", LINE_BYTES - 2);
    line[length] = '\0';
    if (line[0] == '#' || !line[strspn(line, " \t")])
        return CLAB_OK;
    if (rows->n == 0 && is_heading(line))
        return take_heading(r, line);
    if (rows->n == MOST_ROWS)
        return refuse(r, "more than %d rows", MOST_ROWS);
    CLAB_TRY(take_row(r, line, &row, &is_short));
    rows->short_rows += is_short;
    return add(rows, &row);
}

int clab_nccl_rows_read(FILE *file, const char *path, struct clab_nccl_rows *rows_p, char why[WHY])
{
    struct reader r = {.path = path, .why = why};
    struct clab_nccl_rows rows = {.fingerprint = 2166136261u};
    char line[LINE_BYTES];
    int err = CLAB_OK;
    while (!err && fgets(line, sizeof line, file)) {
        r.line++;
        rows.fingerprint = hash(rows.fingerprint, line);
        if ((err = read_line(&r, line, &rows)) == CLAB_ENOMEM)
            snprintf(why, WHY, "%.200s: no memory for it", path);
    }
    if (!err && ferror(file))
        err = refuse(&r, "it can not be read: %s", strerror(errno));
    if (!err && rows.n == 0) {
        snprintf(why, WHY, "%.220s: there is no row; `commlab tune` writes some", path);
        err = CLAB_EPARSE;
    }
    if (err)
        clab_nccl_rows_free(&rows);
    else
        *rows_p = rows;
    return err;
}

// A pipe would be waited for, and a device has no end.
static FILE *open_regular(const char *path, char why[WHY])
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_file = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = is_file && about.st_size <= MOST_BYTES ? fdopen(fd, "r") : NULL;
    if (file)
        return file;
    if (fd >= 0 && !is_file)
        snprintf(why, WHY, "%.200s is no file", path);
    else if (is_file && about.st_size > MOST_BYTES)
        snprintf(why, WHY, "%.200s: larger than 64 MiB, the most that is read of a table: give fewer rows", path);
    else
        snprintf(why, WHY, "%.200s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return NULL;
}

int clab_nccl_rows_load(const char *path, struct clab_nccl_rows *rows_p, char why[WHY])
{
    FILE *file = open_regular(path, why);
    if (!file)
        return CLAB_ENOENT;
    const int err = clab_nccl_rows_read(file, path, rows_p, why);
    fclose(file);
    return err;
}

void clab_nccl_rows_free(struct clab_nccl_rows *rows)
{
    free(rows->rows);
    *rows = (struct clab_nccl_rows){0};
}

// ---- asking --------------------------------------------------------------------------------------------------

static bool is_or_any(int wanted, size_t value)
{
    return wanted == CLAB_NCCL_ANY || (size_t)wanted == value;
}

bool clab_nccl_row_is_for(const struct clab_nccl_row *row, size_t nodes, size_t ranks)
{
    return is_or_any(row->nodes, nodes) && is_or_any(row->ranks, ranks);
}

bool clab_nccl_row_fits(const struct clab_nccl_row *row, int function, size_t bytes, int ops, int registered)
{
    return row->function == function && row->first <= bytes && bytes <= row->last &&
           (row->ops == CLAB_NCCL_ANY || row->ops == ops) &&
           (row->registered == CLAB_NCCL_ANY || row->registered == !!registered);
}

// ---- writing -------------------------------------------------------------------------------------------------

void clab_nccl_rows_write_heading(bool gains, FILE *out)
{
    fprintf(out,
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff%s\n",
            gains ? ",gain" : "");
}

void clab_nccl_rows_write(const struct clab_nccl_row *row, double gain, FILE *out)
{
    fprintf(out, "%s,%zu,%zu,%s,%s,%d,%d,%d,%d,%d", functions[row->function], row->first, row->last,
            algorithms[row->algorithm], protocols[row->protocol], row->channels, row->nodes, row->ranks, row->ops,
            row->registered);
    if (gain > 0)
        fprintf(out, ",%.3f", gain);
    fputc('\n', out);
}
