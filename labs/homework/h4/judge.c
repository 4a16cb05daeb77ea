// SPDX-License-Identifier: MIT
// A round of homework h4: what is asked and foreseen of a machine, and how wrong that is (judge.h).

#include "labs/homework/h4/judge.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mix.h"
#include "core/base/stats.h"

// A time's error that has its whole point, and the one that has nothing; the mean of points that has all of a test's, and
// the one that has none: short messages are foreseen by alpha alone.
static const double full_error = 0.03, zero_error = 0.6, all_points = 0.9, no_points = 0.4;

// ---- cells ---------------------------------------------------------------------------------------------------------

static uint64_t next(uint64_t *state)
{
    return *state = clab_mix(*state, 3);
}

// 8 bytes to 64 MiB, as likely between 1 and 2 KiB as between 2 and 4; whole floats.
static size_t draw_bytes(uint64_t *state)
{
    const double part = (double)(next(state) >> 11) / (double)(UINT64_C(1) << 53);
    return (size_t)(2 * pow((double)(16 << 20) / 2, part)) * 4;
}

// Both algorithms in turn, and ranks that could be asked, most of them on several hosts; or 32 to 256.
static struct h4_question draw_cell(uint64_t *state, int i)
{
    static const int few[] = {2, 4, 8, 8, 16, 16}, many[] = {32, 64, 64, 128, 128, 256};
    const int ranks = (i < H4_GROUP ? few : many)[next(state) % 6];
    return (struct h4_question){i % 2 ? H4_DOUBLING : H4_RING, ranks, draw_bytes(state)};
}

void h4_round_make(uint64_t seed, const struct h4_question *questions, int n, struct h4_round *round_p)
{
    uint64_t state = clab_mix(seed, 5);
    *round_p = (struct h4_round){.machine = h4_machine_draw(seed), .nanswers = n};
    for (int i = 0; i < n; i++)
        round_p->answers[i] = (struct h4_answer){questions[i], h4_machine_seconds(&round_p->machine, questions[i])};
    for (int i = 0; i < H4_CELLS; i++) {
        round_p->cells[i] = draw_cell(&state, i);
        round_p->right[i] = h4_machine_seconds(&round_p->machine, round_p->cells[i]);
    }
}

// ---- errors --------------------------------------------------------------------------------------------------------

// What is no time, or none at all, is as wrong as a factor of a million.
static double error_of(double foreseen, double right)
{
    const double most = 1e6;
    if (!isfinite(foreseen) || foreseen <= 0)
        return most;
    return fmin(most, fmax(foreseen / right, right / foreseen) - 1);
}

struct h4_error h4_round_errors(const struct h4_round *round, const double *times, int first)
{
    double errors[H4_GROUP];
    struct h4_error e = {0};
    for (int i = 0; i < H4_GROUP; i++) {
        errors[i] = error_of(times[first + i], round->right[first + i]);
        e.points += h4_share(errors[i], full_error, zero_error) / H4_GROUP;
    }
    e.median = clab_quantile(errors, H4_GROUP, 0.5);
    return e;
}

double h4_round_worst(const struct h4_round *round, const double *times, int *cell_p)
{
    double worst = -1;
    for (int i = 0; i < H4_CELLS; i++) {
        const double error = error_of(times[i], round->right[i]);
        if (error > worst) {
            worst = error;
            *cell_p = i;
        }
    }
    return worst;
}

void h4_round_baseline(const struct h4_round *round, double times_p[H4_CELLS])
{
    const double least = h4_machine_seconds(&round->machine, (struct h4_question){H4_DOUBLING, 2, 8});
    const double most = h4_machine_seconds(&round->machine, (struct h4_question){H4_DOUBLING, 2, H4_ASKED_BYTES});
    const double beta = (most - least) / (H4_ASKED_BYTES - 8), alpha = least - 8 * beta;
    for (int i = 0; i < H4_CELLS; i++) {
        const double ranks = round->cells[i].ranks, bytes = (double)round->cells[i].bytes;
        times_p[i] = round->cells[i].algorithm == H4_RING ? 2 * (ranks - 1) * (alpha + bytes / ranks * beta)
                                                          : log2(ranks) * (alpha + bytes * beta);
    }
}

// ---- points --------------------------------------------------------------------------------------------------------

double h4_share(double error, double full, double zero)
{
    if (error <= full)
        return 1;
    return error >= zero ? 0 : log(zero / error) / log(zero / full);
}

double h4_round_share(const struct h4_round *round, int first)
{
    double times[H4_CELLS];
    h4_round_baseline(round, times);
    const double none = fmax(h4_round_errors(round, times, first).points, no_points);
    const double share = (h4_round_errors(round, round->foreseen, first).points - none) / (all_points - none);
    return fmax(0, fmin(1, share));
}
