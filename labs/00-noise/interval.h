// SPDX-License-Identifier: MIT
// interval.h: from ratios of pairs to an interval of their median, and to the reports of lab 00.
//
// - The number of ratios below the true median is binomial: with 95 % certainty n / 2 -+ 1.96 sqrt(n) / 2. So the
//   interval leaves out `low` of the n sorted ratios at each end. No distribution of the ratios is assumed.
//   Source: David and Nagaraja 2003, section 7.1.
#pragma once

#include <math.h>

#include "lab.h"

enum { FEWEST = 6, MOST_TESTS = 16 };   // pairs: fewer have no 95 % interval; numbers of pairs
static const double change_to_see = 5;  // percent
static const double clock_tick = 1e-10; // s: no clock can tell times apart that differ by less

// Numbers of pairs, rising: after so many, the interval is reported. The last one is how many the test makes.
struct tests {
    int n, pairs[MOST_TESTS];
};

// The words of argv from `first`.
static inline struct tests tests_parse(const struct clab_job *job, int argc, char **argv, int first, const char *usage)
{
    struct tests tests = {0};
    for (int i = first; i < argc && tests.n < MOST_TESTS; i++, tests.n++) {
        const int pairs = tests.pairs[tests.n] = (int)clab_must_size(job, argv[i], 1, usage);
        if (pairs < (tests.n ? tests.pairs[tests.n - 1] : FEWEST))
            clab_must_size(job, argv[i], (size_t)1 << 30, usage); // ends the program
    }
    return tests;
}

// Half of the 95 % interval of the median of n ratios, in percent; n >= 6. `sorted` gets them in order.
static inline double half_interval_pct(const double ratios[], int n, double sorted[])
{
    for (int i = 0; i < n; i++)
        sorted[i] = ratios[i];
    qsort(sorted, (size_t)n, sizeof *sorted, lab_by_size);
    const int low = (int)floor((n - 1) / 2.0 - 1.96 * sqrt(n) / 2);
    return 100 * (sorted[n - 1 - low] - sorted[low]) / 2;
}

// The fewest of n pairs from which on the interval stays below the change to see. If it is wider after all of them: how
// many pairs make it that narrow, as it falls by 1 / sqrt(pairs). In virtual time it is 0, and one pair is enough.
static inline double pairs_to_see(const double ratios[], int n, double sorted[])
{
    const double scale = half_interval_pct(ratios, n, sorted) / change_to_see;
    int pairs = n;
    if (scale == 0 || scale >= 1)
        return scale == 0 ? 1 : ceil(n * scale * scale);
    while (pairs > FEWEST && half_interval_pct(ratios, pairs - 1, sorted) < change_to_see)
        pairs--;
    return pairs;
}

// Half of the range that holds 95 of 100 ratios.
static inline double spread_pct(const double sorted[], int n)
{
    const int out = (int)(0.025 * n);
    return 100 * (sorted[n - 1 - out] - sorted[out]) / 2;
}

// Report one ratio of B to A: by how many percent it differs from 1.
static inline void report_ratio(struct clab_comm *comm, double ratio)
{
    lab_report(comm, "1", &ratio, 1, "b_over_a");
    lab_report(comm, "%", &(double){100 * fabs(ratio - 1)}, 1, "difference");
}

// Report the intervals of B / A after each number of pairs, its median after the last, how far single ratios lie apart,
// and how many pairs it takes to see a change of 5 %.
//   ratios: (pairs of the last test), in the order in which they were measured
static inline void report_ratios(struct clab_comm *comm, const double ratios[], const struct tests *tests)
{
    const int most = tests->pairs[tests->n - 1];
    double *sorted = malloc((size_t)most * sizeof *sorted);
    must(sorted ? CLAB_OK : CLAB_ENOMEM);
    for (int i = 0; i < tests->n; i++)
        lab_report(comm, "%", &(double){half_interval_pct(ratios, tests->pairs[i], sorted)}, 1, "interval/%d",
                   tests->pairs[i]);
    const double spread = spread_pct(sorted, most);
    report_ratio(comm, sorted[most / 2]);
    lab_report(comm, "%", &(double){spread}, 1, "spread");
    lab_report(comm, "pairs", &(double){pairs_to_see(ratios, most, sorted)}, 1, "pairs_for_5pct");
    if (spread == 0 && clab_comm_rank(comm) == 0)
        printf("no spread: virtual time is computed, so one timing is enough\n");
    free(sorted);
}
