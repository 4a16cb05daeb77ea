// SPDX-License-Identifier: MIT
// The JSON of nccl-tests' programs (nccl_tests.h).

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/nccl_tests.h"
#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/stats.h"
#include "core/transport/backend.h"

enum { FILE_VERSION = 1 };

static void add_now(struct clab_json *json, const char *key)
{
    char text[32];
    const time_t now = time(NULL);
    struct tm tm;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
    clab_json_add(json, key, clab_cell_text(text));
}

// They write yes and no as texts.
static void add_yes(struct clab_json *json, const char *key, bool yes)
{
    clab_json_add(json, key, clab_cell_text(yes ? "true" : "false"));
}

// ---- what was asked for ------------------------------------------------------------------------------------------

static void add_devices(const struct bench *bench, const struct bench_place places[], struct clab_json *config)
{
    struct clab_json *list = clab_json_add_list(config, "devices");
    for (int rank = 0; rank < bench->nranks; rank++) {
        struct clab_json *device = clab_json_add_object(list, NULL);
        clab_json_add(device, "rank", clab_cell_integer(rank));
        clab_json_add(device, "group", clab_cell_integer(0));
        clab_json_add(device, "pid", clab_cell_integer(places[rank].pid));
        clab_json_add(device, "hostname", clab_cell_text(places[rank].host));
        clab_json_add(device, "device", clab_cell_integer(places[rank].device));
        clab_json_add(device, "device_hex", clab_cell_text(bench->options->backend->name));
        clab_json_add(device, "device_info", clab_cell_text(places[rank].what));
    }
}

static void add_config(const struct bench *bench, const struct bench_place places[], struct clab_json *json)
{
    const struct bench_options *o = bench->options;
    struct clab_json *config = clab_json_add_object(json, "config");
    clab_json_add(config, "nthreads", clab_cell_integer(1));
    clab_json_add(config, "ngpus", clab_cell_integer(1));
    clab_json_add(config, "minimum_bytes", clab_cell_integer((long long)o->first));
    clab_json_add(config, "maximum_bytes", clab_cell_integer((long long)o->last));
    clab_json_add(config, o->step ? "step_bytes" : "step_factor",
                  clab_cell_integer(o->step ? (long long)o->step : o->factor));
    clab_json_add(config, "warmup_iters", clab_cell_integer(o->warmup < 0 ? 0 : o->warmup));
    clab_json_add(config, "iterations", clab_cell_integer(o->iterations < 0 ? 0 : o->iterations));
    clab_json_add(config, "aggregated_iterations", clab_cell_integer(1));
    clab_json_add(config, "validation", clab_cell_integer(o->check));
    clab_json_add(config, "graph", clab_cell_integer(0));
    add_yes(config, "blocking_collectives", false);
    add_yes(config, "per_iter_timing", bench->samples != NULL);
    clab_json_add(config, "per_iter_skip", clab_cell_integer(0));
    add_yes(config, "parallel_init", false);
    add_devices(bench, places, config);
}

// ---- what each rank measured ----------------------------------------------------------------------------------------

// The batches of one row and placement that count: us per call, (n, nranks).
struct batches {
    double *us;
    int n;
};

// The time of an iteration is that of its slowest rank.
static double slowest(const struct batches *b, int nranks, int i)
{
    double most = 0;
    for (int rank = 0; rank < nranks; rank++)
        most = fmax(most, b->us[(size_t)i * (size_t)nranks + (size_t)rank]);
    return most;
}

static void add_statistics(struct clab_json *json, double times[], int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += times[i];
    const double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (times[i] - mean) * (times[i] - mean);
    const double deviation = sqrt(squares / n);
    clab_json_add(json, "skipped_iterations", clab_cell_integer(0));
    clab_json_add(json, "min_us", clab_cell_real(clab_quantile(times, n, 0))); // sorts them
    clab_json_add(json, "max_us", clab_cell_real(clab_quantile(times, n, 1)));
    clab_json_add(json, "avg_us", clab_cell_real(mean));
    clab_json_add(json, "p50_us", clab_cell_real(clab_quantile(times, n, 0.5)));
    clab_json_add(json, "p95_us", clab_cell_real(clab_quantile(times, n, 0.95)));
    clab_json_add(json, "p99_us", clab_cell_real(clab_quantile(times, n, 0.99)));
    clab_json_add(json, "stdev_us", clab_cell_real(deviation));
    clab_json_add(json, "cv_pct", clab_cell_real(mean > 0 ? 100 * deviation / mean : 0));
}

static int add_iterations(const struct bench *bench, const struct batches *b, const char *key, struct clab_json *json)
{
    double *times = malloc(((size_t)b->n + 1) * sizeof *times);
    if (!times)
        return CLAB_ENOMEM;
    if (b->n > 0) {
        struct clab_json *object = clab_json_add_object(json, key);
        struct clab_json *list = clab_json_add_list(object, "times_us");
        for (int i = 0; i < b->n; i++)
            clab_json_add(list, NULL, clab_cell_real(times[i] = slowest(b, bench->nranks, i)));
        add_statistics(object, times, b->n);
        struct clab_json *processes = clab_json_add_list(object, "per_process_max_times_us");
        for (int rank = 0; rank < bench->nranks; rank++) {
            struct clab_json *row = clab_json_add_list(processes, NULL);
            for (int i = 0; i < b->n; i++)
                clab_json_add(row, NULL, clab_cell_real(b->us[(size_t)i * (size_t)bench->nranks + (size_t)rank]));
        }
    }
    free(times);
    return CLAB_OK;
}

// The next batches in the samples, from row *at_p on: those of one bench row and placement begin with batch 0.
static int take_batches(const struct bench *bench, int *at_p, struct batches *batches_p)
{
    const struct clab_table *table = &bench->samples->table;
    const int rows = clab_table_rows(table), begin = *at_p;
    batches_p->n = 0;
    batches_p->us = malloc(((size_t)(rows - begin) + 1) * sizeof *batches_p->us);
    if (!batches_p->us)
        return CLAB_ENOMEM;
    for (int row = begin; row < rows; row += bench->nranks, *at_p = row) {
        if (row > begin && bench_samples_batch(table, row) == 0)
            break;
        for (int rank = 0; bench_samples_kept(table, row) && rank < bench->nranks; rank++)
            batches_p->us[(size_t)batches_p->n * (size_t)bench->nranks + (size_t)rank] =
                bench_samples_usec(table, row + rank);
        batches_p->n += bench_samples_kept(table, row);
    }
    return CLAB_OK;
}

// ---- results -----------------------------------------------------------------------------------------------------------

static void add_placement(const struct bench_row *row, const struct bench_result *result, const char *key,
                          struct clab_json *json)
{
    if (!result->measured || result->refused) {
        clab_json_add(json, key, clab_cell_none());
        return;
    }
    struct clab_json *object = clab_json_add_object(json, key);
    const double rate = (double)bench_bytes(row) / result->time.seconds / 1e9;
    clab_json_add(object, "time", clab_cell_real(1e6 * result->time.seconds));
    clab_json_add(object, "alg_bw", clab_cell_real(rate));
    clab_json_add(object, "bus_bw", clab_cell_real(rate * bench_row_factor(row)));
    clab_json_add(object, "nwrong", result->wrong < 0 ? clab_cell_none() : clab_cell_integer(result->wrong));
}

static int add_result(const struct bench *bench, int index, int *at_p, struct clab_json *list)
{
    static const char *const keys[] = {"out_of_place", "in_place"}, *const iterations[] = {"out_of_place_per_iter",
                                                                                           "in_place_per_iter"};
    const struct bench_row *row = &bench->plan->rows[index];
    struct clab_json *json = clab_json_add_object(list, NULL);
    char root[16];
    snprintf(root, sizeof root, "%d", bench_root(row));
    clab_json_add(json, "size", clab_cell_integer((long long)bench_bytes(row)));
    clab_json_add(json, "count", clab_cell_integer((long long)row->problem.count));
    clab_json_add(json, "type", clab_cell_text(bench_type_name(row)));
    clab_json_add(json, "redop", clab_cell_text(bench_op_name(row)));
    clab_json_add(json, "root", clab_cell_text(root));
    int calls = 0;
    for (int p = 0; p < BENCH_PLACEMENTS; p++) {
        const struct bench_result *result = &bench->results[index][p];
        struct batches batches = {0};
        add_placement(row, result, keys[p], json);
        if (!result->measured)
            continue;
        calls = result->time.calls;
        int err = bench->samples ? take_batches(bench, at_p, &batches) : CLAB_OK;
        if (!err && batches.n)
            err = add_iterations(bench, &batches, iterations[p], json);
        free(batches.us);
        CLAB_TRY(err);
    }
    clab_json_add(json, "actual_iterations", clab_cell_integer(calls));
    clab_json_add(json, "experiment_name", clab_cell_text(bench_nccl_tests_program(bench)));
    return CLAB_OK;
}

static int add_results(const struct bench *bench, struct clab_json *json)
{
    struct clab_json *list = clab_json_add_list(json, "results");
    int at = 0;
    for (int i = 0; i < bench->plan->nrows; i++)
        CLAB_TRY(add_result(bench, i, &at, list));
    const long long wrong = bench_nccl_tests_wrong(bench);
    struct clab_json *bounds = clab_json_add_object(json, "out_of_bounds");
    clab_json_add(bounds, "count", clab_cell_integer(wrong));
    add_yes(bounds, "okay", wrong == 0);
    struct clab_json *average = clab_json_add_object(json, "average_bus_bandwidth");
    clab_json_add(average, "bandwidth", clab_cell_real(bench_nccl_tests_average(bench)));
    clab_json_add(average, "okay", clab_cell_text("unchecked"));
    return CLAB_OK;
}

int bench_nccl_tests_write_json(const struct bench *bench, const struct bench_place places[])
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    clab_json_add(json, "version", clab_cell_integer(FILE_VERSION));
    add_now(json, "start_time");
    clab_json_add(clab_json_add_list(json, "args"), NULL, clab_cell_text(bench->options->command));
    clab_json_add_list(json, "env");
    clab_json_add(json, "nccl_version", clab_cell_integer(0)); // not theirs
    add_config(bench, places, json);
    int err = add_results(bench, json);
    add_now(json, "end_time");
    err = err ? err : clab_json_write_file(json, bench->options->json);
    clab_json_destroy(json);
    return err;
}
