// SPDX-License-Identifier: MIT
// Order statistics (stats.h).

#include "core/base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"

// A sorted copy, to be freed; NULL without memory.
static double *sorted_copy(const double *samples, int n)
{
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted)
        return NULL;
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, clab_order_doubles);
    return sorted;
}

static double sorted_quantile(const double *sorted, int n, double q)
{
    double place = q * (n - 1);
    int below = (int)place;
    if (below >= n - 1)
        return sorted[n - 1];
    double part = place - below;
    return (1 - part) * sorted[below] + part * sorted[below + 1];
}

double clab_quantile(const double *samples, int n, double q)
{
    double *sorted = sorted_copy(samples, n);
    if (!sorted)
        return NAN;
    double value = sorted_quantile(sorted, n, q);
    free(sorted);
    return value;
}

// How many order statistics the median's interval leaves out at each end: the largest d with P(X <= d) <= 2.5 % for X
// binomial (n, 1/2), so that x(d+1)..x(n-d) covers with at least 95 %; 0 where even the whole range covers with less.
static int outside(int n)
{
    double log_p = -n * M_LN2, below = exp(log_p); // of X = 0
    for (int d = 0;; d++) {
        log_p += log((double)(n - d) / (d + 1));
        below += exp(log_p);
        if (below > 0.025)
            return d;
    }
}

int clab_summarize(const double *samples, int n, struct clab_summary *summary_p)
{
    if (n < 1) {
        clab_error("no samples to summarize");
        return CLAB_EINVAL;
    }
    double *sorted = sorted_copy(samples, n);
    if (!sorted) {
        clab_error("no memory to summarize %d samples", n);
        return CLAB_ENOMEM;
    }
    int d = outside(n);
    *summary_p = (struct clab_summary){.median = sorted_quantile(sorted, n, 0.5),
                                       .low = sorted[d],
                                       .high = sorted[n - 1 - d],
                                       .min = sorted[0],
                                       .max = sorted[n - 1],
                                       .n = n};
    free(sorted);
    return CLAB_OK;
}

int clab_summarize_ratios(const double *a, const double *b, int n, struct clab_summary *summary_p)
{
    for (int i = 0; i < n; i++) {
        if (!(b[i] > 0)) {
            clab_error("no ratio of pair %d: %g is not above 0", i, b[i]);
            return CLAB_EINVAL;
        }
    }
    double *ratios = n > 0 ? malloc((size_t)n * sizeof *ratios) : NULL;
    if (n > 0 && !ratios) {
        clab_error("no memory for %d ratios", n);
        return CLAB_ENOMEM;
    }
    for (int i = 0; i < n; i++)
        ratios[i] = a[i] / b[i];
    int err = clab_summarize(ratios, n, summary_p);
    free(ratios);
    return err;
}

// ---- drift ---------------------------------------------------------------------------------------------------

struct ranked {
    double value; // first: clab_order_doubles reads it
    bool late;    // of the second half
};

// The rank sum of the late ones in `sorted`, equal values sharing their mean rank; *ties_p = sum of t^3 - t over them.
static double late_rank_sum(const struct ranked *sorted, int n, double *ties_p)
{
    double sum = 0, ties = 0;
    for (int i = 0, end; i < n; i = end) {
        int late = 0;
        for (end = i; end < n && sorted[end].value == sorted[i].value; end++)
            late += sorted[end].late;
        double t = end - i;
        sum += late * (i + 1 + end) / 2.0; // ranks i + 1 .. end
        ties += t * t * t - t;
    }
    *ties_p = ties;
    return sum;
}

// Mann and Whitney 1947, by the normal approximation with corrections for ties and continuity; below eleven samples it
// can not reach 1 %.
bool clab_has_drift(const double *samples, int n)
{
    int early = n / 2, late = n - early;
    struct ranked *sorted = early > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (!sorted)
        return false;
    for (int i = 0; i < n; i++)
        sorted[i] = (struct ranked){.value = samples[i], .late = i >= early};
    qsort(sorted, (size_t)n, sizeof *sorted, clab_order_doubles);
    double ties, sum = late_rank_sum(sorted, n, &ties);
    free(sorted);
    double expected = late * (n + 1) / 2.0;
    double variance = (double)early * late / 12 * (n + 1 - ties / ((double)n * (n - 1)));
    return variance > 0 && fabs(sum - expected) - 0.5 > 2.5758 * sqrt(variance);
}
