// SPDX-License-Identifier: MIT
// The rows, measured one by one on all ranks: prepare, check a call, time many, check again.
//
// - The first check uses fresh random input, and outputs filled with NaN. After the timed calls we check what the last
//   one left, and that no call wrote to the input. In place, calls work on each other's results, so this check uses
//   fresh data and one more call.
// - The communicator counts the bytes sent in the first call. Those of a native algorithm are unknown.
// - All ranks take the same branches: these depend on the options, the plan, and sums over all ranks.

#include "cmd/bench/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/data.h"
#include "cmd/bench/nccl_tests.h"
#include "cmd/bench/predict.h"
#include "cmd/bench/table.h"
#include "cmd/kit/progress.h"
#include "core/base/err.h"
#include "core/clab.h"
#include "core/comm/comm.h"
#include "core/transport/backend.h"

// One placement of a row, while it is measured.
struct trial {
    struct bench *bench;
    const struct bench_row *row;
    enum bench_placement placement;
    struct bench_buffers buffers;
    uint64_t seed;
};

static struct trial begin(struct bench *bench, int index, enum bench_placement placement)
{
    const struct bench_row *row = &bench->plan->rows[index];
    return (struct trial){
        .bench = bench,
        .row = row,
        .placement = placement,
        .buffers = bench_place(row, bench->rank, placement, bench->whole),
        .seed = bench->seed + 2 * (uint64_t)index + placement,
    };
}

// ---- data ----------------------------------------------------------------------------------------------------

// The device that fills and checks the buffers; malloc's belong to the processor.
static const struct clab_device *device_of(const struct trial *t)
{
    const struct bench_options *options = t->bench->options;
    return options->memory == BENCH_ALLOC ? options->backend->device : &clab_device_cpu;
}

// Random input, and an output of all ones: NaN, or -1.
static void prepare(const struct trial *t)
{
    const struct clab_problem *p = &t->row->problem;
    const int in = clab_problem_in_blocks(p, t->bench->rank), out = clab_problem_out_blocks(p, t->bench->rank);
    const struct clab_device *device = device_of(t);
    device->set(t->buffers.out, 0xff, (size_t)out * p->count * clab_type_bytes(t->row->type));
    bench_data_fill(device, t->seed, t->row, t->bench->rank, 0, (size_t)in * p->count, t->buffers.in);
}

static size_t stride_of(const struct trial *t)
{
    return bench_data_stride(t->row, t->bench->rank, bench_crowd(t->bench->options));
}

static long long count_wrong(const struct trial *t)
{
    const int rank = t->bench->rank;
    return (long long)bench_data_check(device_of(t), t->seed, t->row, rank, t->buffers.out, stride_of(t));
}

static int check_once_more(const struct trial *t, long long *wrong)
{
    if (t->placement == BENCH_IN_PLACE) {
        prepare(t);
        CLAB_TRY(bench_call(t->bench->comm, t->row, t->buffers));
    } else {
        *wrong += (long long)bench_data_check_input(device_of(t), t->seed, t->row, t->bench->rank, t->buffers.in,
                                                    stride_of(t));
    }
    *wrong += count_wrong(t);
    return CLAB_OK;
}

// ---- a trial -------------------------------------------------------------------------------------------------

static bool is_native(const struct trial *t)
{
    return t->row->algorithm == &clab_native_algorithm;
}

static int use_algorithm(const struct trial *t)
{
    const struct clab_problem *p = &t->row->problem;
    const bool automatic = t->row->automatic && !t->bench->options->lanes;
    if (p->collective == CLAB_SENDRECV)
        return CLAB_OK; // sendrecv has no algorithm
    if (p->listing)
        return clab_comm_set_listing(t->bench->comm, p->listing);
    return clab_comm_set_algorithm(t->bench->comm, p->collective, automatic ? "auto" : t->row->algorithm->name,
                                   automatic || is_native(t) ? 0 : p->lanes);
}

// The first call, on fresh data: how much it sends, and whether the result is right.
static int call_first(const struct trial *t, struct bench_result *result)
{
    const bool checks = t->bench->options->check && bench_has_data(t->row->problem.collective);
    const size_t before = clab_comm_traffic(t->bench->comm).bytes_sent;
    CLAB_TRY(bench_call(t->bench->comm, t->row, t->buffers));
    if (is_native(t))
        t->bench->options->backend->collectives->ran(t->bench->comm->endpoint, &result->ran);
    result->sent = is_native(t) ? -1 : (long long)(clab_comm_traffic(t->bench->comm).bytes_sent - before);
    result->wrong = checks ? count_wrong(t) : -1;
    return CLAB_OK;
}

// Join the counts of all ranks.
static int join_counts(const struct trial *t, struct bench_result *result)
{
    CLAB_TRY(clab_allreduce(t->bench->control, &result->sent, &result->sent, 1, CLAB_I64, CLAB_MAX));
    if (result->wrong < 0)
        return CLAB_OK;
    return clab_allreduce(t->bench->control, &result->wrong, &result->wrong, 1, CLAB_I64, CLAB_SUM);
}

static void judge(const struct trial *t, struct bench_result *result)
{
    const char *why;
    const struct bench_batch batch = {t->bench->options->mode, t->placement, result->time.calls, result->time.probed};
    result->predicted = bench_predict(t->bench->net, t->row, &batch);
    if (t->bench->options->backend->time->is_exact)
        return;
    result->floor = bench_limits_floor(&t->bench->limits, t->row, t->placement, t->bench->options->cores, &why);
    if (result->time.seconds < result->floor)
        result->refused = why;
}

static int run_trial(const struct trial *t, struct bench_result *result_p)
{
    struct bench_result result = {.measured = true, .predicted = NAN};
    CLAB_TRY(use_algorithm(t));
    prepare(t);
    CLAB_TRY(call_first(t, &result));
    bench_samples_begin(t->bench, t->row, t->placement);
    CLAB_TRY(bench_time_calls(t->bench, t->row, t->buffers, &result.time));
    bench_samples_begin(t->bench, NULL, t->placement);
    if (result.wrong >= 0)
        CLAB_TRY(check_once_more(t, &result.wrong));
    CLAB_TRY(join_counts(t, &result));
    if (t->bench->rank == 0)
        judge(t, &result);
    *result_p = result;
    return CLAB_OK;
}

int bench_sweep_repeat(struct bench *bench, int index, enum bench_placement placement, struct bench_time *time_p)
{
    const struct trial t = begin(bench, index, placement);
    bench_progress_show(bench, index, "once more");
    CLAB_TRY(use_algorithm(&t));
    prepare(&t);
    return bench_time_calls(bench, t.row, t.buffers, time_p);
}

// ---- all of them ---------------------------------------------------------------------------------------------

static bool is_wanted(const struct bench *bench, const struct bench_row *row, enum bench_placement placement)
{
    if (!bench_has_data(row->problem.collective))
        return placement == BENCH_OUT_OF_PLACE; // a barrier has no placement: it is measured once
    return bench->options->placements[placement] &&
           (placement == BENCH_OUT_OF_PLACE || bench_has_in_place(&row->problem));
}

static int run_row(struct bench *bench, int index)
{
    for (int p = 0; p < BENCH_PLACEMENTS; p++) {
        const struct trial t = begin(bench, index, (enum bench_placement)p);
        if (!is_wanted(bench, t.row, t.placement))
            continue;
        bench_progress_show(bench, index, bench_placement_name(t.placement));
        CLAB_TRY(run_trial(&t, &bench->results[index][p]));
    }
    return CLAB_OK;
}

int bench_sweep(struct bench *bench)
{
    for (int index = 0; index < bench->plan->nrows; index++) {
        CLAB_TRY(run_row(bench, index));
        if (bench->rank != 0)
            continue;
        kit_progress_clear();
        if (bench->options->format == BENCH_NCCL_TESTS)
            bench_nccl_tests_print_row(bench, index);
        else
            CLAB_TRY(bench_table_print_row(bench, index));
    }
    return CLAB_OK;
}
