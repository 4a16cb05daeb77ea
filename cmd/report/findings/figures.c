// SPDX-License-Identifier: MIT
// The three figures of all benchmarks together: time against size, bandwidth against size, and the backends at one size.
//
// - A series is a backend, a device, a machine, an emulated wire and a number of ranks; at each size its fastest row.
// - The first two are of allreduce, or of the first collective that there is. Ten series can be told apart; how many
//   are left out the figure says.
// - Data go to benchmark-*.csv beside the page; titles are computed here, where intervals are known.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/marked.h"
#include "cmd/report/report.h"
#include "core/base/err.h"
#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/units.h"

enum { MOST_SERIES = 10, NAME = 80, LINES = 1000 };

// ---- names ---------------------------------------------------------------------------------------------------

// What tells series apart: the device, the machine, the emulated wire and settings only where several are there.
struct naming {
    const struct report_rows *rows;
    int source; // of the first
    bool has_devices, has_machines, has_wires, has_settings, has_ranks;
};

static struct naming naming_of(const struct report_rows *rows, const struct report_row *const list[], int n)
{
    struct naming names = {.rows = rows, .source = n ? list[0]->source : 0};
    for (int i = 1; i < n; i++) {
        const struct report_source *one = &rows->sources[list[i]->source], *first = &rows->sources[list[0]->source];
        names.has_devices |= strcmp(list[i]->device, list[0]->device) != 0;
        names.has_machines |= strcmp(one->machine, first->machine) != 0;
        names.has_wires |= strcmp(one->wire, first->wire) != 0;
        names.has_settings |= strcmp(one->settings, first->settings) != 0;
        names.has_ranks |= list[i]->ranks != list[0]->ranks;
    }
    return names;
}

static void name_series(const struct naming *names, const struct report_row *row, char out[NAME])
{
    struct clab_text text = clab_text_begin(out, NAME);
    clab_text_add(&text, "%.20s", row->backend);
    if (names->has_devices && *row->device)
        clab_text_add(&text, " %.8s", row->device);
    if (names->has_ranks)
        clab_text_add(&text, " %d ranks", row->ranks);
    const char *wire = names->rows->sources[row->source].wire;
    if (names->has_wires && *wire)
        clab_text_add(&text, " as %.20s", wire);
    const char *settings = names->rows->sources[row->source].settings;
    if (names->has_settings && *settings)
        clab_text_add(&text, " with %.24s", settings);
    if (names->has_machines)
        clab_text_add(&text, " on %s", report_machine_letter(names->rows, row->source));
}

// The machine, or the letters of all.
static void name_machines(const struct naming *names, char out[300])
{
    struct clab_text text = clab_text_begin(out, 300);
    const struct report_rows *rows = names->rows;
    const char *last = "";
    if (!names->has_machines)
        clab_text_add(&text, "%s", rows->sources[names->source].machine);
    for (int i = 0; i < rows->nsources && names->has_machines; i++) {
        const char *letter = report_machine_letter(rows, i);
        if (strcmp(letter, last) > 0)
            clab_text_add(&text, "%s%s: %.60s", i ? "; " : "", letter, rows->sources[i].machine);
        last = strcmp(letter, last) > 0 ? letter : last;
    }
}

static const char *time_of(const struct report_row *row, char out[CLAB_TEXT])
{
    return clab_seconds_text(1e-6 * row->usec, out);
}

// ---- files ---------------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {.name = "series", .kind = CLAB_KIND_TEXT}, {.name = "bytes", .kind = CLAB_KIND_INTEGER},
    {.name = "usec", .kind = CLAB_KIND_REAL},   {.name = "usec_low", .kind = CLAB_KIND_REAL},
    {.name = "usec_high", .kind = CLAB_KIND_REAL}, {.name = "busbw_GBps", .kind = CLAB_KIND_REAL},
    {.name = "crowded", .kind = CLAB_KIND_INTEGER}, {.name = "source", .kind = CLAB_KIND_TEXT},
    {.name = "line", .kind = CLAB_KIND_TEXT},   {.name = "runs", .kind = CLAB_KIND_INTEGER},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

// "b.csv;c.csv" and "3;4": of each run.
static void name_lines(const struct report_rows *rows, const struct report_row *row, char files[LINES], char lines[LINES])
{
    struct clab_text file = clab_text_begin(files, LINES), line = clab_text_begin(lines, LINES);
    for (int i = 0; i < (row->nruns ? row->nruns : 1); i++) {
        const struct report_row *run = row->nruns ? row->runs[i] : row;
        clab_text_add(&file, "%s%s", i ? ";" : "", rows->sources[run->source].file);
        clab_text_add(&line, "%s%d", i ? ";" : "", run->line);
    }
}

static int add_row(struct clab_table *table, const struct naming *names, const struct report_row *row)
{
    char name[NAME], files[LINES], lines[LINES];
    name_series(names, row, name);
    name_lines(names->rows, row, files, lines);
    const struct clab_cell cells[COLUMNS] = {clab_cell_text(name),
                                             clab_cell_integer(row->bytes),
                                             clab_cell_real(row->usec),
                                             clab_cell_real(row->low),
                                             clab_cell_real(row->high),
                                             clab_cell_real(row->busbw),
                                             clab_cell_integer(row->is_crowded),
                                             clab_cell_text(files),
                                             clab_cell_text(lines),
                                             clab_cell_integer(row->nruns ? row->nruns : 1)};
    return clab_table_add_row(table, cells);
}

// Write the table, and draw it by `script`.
static int draw(struct report_results *results, const struct naming *names, const struct clab_table *table,
                const char *finding, const char *subject, const char *folder, const char *name, char **figure_p)
{
    char script[64], machines[300], *csv;
    struct clab_manifest manifest = {0};
    snprintf(script, sizeof script, "plots/%s.gp", name);
    if (asprintf(&csv, "%s/%s.csv", folder, name) < 0)
        return CLAB_ENOMEM;
    int err = clab_manifest_add(&manifest, "finding", "%s", finding);
    err = err ? err : clab_manifest_add(&manifest, "subject", "%s", subject);
    name_machines(names, machines);
    err = err ? err : clab_manifest_add(&manifest, "machine", "%s", machines);
    err = err ? err : clab_table_write_csv(table, &manifest, csv);
    clab_manifest_free(&manifest);
    if (!err)
        err = report_draw(results, script, csv, name, figure_p);
    free(csv);
    return err;
}

// ---- time and bandwidth --------------------------------------------------------------------------------------

struct sweep {
    const struct report_row *firsts[MOST_SERIES]; // of each series, its smallest size
    const struct report_row *least, *most, *fastest; // of all: the smallest time and the largest, the highest busbw
    int n, left_out;
};

static bool is_drawn(const struct report_picks *picks, int first, const char *collective)
{
    const struct report_row *row = picks->picks[first].row;
    return !strcmp(row->collective, collective) && strcmp(row->mode, "latency");
}

static const char *choose_collective(const struct report_picks *picks)
{
    for (int i = 0; i < picks->n; i++)
        if (!strcmp(picks->picks[i].row->collective, "allreduce"))
            return "allreduce";
    return picks->n ? picks->picks[0].row->collective : NULL;
}

static void take_extremes(struct sweep *sweep, const struct report_row *row)
{
    if (!sweep->least || row->usec < sweep->least->usec)
        sweep->least = row;
    if (!sweep->most || row->usec > sweep->most->usec)
        sweep->most = row;
    if (isfinite(row->busbw) && (!sweep->fastest || row->busbw > sweep->fastest->busbw))
        sweep->fastest = row;
}

static void gather_sweep(const struct report_picks *picks, const char *collective, struct sweep *sweep_p)
{
    struct sweep sweep = {0};
    const struct report_row *work = NULL; // of the first series: others of another type are none
    for (int i = 0, end; i < picks->n; i = end) {
        end = report_series_end(picks, i);
        const struct report_row *row = picks->picks[i].row;
        if (!is_drawn(picks, i, collective) || (work && !report_is_same_work(work, row)))
            continue;
        work = work ? work : row;
        sweep.left_out += sweep.n == MOST_SERIES;
        if (sweep.n == MOST_SERIES)
            continue;
        sweep.firsts[sweep.n++] = row;
        for (int k = i; k < end; k++)
            take_extremes(&sweep, picks->picks[k].row);
    }
    *sweep_p = sweep;
}

static int fill_sweep(const struct report_picks *picks, const struct sweep *sweep, const struct naming *names,
                      struct clab_table *table)
{
    for (int s = 0, i = 0; s < sweep->n; s++) {
        while (picks->picks[i].row != sweep->firsts[s])
            i++;
        for (const int end = report_series_end(picks, i); i < end; i++)
            CLAB_TRY(add_row(table, names, picks->picks[i].row));
    }
    return CLAB_OK;
}

static int draw_sweep(struct report_results *results, const struct report_picks *picks, const char *folder,
                      struct report_charts *charts)
{
    char finding[300], subject[200], least[CLAB_TEXT], most[CLAB_TEXT], sizes[2][32], names[2][NAME], rate[CLAB_TEXT];
    struct sweep sweep;
    struct clab_table table;
    charts->collective = choose_collective(picks);
    if (!charts->collective)
        return CLAB_OK;
    gather_sweep(picks, charts->collective, &sweep);
    if (!sweep.n)
        return CLAB_OK;
    const struct naming naming = naming_of(picks->rows, sweep.firsts, sweep.n);
    snprintf(subject, sizeof subject, "%s, %s; each point is the fastest algorithm, with its 95 %% interval where there is one",
             charts->collective, sweep.firsts[0]->type);
    if (sweep.left_out)
        snprintf(subject, sizeof subject, "%s, the first %d of %d settings; the fastest algorithm, with 95 %% intervals",
                 charts->collective, sweep.n, sweep.n + sweep.left_out);
    name_series(&naming, sweep.least, names[0]);
    name_series(&naming, sweep.most, names[1]);
    snprintf(finding, sizeof finding, "A call of %s takes from %s (%s, %s) to %s (%s, %s)", charts->collective,
             time_of(sweep.least, least), names[0], marked_size_text(sweep.least->bytes, sizes[0]),
             time_of(sweep.most, most), names[1], marked_size_text(sweep.most->bytes, sizes[1]));
    clab_table_init(&table, columns, COLUMNS);
    int err = fill_sweep(picks, &sweep, &naming, &table);
    if (!err)
        err = draw(results, &naming, &table, finding, subject, folder, "benchmark-time", &charts->time);
    if (!err && sweep.fastest) {
        name_series(&naming, sweep.fastest, names[0]);
        snprintf(finding, sizeof finding, "The bus bandwidth of %s is highest over %s, at %s: %s", charts->collective,
                 names[0], marked_size_text(sweep.fastest->bytes, sizes[0]),
                 clab_rate_text(1e9 * sweep.fastest->busbw, rate));
        err = draw(results, &naming, &table, finding, subject, folder, "benchmark-bandwidth", &charts->bandwidth);
    }
    clab_table_free(&table);
    return err;
}

// ---- the backends at one size --------------------------------------------------------------------------------

// The slowest against the fastest: the interval of their factor, or that there is no measurable difference.
static void tell_contest(const struct report_contest *contest, const struct naming *names, char finding[300])
{
    const struct report_row *fast = contest->rows[0], *slow = contest->rows[contest->n - 1];
    char sizes[32], fast_name[NAME], slow_name[NAME], work[80];
    name_series(names, fast, fast_name);
    name_series(names, slow, slow_name);
    snprintf(work, sizeof work, "%s of %s between %d ranks", fast->collective, marked_size_text(fast->bytes, sizes),
             fast->ranks);
    if (!isfinite(fast->high) || !isfinite(slow->low))
        snprintf(finding, 300, "%s: %s and %s, not both with an interval", work, fast_name, slow_name);
    else if (slow->low <= fast->high)
        snprintf(finding, 300, "%s: no measurable difference between %s and %s", work, fast_name, slow_name);
    else
        snprintf(finding, 300, "%s: %s takes %.3g times (%.3g to %.3g) as long as %s", work, slow_name,
                 slow->usec / fast->usec, slow->low / fast->high, slow->high / fast->low, fast_name);
    finding[0] = (char)(finding[0] >= 'a' && finding[0] <= 'z' ? finding[0] - 'a' + 'A' : finding[0]);
}

static int draw_contest(struct report_results *results, const struct report_picks *picks, const char *folder,
                        struct report_charts *charts)
{
    char finding[300], subject[160], left_out[64] = "";
    struct clab_table table;
    const struct report_contest *contest = &charts->contest;
    if (contest->n < 2)
        return CLAB_OK;
    const struct naming naming = naming_of(picks->rows, contest->rows, contest->n);
    tell_contest(contest, &naming, finding);
    clab_table_init(&table, columns, COLUMNS);
    int err = CLAB_OK;
    for (int i = 0; i < contest->n && !err && i < MOST_SERIES; i++)
        err = add_row(&table, &naming, contest->rows[i]);
    if (contest->left_out)
        snprintf(left_out, sizeof left_out, "; %d setting%s without this size", contest->left_out,
                 contest->left_out == 1 ? " is" : "s are");
    snprintf(subject, sizeof subject, "time of a call by the fastest algorithm; whiskers are 95 %% intervals%s", left_out);
    if (!err)
        err = draw(results, &naming, &table, finding, subject, folder, "benchmark-backends", &charts->backends);
    clab_table_free(&table);
    return err;
}

int report_charts_draw(struct report_results *results, const struct report_picks *picks, const char *folder,
                       struct report_charts *charts_p)
{
    struct report_charts charts = {0};
    report_contest_find(picks, &charts.contest);
    int err = draw_sweep(results, picks, folder, &charts);
    if (!err)
        err = draw_contest(results, picks, folder, &charts);
    if (err)
        report_charts_free(&charts);
    else
        *charts_p = charts;
    return err;
}

void report_charts_free(struct report_charts *charts)
{
    free(charts->time);
    free(charts->bandwidth);
    free(charts->backends);
    *charts = (struct report_charts){0};
}
