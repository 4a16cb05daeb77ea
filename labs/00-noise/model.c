// SPDX-License-Identifier: MIT
// The model of lab 00: how sure the ratio of two identical programs is after n pairs, by a short probe of the same.
//
// - The time is the simulator's. How far identical timings are apart is no matter of the network: a probe of m pairs
//   says it, and how sure it was itself, i(m).
// - The interval of a median falls with the root of the number of pairs: i(n) = i(m) sqrt(m / n). So 5 % are seen after
//   n = m (i(m) / 5)^2 pairs, but not before 6, since of fewer there is no interval of 95 %.
// - Of values spread by s (95 % of them within +-1.96 sigma) half differ from their middle by 0.6745 sigma: one pair by
//   s 0.6745 / 1.96, the median of n pairs by as much of its interval. (As of a normal distribution; outliers are not.)
// - In virtual time all of this is 0, and one timing is enough.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double half_of_them = 0.6745 / 1.96;
static const double target = 5, fewest = 6; // percent; pairs

static double probed(const struct lab_context *context, const char *quantity)
{
    const int ranks = atoi(context->conf->probe_ranks.words[0]);
    return lab_series_median(lab_results_find(context->probe, LAB_AFTER, ranks, quantity));
}

// In percent, after n pairs.
static double interval(const struct lab_context *context, double n)
{
    const char *pairs = context->conf->probe_iterations.words[0];
    char quantity[64];
    snprintf(quantity, sizeof quantity, "interval/%s", pairs);
    return probed(context, quantity) * sqrt(atof(pairs) / n);
}

static double pairs_for_target(const struct lab_context *context)
{
    const double one = interval(context, 1) / target;
    return one > 0 ? fmax(fewest, ceil(one * one)) : 1;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const struct lab_conf *conf = context->conf;
    const double most = conf->iterations.count ? atof(conf->iterations.words[conf->iterations.count - 1]) : 1;
    if (!strcmp(quantity, "time"))
        return lab_predict_allreduce(context, ranks, "doubling", (size_t)atoi(conf->sizes.words[0]));
    if (!strcmp(quantity, "difference"))
        return half_of_them * (program == LAB_BEFORE ? probed(context, "spread") : interval(context, most));
    if (!strcmp(quantity, "spread"))
        return probed(context, "spread");
    if (!strcmp(quantity, "pairs_for_5pct"))
        return pairs_for_target(context);
    return !strncmp(quantity, "interval/", 9) ? interval(context, atof(quantity + 9)) : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
