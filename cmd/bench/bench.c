// SPDX-License-Identifier: MIT
// commlab bench: time collectives, check their results, and compare them with the prediction.
//
// - The launcher reads the command line, makes the plan and loads the network, so mistakes are reported before ranks
//   start. Ranks are copies of the launcher and have all of it. In a job that is running already, each rank does this
//   by itself.
// - Rank 0 prints and writes files. If a rank fails, the launcher ends the job.

#include "cmd/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bench/errors.h"
#include "cmd/bench/files.h"
#include "cmd/bench/matrix/matrix.h"
#include "cmd/bench/nccl_tests.h"
#include "cmd/bench/predict.h"
#include "cmd/bench/several.h"
#include "cmd/bench/sweep.h"
#include "cmd/bench/table.h"
#include "cmd/command.h"
#include "cmd/probe/placement.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/units.h"
#include "core/clab.h"
#include "core/comm/comm.h"
#include "core/comm/job.h"
#include "core/transport/backend.h"
#include "sim/sim.h"

// ---- a rank --------------------------------------------------------------------------------------------------

// All buffers in one allocation; a second one begins on a new cache line.
static int open_buffers(struct bench *bench, void **memory_p)
{
    const size_t each = (bench->plan->buffer_bytes + 63) / 64 * 64 + 64, n = (size_t)bench->plan->buffers;
    void *memory = NULL;
    char size[CLAB_TEXT];
    if (bench->options->memory == BENCH_ALLOC)
        CLAB_TRY(clab_alloc(bench->job, n * each, &memory));
    else if (!(memory = aligned_alloc(64, n * each)))
        clab_error("rank %d: no memory for %zu buffer%s of %s", bench->rank, n, n > 1 ? "s" : "", clab_size_text(each, size));
    if (!memory)
        return CLAB_ENOMEM;
    bench->whole = (struct bench_buffers){memory, (char *)memory + (n - 1) * each};
    *memory_p = memory;
    return CLAB_OK;
}

static void close_buffers(struct bench *bench, void *memory)
{
    if (bench->options->memory == BENCH_ALLOC)
        clab_free(bench->job, memory);
    else
        free(memory);
}

// Wrong elements and impossible times fail the bench.
static int judge(const struct bench *bench)
{
    long long wrong = 0, refused = 0;
    for (int row = 0; row < bench->plan->nrows; row++)
        for (int p = 0; p < BENCH_PLACEMENTS; p++) {
            wrong += bench->results[row][p].wrong > 0 ? bench->results[row][p].wrong : 0;
            refused += bench->results[row][p].refused != NULL;
        }
    if (wrong)
        clab_error("%lld elements are wrong; the column #wrong says where, --seed %llu repeats the data", wrong,
                   (unsigned long long)bench->seed);
    if (refused)
        clab_error("%lld times were refused", refused);
    return wrong || refused ? CLAB_EWRONG : CLAB_OK;
}

static int report(struct bench *bench, const struct bench_place places[])
{
    const bool is_theirs = bench->options->format == BENCH_NCCL_TESTS;
    if (bench->rank == 0) {
        bench->verdict = bench_files_write(bench, bench->manifest);
        if (bench->verdict == CLAB_OK && bench->options->json_format == BENCH_NCCL_TESTS)
            bench->verdict = bench_nccl_tests_write_json(bench, places);
    }
    if (!is_theirs)
        CLAB_TRY(bench_errors_print(bench));
    else if (bench->rank == 0)
        bench_nccl_tests_print_end(bench);
    if (bench->rank == 0 && bench->verdict == CLAB_OK)
        bench->verdict = judge(bench);
    return CLAB_OK;
}

static int run_and_report(struct bench *bench)
{
    CLAB_TRY(bench_limits_measure(bench, &bench->limits));
    struct bench_place *places = calloc((size_t)bench->nranks, sizeof *places);
    const bool is_asked = bench->options->format == BENCH_NCCL_TESTS || bench->options->json_format == BENCH_NCCL_TESTS;
    int err = !places ? CLAB_ENOMEM : is_asked ? bench_nccl_tests_places(bench, places) : CLAB_OK;
    if (!err && bench->rank == 0) {
        err = bench_manifest_add_limits(bench, bench->manifest);
        if (bench->options->format == BENCH_NCCL_TESTS)
            bench_nccl_tests_print_header(bench, places);
        else
            bench_table_print_header(bench, bench->manifest);
    }
    if (!err)
        err = bench_sweep(bench);
    if (!err)
        err = report(bench, places);
    free(places);
    return err;
}

// What the run will replace. It has been checked that each can be written.
static void announce(const struct bench_options *options)
{
    const char *const paths[] = {options->samples, options->csv, options->json};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i])
            clab_output_announce(paths[i]);
}

static int run_with_memory(struct bench *bench)
{
    void *memory;
    CLAB_TRY(clab_broadcast(bench->control, &bench->seed, &bench->seed, 1, CLAB_I64,
                            0)); // ranks of a running job have drawn seeds of their own
    CLAB_TRY(clab_alloc(bench->job, PROBE_ROOM, &bench->probe_room));
    int err = open_buffers(bench, &memory);
    if (err != CLAB_OK) {
        clab_free(bench->job, bench->probe_room);
        return err;
    }
    if (bench->rank == 0)
        announce(bench->options);
    bench->results = calloc((size_t)bench->plan->nrows, sizeof *bench->results);
    err = bench->results ? run_and_report(bench) : CLAB_ENOMEM;
    free(bench->results);
    free(bench->latencies);
    close_buffers(bench, memory);
    clab_free(bench->job, bench->probe_room);
    return err;
}

// A stand-in library for tests measures nothing.
static int check_library(const struct bench *bench)
{
    const struct bench_options *o = bench->options;
    char text[256];
    bool is_fake;
    bench->job->backend->describe(bench->job->domain, text, sizeof text, &is_fake);
    if (!is_fake || (!o->csv && !o->json))
        return CLAB_OK;
    if (bench->rank == 0)
        clab_error(
            "%s: this is no measurement, so no file is written: leave --csv and --json out, name this backend alone, "
            "or unset LD_LIBRARY_PATH",
            text);
    return CLAB_EINVAL;
}

// Ranks of a running job have each read the file; all must have read the same.
static int check_agreement(const struct bench *bench)
{
    const struct clab_listing *listing = bench->options->listing;
    if (!listing)
        return CLAB_OK;
    const int64_t mine = (int64_t)clab_listing_hash(listing);
    int64_t first = mine, last_other;
    CLAB_TRY(clab_broadcast(bench->control, &first, &first, 1, CLAB_I64, 0));
    last_other = first == mine ? -1 : bench->rank;
    CLAB_TRY(clab_allreduce(bench->control, &last_other, &last_other, 1, CLAB_I64, CLAB_MAX));
    if (last_other < 0)
        return CLAB_OK;
    if (bench->rank == 0)
        clab_error("--msccl %s: rank %d has read another schedule there than rank 0: copy the file to all hosts",
                   bench->options->msccl, (int)last_other);
    return CLAB_EINVAL;
}

static int run_rank(struct bench *bench)
{
    bench->rank = clab_job_rank(bench->job);
    bench->nranks = clab_job_ranks(bench->job);
    CLAB_TRY(check_library(bench));
    CLAB_TRY(clab_comm_create(bench->job, &bench->comm));
    clab_comm_trust(bench->comm); // all ranks have the same plan, and the bench checks results
    int err = clab_comm_create(bench->job, &bench->control);
    if (err == CLAB_OK)
        err = check_agreement(bench);
    if (err == CLAB_OK)
        err = run_with_memory(bench);
    if (err == CLAB_OK)
        err = clab_barrier(bench->control); // no rank leaves while others need it
    clab_comm_destroy(bench->alone);
    clab_comm_destroy(bench->control);
    clab_comm_destroy(bench->comm);
    return err == CLAB_OK ? bench->verdict : err;
}

// ---- the launcher --------------------------------------------------------------------------------------------

// Latency mode compares entries and exits of different ranks.
static int check_clock(const struct bench *bench)
{
    const struct clab_bootstrap *boot = bench->job->bootstrap;
    if (bench->options->mode != BENCH_LATENCY || boot->nnodes == 1)
        return CLAB_OK;
    if (boot->rank == 0)
        clab_error("--mode latency takes times of all ranks by one clock, but they are on %d hosts: use throughput or "
                   "local",
                   boot->nnodes);
    return CLAB_EINVAL;
}

// A running job is joined before the plan is made: only all of its ranks together know how many cores they share, where
// each may be bound to one, and which backend they use. Otherwise this starts the job, and returns in its ranks only.
static int open_job(struct bench *bench, struct bench_options *options)
{
    CLAB_TRY(clab_job_open_with(&options->job, &bench->job));
    options->cores = bench->job->bootstrap->job_cores;
    options->backend = clab_backend_find(clab_job_backend(bench->job));
    return check_clock(bench);
}

// A rank that is bound to one core does not see the others.
static void read_machine(struct bench *bench)
{
    struct clab_machine *machine = &bench->machine;
    clab_machine_read(machine);
    if (bench->job && machine->cores < bench->job->bootstrap->cores)
        machine->cores = machine->physical_cores = bench->job->bootstrap->cores;
}

static int check_graphs(const struct bench *bench)
{
    for (int i = 0; bench->options->launches && i < bench->plan->nrows; i++) {
        const struct bench_row *row = &bench->plan->rows[i];
        if (row->algorithm == &clab_native_algorithm)
            continue;
        clab_error("-G %d: a graph holds NCCL's own collectives alone, and %s would run by %s: use --algo native",
                   bench->options->launches, clab_problem_name(&row->problem), row->algorithm->name);
        return CLAB_EINVAL;
    }
    return CLAB_OK;
}

static int prepare(struct bench *bench, struct bench_plan *plan, struct clab_net **net_p)
{
    read_machine(bench);
    CLAB_TRY(bench_plan_make(bench->options, plan));
    CLAB_TRY(check_graphs(bench));
    if (bench->options->format == BENCH_NCCL_TESTS || bench->options->json_format == BENCH_NCCL_TESTS)
        CLAB_TRY(bench_nccl_tests_check(bench));
    CLAB_TRY(bench_predict_open(bench->options, bench->why, net_p));
    bench->net = *net_p;
    return bench_manifest_make(bench, bench->manifest);
}

static bool is_matrix(char **argv)
{
    while (*argv && strcmp(*argv, "--matrix"))
        argv++;
    return *argv != NULL;
}

// Until this is a rank of the job, with the plan. What it has opened is there also after an error.
static int begin(struct bench *bench, struct bench_options *options, struct bench_plan *plan, struct clab_net **net_p)
{
    CLAB_TRY(clab_choice_table_load(&options->table));
    if (options->joins)
        CLAB_TRY(open_job(bench, options));
    options->nodes = bench->job ? bench->job->bootstrap->nnodes : 1;
    CLAB_TRY(prepare(bench, plan, net_p));
    return options->joins ? CLAB_OK : open_job(bench, options);
}

// By the one backend of `options`.  returns: the exit status
static int time_one(struct bench_options *options)
{
    struct bench_plan plan = {0};
    struct clab_manifest manifest = {0};
    struct clab_net *net = NULL;
    struct bench_samples samples;
    struct bench bench = {.options = options, .plan = &plan, .manifest = &manifest, .seed = options->seed};
    const bool times_of_ranks = options->json_format == BENCH_NCCL_TESTS && options->mode != BENCH_LATENCY;
    bench_samples_init(&samples);
    bench.samples = options->samples || times_of_ranks ? &samples : NULL;
    int err = begin(&bench, options, &plan, &net), status = command_status(err);
    if (err == CLAB_OK) {
        err = run_rank(&bench);
        status = err == CLAB_EINVAL ? STATUS_USAGE : err ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (clab_job_close(bench.job) && status == EXIT_SUCCESS)
        status = EXIT_FAILURE;
    clab_manifest_free(&manifest);
    clab_net_free(net);
    bench_plan_free(&plan);
    clab_choice_table_free(&options->table);
    bench_samples_free(&samples);
    return status;
}

static int run(int argc, char **argv)
{
    if (is_matrix(argv))
        return bench_matrix(argc, argv);
    struct bench_options options = {0};
    const int err = bench_options_parse(argc, argv, &options);
    const int status = err               ? command_status(err)
                       : options.backend ? time_one(&options)
                                         : command_status(bench_several(&options, argc, argv));
    clab_listing_free(options.listing);
    free(options.command);
    return status;
}

const struct clab_command cmd_bench = {"bench", "time collectives, check their results, compare with the prediction",
                                       run};
