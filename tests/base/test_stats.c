// SPDX-License-Identifier: MIT
// Order statistics against published intervals, an exact binomial by Pascal's triangle, and a rank sum by counting
// pairs.

#include "tests/fixtures/capture.h"

#include <math.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/stats.h"

// 1, 2, ..., n in an order that is not sorted: stepping by 7919, which no n below divides.
static void scrambled(double *samples, int n)
{
    for (int i = 0; i < n; i++)
        samples[i] = 1 + (int)((i * 7919L + 3) % n);
}

static struct clab_summary summary_of(const double *samples, int n)
{
    struct clab_summary summary;
    assert_int_equal(clab_summarize(samples, n, &summary), CLAB_OK);
    return summary;
}

static void test_the_median_and_range_are_those_of_the_samples_which_stay(void **state)
{
    const double odd[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2};
    double kept[5];
    memcpy(kept, odd, sizeof kept);
    const struct clab_summary a = summary_of(odd, 5), b = summary_of(even, 4);
    assert_true(a.median == 3 && a.min == 1 && a.max == 5 && a.n == 5);
    assert_true(b.median == 2.5 && b.min == 1 && b.max == 4 && b.n == 4);
    assert_memory_equal(odd, kept, sizeof kept);
}

// Conover, Practical Nonparametric Statistics, table A3: the ranks of the median's 95 % interval.
static void test_the_interval_is_the_published_one(void **state)
{
    static const struct {
        int n, low, high;
    } cases[] = {{1, 1, 1}, {5, 1, 5}, {6, 1, 6},   {8, 1, 8},   {9, 2, 8},   {10, 2, 9},
                 {12, 3, 10}, {15, 4, 12}, {20, 6, 15}, {25, 8, 18}, {30, 10, 21}};
    double samples[30];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scrambled(samples, cases[i].n);
        const struct clab_summary s = summary_of(samples, cases[i].n);
        if (s.low != cases[i].low || s.high != cases[i].high)
            fail_msg("n = %d: %g..%g", cases[i].n, s.low, s.high);
    }
}

// P(X <= k) for X binomial (n, 1/2), n <= 62, from whole numbers.
static double binomial_below(int n, int k)
{
    uint64_t row[64] = {1}, sum = 0;
    for (int i = 1; i <= n; i++)
        for (int j = i; j > 0; j--)
            row[j] += row[j - 1];
    for (int i = 0; i <= k; i++)
        sum += row[i];
    return ldexp((double)sum, -n);
}

static void test_the_interval_covers_with_95_percent_and_a_narrower_one_would_not(void **state)
{
    double samples[62];
    for (int n = 6; n <= 62; n++) {
        scrambled(samples, n);
        const struct clab_summary s = summary_of(samples, n);
        const int outside = (int)s.low - 1;
        assert_true(s.high == n - outside);
        assert_true(1 - 2 * binomial_below(n, outside) >= 0.95);
        assert_true(1 - 2 * binomial_below(n, outside + 1) < 0.95);
    }
}

// Where the normal approximation holds: n/2 -+ 1.96 sqrt(n)/2.
static void test_the_interval_of_many_samples_is_near_the_normal_one(void **state)
{
    enum { N = 100000 };
    double *samples = malloc(N * sizeof *samples);
    scrambled(samples, N);
    const struct clab_summary s = summary_of(samples, N);
    free(samples);
    assert_true(fabs(s.low - (N / 2.0 - 0.98 * sqrt(N))) < 2);
    assert_true(fabs(s.high - (N / 2.0 + 0.98 * sqrt(N))) < 2);
}

static void test_no_samples_are_refused_and_touch_nothing(void **state)
{
    struct clab_summary summary = {.n = 77};
    const double one = 1;
    const struct capture log = capture_begin(STDERR_FILENO);
    assert_int_equal(clab_summarize(&one, 0, &summary), CLAB_EINVAL);
    assert_int_equal(clab_summarize_ratios(&one, &one, -1, &summary), CLAB_EINVAL);
    assert_text_has(capture_end(log), "no samples");
    assert_int_equal(summary.n, 77);
}

static void test_ratios_are_of_pairs_and_not_of_medians(void **state)
{
    const double a[] = {10, 300, 40}, b[] = {5, 100, 40}; // ratios 2, 3, 1; the medians' ratio is 1
    struct clab_summary s;
    assert_int_equal(clab_summarize_ratios(a, b, 3, &s), CLAB_OK);
    assert_true(s.median == 2 && s.low == 1 && s.high == 3);
}

static void test_a_ratio_to_nothing_is_refused(void **state)
{
    const double a[] = {1, 1, 1}, zero[] = {1, 0, 1}, negative[] = {1, 1, -1}, nan_[] = {NAN, 1, 1};
    const double *const cases[] = {zero, negative, nan_};
    for (int i = 0; i < 3; i++) {
        struct clab_summary s = {.n = 77};
        const struct capture log = capture_begin(STDERR_FILENO);
        const int err = clab_summarize_ratios(a, cases[i], 3, &s);
        assert_one_line_with(capture_end(log), "pair");
        assert_int_equal(err, CLAB_EINVAL);
        assert_int_equal(s.n, 77);
    }
}

static void test_quantiles_interpolate_between_neighbours(void **state)
{
    const double samples[] = {40, 10, 30, 20, 50};
    assert_true(clab_quantile(samples, 5, 0) == 10);
    assert_true(clab_quantile(samples, 5, 1) == 50);
    assert_true(clab_quantile(samples, 5, 0.5) == 30);
    assert_true(fabs(clab_quantile(samples, 5, 0.95) - 48) < 1e-12);
    assert_true(clab_quantile(samples, 4, 0.5) == 25);
    assert_true(clab_quantile(samples, 1, 0.3) == 40);
}

static double uniform(uint64_t *seed) // Knuth's MMIX generator
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

// The same test, by counting the pairs in which the later one is larger.
static bool drift_by_pairs(const double *samples, int n)
{
    const int early = n / 2, late = n - early;
    double larger = 0, ties = 0;
    for (int i = 0; i < early; i++)
        for (int j = early; j < n; j++)
            larger += samples[j] > samples[i] ? 1 : samples[j] == samples[i] ? 0.5 : 0;
    for (int i = 0; i < n; i++) {
        double same = 0;
        for (int j = 0; j < n; j++)
            same += samples[j] == samples[i];
        ties += same * same - 1; // each of `same` members adds a share of same^3 - same
    }
    const double variance = early * late / 12.0 * (n + 1 - ties / (n * (n - 1.0)));
    return variance > 0 && (fabs(larger - early * late / 2.0) - 0.5) / sqrt(variance) > 2.5758;
}

static void test_drift_agrees_with_counting_pairs(void **state)
{
    uint64_t seed = 1;
    double samples[61];
    int found = 0;
    for (int round = 0; round < 2000; round++) {
        const int n = 2 + (int)(60 * uniform(&seed)), levels = round % 2 ? 5 : 1000000; // with many ties, and with few
        const double shift = 1.5 * uniform(&seed);
        for (int i = 0; i < n; i++)
            samples[i] = floor(levels * (uniform(&seed) + (i >= n / 2 ? shift : 0)));
        assert_int_equal(clab_has_drift(samples, n), drift_by_pairs(samples, n));
        found += clab_has_drift(samples, n);
    }
    assert_in_range(found, 500, 1500); // both answers were tried
}

static void test_drift_is_seldom_seen_where_there_is_none(void **state)
{
    uint64_t seed = 2;
    int found = 0;
    for (int round = 0; round < 2000; round++) {
        double samples[100];
        for (int i = 0; i < 100; i++)
            samples[i] = exp(3 * uniform(&seed)); // skewed, as times are
        found += clab_has_drift(samples, 100);
    }
    assert_in_range(found, 4, 40); // 1 % of 2000 is 20, give or take 4.4
}

static void test_drift_is_seen_in_a_warming_machine_and_not_in_too_few_samples(void **state)
{
    double samples[40];
    for (int i = 0; i < 40; i++)
        samples[i] = 100 - i;
    assert_true(clab_has_drift(samples, 40));
    assert_true(clab_has_drift(samples, 11));
    for (int n = 0; n <= 10; n++)
        assert_false(clab_has_drift(samples, n));
    for (int i = 0; i < 40; i++)
        samples[i] = 5;
    assert_false(clab_has_drift(samples, 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_median_and_range_are_those_of_the_samples_which_stay),
        cmocka_unit_test(test_the_interval_is_the_published_one),
        cmocka_unit_test(test_the_interval_covers_with_95_percent_and_a_narrower_one_would_not),
        cmocka_unit_test(test_the_interval_of_many_samples_is_near_the_normal_one),
        cmocka_unit_test(test_no_samples_are_refused_and_touch_nothing),
        cmocka_unit_test(test_ratios_are_of_pairs_and_not_of_medians),
        cmocka_unit_test(test_a_ratio_to_nothing_is_refused),
        cmocka_unit_test(test_quantiles_interpolate_between_neighbours),
        cmocka_unit_test(test_drift_agrees_with_counting_pairs),
        cmocka_unit_test(test_drift_is_seldom_seen_where_there_is_none),
        cmocka_unit_test(test_drift_is_seen_in_a_warming_machine_and_not_in_too_few_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
