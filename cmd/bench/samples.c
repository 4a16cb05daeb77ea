// SPDX-License-Identifier: MIT
// The raw samples of a bench (samples.h).

#include "cmd/bench/samples.h"

#include <stdlib.h>

#include "cmd/bench/bench.h"
#include "core/base/err.h"
#include "core/base/vector.h"
#include "core/clab.h"

static const struct clab_column columns[] = {
    CLAB_COLUMN(TEXT, "collective"), CLAB_COLUMN(TEXT, "algorithm"), CLAB_COLUMN(TEXT, "backend"),
    CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(INTEGER, "bytes"), CLAB_COLUMN(TEXT, "type"), CLAB_COLUMN(TEXT, "op"),
    CLAB_COLUMN(INTEGER, "root"), CLAB_COLUMN(INTEGER, "inplace"), CLAB_COLUMN(TEXT, "mode"),
    CLAB_COLUMN(INTEGER, "batch"), CLAB_COLUMN(INTEGER, "calls"), CLAB_COLUMN(INTEGER, "kept"),
    CLAB_COLUMN(INTEGER, "rank"), CLAB_COLUMN(REAL, "usec"),
};
enum { BATCH = 10, KEPT = 12, USEC = 14, COLUMNS = sizeof columns / sizeof *columns };

void bench_samples_init(struct bench_samples *samples_p)
{
    *samples_p = (struct bench_samples){0};
    clab_table_init(&samples_p->table, columns, COLUMNS);
}

void bench_samples_free(struct bench_samples *samples)
{
    clab_table_free(&samples->table);
    free(samples->seconds);
}

void bench_samples_begin(struct bench *bench, const struct bench_row *row, enum bench_placement placement)
{
    if (!bench->samples)
        return;
    bench->samples->row = row;
    bench->samples->placement = placement;
    bench->samples->n = 0;
}

int bench_samples_take(struct bench *bench, int batch, double seconds)
{
    struct bench_samples *s = bench->samples;
    if (!s || !s->row)
        return CLAB_OK;
    const size_t nranks = (size_t)bench->nranks;
    CLAB_TRY(CLAB_RESERVE(s->seconds, s->room, (size_t)(batch + 1) * nranks));
    s->n = batch + 1;
    return clab_gather(bench->control, &seconds, s->seconds + (size_t)batch * nranks, 1, CLAB_F64, 0);
}

static int add(struct bench *bench, int calls, bool kept, int batch, int rank)
{
    struct bench_samples *s = bench->samples;
    const struct bench_row *row = s->row;
    const struct clab_cell cells[COLUMNS] = {
        clab_cell_text(clab_problem_name(&row->problem)),
        clab_cell_text(row->algorithm->name),
        clab_cell_text(clab_job_backend(bench->job)),
        clab_cell_integer(bench->nranks),
        clab_cell_integer((long long)bench_bytes(row)),
        clab_cell_text(bench_type_name(row)),
        clab_cell_text(bench_op_name(row)),
        clab_cell_integer(bench_root(row)),
        clab_cell_integer(s->placement == BENCH_IN_PLACE),
        clab_cell_text(bench_mode_name(bench->options->mode)),
        clab_cell_integer(batch),
        clab_cell_integer(calls),
        clab_cell_integer(kept),
        clab_cell_integer(rank),
        clab_cell_real(1e6 * s->seconds[(size_t)batch * (size_t)bench->nranks + (size_t)rank]),
    };
    return clab_table_add_row(&s->table, cells);
}

int bench_samples_batch(const struct clab_table *table, int row)
{
    return (int)clab_table_cell(table, row, BATCH).integer;
}

bool bench_samples_kept(const struct clab_table *table, int row)
{
    return clab_table_cell(table, row, KEPT).integer;
}

double bench_samples_usec(const struct clab_table *table, int row)
{
    return clab_table_cell(table, row, USEC).real;
}

int bench_samples_end(struct bench *bench, int calls, const bool kept[], int n)
{
    const int batches = bench->samples->n < n ? bench->samples->n : n;
    for (int batch = 0; batch < batches; batch++)
        for (int rank = 0; rank < bench->nranks; rank++)
            CLAB_TRY(add(bench, calls, kept[batch], batch, rank));
    return CLAB_OK;
}
