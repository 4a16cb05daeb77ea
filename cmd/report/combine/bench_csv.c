// SPDX-License-Identifier: MIT
// Rows of `commlab bench --csv` and of `bench --matrix` (rows.h). Columns are found by their names; those that a file
// lacks are not said. What is there has to be possible: a time above 0 within its interval, a known collective, at least
// one rank.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/combine/rows.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/vector.h"
#include "core/schedule/schedule.h"

enum { MOST_RANKS = 1 << 20, MOST_TEXT = 64 };

const char *report_status_name(enum report_status status)
{
    static const char *const names[] = {"ok", "noisy", "skipped", "failed"};
    return names[status];
}

void report_rows_free(struct report_rows *rows)
{
    for (int i = 0; i < rows->ntexts; i++)
        free(rows->texts[i]);
    free(rows->texts);
    free(rows->rows);
    free(rows->sources);
    *rows = (struct report_rows){0};
}

// Most texts of a file are those of the row before, or of one a few columns ago.
const char *report_rows_text(struct report_rows *rows, const char *text)
{
    for (int i = rows->ntexts - 1; i >= 0 && i >= rows->ntexts - 64; i--)
        if (!strncmp(rows->texts[i], text, MOST_TEXT) && strlen(rows->texts[i]) == strnlen(text, MOST_TEXT))
            return rows->texts[i];
    char *copy = strndup(text, MOST_TEXT);
    if (!copy || CLAB_PUSH(rows->texts, rows->ntexts, rows->text_room, copy)) {
        free(copy);
        return NULL;
    }
    return copy;
}

// ---- cells ---------------------------------------------------------------------------------------------------

// A row that is being read, and the first error in it.
struct cells {
    struct report_rows *rows;
    const struct clab_csv *data;
    int row, err;
};

static const char *text_of(struct cells *c, const char *name)
{
    const char *text = report_rows_text(c->rows, clab_csv_cell(c->data, c->row, name));
    c->err = text || c->err ? c->err : CLAB_ENOMEM;
    return text ? text : "";
}

// A number from `low` to `high`; an empty cell is `none`.
static double real_of(struct cells *c, const char *name, double low, double high, double none)
{
    const char *text = clab_csv_cell(c->data, c->row, name);
    const double value = clab_csv_real(c->data, c->row, name);
    if (!*text || c->err)
        return none;
    if (!isfinite(value) || value < low || value > high) {
        c->err = clab_csv_refuse(c->data, c->row, name,
                                 "'%.20s' is no number from %g to %g: measure it again, or take the file away", text,
                                 low, high);
        return none;
    }
    return value;
}

static long long whole_of(struct cells *c, const char *name, double high)
{
    const double value = real_of(c, name, 0, high, -1);
    if (value != floor(value) && !c->err)
        c->err = clab_csv_refuse(c->data, c->row, name, "%g is not a whole number", value);
    return (long long)value;
}

static enum report_status status_of(struct cells *c)
{
    const char *text = clab_csv_cell(c->data, c->row, "status");
    for (int s = REPORT_OK; s <= REPORT_FAILED; s++)
        if (!*text || !strcmp(text, report_status_name((enum report_status)s)))
            return (enum report_status)s;
    c->err = c->err ? c->err
                    : clab_csv_refuse(c->data, c->row, "status", "'%.20s' is none of ok, noisy, skipped, failed", text);
    return REPORT_FAILED;
}

static const char *collective_of(struct cells *c)
{
    const char *text = clab_csv_cell(c->data, c->row, "collective");
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++)
        if (!strcmp(text, clab_collective_name((enum clab_collective)i)))
            return clab_collective_name((enum clab_collective)i);
    c->err = c->err ? c->err : clab_csv_refuse(c->data, c->row, "collective", "'%.20s' is no collective", text);
    return "";
}

// A bench of one backend does not say it; "gpu" is an older name.
static const char *device_of(struct cells *c)
{
    const char *text = text_of(c, "device");
    const char *usual = strcmp(clab_csv_cell(c->data, c->row, "backend"), "nccl") ? "cpu" : "cuda";
    return !*text ? usual : !strcmp(text, "gpu") ? "cuda" : text;
}

static void check_times(struct cells *c, const struct report_row *row)
{
    if (!c->err && row->status <= REPORT_NOISY && (row->low > row->usec || row->usec > row->high))
        c->err = clab_csv_refuse(c->data, c->row, "usec", "%g us is not within its interval, %g to %g us", row->usec,
                                 row->low, row->high);
}

static struct report_row read_row(struct cells *c, int source)
{
    static const double most_bytes = 1e15, longest = 1e12; // us: more than a week
    struct report_row row = {
        .source = source,
        .line = c->data->lines[c->row + 1],
        .collective = collective_of(c),
        .algorithm = text_of(c, "algorithm"),
        .backend = text_of(c, "backend"),
        .device = device_of(c),
        .type = text_of(c, "type"),
        .op = text_of(c, "op"),
        .mode = text_of(c, "mode"),
        .reason = text_of(c, "reason"),
        .status = status_of(c),
        .ranks = (int)real_of(c, "ranks", 1, MOST_RANKS, 0),
        .root = (int)real_of(c, "root", -1, MOST_RANKS, -1),
        .bytes = whole_of(c, "bytes", most_bytes),
        .count = whole_of(c, "count", most_bytes),
        .wrong = whole_of(c, "wrong", most_bytes),
        .sent = whole_of(c, "bytes_sent_per_rank", most_bytes),
        .calls = whole_of(c, "calls", most_bytes),
        .warmup = (int)real_of(c, "num_warmup", -1, 1e9, -1),
        .is_in_place = real_of(c, "inplace", 0, 1, 0) > 0,
        .is_crowded = real_of(c, "oversubscribed", 0, 1, 0) > 0,
        .usec = real_of(c, "usec", 1e-6, longest, NAN),
        .low = real_of(c, "usec_low", 0, longest, NAN),
        .high = real_of(c, "usec_high", 0, longest, NAN),
        .algbw = real_of(c, "algbw_GBps", 0, 1e9, NAN),
        .busbw = real_of(c, "busbw_GBps", 0, 1e9, NAN),
        .predicted = real_of(c, "predicted_usec", 0, longest, NAN),
        .simulated = real_of(c, "sim_usec", 0, longest, NAN),
        .place = {real_of(c, "line_nsec", 0, longest, NAN), real_of(c, "fresh_psB", 0, longest, NAN),
                  real_of(c, "call_nsec", 0, longest, NAN)},
    };
    report_row_fix_root(&row);
    if (!c->err && row.ranks < 1)
        c->err = clab_csv_refuse(c->data, c->row, "ranks", "it is empty: a row names its number of ranks");
    check_times(c, &row);
    return row;
}

// ---- what a file says of itself ------------------------------------------------------------------------------

// The number before `mark` in "16.2 GB/s by one core, 19.7 GB/s by all ranks at once", by its unit; 0: not there.
static double rate_before(const char *text, const char *mark)
{
    const char *end = text ? strstr(text, mark) : NULL, *begin = end;
    char number[CLAB_TEXT];
    double cost;
    while (begin && begin > text && begin[-1] != ',' && begin[-1] != ';')
        begin--;
    if (!begin)
        return 0;
    begin += strspn(begin, " ");
    snprintf(number, sizeof number, "%.*s", (int)(end - begin), begin);
    char *space = strchr(number, ' ');
    if (space)
        memmove(space, space + 1, strlen(space)); // "16.2GB/s"
    return clab_parse_seconds_per_byte(number, &cost) == CLAB_OK && cost > 0 ? 1 / cost : 0;
}

static int cores_of(const char *machine)
{
    const char *mark = machine ? strstr(machine, " cores") : NULL;
    while (mark && mark > machine && mark[-1] >= '0' && mark[-1] <= '9')
        mark--;
    return mark ? atoi(mark) : 0;
}

// The last of "L1d 32 KiB, L2 1 MiB, L3 32 MiB".
static size_t cache_of(const char *caches)
{
    const char *last = caches ? strrchr(caches, 'L') : NULL;
    double number;
    char unit[8];
    if (!last || sscanf(last, "L%*s %lf %7s", &number, unit) != 2 || !(number > 0 && number < 1e6))
        return 0;
    return (size_t)(number * (*unit == 'G' ? 1 << 30 : *unit == 'M' ? 1 << 20 : 1 << 10));
}

// The value of `name` in "CLAB_PROVIDER=verbs; CLAB_CHECK=1", and its bytes; NULL: it is not there.
static const char *variable_in(const char *environment, const char *name, int *bytes_p)
{
    const size_t length = strlen(name);
    for (const char *at = environment; at && (at = strstr(at, name)); at += length)
        if ((at == environment || at[-1] == ' ') && at[length] == '=') {
            *bytes_p = (int)strcspn(at + length + 1, ";");
            return at + length + 1;
        }
    return NULL;
}

// What of the settings is not the usual, and changes the time.
static void take_settings(const struct clab_manifest *m, struct report_source *source)
{
    static const char *const variables[] = {"CLAB_CHECK",    "CLAB_INTERFACE", "CLAB_NCCL_REGISTER", "CLAB_OFI_REGISTER",
                                            "CLAB_PROGRESS", "CLAB_PROVIDER"};
    const char *mode = clab_manifest_get(m, "mode"), *data = clab_manifest_get(m, "data");
    const char *lanes = clab_manifest_get(m, "lanes"), *environment = clab_manifest_get(m, "environment"), *value;
    struct clab_text text = clab_text_begin(source->settings, sizeof source->settings);
    int bytes;
    if (mode && strstr(mode, "each call is timed alone")) // a matrix
        clab_text_add(&text, "each call alone");
    if (data && strstr(data, "in buffers of malloc"))
        clab_text_add(&text, "%sbuffers of malloc", text.used ? ", " : "");
    if (lanes)
        clab_text_add(&text, "%s%.*s lanes", text.used ? ", " : "", (int)strspn(lanes, "0123456789"), lanes);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if ((value = variable_in(environment, variables[i], &bytes)))
            clab_text_add(&text, "%s%s=%.*s", text.used ? ", " : "", variables[i], bytes, value);
}

static void take_source(const struct clab_csv *data, const char *file, struct report_source *source_p)
{
    static const char delayed[] = "delayed as on ";
    const struct clab_manifest *m = &data->manifest;
    const char *machine = clab_manifest_get(m, "machine"), *job = clab_manifest_get(m, "job");
    const char *warning = clab_manifest_get(m, "warning"), *plan = clab_manifest_get(m, "plan");
    const char *wire = job ? strstr(job, delayed) : plan ? strstr(plan, delayed) : NULL; // a matrix has a plan
    struct report_source s = {.file = file};
    s.is_virtual = job && strstr(job, "times are the network's");
    const char *network = s.is_virtual ? clab_manifest_get(m, "network") : NULL;
    snprintf(s.machine, sizeof s.machine, "%s", machine ? machine : network ? network : "unknown machine");
    s.cores = s.is_virtual ? 0 : cores_of(machine);
    s.copy_all = rate_before(clab_manifest_get(m, "memory copy"), " by all ranks at once");
    s.tcp = rate_before(clab_manifest_get(m, "plain TCP"), " each way");
    s.cache = cache_of(clab_manifest_get(m, "caches"));
    if (wire)
        snprintf(s.wire, sizeof s.wire, "%.*s", (int)strcspn(wire + strlen(delayed), ";"), wire + strlen(delayed));
    s.is_busy = warning && strstr(warning, "busy");
    take_settings(m, &s);
    *source_p = s;
}

// A bench measures both placements, a matrix the one that programs use. Which one is compared, a file says by what it has.
static void choose_placement(struct report_rows *rows, int first)
{
    bool is_in_place = true;
    for (int i = first; i < rows->n; i++)
        is_in_place &= rows->rows[i].is_in_place || rows->rows[i].status > REPORT_NOISY;
    for (int i = first; i < rows->n; i++)
        rows->rows[i].is_usual = rows->rows[i].is_in_place == is_in_place;
}

// Without one of these a row says nothing.
static int check_columns(const struct clab_csv *data)
{
    static const char *const needed[] = {"collective", "backend", "ranks", "bytes", "usec"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        bool is_there = false;
        for (int c = 0; c < data->ncolumns; c++)
            is_there |= !strcmp(data->cells[c], needed[i]);
        if (is_there)
            continue;
        clab_error("%s:%d: no column `%s`, which a benchmark's file has (cmd/bench/README.md)", data->path,
                   data->lines[0], needed[i]);
        return CLAB_EPARSE;
    }
    return CLAB_OK;
}

int report_rows_add_csv(struct report_rows *rows, const struct clab_csv *data, const char *file)
{
    struct report_source source;
    const int before = rows->n;
    CLAB_TRY(check_columns(data));
    const char *name = report_rows_text(rows, file);
    if (!name)
        return CLAB_ENOMEM;
    take_source(data, name, &source);
    int err = CLAB_PUSH(rows->sources, rows->nsources, rows->source_room, source);
    for (int row = 0; !err && row < data->nrows; row++) {
        struct cells c = {rows, data, row, CLAB_OK};
        struct report_row read = read_row(&c, rows->nsources - 1);
        read.is_crowded |= source.cores && read.ranks > source.cores;
        if (read.low == read.high && !source.is_virtual)
            read.low = read.high = NAN; // one sample: nobody knows how far off it is
        err = c.err ? c.err : CLAB_PUSH(rows->rows, rows->n, rows->room, read);
    }
    choose_placement(rows, before);
    err = err ? err : report_rows_mark_contradictions(rows, before);
    if (err) {
        rows->n = before;
        rows->nsources -= rows->nsources > 0 && rows->sources[rows->nsources - 1].file == name;
    }
    return err;
}

void report_row_fix_root(struct report_row *row)
{
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++)
        if (!strcmp(row->collective, clab_collective_name((enum clab_collective)i)))
            row->root = !clab_collective_rooted((enum clab_collective)i) ? -1 : row->root < 0 ? 0 : row->root;
}

enum report_status report_row_status(const struct report_row *row)
{
    return row->wrong > 0 ? REPORT_FAILED : row->status;
}

bool report_row_counts(const struct report_row *row)
{
    return report_row_status(row) <= REPORT_NOISY && row->is_usual && isfinite(row->usec) && row->bytes > 0 &&
           strcmp(row->mode, "local"); // there low and high are those of single ranks
}
