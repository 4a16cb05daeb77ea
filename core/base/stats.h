// SPDX-License-Identifier: MIT
// Order statistics: medians with intervals that assume no distribution, and ratios of pairs.
// - The interval of a median lies between two order statistics. By the binomial distribution it covers the median with
//   at least 95 %. Fewer than six samples have no such interval: they get their whole range, which covers it with
//   1 - 2^(1 - n), that is 50 % for two samples and 94 % for five. Whoever shows it says so.
// - Two programs are compared by the median of the ratios of interleaved pairs, with the same kind of interval.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CLAB_INTERVAL_SAMPLES = 6 }; // the fewest of which there is an interval of 95 %

struct clab_summary {
    double median, low, high; // the unit of the samples; low..high is the median's 95 % interval, or of few the range
    double min, max;
    int n;
};

// The summary of `n` >= 1 samples, which are left as they are.
//   errors: CLAB_EINVAL (n < 1), CLAB_ENOMEM
//   source: David and Nagaraja, Order Statistics, section 7.1
int clab_summarize(const double *samples, int n, struct clab_summary *summary_p);

// The summary of a[i] / b[i], pair by pair.
//   errors: CLAB_EINVAL (n < 1, or a b[i] <= 0), CLAB_ENOMEM
int clab_summarize_ratios(const double *a, const double *b, int n, struct clab_summary *summary_p);

// The q-quantile, 0 <= q <= 1, of n >= 1 samples in any order, by linear interpolation; NaN without memory.
double clab_quantile(const double *samples, int n, double q);

// Whether the second half of the samples is shifted against the first: a rank-sum test at 1 %, which below eleven
// samples always says no.
//   source: Mann and Whitney 1947
bool clab_has_drift(const double *samples, int n);
