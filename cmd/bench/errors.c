// SPDX-License-Identifier: MIT
// How far predictions were off (errors.h).
//
// - The residual is (measured - predicted) / measured: its size is the error; above 0 means slower than predicted.
// - No prediction can be better than the noise floor. It is the larger of two medians over rows: half the width of
//   their interval, and how much they differ when they are measured again (A/A) with their cores in the same place.

#include "cmd/bench/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/bench/bench.h"
#include "cmd/bench/sweep.h"
#include "core/base/err.h"
#include "core/base/stats.h"
#include "core/transport/backend.h"

enum { FEWEST_REPEATS = 5, MOST_REPEATS = 12, ROWS_A_REPEAT = 10, FEWEST_PAIRS = 3 };

// All results that were measured, in the order of the table, which is the same on all ranks.
struct sample {
    int row;
    enum bench_placement placement;
    const struct bench_result *result;
};

static int list_samples(const struct bench *bench, struct sample samples[])
{
    int n = 0;
    for (int row = 0; row < bench->plan->nrows; row++)
        for (int p = 0; p < BENCH_PLACEMENTS; p++)
            if (bench->results[row][p].measured)
                samples[n++] = (struct sample){row, (enum bench_placement)p, &bench->results[row][p]};
    return n;
}

double bench_repeat_noise(const struct bench_time first[], const struct bench_time again[], int n)
{
    double differences[MOST_REPEATS];
    int pairs = 0;
    for (int i = 0; i < n && pairs < MOST_REPEATS; i++)
        if (clab_placement_is_same(first[i].probed, again[i].probed) && !first[i].disturbed && !again[i].disturbed)
            differences[pairs++] = fabs(again[i].seconds / first[i].seconds - 1);
    return pairs < FEWEST_PAIRS ? NAN : clab_quantile(differences, pairs, 0.5);
}

// Measure some rows once more: how much they differ, NAN if too few can be compared; collective.
static int repeat(struct bench *bench, const struct sample samples[], int n, double *noise_p)
{
    int repeats = n / ROWS_A_REPEAT;
    repeats = repeats < FEWEST_REPEATS ? FEWEST_REPEATS : repeats > MOST_REPEATS ? MOST_REPEATS : repeats;
    *noise_p = NAN;
    if (n < FEWEST_PAIRS)
        return CLAB_OK; // too few to compare
    repeats = repeats > n ? n : repeats;
    struct bench_time first[MOST_REPEATS], again[MOST_REPEATS];
    for (int i = 0; i < repeats; i++) {
        const struct sample *sample = &samples[i * n / repeats];
        first[i] = sample->result->time;
        CLAB_TRY(bench_sweep_repeat(bench, sample->row, sample->placement, &again[i]));
    }
    *noise_p = bench_repeat_noise(first, again, repeats);
    return CLAB_OK;
}

static void print_errors(const struct bench *bench, const struct sample samples[], int n, double room[],
                         double repeated)
{
    int calm = 0, predicted = 0, disturbed = 0;
    for (int i = 0; i < n; i++)
        if (!samples[i].result->time.disturbed)
            room[calm++] = samples[i].result->time.half_width;
    const double interval = calm ? clab_quantile(room, calm, 0.5) : NAN;
    for (int i = 0; i < n; i++) {
        const struct bench_result *result = samples[i].result;
        disturbed += result->time.disturbed;
        if (!isnan(result->predicted) && !result->refused && !result->time.disturbed)
            room[predicted++] = fabs(bench_residual(result));
    }
    if (disturbed)
        printf("other programs took the cores during %d of %d rows, which do not count: run again while nothing else "
               "runs\n",
               disturbed, n);
    if (!predicted && disturbed)
        return;
    if (!predicted) {
        printf("no prediction: this network has none for these rows\n");
        return;
    }
    if (bench->nranks > bench->options->cores && !bench->options->backend->time->is_exact)
        printf("with %d ranks on %d cores, times are also the scheduler's, which is not predicted\n", bench->nranks,
               bench->options->cores);
    if (isnan(repeated) && !bench->options->backend->time->is_exact)
        printf("the noise floor is that of intervals: fewer than %d rows were measured twice with their cores in the same "
               "place\n",
               FEWEST_PAIRS);
    printf("prediction: median |error| %.1f %%, p95 %.1f %%, noise floor %.1f %%\n",
           100 * clab_quantile(room, predicted, 0.5), 100 * clab_quantile(room, predicted, 0.95),
           100 * fmax(interval, repeated)); // fmax ignores a NAN
}

int bench_errors_print(struct bench *bench)
{
    const size_t most = (size_t)bench->plan->nrows * BENCH_PLACEMENTS;
    if (!bench->net) {
        if (bench->rank == 0)
            printf("no prediction: %s\n", bench->why);
        return CLAB_OK;
    }
    struct sample *samples = malloc(most * sizeof *samples);
    double *room = malloc(most * sizeof *room), repeated;
    int err = samples && room ? CLAB_OK : CLAB_ENOMEM;
    const int n = err ? 0 : list_samples(bench, samples);
    if (n)
        err = repeat(bench, samples, n, &repeated);
    if (n && !err && bench->rank == 0)
        print_errors(bench, samples, n, room, repeated);
    free(samples);
    free(room);
    return err;
}
