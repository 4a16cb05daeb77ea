// SPDX-License-Identifier: MIT
// The format of nccl-tests' programs (nccl_tests.h).

#include "cmd/bench/nccl_tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bench/bench.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/comm/job.h"
#include "core/transport/backend.h"

// Its program for a collective; it has none for a barrier.
static const char *program_of(enum clab_collective collective)
{
    switch (collective) {
    case CLAB_ALLREDUCE: return "all_reduce_perf";
    case CLAB_ALLGATHER: return "all_gather_perf";
    case CLAB_REDUCE_SCATTER: return "reduce_scatter_perf";
    case CLAB_BROADCAST: return "broadcast_perf";
    case CLAB_REDUCE: return "reduce_perf";
    case CLAB_ALLTOALL: return "alltoall_perf";
    case CLAB_GATHER: return "gather_perf";
    case CLAB_SCATTER: return "scatter_perf";
    case CLAB_SENDRECV: return "sendrecv_perf";
    default: return NULL;
    }
}

static bool is_like(const struct bench_row *a, const struct bench_row *b)
{
    return a->problem.collective == b->problem.collective &&
           (a->algorithm == b->algorithm || (a->automatic && b->automatic));
}

int bench_nccl_tests_check(const struct bench *bench)
{
    const struct bench_row *rows = bench->plan->rows;
    int alike = 0;
    while (alike < bench->plan->nrows && is_like(&rows[alike], &rows[0]))
        alike++;
    if (alike == 0)
        clab_error("nccl-tests' format needs a row, and there is none");
    else if (alike < bench->plan->nrows)
        clab_error("nccl-tests' format has no column for the collective or the algorithm: name one collective, and one "
                   "--algo");
    else if (!program_of(rows[0].problem.collective))
        clab_error("nccl-tests has no program for a %s, so no format",
                   clab_collective_name(rows[0].problem.collective));
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

const char *bench_nccl_tests_program(const struct bench *bench)
{
    return program_of(bench->plan->rows[0].problem.collective);
}

// ---- before the table ------------------------------------------------------------------------------------------

int bench_nccl_tests_places(const struct bench *bench, struct bench_place places[])
{
    struct bench_place mine = {.pid = (int)getpid(), .device = bench->job->bootstrap->local_rank};
    bool is_fake;
    gethostname(mine.host, sizeof mine.host - 1);
    bench->job->backend->describe(bench->job->domain, mine.what, sizeof mine.what, &is_fake);
    if (!*mine.what)
        snprintf(mine.what, sizeof mine.what, "%s", bench->machine.cpu);
    return clab_allgather(bench->control, &mine, places, sizeof mine, CLAB_U8);
}

static void print_options(const struct bench *bench)
{
    const struct bench_options *o = bench->options;
    printf("# Collective test starting: %s\n", bench_nccl_tests_program(bench));
    printf("# nThread 1 nGpus 1 minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %d iters: %d agg iters: 1 "
           "validation: %d graph: 0\n#\n",
           o->first, o->last, o->step ? o->step : (size_t)o->factor, o->step ? "bytes" : "factor",
           o->warmup < 0 ? 0 : o->warmup, o->iterations < 0 ? 0 : o->iterations, o->check);
    printf("# commlab bench: backend %s, algorithm %s, mode %s%s\n", o->backend->name,
           bench->plan->rows[0].automatic ? "auto" : bench->plan->rows[0].algorithm->name, bench_mode_name(o->mode),
           o->warmup < 0 || o->iterations < 0 ? "; 0 iters are as many as a median that is known to 1 % needs" : "");
}

void bench_nccl_tests_print_header(const struct bench *bench, const struct bench_place places[])
{
    print_options(bench);
    printf("# Using devices\n");
    for (int rank = 0; rank < bench->nranks; rank++)
        printf("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n", rank, 0, places[rank].pid,
               places[rank].host, places[rank].device, bench->options->backend->name, places[rank].what);
    printf("#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "", "",
           "", "", "");
    printf("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type", "redop",
           "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
    printf("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "(B)", "(elements)", "", "", "",
           "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
    fflush(stdout);
}

// ---- rows --------------------------------------------------------------------------------------------------------

static void print_number(double value, int width)
{
    char text[32];
    for (int digits = 2; digits >= 0; digits--)
        if (snprintf(text, sizeof text, "%*.*f", width, digits, value) <= width)
            break;
    if ((int)strlen(text) > width)
        snprintf(text, sizeof text, "%*.*e", width, width >= 7, value);
    printf("  %s", text);
}

static double algbw(const struct bench_row *row, const struct bench_result *result)
{
    return (double)bench_bytes(row) / result->time.seconds / 1e9;
}

static double busbw(const struct bench_row *row, const struct bench_result *result)
{
    return algbw(row, result) * bench_row_factor(row);
}

static bool has_time(const struct bench_result *result)
{
    return result->measured && !result->refused;
}

static void print_placement(const struct bench_row *row, const struct bench_result *result)
{
    if (!has_time(result)) {
        printf("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
        return;
    }
    print_number(1e6 * result->time.seconds, 7);
    print_number(algbw(row, result), 6);
    print_number(busbw(row, result), 6);
    if (result->wrong < 0)
        printf("  %6s", "N/A");
    else
        printf("  %6lld", result->wrong);
}

void bench_nccl_tests_print_row(const struct bench *bench, int index)
{
    const struct bench_row *row = &bench->plan->rows[index];
    printf("%12zu  %12zu  %8s  %6s  %6d", bench_bytes(row), row->problem.count, bench_type_name(row),
           bench_op_name(row), bench_root(row));
    for (int p = 0; p < BENCH_PLACEMENTS; p++)
        print_placement(row, &bench->results[index][p]);
    printf("\n");
    fflush(stdout);
}

long long bench_nccl_tests_wrong(const struct bench *bench)
{
    long long wrong = 0;
    for (int i = 0; i < bench->plan->nrows; i++)
        for (int p = 0; p < BENCH_PLACEMENTS; p++)
            wrong += bench->results[i][p].wrong > 0 ? bench->results[i][p].wrong : 0;
    return wrong;
}

double bench_nccl_tests_average(const struct bench *bench)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < bench->plan->nrows; i++)
        for (int p = 0; p < BENCH_PLACEMENTS; p++)
            if (has_time(&bench->results[i][p])) {
                sum += busbw(&bench->plan->rows[i], &bench->results[i][p]);
                n++;
            }
    return n ? sum / n : 0;
}

// Readers take a number without an exponent.
static void print_average(double average)
{
    char text[32];
    snprintf(text, sizeof text, "%g", average);
    if (strchr(text, 'e'))
        snprintf(text, sizeof text, "%.9f", average);
    printf("# Avg bus bandwidth    : %s \n#\n", text);
}

void bench_nccl_tests_print_end(const struct bench *bench)
{
    const long long wrong = bench_nccl_tests_wrong(bench);
    printf("# Out of bounds values : %lld %s\n", wrong, wrong ? "FAILED" : "OK");
    print_average(bench_nccl_tests_average(bench));
    printf("# Collective test concluded: %s\n", bench_nccl_tests_program(bench));
}
