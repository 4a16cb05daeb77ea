// SPDX-License-Identifier: MIT
// The figures of all benchmarks together. Each collective has one of its backends at one size; and for each device,
// placement and mode it has a chart of two figures: time against size, and bandwidth against size.
//
// - A series is a backend, a device, a machine, an emulated wire, settings and a number of ranks; at each size its fastest
//   algorithm. Ten series can be told apart; how many are left out the figure says.
// - A chart is of one element type, operation and root: those that most rows have.
// - Data go to benchmark-*.csv beside the page; titles are computed here, where intervals are known.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/series.h"
#include "cmd/report/report.h"
#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/vector.h"

enum { MOST_SERIES = 10, MOST_CHARTS = 24 };

static const char *time_of(const struct report_row *row, char out[CLAB_TEXT])
{
    return clab_seconds_text(1e-6 * row->usec, out);
}

// What a figure says, and where its data go.
struct saying {
    const char *folder, *kind; // the folder; "benchmark-time", which is also the script's name
    char name[60];             // what the file's name says beyond that: "allreduce-cpu"
    char finding[300], subject[300];
};

// Write the table, and draw it.
static int draw(struct report_results *results, const struct series_names *names, const struct clab_table *table,
                const struct saying *say, char **figure_p)
{
    char script[64], name[160], machines[300], *csv;
    struct clab_manifest manifest = {0};
    snprintf(script, sizeof script, "plots/%s.gp", say->kind);
    snprintf(name, sizeof name, "%s-%s", say->kind, say->name);
    if (asprintf(&csv, "%s/%s.csv", say->folder, name) < 0)
        return CLAB_ENOMEM;
    int err = clab_manifest_add(&manifest, "finding", "%s", say->finding);
    err = err ? err : clab_manifest_add(&manifest, "subject", "%s", say->subject);
    series_machines(names, machines);
    err = err ? err : clab_manifest_add(&manifest, "machine", "%s", machines);
    err = err ? err : clab_table_write_csv(table, &manifest, csv);
    clab_manifest_free(&manifest);
    if (!err)
        err = report_draw(results, script, csv, name, figure_p);
    free(csv);
    return err;
}

// ---- time and bandwidth --------------------------------------------------------------------------------------

// The picks of one chart: its series, and what is remarkable among them.
struct sweep {
    const struct report_row *firsts[MOST_SERIES]; // of each series, its smallest size
    const struct report_row *least, *most, *fastest; // of all: the smallest time and the largest, the highest busbw
    int n, left_out;                                 // series
    int repeated, others; // points of several runs; rows of other types, operations and roots, which have no chart
};

// Of one chart, but for type, operation and root.
static bool is_of_chart(const struct report_row *a, const struct report_row *b)
{
    return !strcmp(a->collective, b->collective) && !strcmp(a->device, b->device) && !strcmp(a->mode, b->mode) &&
           a->is_in_place == b->is_in_place;
}

static bool is_shown(const struct report_row *first, const struct report_row *row)
{
    return report_is_same_work(first, row) && !strcmp(first->device, row->device);
}

// Of the rows that could be in the chart of the pick at `first`, the first of the type, operation and root that most have.
// Picks of the same work follow one another.
static const struct report_row *commonest(const struct report_picks *picks, int first)
{
    const struct report_row *best = NULL, *last = NULL;
    int most = 0;
    for (int i = first; i < picks->n; i++) {
        const struct report_row *row = picks->picks[i].row;
        int n = 0;
        if (!is_of_chart(picks->picks[first].row, row) || (last && is_shown(last, row)))
            continue;
        last = row;
        for (int k = i; k < picks->n && report_is_same_work(row, picks->picks[k].row); k++)
            n += is_shown(row, picks->picks[k].row);
        if (n > most)
            best = row, most = n;
    }
    return best;
}

static void take_extremes(struct sweep *sweep, const struct report_row *row)
{
    sweep->repeated += row->nruns > 0;
    if (!sweep->least || row->usec < sweep->least->usec)
        sweep->least = row;
    if (!sweep->most || row->usec > sweep->most->usec)
        sweep->most = row;
    if (isfinite(row->busbw) && (!sweep->fastest || row->busbw > sweep->fastest->busbw))
        sweep->fastest = row;
}

static int gather_sweep(const struct report_picks *picks, const struct report_row *first, struct report_chart *chart,
                        struct sweep *sweep)
{
    *sweep = (struct sweep){0};
    for (int i = 0, end; i < picks->n; i = end) {
        const struct report_row *row = picks->picks[i].row;
        end = report_series_end(picks, i);
        sweep->others += is_of_chart(first, row) && !is_shown(first, row) ? end - i : 0;
        sweep->left_out += is_shown(first, row) && sweep->n == MOST_SERIES;
        if (!is_shown(first, row) || sweep->n == MOST_SERIES)
            continue;
        sweep->firsts[sweep->n++] = row;
        for (int k = i; k < end; k++) {
            take_extremes(sweep, picks->picks[k].row);
            CLAB_TRY(CLAB_PUSH(chart->rows, chart->nrows, chart->row_room, picks->picks[k].row));
        }
    }
    return CLAB_OK;
}

// Devices of others' files: their names go into names of files only if they are plain.
static void name_files(const struct report_row *row, int number, struct saying *say)
{
    const bool is_plain = *row->device && !row->device[strspn(row->device, "abcdefghijklmnopqrstuvwxyz0123456789")];
    struct clab_text text = clab_text_begin(say->name, sizeof say->name);
    clab_text_add(&text, "%s-%.12s", row->collective, is_plain ? row->device : "device");
    if (!is_plain || strlen(row->device) > 12)
        clab_text_add(&text, "%d", number);
    clab_text_add(&text, "%s", row->is_in_place ? "-in-place" : "");
    if (strcmp(row->mode, "throughput"))
        clab_text_add(&text, "-%s", !strcmp(row->mode, "latency") ? "latency" : "mode");
}

// "broadcast (in place, on cuda)".
static void name_work(const struct report_row *row, bool has_devices, char out[100])
{
    struct clab_text text = clab_text_begin(out, 100);
    const char *before = " (";
    clab_text_add(&text, "%s", row->collective);
    if (row->is_in_place) {
        clab_text_add(&text, "%sin place", before);
        before = ", ";
    }
    if (has_devices && *row->device) {
        clab_text_add(&text, "%son %.12s", before, row->device);
        before = ", ";
    }
    if (!strcmp(row->mode, "latency")) {
        clab_text_add(&text, "%slatency of one call", before);
        before = ", ";
    }
    clab_text_add(&text, "%s", *before == ',' ? ")" : "");
}

static void tell_subject(const struct sweep *sweep, const char *work, struct saying *say)
{
    const struct report_row *first = sweep->firsts[0];
    struct clab_text text = clab_text_begin(say->subject, sizeof say->subject);
    clab_text_add(&text, "%s, %.12s", work, first->type);
    if (first->root > 0)
        clab_text_add(&text, ", root %d", first->root);
    if (sweep->left_out)
        clab_text_add(&text, ", the first %d of %d settings", sweep->n, sweep->n + sweep->left_out);
    clab_text_add(&text, "; each point is the fastest algorithm, with its 95 %% interval where there is one");
    if (sweep->repeated)
        clab_text_add(&text, "; %d of several runs: their median, an interval over all", sweep->repeated);
    if (sweep->others)
        clab_text_add(&text, "; of other types, operations or roots %d row%s not drawn", sweep->others,
                      sweep->others == 1 ? " is" : "s are");
}

static void tell_times(const struct sweep *sweep, const struct series_names *names, const char *work, struct saying *say)
{
    char least[CLAB_TEXT], most[CLAB_TEXT], sizes[2][32], series[2][SERIES_NAME];
    series_name(names, sweep->least, series[0]);
    series_name(names, sweep->most, series[1]);
    snprintf(say->finding, sizeof say->finding, "A call of %s takes from %s (%s, %s) to %s (%s, %s)", work,
             time_of(sweep->least, least), series[0], clab_size_text((size_t)sweep->least->bytes, sizes[0]),
             time_of(sweep->most, most), series[1], clab_size_text((size_t)sweep->most->bytes, sizes[1]));
}

static void tell_rates(const struct sweep *sweep, const struct series_names *names, const char *work, struct saying *say)
{
    char rate[CLAB_TEXT], size[32], series[SERIES_NAME];
    series_name(names, sweep->fastest, series);
    snprintf(say->finding, sizeof say->finding, "The bus bandwidth of %s is highest over %s, at %s: %s", work, series,
             clab_size_text((size_t)sweep->fastest->bytes, size), clab_rate_text(1e9 * sweep->fastest->busbw, rate));
}

static bool has_other_device(const struct report_picks *picks, const struct report_row *row)
{
    for (int i = 0; i < picks->n; i++)
        if (!strcmp(picks->picks[i].row->collective, row->collective) &&
            strcmp(picks->picks[i].row->device, row->device))
            return true;
    return false;
}

static int draw_sweep(struct report_results *results, const struct report_picks *picks, const struct report_row *first,
                      int number, const char *folder, struct report_chart *chart)
{
    char work[100];
    struct saying say = {.folder = folder, .kind = "benchmark-time"};
    struct sweep sweep;
    struct clab_table table;
    chart->collective = first->collective;
    CLAB_TRY(gather_sweep(picks, first, chart, &sweep));
    const struct series_names names = series_names_of(picks->rows, sweep.firsts, sweep.n);
    name_files(first, number, &say);
    name_work(first, has_other_device(picks, first), work);
    tell_subject(&sweep, work, &say);
    tell_times(&sweep, &names, work, &say);
    clab_table_init(&table, series_columns, SERIES_COLUMNS);
    int err = CLAB_OK;
    for (int i = 0; i < chart->nrows && !err; i++)
        err = series_add_row(&table, &names, chart->rows[i]);
    err = err ? err : draw(results, &names, &table, &say, &chart->time);
    if (!err && sweep.fastest) {
        say.kind = "benchmark-bandwidth";
        tell_rates(&sweep, &names, work, &say);
        err = draw(results, &names, &table, &say, &chart->bandwidth);
    }
    clab_table_free(&table);
    return err;
}

// ---- the backends at one size --------------------------------------------------------------------------------

// The slowest against the fastest: the interval of their factor, or that there is no measurable difference.
static void tell_contest(const struct report_contest *contest, const struct series_names *names, char finding[300])
{
    const struct report_row *fast = contest->rows[0], *slow = contest->rows[contest->n - 1];
    char sizes[32], fast_name[SERIES_NAME], slow_name[SERIES_NAME], work[80];
    series_name(names, fast, fast_name);
    series_name(names, slow, slow_name);
    snprintf(work, sizeof work, "%s of %s between %d ranks", fast->collective, clab_size_text((size_t)fast->bytes, sizes),
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
                        struct report_chart *chart)
{
    const struct report_contest *contest = &chart->contest;
    struct saying say = {.folder = folder, .kind = "benchmark-backends"};
    struct clab_table table;
    if (contest->n < 2)
        return CLAB_OK;
    const struct series_names names = series_names_of(picks->rows, contest->rows, contest->n);
    struct clab_text subject = clab_text_begin(say.subject, sizeof say.subject);
    snprintf(say.name, sizeof say.name, "%s", contest->rows[0]->collective);
    tell_contest(contest, &names, say.finding);
    clab_text_add(&subject, "time of a call by the fastest algorithm; whiskers are 95 %% intervals");
    if (contest->left_out)
        clab_text_add(&subject, "; %d setting%s without this size", contest->left_out,
                      contest->left_out == 1 ? " is" : "s are");
    clab_table_init(&table, series_columns, SERIES_COLUMNS);
    int err = CLAB_OK;
    for (int i = 0; i < contest->n && !err && i < MOST_SERIES; i++)
        err = series_add_row(&table, &names, contest->rows[i]);
    err = err ? err : draw(results, &names, &table, &say, &chart->backends);
    clab_table_free(&table);
    return err;
}

// ---- all of them ---------------------------------------------------------------------------------------------

static void chart_free(struct report_chart *chart)
{
    free(chart->time);
    free(chart->bandwidth);
    free(chart->backends);
    free(chart->rows);
}

// Whether the pick at `first` is the first of its chart; of its collective.
static bool is_first(const struct report_picks *picks, int first, bool is_of_collective)
{
    const struct report_row *row = picks->picks[first].row;
    for (int i = 0; i < first; i++) {
        const struct report_row *before = picks->picks[i].row;
        if (is_of_collective ? !strcmp(before->collective, row->collective) : is_of_chart(before, row))
            return false;
    }
    return true;
}

static int add_chart(struct report_results *results, const struct report_picks *picks, int first, const char *folder,
                     struct report_charts *charts)
{
    struct report_chart chart = {0};
    int err = CLAB_OK;
    if (is_first(picks, first, true)) {
        report_contest_find(picks, picks->picks[first].row->collective, &chart.contest);
        err = draw_contest(results, picks, folder, &chart);
    }
    if (!err)
        err = draw_sweep(results, picks, commonest(picks, first), charts->n, folder, &chart);
    if (!err)
        err = CLAB_PUSH(charts->charts, charts->n, charts->room, chart);
    if (err)
        chart_free(&chart);
    return err;
}

// The charts of allreduce, or of all others.
static int add_charts(struct report_results *results, const struct report_picks *picks, bool is_allreduce,
                      const char *folder, struct report_charts *charts)
{
    for (int i = 0, end; i < picks->n; i = end) {
        end = report_series_end(picks, i);
        if (!strcmp(picks->picks[i].row->collective, "allreduce") != is_allreduce || !is_first(picks, i, false))
            continue;
        if (charts->n == MOST_CHARTS)
            charts->left_out++;
        else
            CLAB_TRY(add_chart(results, picks, i, folder, charts));
    }
    return CLAB_OK;
}

int report_charts_draw(struct report_results *results, const struct report_picks *picks, const char *folder,
                       struct report_charts *charts_p)
{
    struct report_charts charts = {0};
    int err = add_charts(results, picks, true, folder, &charts);
    if (!err)
        err = add_charts(results, picks, false, folder, &charts);
    if (err)
        report_charts_free(&charts);
    else
        *charts_p = charts;
    return err;
}

void report_charts_free(struct report_charts *charts)
{
    for (int i = 0; i < charts->n; i++)
        chart_free(&charts->charts[i]);
    free(charts->charts);
    *charts = (struct report_charts){0};
}
