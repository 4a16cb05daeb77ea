// SPDX-License-Identifier: MIT
// What a mended lab 00 must show: as many pairs as were asked for, interleaved, with A and B taking turns at being
// first; and reports that follow from these pairs: the median of their ratios, and its interval.
// before: You timed one pair
//
// - Each timed call is a span, "A" or "B". With `disturbed`, calls in virtual time last as on a busy machine, the same in
//   every run (disturb.h). So the check knows every ratio, and works out what must be reported.

#include "cmd/course/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 12, FEWER = 6 };
static const double tolerance = 1e-4; // of a ratio: times are rounded to 1e-10 s, of 600e-6 s

// ---- the calls -----------------------------------------------------------------------------------------------

// Calls of A and B in their order, and the ratios B / A of their pairs: the i-th A with the i-th B.
struct pairs {
    int na, nb;
    char order[2 * PAIRS + 1]; // 'A' or 'B'
    double ratios[PAIRS];
};

static struct pairs pairs_of(const struct check_run *run)
{
    struct pairs p = {0};
    int n = 0;
    for (int i = 0; *check_span_name(run, 0, i); i++) {
        const char *name = check_span_name(run, 0, i);
        if (strcmp(name, "A") && strcmp(name, "B"))
            continue;
        p.na += *name == 'A';
        p.nb += *name == 'B';
        if (n < 2 * PAIRS)
            p.order[n++] = *name;
    }
    for (int i = 0; i < PAIRS && i < p.na && i < p.nb; i++)
        p.ratios[i] = check_most(run, "B", i).seconds / check_most(run, "A", i).seconds;
    return p;
}

// ---- what they come to ---------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(const double values[], int n, double sorted[])
{
    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
}

static double mean(const double values[], int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

// Half of the 95 % interval of the median, in percent, as interval.h says it.
static double half_interval_pct(const double ratios[], int n)
{
    double sorted[PAIRS];
    sort(ratios, n, sorted);
    const int low = (int)floor((n - 1) / 2.0 - 1.96 * sqrt(n) / 2);
    return 100 * (sorted[n - 1 - low] - sorted[low]) / 2;
}

// ---- requirements --------------------------------------------------------------------------------------------

static const struct check_run *run_on(struct check *c, const char *net, int ranks)
{
    return check_run(c, "sim", net, ranks, "65536 6 12 disturbed");
}

static void hold_count(struct check *c, const struct check_run *run)
{
    const struct pairs p = pairs_of(run);
    const bool claims = !isnan(check_reported(run, "interval/12"));
    check_require(c, p.na >= PAIRS && p.nb >= PAIRS,
                  claims ? "You report an interval after 12 pairs, but timed fewer: a ratio that is used again says "
                           "nothing new. Call time_once twice for each pair."
                         : "You timed one pair. Its two timings differ, and nothing says whether they would differ as "
                           "much again. Time as many pairs of A and B as the last of PAIRS says.",
                  "rank 0, calls of A and B: got %d and %d, expected %d of each", p.na, p.nb, PAIRS);
}

static void hold_order(struct check *c, const struct check_run *run)
{
    const struct pairs p = pairs_of(run);
    for (int i = 0; i < PAIRS; i++)
        if (!check_require(c, p.order[2 * i] != p.order[2 * i + 1],
                           "You time one of the two again and again, and then the other. If the machine slows down "
                           "meanwhile, that becomes a difference between A and B. Time them in turn: a pair, then the "
                           "next pair.",
                           "rank 0, calls %d and %d, which are pair %d: got %c %c, expected one A and one B", 2 * i,
                           2 * i + 1, i, p.order[2 * i], p.order[2 * i + 1]))
            return;
}

static void hold_turns(struct check *c, const struct check_run *run)
{
    const struct pairs p = pairs_of(run);
    int a_first = 0;
    for (int i = 0; i < PAIRS; i++)
        a_first += p.order[2 * i] == 'A';
    check_require(
        c, abs(2 * a_first - PAIRS) <= PAIRS / 4,
        "The same one is always first. On a machine that slows down, whatever is second looks slower in every "
        "pair, and the interval gets narrow around the wrong value. Let every other pair begin with B.",
        "rank 0, pairs that begin with A: got %d of %d, expected about half of them", a_first, PAIRS);
}

static void hold_median(struct check *c, const struct check_run *run)
{
    const struct pairs p = pairs_of(run);
    double sorted[PAIRS];
    sort(p.ratios, PAIRS, sorted);
    const double got = check_reported(run, "b_over_a"), average = mean(p.ratios, PAIRS);
    const double low = sorted[PAIRS / 2 - 1], high = sorted[PAIRS / 2];
    check_require(
        c, got >= low - tolerance && got <= high + tolerance,
        fabs(got - average) < tolerance
            ? "You report the mean of the ratios. A few calls were held up, and the mean moves as far as they "
              "do. The median stays: half of all ratios are below it."
            : "The ratio that you report is not the median of the pairs' ratios B / A. Divide B's time by "
              "A's, whichever of them was first, and give all ratios, in their order, to report_ratios.",
        "b_over_a: got %.5f, expected %.5f, the median of the %d ratios that were counted", got, high, PAIRS);
}

static void hold_interval(struct check *c, const struct check_run *run, const char *quantity, int pairs)
{
    const struct pairs p = pairs_of(run);
    const double expected = half_interval_pct(p.ratios, pairs), got = check_reported(run, quantity);
    check_require(
        c, fabs(got - expected) <= 100 * tolerance,
        "The interval that you report is not that of the first N ratios, in the order in which you timed them. "
        "Keep a ratio for each pair, and give all of them to report_ratios.",
        "%s: got %.4g %%, expected %.4g %%", quantity, got, expected);
}

// ---- the cases -----------------------------------------------------------------------------------------------

static void check(struct check *c)
{
    check_advise(c, CHECK_HANGS,
                 "All ranks time the same calls, as often as each other: time_once begins with a barrier.");
    check_advise(c, CHECK_CRASHES,
                 "The last number of PAIRS says how many pairs there are: is there room for all times?");
    if (check_case(c, "2 ranks, shared memory: the program runs, and the sum is right"))
        check_run(c, "shm", NULL, 2, "4096 6");
    if (check_case(c, "2 ranks on 1gbe, PAIRS 6 12: 12 calls of A, and 12 of B"))
        hold_count(c, run_on(c, "1gbe", 2));
    if (check_case(c, "2 ranks on 1gbe: A and B are interleaved"))
        hold_order(c, run_on(c, "1gbe", 2));
    if (check_case(c, "2 ranks on 1gbe: A and B take turns at being first"))
        hold_turns(c, run_on(c, "1gbe", 2));
    if (check_case(c, "2 ranks on 1gbe: what is reported is the median of the pairs' ratios, and its interval")) {
        const struct check_run *run = run_on(c, "1gbe", 2);
        hold_median(c, run);
        hold_interval(c, run, "interval/6", FEWER);
        hold_interval(c, run, "interval/12", PAIRS);
    }
    if (check_case(c, "4 ranks on dgx-h100: all of this holds there, too")) {
        const struct check_run *run = run_on(c, "dgx-h100", 4);
        hold_count(c, run);
        hold_order(c, run);
        hold_turns(c, run);
        hold_median(c, run);
        hold_interval(c, run, "interval/12", PAIRS);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
