// SPDX-License-Identifier: MIT
// The model of lab 00: predicts the interval of the ratio of two identical programs after n pairs, from a short probe.
//
// - The simulator predicts the time. No network predicts the spread of identical timings: a probe of m pairs measures
//   it, and its own half interval i(m).
// - The interval of a median falls as 1 / sqrt(pairs): i(n) = i(m) sqrt(m / n). So you see 5 % after
//   n = m (i(m) / 5)^2 pairs, and at least 6: fewer have no 95 % interval.
// - In a normal distribution, 95 % of values lie within 1.96 sigma = s, and half of them differ from the middle by more
//   than 0.6745 sigma. So one pair differs by s 0.6745 / 1.96, and the median of n pairs by i(n) 0.6745 / 1.96.
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
    if (!strcmp(quantity, "b_over_a"))
        return 1;
    if (!strcmp(quantity, "difference"))
        return half_of_them * (program == LAB_BEFORE ? probed(context, "spread") : interval(context, most));
    if (!strcmp(quantity, "spread"))
        return probed(context, "spread");
    if (!strcmp(quantity, "pairs_for_5pct"))
        return pairs_for_target(context);
    return !strncmp(quantity, "interval/", 9) ? interval(context, atof(quantity + 9)) : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
