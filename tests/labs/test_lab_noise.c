// SPDX-License-Identifier: MIT
// The interval that lab 00 teaches, as its programs compute it, against the binomial distribution by Pascal's triangle.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "labs/00-noise/interval.h"

enum { MOST = 1000 };

// P(X <= k) for X binomial (n, 1/2), into below[k].
static void binomial(int n, double below[])
{
    double row[MOST + 1] = {1};
    for (int i = 1; i <= n; i++) {
        for (int j = i; j > 0; j--)
            row[j] = (row[j] + row[j - 1]) / 2;
        row[0] /= 2;
    }
    below[0] = row[0];
    for (int k = 1; k <= n; k++)
        below[k] = below[k - 1] + row[k];
}

// How many of n ratios the interval leaves out at each end: of 0, 1, ..., n - 1 it is from k to n - 1 - k.
static int left_out(int n)
{
    double ratios[MOST], sorted[MOST];
    for (int i = 0; i < n; i++)
        ratios[i] = i;
    const double width = half_interval_pct(ratios, n, sorted) / 50;
    return (int)round((n - 1 - width) / 2);
}

static void test_the_interval_of_the_lab_covers_with_95_percent(void **state)
{
    double below[MOST + 1];
    for (int n = FEWEST; n <= MOST; n++) {
        binomial(n, below);
        const int k = left_out(n);
        if (k < 0 || below[k] > 0.025) // each end misses with P(X <= k)
            fail_msg("n = %d: %d are left out at each end, which covers with %g", n, k, 1 - 2 * below[k]);
    }
}

// One more at each end would not cover, or is all that is given away.
static void test_the_interval_of_the_lab_is_hardly_wider_than_it_must_be(void **state)
{
    double below[MOST + 1];
    for (int n = FEWEST; n <= MOST; n++) {
        binomial(n, below);
        assert_true(below[left_out(n) + 2] > 0.025);
    }
}

static void test_half_of_the_interval_is_in_percent(void **state)
{
    double ratios[50], sorted[50];
    for (int i = 0; i < 50; i++)
        ratios[i] = 1 + (i * 7 % 50) / 100.0; // 1 to 1.49
    // Conover, Practical Nonparametric Statistics, table A3: from the 18th to the 33rd of 50.
    assert_true(fabs(half_interval_pct(ratios, 50, sorted) - 7.5) < 1e-9);
}

// The first `wide` of n ratios are 1.2 and 0.8 in turn; the others differ from 1 by `narrow`.
static double pairs_of(int wide, double narrow, int n)
{
    double ratios[MOST], sorted[MOST];
    for (int i = 0; i < n; i++)
        ratios[i] = 1 + (i % 2 ? -1 : 1) * (i < wide ? 0.2 : narrow);
    return pairs_to_see(ratios, n, sorted);
}

// Of ten ratios that are wide apart, five lie at each end: 20 pairs leave out five there, 19 leave out four.
static void test_the_pairs_to_see_are_those_from_which_on_the_interval_stays_narrow(void **state)
{
    assert_true(pairs_of(10, 0.001, 400) == 20);
    assert_true(pairs_of(0, 0.001, 400) == FEWEST);
    assert_true(pairs_of(400, 0, 400) == 400 * 16); // 20 % is 4 times 5 %
    assert_true(pairs_of(0, 0, 400) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_interval_of_the_lab_covers_with_95_percent),
        cmocka_unit_test(test_the_interval_of_the_lab_is_hardly_wider_than_it_must_be),
        cmocka_unit_test(test_half_of_the_interval_is_in_percent),
        cmocka_unit_test(test_the_pairs_to_see_are_those_from_which_on_the_interval_stays_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
