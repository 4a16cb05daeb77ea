// SPDX-License-Identifier: MIT
// commlab device: the speed of a device's operations, against its own best copy and product in the same run.
//
// - Memory limits operations that compute little. The limit is a copy's bandwidth, which we measure first. We count the
//   bytes that an operation must read and write, so a copied byte counts twice.
// - Arithmetic limits products. The limit is the best of square matrices of several sizes.
// - Times are medians of batches, by the device's own clock if it has one.

#include "cmd/command.h"
#include "cmd/device/numa.h"
#include "cmd/kit/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/transport/backend.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/files/manifest.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/stats.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "core/clab.h"
#include "core/comm/job.h"

enum { MOST_SECONDS = 3600, LEAST_BYTES = 4 << 10, BATCHES = 1000, FEW = 6, BLOCK = 256 };
enum { LEAST_SIZE = 256, MOST_SIZE = 8192 }; // of square matrices
static const double batch_seconds = 2e-3;

static const char doc[] =
    "Time a device's operations, and compare them with its memory's bandwidth and its best product of matrices.\v"
    "A row in GB/s counts the bytes that the operation must read and write; 1 GB is 1e9 bytes. `of best` compares with "
    "the copy. Arrays that fit into a cache measure the cache. On a processor, one core computes, as in a rank.\n"
    "Example: commlab device --bytes 64M";

struct options {
    const char *backend, *csv;
    size_t bytes;
    double seconds;
    bool numa;
};

// ---- operations ----------------------------------------------------------------------------------------------

// The operands: arrays of `count` floats, or as many bytes of another type.
struct arrays {
    const struct clab_device *device;
    float *a, *b, *c;
    size_t count, size; // size: rows and columns of a matrix
};

struct operation {
    const char *name, *type;
    double moved; // bytes that it must read and write, per byte of an array
    void (*run)(const struct arrays *x);
};

static void run_copy(const struct arrays *x)
{
    x->device->copy(x->c, x->a, x->count * sizeof(float));
}

static void run_set(const struct arrays *x)
{
    x->device->set(x->c, 0, x->count * sizeof(float));
}

static void fill(const struct arrays *x, enum clab_type type)
{
    kit_progress("device: filling arrays");
    const struct clab_random random = {.seed = 1, .type = type, .nranks = 2};
    x->device->fill(&random, 0, 0, x->count * sizeof(float) / clab_type_bytes(type), x->c);
}

static void run_fill(const struct arrays *x)
{
    fill(x, CLAB_F32);
}

static void run_fill_bf16(const struct arrays *x)
{
    fill(x, CLAB_BF16);
}

// The array holds other values, but the check reads every element all the same.
static void run_check(const struct arrays *x)
{
    const struct clab_expected expected = {
        .random = {.seed = 2, .type = CLAB_F32, .nranks = 2}, .count = x->count, .stride = 1};
    x->device->check(&expected, x->a);
}

static void run_reduce(const struct arrays *x)
{
    x->device->reduce(CLAB_F32, CLAB_SUM, x->a, x->b, x->c, x->count);
}

static void run_reduce_f16(const struct arrays *x)
{
    x->device->reduce(CLAB_F16, CLAB_SUM, x->a, x->b, x->c, 2 * x->count);
}

static void run_reduce_bf16(const struct arrays *x)
{
    x->device->reduce(CLAB_BF16, CLAB_SUM, x->a, x->b, x->c, 2 * x->count);
}

static void run_scale(const struct arrays *x)
{
    x->device->scale(CLAB_F32, x->c, x->count, 1);
}

static void run_sgd(const struct arrays *x)
{
    x->device->axpy(x->count, -1e-3f, x->a, x->b);
}

static void run_relu(const struct arrays *x)
{
    x->device->relu(x->count, x->c);
}

static void run_cast_to_bf16(const struct arrays *x)
{
    x->device->cast(CLAB_F32, x->a, CLAB_BF16, x->c, x->count);
}

static void run_cast_from_bf16(const struct arrays *x)
{
    x->device->cast(CLAB_BF16, x->a, CLAB_F32, x->c, x->count);
}

// The scales lie behind the int8 values, which fill a quarter of the array.
static void run_quantize(const struct arrays *x)
{
    x->device->quantize(x->count, BLOCK, x->a, (int8_t *)x->c, x->c + x->count / 2);
}

static const struct operation operations[] = {
    {"copy", "byte", 2, run_copy},
    {"set", "byte", 1, run_set},
    {"fill", "float", 1, run_fill},
    {"fill", "bfloat16", 1, run_fill_bf16},
    {"check", "float", 1, run_check},
    {"reduce", "float", 3, run_reduce},
    {"reduce", "half", 3, run_reduce_f16},
    {"reduce", "bfloat16", 3, run_reduce_bf16},
    {"scale", "float", 2, run_scale},
    {"sgd", "float", 3, run_sgd},
    {"relu", "float", 2, run_relu},
    {"cast", "to bf16", 1.5, run_cast_to_bf16},
    {"cast", "from bf16", 1.5, run_cast_from_bf16},
    {"quantize", "to int8", 1.25, run_quantize},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void run_gemm(const struct arrays *x)
{
    const struct clab_gemm product = {.m = x->size, .n = x->size, .k = x->size, .a = x->a, .b = x->b, .c = x->c};
    x->device->gemm(&product);
}

// ---- time ----------------------------------------------------------------------------------------------------

struct batch {
    void (*run)(const struct arrays *x);
    const struct arrays *arrays;
    int calls;
};

static void run_batch(void *of)
{
    const struct batch *batch = of;
    for (int i = 0; i < batch->calls; i++)
        batch->run(batch->arrays);
}

// Seconds of a call, with the median's interval.  errors: CLAB_ESYS (the device failed, and has logged it)
static int time_calls(struct batch batch, double budget, struct clab_summary *summary_p)
{
    double samples[BATCHES], spent = 0;
    int n = 0;
    batch.calls = 1;
    const double first = batch.arrays->device->time(run_batch, &batch); // it also does the work of a first call
    const double once = batch.arrays->device->time(run_batch, &batch);
    if (!(first >= 0 && once >= 0))
        return CLAB_ESYS;
    batch.calls = once > 0 && once < batch_seconds ? (int)ceil(batch_seconds / fmax(once, 1e-7)) : 1;
    while (n < BATCHES && (n < FEW || spent < budget)) {
        const double seconds = batch.arrays->device->time(run_batch, &batch);
        if (!(seconds >= 0))
            return CLAB_ESYS;
        spent += seconds;
        samples[n++] = seconds / batch.calls;
    }
    return clab_summarize(samples, n, summary_p);
}

// ---- the table -----------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"operation", NULL, NULL, CLAB_KIND_TEXT, -10, 0, NULL},
    {"type", NULL, NULL, CLAB_KIND_TEXT, -9, 0, NULL},
    {"size", NULL, NULL, CLAB_KIND_TEXT, 10, 0, NULL},
    {"usec", "time", "us", CLAB_KIND_REAL, 11, 2, NULL},
    {"usec_low", "low", "us", CLAB_KIND_REAL, 11, 2, "95 % interval"},
    {"usec_high", "high", "us", CLAB_KIND_REAL, 11, 2, "95 % interval"},
    {"GBps", "rate", "GB/s", CLAB_KIND_REAL, 9, 1, NULL},
    {"Tflops", "rate", "Tflop/s", CLAB_KIND_REAL, 9, 3, NULL},
    {"percent", "of best", "%", CLAB_KIND_REAL, 8, 1, NULL},
};
enum { NCOLUMNS = sizeof columns / sizeof *columns };

static int add_row(struct clab_table *table, const char *name, const char *type, const char *size,
                   const struct clab_summary *s, double gbps, double tflops, double percent)
{
    const struct clab_cell row[NCOLUMNS] = {
        clab_cell_text(name),         clab_cell_text(type),
        clab_cell_text(size),         clab_cell_real(1e6 * s->median),
        clab_cell_real(1e6 * s->low), clab_cell_real(1e6 * s->high),
        clab_cell_real(gbps),         clab_cell_real(tflops),
        clab_cell_real(percent),
    };
    return clab_table_add_row(table, row);
}

static int measure_memory(struct arrays *x, double budget, struct clab_table *table)
{
    const double bytes = (double)x->count * sizeof(float);
    double copied = NAN;
    char size[CLAB_TEXT];
    for (int i = 0; i < OPERATIONS; i++) {
        const struct operation *o = &operations[i];
        struct clab_summary summary;
        kit_progress("device: %s of %s, %d of %d", o->name, o->type, i + 1, OPERATIONS);
        CLAB_TRY(time_calls((struct batch){.run = o->run, .arrays = x}, budget, &summary));
        const double rate = o->moved * bytes / summary.median;
        copied = i == 0 ? rate : copied;
        CLAB_TRY(add_row(table, o->name, o->type, clab_size_text(x->count * sizeof(float), size), &summary, rate / 1e9,
                         NAN, 100 * rate / copied));
    }
    return CLAB_OK;
}

// Sizes that fit into the arrays, until a product takes longer than a row may. We know percents of the best last.
static int measure_products(struct arrays *x, double budget, struct clab_table *table)
{
    struct clab_summary summaries[8];
    double rates[8], best = 0;
    int n = 0;
    for (size_t size = LEAST_SIZE; size <= MOST_SIZE && size * size <= x->count; size *= 2, n++) {
        x->size = size;
        kit_progress("device: products of %zu x %zu", size, size);
        CLAB_TRY(time_calls((struct batch){.run = run_gemm, .arrays = x}, budget, &summaries[n]));
        rates[n] = 2 * pow((double)size, 3) / summaries[n].median;
        best = rates[n] > best ? rates[n] : best;
        if (8 * summaries[n].median > 4 * budget) { // estimate of the next product
            n++;
            break;
        }
    }
    for (int i = 0; i < n; i++) {
        char text[CLAB_TEXT];
        snprintf(text, sizeof text, "%d^3", LEAST_SIZE << i);
        CLAB_TRY(add_row(table, "gemm", "float", text, &summaries[i], NAN, rates[i] / 1e12, 100 * rates[i] / best));
    }
    return CLAB_OK;
}

// ---- a run ---------------------------------------------------------------------------------------------------

// The device, and the library of its products. A fake device may run, but leaves no result.
static int describe(struct clab_job *job, const struct options *o, const struct arrays *x,
                    struct clab_manifest *manifest)
{
    char bytes[CLAB_TEXT], text[256];
    bool is_fake;
    const bool is_host = job->backend->reaches(job->domain, job);
    job->backend->describe(job->domain, text, sizeof text, &is_fake);
    if (is_fake && o->csv) {
        clab_error("%s: this is no measurement, so nothing is written to %s: run it without --csv", text, o->csv);
        return CLAB_EINVAL;
    }
    CLAB_TRY(clab_manifest_add(manifest, "command", "commlab device --backend %s --bytes %zu --seconds %g", o->backend,
                               o->bytes, o->seconds));
    CLAB_TRY(clab_machine_describe(manifest));
    return clab_manifest_add(manifest, "device", "%s%s%s, products by %s, arrays of %s", x->device->name,
                             *text ? ", " : "", text, is_host ? clab_device_cpu_products() : "cuBLAS",
                             clab_size_text(x->count * sizeof(float), bytes));
}

static int measure(struct clab_job *job, const struct options *o, struct arrays *x)
{
    struct clab_manifest manifest = {0};
    struct clab_table table;
    clab_table_init(&table, columns, NCOLUMNS);
    const struct clab_random random = {.seed = 1, .type = CLAB_F32, .nranks = 3}; // one array per rank
    for (int i = 0; i < 3; i++)
        x->device->fill(&random, i, 0, x->count, i == 0 ? x->a : i == 1 ? x->b : x->c);
    int err = describe(job, o, x, &manifest);
    if (!err)
        err = measure_memory(x, o->seconds, &table);
    if (!err)
        err = measure_products(x, o->seconds, &table);
    kit_progress_clear();
    if (!err) {
        printf("# device: %s\n", clab_manifest_get(&manifest, "device"));
        clab_table_print(&table, stdout);
        err = o->csv ? clab_table_write_csv(&table, &manifest, o->csv) : CLAB_OK;
    }
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    return err;
}

static int measure_in(struct clab_job *job, const struct options *o)
{
    struct arrays x = {.device = job->backend->device, .count = o->bytes / sizeof(float) / 64 * 64};
    void *memory;
    CLAB_TRY(clab_alloc(job, 3 * x.count * sizeof(float), &memory));
    x.a = memory;
    x.b = x.a + x.count;
    x.c = x.b + x.count;
    int err = measure(job, o, &x);
    const int last = x.device->finish();
    clab_free(job, memory);
    return err ? err : last;
}

// ---- the command line ----------------------------------------------------------------------------------------

static const struct clab_option options[] = {
    {"backend", 0, "NAME", "the device: a GPU with nccl, the processor with all others (shm)",
     CLAB_TEXT_AT(struct options, backend)},
    {"bytes", 0, "SIZE", "bytes per array of floats, 4K or more (256M)", CLAB_SIZE(struct options, bytes, LEAST_BYTES)},
    {"seconds", 0, "TIME", "time per row (0.1s)", CLAB_SECONDS(struct options, seconds, 0, MOST_SECONDS)},
    {"csv", 0, "FILE", "also write the rows here", CLAB_TEXT_AT(struct options, csv)},
    {"numa", 0, NULL, "instead: copies of each NUMA node's memory by a core of each node, in arrays of --bytes",
     CLAB_ON(struct options, numa)},
    {0},
};

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct options o = {.backend = clab_backend_usual(1), .bytes = 256 << 20, .seconds = 0.1};
    if (clab_options_parse(&line, argc, argv, &o) || !clab_backend_find(o.backend))
        return STATUS_USAGE;
    if (o.numa)
        return command_status(numa_measure(o.bytes, o.seconds, stdout));
    const struct clab_job_options alone = {.nranks = 1, .backend = o.backend};
    struct clab_job *job;
    if (o.csv && clab_output_announce(o.csv))
        return EXIT_FAILURE;
    int err = clab_job_open_with(&alone, &job);
    if (err)
        return command_status(err);
    err = measure_in(job, &o);
    const int closed = clab_job_close(job);
    return command_status(err ? err : closed);
}

const struct clab_command cmd_device = {"device", "time a device's operations against its memory's bandwidth", run};
