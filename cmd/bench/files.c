// SPDX-License-Identifier: MIT
// The files of the bench: CSV and JSON with one row per collective, algorithm, size, ...
// and placement, and the manifest that a reader needs to judge them.
//
// - usec is the median of a call; usec_low and usec_high are its 95 % interval, in local mode the least and most over
//   ranks.
// - host_usec is how long the host takes to start a call (mode enqueue), kernel_usec how long its kernels run on a GPU.
// - calls counts the calls of a batch; line_nsec, fresh_psB and call_nsec say where the cores were
//   (cmd/probe/placement.h).
// - A refused row has no time. A cell is empty where a value was not checked, not predicted, or is unknown.

#include "cmd/bench/files.h"

#include <math.h>
#include <stdlib.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/data.h"
#include "core/base/err.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/comm/job.h"
#include "core/transport/backend.h"
#include "sim/net/net.h"
#include "sim/sim.h"

// ---- the manifest --------------------------------------------------------------------------------------------

static const char *average_text(int average)
{
    static const char *const texts[BENCH_AVERAGES] = {"of rank 0", "the mean over ranks", "of the fastest rank",
                                                      "of the slowest rank"};
    return texts[average];
}

static const char *mode_text(enum bench_mode mode)
{
    switch (mode) {
    case BENCH_LATENCY: return "latency: one call from a common start, last exit - last entry";
    case BENCH_LOCAL: return "local: each rank's own mean; mean, least and most over ranks";
    case BENCH_ENQUEUE: return "enqueue: calls started one behind the other, one wait, total / calls, ";
    default: return "throughput: calls back to back, total / calls, ";
    }
}

// The largest check looks at one window out of this many.
static size_t largest_stride(const struct bench_options *o, const struct bench_plan *plan)
{
    size_t largest = 1;
    for (int i = 0; i < plan->nrows; i++) {
        const size_t stride = bench_data_stride(&plan->rows[i], plan->rows[i].problem.root, bench_crowd(o));
        largest = stride > largest ? stride : largest;
    }
    return largest;
}

static int add_run(const struct bench_options *o, const struct bench_plan *plan, struct clab_manifest *m)
{
    const size_t stride = largest_stride(o, plan);
    char last[CLAB_TEXT];
    CLAB_TRY(clab_manifest_add(m, "command", "%s", o->command));
    const bool is_one = o->mode == BENCH_THROUGHPUT || o->mode == BENCH_ENQUEUE;
    CLAB_TRY(clab_manifest_add(m, "mode", "%s%s", mode_text(o->mode), is_one ? average_text(o->average) : ""));
    CLAB_TRY(clab_manifest_add(m, "data", "random of seed %llu, in buffers of %s", (unsigned long long)o->seed,
                               o->memory == BENCH_ALLOC ? "clab_alloc" : "malloc"));
    if (o->launches)
        CLAB_TRY(clab_manifest_add(m, "graphs", "the calls of a batch are recorded once, and launched %d times",
                                   o->launches));
    if (o->lanes)
        CLAB_TRY(clab_manifest_add(m, "lanes", "%d of each algorithm", o->lanes));
    if (o->is_short)
        CLAB_TRY(clab_manifest_add(m, "sizes",
                                   "up to %s, so that %d ranks share this machine's memory; -e asks for more",
                                   clab_size_text(o->last, last), o->nranks));
    if (!o->check)
        return clab_manifest_add(m, "check", "none");
    if (stride == 1)
        return clab_manifest_add(m, "check", "every element, before and after the timed calls");
    return clab_manifest_add(
        m, "check",
        "before and after the timed calls, every element; of the largest sizes one window of 512 in "
        "%zu, and both ends of each block",
        stride);
}

// Which data is predicted, as sim says it.
static int add_predicted(const struct bench_options *o, const struct clab_net *net, struct clab_manifest *m)
{
    const char *packets = o->backend->flush ? clab_variable_text(CLAB_VARIABLE_PACKETS) : NULL;
    return clab_manifest_add(m, "predicted", "%s, right after other calls%s%s",
                             o->mode == BENCH_LATENCY ? "one call that all ranks begin together" : "call after call",
                             net->nlevels ? "; each writes to buffers that a peer has read in the call before" : "",
                             packets && !strcmp(packets, "auto")
                                 ? "; each message leaves alone, as with CLAB_PACKETS=off, so short ones are faster"
                                 : "");
}

static int add_network(const struct bench_options *o, const struct clab_net *net, struct clab_manifest *m)
{
    if (!net)
        return clab_manifest_add(m, "network", "none, so nothing is predicted");
    CLAB_TRY(clab_manifest_add(m, "network", "%s predicts (%s)", net->name, net->title));
    CLAB_TRY(add_predicted(o, net, m));
    return net->date[0] ? clab_manifest_add(m, "network", "of %s, %s", net->date, net->machine) : CLAB_OK;
}

int bench_manifest_make(const struct bench *bench, struct clab_manifest *manifest_p)
{
    struct clab_manifest m = {0};
    int err = add_run(bench->options, bench->plan, &m);
    if (err == CLAB_OK)
        err = add_network(bench->options, bench->net, &m);
    if (err == CLAB_OK && !bench->options->backend->time->is_exact)
        err = clab_machine_describe_as(&bench->machine, &m);
    if (err == CLAB_OK)
        *manifest_p = m;
    else
        clab_manifest_free(&m);
    return err;
}

// The bound of every call over sockets, where cache lines do not matter.
static int add_tcp(const struct tcp_limit *tcp, struct clab_manifest *manifest)
{
    char trip[CLAB_TEXT], rate[CLAB_TEXT], bytes[CLAB_TEXT];
    return clab_manifest_add(
        manifest, "plain TCP", "%s half a round trip of 8 B, %s each way while %s go both ways (%s)",
        clab_seconds_text(tcp->trip, trip), clab_rate_text(tcp->rate, rate), clab_size_text(tcp->bytes, bytes),
        tcp->congestion[0] ? tcp->congestion : "unknown control");
}

// The library that does the work, where that is not the kit itself.
static int add_library(const struct bench *bench, struct clab_manifest *manifest)
{
    char text[256];
    bool is_fake;
    bench->job->backend->describe(bench->job->domain, text, sizeof text, &is_fake);
    return *text ? clab_manifest_add(manifest, "library", "%s", text) : CLAB_OK;
}

static int add_copies(const struct bench *bench, struct clab_manifest *manifest)
{
    const struct bench_limits *limits = &bench->limits;
    char one[CLAB_TEXT], all[CLAB_TEXT], peak[CLAB_TEXT];
    const bool is_host = bench->job->backend->reaches(bench->job->domain, limits);
    if (!bench_limits_have_time(bench->options))
        return clab_manifest_add(manifest, "memory copy", "not measured: --seconds is under 2 ms; %s within a %s cache",
                                 clab_rate_text(limits->copy_peak, peak), is_host ? "core's" : "GPU's");
    return clab_manifest_add(manifest, "memory copy", "%s by one %s, %s by all ranks at once, %s within a %s cache",
                             clab_rate_text(limits->copy_one, one), is_host ? "core" : "GPU",
                             clab_rate_text(limits->copy_all, all), clab_rate_text(limits->copy_peak, peak),
                             is_host ? "core's" : "GPU's");
}

int bench_manifest_add_limits(const struct bench *bench, struct clab_manifest *manifest)
{
    const struct bench_limits *limits = &bench->limits;
    char line[CLAB_TEXT];
    const char *emulated = clab_variable_text(CLAB_VARIABLE_EMULATE);
    if (bench->options->backend->time->is_exact)
        return clab_manifest_add(manifest, "job", "%d ranks, %s: times are the network's", bench->nranks,
                                 clab_job_backend(bench->job));
    CLAB_TRY(clab_machine_warn(&bench->machine, bench->job->bootstrap->local_ranks, manifest));
    CLAB_TRY(clab_manifest_add(manifest, "job", "%d ranks on %d cores, %s%s%s", bench->nranks, bench->options->cores,
                               clab_job_backend(bench->job), emulated ? ", delayed as on " : "",
                               emulated ? emulated : ""));
    CLAB_TRY(add_library(bench, manifest));
    CLAB_TRY(add_copies(bench, manifest));
    if (!isnan(limits->tcp.rate))
        return add_tcp(&limits->tcp, manifest);
    if (isnan(limits->line))
        return clab_manifest_add(manifest, "cache line", "not measured: ranks 0 and 1 have no quiet core each");
    return clab_manifest_add(manifest, "cache line", "%s from rank 0 to rank 1 and back",
                             clab_seconds_text(limits->line, line));
}

// ---- the files -----------------------------------------------------------------------------------------------

const struct clab_column bench_columns[] = {
    CLAB_COLUMN(TEXT, "collective"), CLAB_COLUMN(TEXT, "algorithm"), CLAB_COLUMN(TEXT, "backend"),
    CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(INTEGER, "bytes"), CLAB_COLUMN(INTEGER, "count"),
    CLAB_COLUMN(TEXT, "type"), CLAB_COLUMN(TEXT, "op"), CLAB_COLUMN(INTEGER, "root"), CLAB_COLUMN(INTEGER, "inplace"),
    CLAB_COLUMN(TEXT, "mode"), CLAB_COLUMN(REAL, "usec"), CLAB_COLUMN(REAL, "usec_low"), CLAB_COLUMN(REAL, "usec_high"),
    CLAB_COLUMN(REAL, "algbw_GBps"), CLAB_COLUMN(REAL, "busbw_GBps"), CLAB_COLUMN(INTEGER, "wrong"),
    CLAB_COLUMN(INTEGER, "bytes_sent_per_rank"), CLAB_COLUMN(REAL, "predicted_usec"), CLAB_COLUMN(REAL, "residual_pct"),
    CLAB_COLUMN(INTEGER, "calls"), CLAB_COLUMN(REAL, "line_nsec"), CLAB_COLUMN(REAL, "fresh_psB"),
    CLAB_COLUMN(REAL, "call_nsec"), CLAB_COLUMN(REAL, "host_usec"), CLAB_COLUMN(REAL, "kernel_usec"),
    CLAB_COLUMN(TEXT, "nccl_algorithm"), CLAB_COLUMN(TEXT, "nccl_protocol"), CLAB_COLUMN(INTEGER, "nccl_channels"),
};
enum { COLUMNS = sizeof bench_columns / sizeof *bench_columns };
const int bench_ncolumns = COLUMNS;

static struct clab_cell text_or_none(const char *text)
{
    return *text ? clab_cell_text(text) : clab_cell_none();
}

// What is timed and how, then the result. A refused time is NaN, and so is every value that depends on it.
static int add_result(const struct bench *bench, const struct bench_row *row, enum bench_placement placement,
                      const struct bench_result *result, struct clab_table *table)
{
    const struct clab_problem *p = &row->problem;
    const double valid = result->refused ? NAN : 1, us = 1e6 * valid;
    const double rate =
        bench_has_data(p->collective) ? valid * (double)bench_bytes(row) / result->time.seconds / 1e9 : NAN;
    const struct clab_cell cells[COLUMNS] = {
        clab_cell_text(clab_problem_name(p)),
        clab_cell_text(row->algorithm->name),
        clab_cell_text(clab_job_backend(bench->job)),
        clab_cell_integer(p->nranks),
        clab_cell_integer((long long)bench_bytes(row)),
        clab_cell_integer((long long)p->count),
        clab_cell_text(bench_type_name(row)),
        clab_cell_text(bench_op_name(row)),
        clab_cell_integer(bench_root(row)),
        clab_cell_integer(placement == BENCH_IN_PLACE),
        clab_cell_text(bench_mode_name(bench->options->mode)),
        clab_cell_real(us * result->time.seconds),
        clab_cell_real(us * result->time.low),
        clab_cell_real(us * result->time.high),
        clab_cell_real(rate),
        clab_cell_real(rate * bench_row_factor(row)),
        result->wrong < 0 ? clab_cell_none() : clab_cell_integer(result->wrong),
        result->sent < 0 ? clab_cell_none() : clab_cell_integer(result->sent),
        clab_cell_real(1e6 * result->predicted),
        clab_cell_real(100 * valid * bench_residual(result)),
        clab_cell_integer(result->time.calls),
        result->time.probed.line > 0 ? clab_cell_real(1e9 * result->time.probed.line) : clab_cell_none(),
        result->time.probed.fresh > 0 ? clab_cell_real(1e12 * result->time.probed.fresh) : clab_cell_none(),
        result->time.probed.call > 0 ? clab_cell_real(1e9 * result->time.probed.call) : clab_cell_none(),
        clab_cell_real(us * result->time.host),
        clab_cell_real(us * result->time.by_device),
        text_or_none(result->ran.algorithm),
        text_or_none(result->ran.protocol),
        result->ran.channels ? clab_cell_integer(result->ran.channels) : clab_cell_none(),
    };
    return clab_table_add_row(table, cells);
}

static int fill(const struct bench *bench, struct clab_table *table)
{
    for (int row = 0; row < bench->plan->nrows; row++)
        for (int p = 0; p < BENCH_PLACEMENTS; p++)
            if (bench->results[row][p].measured)
                CLAB_TRY(add_result(bench, &bench->plan->rows[row], (enum bench_placement)p, &bench->results[row][p],
                                    table));
    return CLAB_OK;
}

int bench_files_write(const struct bench *bench, const struct clab_manifest *manifest)
{
    const struct bench_options *o = bench->options;
    struct clab_table table;
    clab_table_init(&table, bench_columns, COLUMNS);
    const char *json = o->json_format == BENCH_TABLE ? o->json : NULL;
    int err = o->csv || json ? fill(bench, &table) : CLAB_OK;
    if (err == CLAB_OK)
        err = clab_table_write(&table, manifest, o->csv, json);
    clab_table_free(&table);
    if (err == CLAB_OK && o->samples)
        err = clab_table_write_csv(&bench->samples->table, manifest, o->samples);
    return err;
}

struct clab_cell bench_cell_read(const struct clab_column *column, const char *text)
{
    if (!text || !*text)
        return clab_cell_none();
    if (column->kind == CLAB_KIND_TEXT)
        return clab_cell_text(text);
    return column->kind == CLAB_KIND_INTEGER ? clab_cell_integer(atoll(text)) : clab_cell_real(atof(text));
}
