// SPDX-License-Identifier: MIT
// How much longer a rank computes than it should: stragglers and jitter. Numbers are mixed from (seed, step, rank), so
// that there is no state, and no order in which they must be drawn.
//
// Source: Salmon, Moraes, Dror and Shaw 2011 (counter-based random numbers); Box and Muller 1958.

#include <math.h>

#include "core/base/mix.h"
#include "sim/train/train.h"

enum { DRAW_FIRST, DRAW_SECOND, DRAW_SLOW };

// In (0, 1).
static double uniform(uint64_t seed, uint64_t step, uint64_t rank, uint64_t draw)
{
    const uint64_t bits = clab_mix(clab_mix(clab_mix(seed, step), rank), draw);
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

static double normal(double u, double v)
{
    return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static double jitter_of(const struct clab_train *t, int step, int rank)
{
    if (t->jitter == CLAB_TRAIN_STEADY)
        return 1;
    const double u = uniform(t->seed, (uint64_t)step, (uint64_t)rank, DRAW_FIRST);
    const bool is_normal = t->jitter == CLAB_TRAIN_NORMAL || t->jitter == CLAB_TRAIN_LOGNORMAL;
    const double v = is_normal ? uniform(t->seed, (uint64_t)step, (uint64_t)rank, DRAW_SECOND) : 0;
    switch (t->jitter) {
    case CLAB_TRAIN_NORMAL: return fmax(0, 1 + t->amount * normal(u, v));
    case CLAB_TRAIN_LOGNORMAL: return exp(t->amount * normal(u, v));
    case CLAB_TRAIN_EXP: return 1 - t->amount * log(u);
    default: return 1 + t->amount * (t->shape - 1) * (pow(u, -1 / t->shape) - 1);
    }
}

double clab_train_factor(const struct clab_train *train, int step, int rank)
{
    double factor = jitter_of(train, step, rank);
    for (int i = 0; i < train->nstragglers; i++)
        if (train->stragglers[i].rank == rank)
            factor *= train->stragglers[i].factor;
    if (train->slow_part > 0 && uniform(train->seed, UINT64_MAX, (uint64_t)rank, DRAW_SLOW) < train->slow_part)
        factor *= train->slow_factor;
    return factor;
}
