// SPDX-License-Identifier: MIT
// The table on the screen: nccl-tests' columns, prediction and residual, and a line of progress.
//
// - A row holds both placements in 150 columns. If the user asked for one placement, the other's columns are left out,
//   and the row fits 120.
// - A cell is empty if the value was not predicted or was refused, or if the collective has no such placement.

#include "cmd/bench/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/bench/bench.h"
#include "cmd/kit/progress.h"
#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

// ---- the screen ----------------------------------------------------------------------------------------------

static const struct clab_column first_columns[] = {
    {"bytes", "size", "B", CLAB_KIND_INTEGER, 9, 0, NULL}, {"count", "count", "elem", CLAB_KIND_INTEGER, 8, 0, NULL},
    {"type", "type", NULL, CLAB_KIND_TEXT, 8, 0, NULL},    {"op", "redop", NULL, CLAB_KIND_TEXT, 5, 0, NULL},
    {"root", "root", NULL, CLAB_KIND_INTEGER, 4, 0, NULL},
};
// Of each placement, which is their group.
static const struct clab_column placement_columns[] = {
    {"time", "time", "us", CLAB_KIND_TEXT, 6, 0, NULL},       {"interval", "+-", "%", CLAB_KIND_TEXT, 4, 0, NULL},
    {"algbw", "algbw", "GB/s", CLAB_KIND_TEXT, 6, 0, NULL},   {"busbw", "busbw", "GB/s", CLAB_KIND_TEXT, 6, 0, NULL},
    {"wrong", "#wrong", NULL, CLAB_KIND_INTEGER, 6, 0, NULL}, {"predicted", "pred", "us", CLAB_KIND_TEXT, 6, 0, NULL},
    {"residual", "resid", "%", CLAB_KIND_TEXT, 5, 0, NULL},
};
static const struct clab_column last_columns[] = {
    {"sent", "sent/rank", "B", CLAB_KIND_INTEGER, 9, 0, NULL},
    {"algorithm", "algorithm", NULL, CLAB_KIND_TEXT, -9, 0, NULL},
};
enum {
    FIRST_COLUMNS = sizeof first_columns / sizeof *first_columns,
    PLACEMENT_COLUMNS = sizeof placement_columns / sizeof *placement_columns,
    LAST_COLUMNS = sizeof last_columns / sizeof *last_columns,
    SCREEN_COLUMNS = FIRST_COLUMNS + BENCH_PLACEMENTS * PLACEMENT_COLUMNS + LAST_COLUMNS,
    TEXT = 16
};

// All columns; those of a placement that the user did not ask for get no width.
static void choose_columns(const struct bench *bench, struct clab_column columns[SCREEN_COLUMNS])
{
    static const char *const groups[BENCH_PLACEMENTS] = {
        [BENCH_OUT_OF_PLACE] = "out-of-place", [BENCH_IN_PLACE] = "in-place"};
    memcpy(columns, first_columns, sizeof first_columns);
    columns += FIRST_COLUMNS;
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        for (int i = 0; i < PLACEMENT_COLUMNS; i++, columns++) {
            *columns = placement_columns[i];
            columns->group = groups[p];
            if (!bench->options->placements[p])
                columns->width = 0;
        }
    memcpy(columns, last_columns, sizeof last_columns);
}

// At least three digits, in six characters where possible.
static struct clab_cell number(double value, char text[TEXT])
{
    const int digits = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    if (!isfinite(value))
        return clab_cell_none();
    snprintf(text, TEXT, "%.*f", digits, value);
    return clab_cell_text(text);
}

static struct clab_cell percent(double fraction, const char *format, const char *large_format, char text[TEXT])
{
    const double value = 100 * fraction;
    if (!isfinite(value))
        return clab_cell_none();
    snprintf(text, TEXT, fabs(value) < 9.95 ? format : large_format, value);
    return clab_cell_text(text);
}

static double algbw(const struct bench_row *row, const struct bench_result *result)
{
    return bench_has_data(row->problem.collective) ? (double)bench_bytes(row) / result->time.seconds / 1e9 : NAN;
}

static int add_placement(struct clab_table *table, const struct bench_row *row, const struct bench_result *result)
{
    const double rate = algbw(row, result);
    const bool noisy = result->time.noisy;
    char text[6][TEXT];
    if (!result->measured || result->refused) {
        for (int i = 0; i < PLACEMENT_COLUMNS; i++)
            CLAB_TRY(clab_table_add(table, clab_cell_none()));
        return CLAB_OK;
    }
    CLAB_TRY(clab_table_add(table, number(1e6 * result->time.seconds, text[0])));
    CLAB_TRY(clab_table_add(
        table, percent(result->time.half_width, noisy ? "%.1f!" : "%.1f", noisy ? "%.0f!" : "%.0f", text[1])));
    CLAB_TRY(clab_table_add(table, number(rate, text[2])));
    CLAB_TRY(
        clab_table_add(table, number(rate * bench_row_factor(row), text[3])));
    CLAB_TRY(clab_table_add(table, result->wrong < 0 ? clab_cell_none() : clab_cell_integer(result->wrong)));
    CLAB_TRY(clab_table_add(table, number(1e6 * result->predicted, text[4])));
    return clab_table_add(table, percent(bench_residual(result), "%+.1f", "%+.0f", text[5]));
}

static long long sent_by_a_rank(const struct bench_result results[BENCH_PLACEMENTS])
{
    return results[BENCH_OUT_OF_PLACE].measured ? results[BENCH_OUT_OF_PLACE].sent : results[BENCH_IN_PLACE].sent;
}

static int add_screen_row(struct clab_table *table, const struct bench_row *row,
                          const struct bench_result results[BENCH_PLACEMENTS])
{
    const struct clab_cell first[] = {
        clab_cell_integer((long long)bench_bytes(row)),
        clab_cell_integer((long long)row->problem.count),
        clab_cell_text(bench_type_name(row)),
        clab_cell_text(bench_op_name(row)),
        clab_cell_integer(bench_root(row)),
    };
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        CLAB_TRY(clab_table_add(table, first[i]));
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        CLAB_TRY(add_placement(table, row, &results[p]));
    const long long sent = sent_by_a_rank(results);
    CLAB_TRY(clab_table_add(table, sent < 0 ? clab_cell_none() : clab_cell_integer(sent)));
    return clab_table_add(table, clab_cell_text(row->algorithm->name));
}

static void print_refusals(const struct bench_row *row, const struct bench_result results[BENCH_PLACEMENTS])
{
    char time[CLAB_TEXT], floor[CLAB_TEXT], size[CLAB_TEXT];
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        if (results[p].measured && results[p].refused)
            printf("# refused: %s, %s %s of %s %s in %s is under the floor of %s, %s\n",
                   clab_problem_name(&row->problem), row->algorithm->name, bench_type_name(row),
                   clab_size_text(bench_bytes(row), size), bench_placement_name((enum bench_placement)p),
                   clab_seconds_text(results[p].time.seconds, time), clab_seconds_text(results[p].floor, floor),
                   results[p].refused);
}

// The kernels' time in one batch, by the GPU's own clock, and the rest of the median of many batches.
static void print_device_time(const char *placement, const struct bench_time *time)
{
    const double kernels = 1e6 * time->by_device, host = 1e6 * time->seconds - kernels; // us
    if (isfinite(time->host))
        printf("#   %s: kernels take %.2f us per call by the GPU's clock\n", placement, kernels);
    else if (host >= 0)
        printf("#   %s: kernels take %.2f us per call by the GPU's clock; the rest of the time, %.2f us, is the "
               "host's\n",
               placement, kernels, host);
    else
        printf("#   %s: kernels take %.2f us per call by the GPU's clock, in a batch that was slower than the others\n",
               placement, kernels);
}

static void print_device_times(const struct bench_result results[BENCH_PLACEMENTS])
{
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        if (results[p].measured && isfinite(results[p].time.by_device))
            print_device_time(bench_placement_name((enum bench_placement)p), &results[p].time);
}

static void print_what_ran(const struct bench_result results[BENCH_PLACEMENTS])
{
    for (int p = 0; p < BENCH_PLACEMENTS; p++) {
        const struct clab_ran *ran = &results[p].ran;
        if (results[p].measured && ran->channels)
            printf("#   %s: NCCL ran %s%s%s on %d channel%s\n", bench_placement_name((enum bench_placement)p),
                   ran->algorithm, *ran->protocol ? " " : "", ran->protocol, ran->channels, ran->channels > 1 ? "s" : "");
    }
}

static void print_host_times(const struct bench_result results[BENCH_PLACEMENTS])
{
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        if (results[p].measured && isfinite(results[p].time.host))
            printf("#   %s: the host takes %.2f us to start a call\n", bench_placement_name((enum bench_placement)p),
                   1e6 * results[p].time.host);
}

int bench_table_print_row(const struct bench *bench, int index)
{
    const struct bench_row *rows = bench->plan->rows, *row = &rows[index];
    struct clab_column columns[SCREEN_COLUMNS];
    struct clab_table table;
    if (index == 0 || row->problem.collective != rows[index - 1].problem.collective)
        printf("# %s\n", clab_problem_name(&row->problem));
    choose_columns(bench, columns);
    clab_table_init(&table, columns, SCREEN_COLUMNS);
    const int err = add_screen_row(&table, row, bench->results[index]);
    if (err == CLAB_OK)
        clab_table_print_row(&table, 0, stdout);
    print_refusals(row, bench->results[index]);
    print_device_times(bench->results[index]);
    print_host_times(bench->results[index]);
    print_what_ran(bench->results[index]);
    clab_table_free(&table);
    return err;
}

// ---- the header ----------------------------------------------------------------------------------------------

// The part of the manifest that the screen shows; files have all of it.
static const char *const shown[] = {"machine", "kernel",  "job",         "library",    "mode",      "graphs", "sizes",  "data",
                                    "check",   "network", "predicted", "memory copy", "cache line", "plain TCP", "warning"};

void bench_table_print_header(const struct bench *bench, const struct clab_manifest *manifest)
{
    struct clab_column columns[SCREEN_COLUMNS];
    struct clab_table table;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (clab_manifest_get(manifest, shown[i]))
            printf("# %s: %s\n", shown[i], clab_manifest_get(manifest, shown[i]));
    for (int i = 0; i < bench->plan->nskips; i++)
        printf("# skipped: %s %s: %s\n", clab_collective_name(bench->plan->skips[i].collective),
               bench->plan->skips[i].algorithm, bench->plan->skips[i].reason);
    printf("# +-: half of the median's 95 %% interval, ! if above 1 %% or of under %d batches; resid: (measured - predicted) / "
           "measured\n",
           BENCH_ENOUGH);
    choose_columns(bench, columns);
    clab_table_init(&table, columns, SCREEN_COLUMNS);
    clab_table_print_header(&table, stdout);
    clab_table_free(&table);
}

// ---- progress ------------------------------------------------------------------------------------------------

void bench_progress_show(const struct bench *bench, int index, const char *what)
{
    const struct bench_row *row = &bench->plan->rows[index];
    char size[CLAB_TEXT];
    if (bench->rank == 0)
        kit_progress("%d of %d: %s %s, %s, %s", index + 1, bench->plan->nrows, clab_problem_name(&row->problem),
                     row->algorithm->name, clab_size_text(bench_bytes(row), size), what);
}
