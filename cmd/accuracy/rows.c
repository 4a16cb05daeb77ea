// SPDX-License-Identifier: MIT
// Rows of the bench, out of its files, and what the simulator says of each (accuracy.h).

#include "cmd/accuracy/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/predict.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/transport/backend.h"

// ---- cells ---------------------------------------------------------------------------------------------------

static int integer(const struct clab_csv *data, int row, const char *name)
{
    return atoi(clab_csv_cell(data, row, name));
}

// ---- a row ---------------------------------------------------------------------------------------------------

static struct bench_row what_of(const struct clab_csv *data, int row)
{
    const int root = integer(data, row, "root");
    struct bench_row what = {.problem = {.nranks = integer(data, row, "ranks"),
                                         .root = root > 0 ? root : 0,
                                         .count = strtoull(clab_csv_cell(data, row, "count"), NULL, 10)}};
    struct clab_problem *p = &what.problem;
    (void)clab_type_parse(clab_csv_cell(data, row, "type"), &what.type); // or "none"
    (void)clab_op_parse(clab_csv_cell(data, row, "op"), &what.op);
    if (clab_collective_parse(clab_csv_cell(data, row, "collective"), &p->collective) == CLAB_OK)
        what.algorithm = clab_algorithm_find(p->collective, clab_csv_cell(data, row, "algorithm"));
    p->lanes = what.algorithm ? what.algorithm->default_lanes : 1;
    return what;
}

static struct accuracy_row read_row(const struct clab_csv *data, int row, int round)
{
    const double seconds = 1e-6 * clab_csv_real(data, row, "usec");
    const double call = clab_csv_real(data, row, "call_nsec"); // NAN: of a bench that did not look at it
    const struct clab_placement_sample probed = {1e-9 * clab_csv_real(data, row, "line_nsec"),
                                                 1e-12 * clab_csv_real(data, row, "fresh_psB"),
                                                 call > 0 ? 1e-9 * call : 0};
    const double width = 1e-6 * (clab_csv_real(data, row, "usec_high") - clab_csv_real(data, row, "usec_low"));
    struct accuracy_row r = {
        .what = what_of(data, row),
        .round = round,
        .batch = {BENCH_THROUGHPUT, integer(data, row, "inplace") ? BENCH_IN_PLACE : BENCH_OUT_OF_PLACE,
                  integer(data, row, "calls"), probed.line > 0 ? probed : (struct clab_placement_sample){0}},
        .seconds = seconds,
        .spread = width / 2 / seconds,
        .predicted = NAN,
    };
    if (bench_has_data(r.what.problem.collective))
        r.bytes = strtoull(clab_csv_cell(data, row, "bytes"), NULL, 10);
    return r;
}

// ---- all of them ---------------------------------------------------------------------------------------------

// No bench writes such a row, and the simulator would take for ever over a million ranks.
static int check_row(const struct accuracy_row *row, const struct clab_csv *data, int number)
{
    const struct clab_problem *p = &row->what.problem;
    const char *wrong = p->nranks < 2 || p->nranks > CLAB_MAX_RANKS ? "ranks"
                        : p->root >= p->nranks                      ? "root"
                        : p->count > (size_t)1 << 40                ? "count"
                        : row->bytes > (size_t)1 << 43              ? "bytes"
                        : row->batch.calls < 0                      ? "calls"
                        : !(row->seconds < 1e9)                     ? "usec"
                                                                    : NULL;
    return wrong ? clab_csv_refuse(data, number, wrong, "'%.40s': bench writes no such number",
                                   clab_csv_cell(data, number, wrong))
                 : CLAB_OK;
}

int accuracy_rows_read(struct accuracy_rows *rows, const struct clab_csv *data, int round)
{
    if (!*clab_csv_cell(data, 0, "line_nsec") && !*clab_csv_cell(data, 0, "calls")) {
        clab_error("%s: not a result of `commlab bench --csv`: it has no rows with a column `calls`", data->path);
        return CLAB_EINVAL;
    }
    for (int i = 0; i < data->nrows; i++) {
        const struct accuracy_row row = read_row(data, i, round);
        if (!row.what.algorithm || !(row.seconds > 0))
            continue;
        CLAB_TRY(check_row(&row, data, i));
        CLAB_TRY(CLAB_PUSH(rows->all, rows->n, rows->room, row));
    }
    return CLAB_OK;
}

int accuracy_rows_add(struct accuracy_rows *rows, const char *path, int round)
{
    struct clab_csv data;
    CLAB_TRY(clab_csv_load(path, &data));
    const int err = accuracy_rows_read(rows, &data, round);
    clab_csv_free(&data);
    return err;
}

void accuracy_rows_free(struct accuracy_rows *rows)
{
    free(rows->all);
    *rows = (struct accuracy_rows){0};
}

void accuracy_rows_predict(struct accuracy_rows *rows, const struct clab_net *net)
{
    int n = 0;
    for (int i = 0; i < rows->n; i++) {
        struct accuracy_row row = rows->all[i];
        row.predicted = bench_predict(net, &row.what, &row.batch);
        if (row.predicted > 0)
            rows->all[n++] = row;
    }
    rows->n = n;
}
