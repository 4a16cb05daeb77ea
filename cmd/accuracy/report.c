// SPDX-License-Identifier: MIT
// Prints the tables, and writes all rows for the figure (accuracy.h).

#include "cmd/accuracy/accuracy.h"
#include "core/base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/machine.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "sim/net/net.h"

enum { WORST = 10, NAME_WIDTH = 28 };

// ---- filters -------------------------------------------------------------------------------------------------

static bool is_any(const struct accuracy_row *row, const void *which)
{
    (void)row;
    (void)which;
    return true;
}
static bool is_quiet(const struct accuracy_row *row, const void *net)
{
    return !accuracy_is_disturbed(row, net);
}
static bool is_held_out(const struct accuracy_row *row, const void *which)
{
    (void)which;
    return accuracy_is_held_out(row->what.problem.collective, row->bytes);
}
static bool is_in_decade(const struct accuracy_row *row, const void *decade)
{
    const size_t first = *(const size_t *)decade;
    return row->bytes >= first && row->bytes < 10 * first;
}
static bool is_of_collective(const struct accuracy_row *row, const void *collective)
{
    return row->what.problem.collective == *(const enum clab_collective *)collective;
}
static bool is_by_algorithm(const struct accuracy_row *row, const void *algorithm)
{
    return row->what.algorithm == algorithm;
}
static bool is_placed(const struct accuracy_row *row, const void *placement)
{
    return row->batch.placement == *(const enum bench_placement *)placement && row->bytes > 0;
}

// ---- a table -------------------------------------------------------------------------------------------------

// "1.2 %", or "-" for NAN.
static const char *percent(double fraction, char out[CLAB_TEXT])
{
    if (isnan(fraction))
        return "-";
    snprintf(out, CLAB_TEXT, "%.1f %%", 100 * fraction);
    return out;
}

static const char *signed_percent(double fraction, char out[CLAB_TEXT])
{
    snprintf(out, CLAB_TEXT, "%+.1f %%", 100 * fraction);
    return out;
}

static void print_heading(const char *by)
{
    printf("\n# %-*s %6s %9s %9s %9s %9s %9s\n", NAME_WIDTH - 2, by, "rows", "median", "p95", "bias", "noise",
           "noise p95");
}

static int print_line(const struct accuracy_rows *rows, const char *name, accuracy_filter *is_of, const void *which)
{
    struct accuracy_figures f;
    char text[5][CLAB_TEXT];
    CLAB_TRY(accuracy_figures(rows, is_of, which, &f));
    if (f.n)
        printf("%-*s %6d %9s %9s %9s %9s %9s\n", NAME_WIDTH, name, f.n, percent(f.median, text[0]),
               percent(f.p95, text[1]), signed_percent(f.bias, text[2]), percent(f.noise, text[3]),
               percent(f.noise_p95, text[4]));
    return CLAB_OK;
}

static int print_decades(const struct accuracy_rows *rows)
{
    static const char *const names[] = {"1 B",    "10 B", "100 B", "1 kB",   "10 kB",
                                        "100 kB", "1 MB", "10 MB", "100 MB", "1 GB"};
    char name[64];
    size_t decade = 1;
    print_heading("size");
    for (size_t i = 0; i + 1 < sizeof names / sizeof *names; i++, decade *= 10) {
        snprintf(name, sizeof name, "%s to %s", names[i], names[i + 1]);
        CLAB_TRY(print_line(rows, name, is_in_decade, &decade));
    }
    return CLAB_OK;
}

static int print_collectives(const struct accuracy_rows *rows)
{
    print_heading("collective");
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++) {
        const enum clab_collective collective = (enum clab_collective)c;
        CLAB_TRY(print_line(rows, clab_collective_name(collective), is_of_collective, &collective));
    }
    return CLAB_OK;
}

static int print_algorithms(const struct accuracy_rows *rows)
{
    char name[64];
    print_heading("algorithm");
    for (int i = 0; clab_algorithms[i]; i++) {
        const struct clab_algorithm *a = clab_algorithms[i];
        snprintf(name, sizeof name, "%s %s", clab_collective_name(a->collective), a->name);
        CLAB_TRY(print_line(rows, name, is_by_algorithm, a));
    }
    return CLAB_OK;
}

static int print_placements(const struct accuracy_rows *rows)
{
    static const enum bench_placement out = BENCH_OUT_OF_PLACE, in = BENCH_IN_PLACE;
    print_heading("placement");
    CLAB_TRY(print_line(rows, "out of place", is_placed, &out));
    return print_line(rows, "in place", is_placed, &in);
}

// ---- the worst ------------------------------------------------------------------------------------------------

static int by_error(const void *a, const void *b)
{
    const double x = fabs(accuracy_error(*(const struct accuracy_row *const *)a));
    const double y = fabs(accuracy_error(*(const struct accuracy_row *const *)b));
    return (x < y) - (x > y);
}

static int print_worst(const struct accuracy_rows *rows, const struct clab_net *net)
{
    const struct accuracy_row **sorted = malloc((size_t)rows->n * sizeof *sorted);
    char measured[CLAB_TEXT], predicted[CLAB_TEXT], size[CLAB_TEXT], noise[CLAB_TEXT];
    if (!sorted)
        return CLAB_ENOMEM;
    for (int i = 0; i < rows->n; i++)
        sorted[i] = &rows->all[i];
    qsort(sorted, (size_t)rows->n, sizeof(struct accuracy_row *), by_error);
    printf("\n# the largest errors            size  in place   measured  predicted     error     noise\n");
    for (int i = 0; i < rows->n && i < WORST; i++) {
        const struct accuracy_row *r = sorted[i];
        printf("%-14s %-13s %8s  %8s %10s %10s %+8.0f %% %9s%s\n", clab_collective_name(r->what.problem.collective),
               r->what.algorithm->name, clab_size_text(r->bytes, size),
               r->batch.placement == BENCH_IN_PLACE ? "yes" : "no", clab_seconds_text(r->seconds, measured),
               clab_seconds_text(r->predicted, predicted), 100 * accuracy_error(r),
               percent(accuracy_noise(rows, r), noise), accuracy_is_disturbed(r, net) ? "  disturbed" : "");
    }
    free(sorted);
    return CLAB_OK;
}

// ---- the end -------------------------------------------------------------------------------------------------

// Between the tables and the closing lines.
static int print_whole(const struct accuracy_rows *rows, const struct clab_net *net)
{
    int disturbed = 0;
    for (int i = 0; i < rows->n; i++)
        disturbed += accuracy_is_disturbed(&rows->all[i], net);
    print_heading("all of it");
    CLAB_TRY(print_line(rows, "all rows", is_any, NULL));
    CLAB_TRY(print_line(rows, "  but those disturbed", is_quiet, net));
    CLAB_TRY(print_line(rows, "  of held-out sizes", is_held_out, NULL));
    printf("# disturbed: %d of %d rows. Their interval is wider than +-5 %%, or `commlab fit` has not seen their cores "
           "where they were\n",
           disturbed, rows->n);
    return CLAB_OK;
}

static void print_closing(const struct accuracy_figures *all, const struct accuracy_figures *held_out,
                          const struct accuracy_choices *choices)
{
    char text[2][CLAB_TEXT];
    printf("\nheld-out algorithms: median %s, p95 %s\n", percent(all->median, text[0]), percent(all->p95, text[1]));
    printf("held-out sizes: median %s, p95 %s\n", percent(held_out->median, text[0]), percent(held_out->p95, text[1]));
    printf("choice: right %s, mean regret %s\n",
           percent(choices->n ? (double)choices->right / choices->n : NAN, text[0]),
           percent(choices->n ? choices->regret : NAN, text[1]));
    printf("noise floor: %s\n", percent(all->noise, text[0]));
}

int accuracy_report(const struct accuracy_rows *rows, const struct clab_net *net)
{
    struct accuracy_figures all, held_out;
    printf("# error: predicted / measured - 1. bias: the median error. noise: the distance between two measurements of "
           "a row,\n# minutes apart, with its cores in the same place\n");
    CLAB_TRY(print_decades(rows));
    CLAB_TRY(print_collectives(rows));
    CLAB_TRY(print_algorithms(rows));
    CLAB_TRY(print_placements(rows));
    CLAB_TRY(print_worst(rows, net));
    CLAB_TRY(print_whole(rows, net));
    CLAB_TRY(accuracy_figures(rows, is_any, NULL, &all));
    CLAB_TRY(accuracy_figures(rows, is_held_out, NULL, &held_out));
    const struct accuracy_choices choices = accuracy_choices(rows, all.noise);
    print_closing(&all, &held_out, &choices);
    return CLAB_OK;
}

// ---- the file --------------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    CLAB_COLUMN(TEXT, "collective"), CLAB_COLUMN(TEXT, "algorithm"), CLAB_COLUMN(INTEGER, "ranks"),
    CLAB_COLUMN(INTEGER, "bytes"), CLAB_COLUMN(INTEGER, "inplace"), CLAB_COLUMN(INTEGER, "round"),
    CLAB_COLUMN(REAL, "usec"), CLAB_COLUMN(REAL, "predicted_usec"), CLAB_COLUMN(REAL, "error_pct"),
    CLAB_COLUMN(REAL, "noise_pct"), CLAB_COLUMN(INTEGER, "held_out"), CLAB_COLUMN(INTEGER, "disturbed"),
    CLAB_COLUMN(REAL, "line_nsec"), CLAB_COLUMN(REAL, "fresh_psB"), CLAB_COLUMN(REAL, "call_nsec"),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static int add_row(const struct accuracy_rows *rows, const struct accuracy_row *r, const struct clab_net *net,
                   struct clab_table *table)
{
    const struct clab_cell cells[COLUMNS] = {
        clab_cell_text(clab_collective_name(r->what.problem.collective)),
        clab_cell_text(r->what.algorithm->name),
        clab_cell_integer(r->what.problem.nranks),
        clab_cell_integer((long long)r->bytes),
        clab_cell_integer(r->batch.placement == BENCH_IN_PLACE),
        clab_cell_integer(r->round + 1),
        clab_cell_real(1e6 * r->seconds),
        clab_cell_real(1e6 * r->predicted),
        clab_cell_real(100 * accuracy_error(r)),
        clab_cell_real(100 * accuracy_noise(rows, r)),
        clab_cell_integer(accuracy_is_held_out(r->what.problem.collective, r->bytes)),
        clab_cell_integer(accuracy_is_disturbed(r, net)),
        r->batch.probed.line > 0 ? clab_cell_real(1e9 * r->batch.probed.line) : clab_cell_none(),
        r->batch.probed.fresh > 0 ? clab_cell_real(1e12 * r->batch.probed.fresh) : clab_cell_none(),
        r->batch.probed.call > 0 ? clab_cell_real(1e9 * r->batch.probed.call) : clab_cell_none(),
    };
    return clab_table_add_row(table, cells);
}

int accuracy_write(const struct accuracy_rows *rows, const struct clab_net *net, const char *path)
{
    struct clab_manifest manifest = {0};
    struct clab_table table;
    clab_table_init(&table, columns, COLUMNS);
    int err = clab_machine_describe(&manifest);
    for (int i = 0; i < rows->n && !err; i++)
        err = add_row(rows, &rows->all[i], net, &table);
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    return err;
}
