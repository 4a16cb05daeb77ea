// SPDX-License-Identifier: MIT
// Placements of a fit's samples: which there were, and how fast calls are in each.

#include "tests/fixtures/fit_samples.h"
#include "cmd/fit/session.h"

static void test_fit_tells_placements_apart(void **state)
{
    double lines[40];
    struct clab_placements p;
    for (int i = 0; i < 40; i++) // a quarter near, the others far, two of them disturbed
        lines[i] = i % 4 == 0 ? 90e-9 + i * 0.2e-9 : i == 1 || i == 2 ? 2e-6 : 270e-9 + i * 1e-9;
    assert_int_equal(clab_fit_placements(lines, 40, &p), CLAB_OK);
    assert_int_equal(p.n, 2);
    assert_true(p.mark[0] > 270e-9 && p.mark[0] < 310e-9); // the commoner
    assert_true(p.mark[1] > 90e-9 && p.mark[1] < 98e-9);
    assert_int_equal(clab_fit_placement_of(&p, 300e-9), 0);
    assert_int_equal(clab_fit_placement_of(&p, 88e-9), 1);
    assert_int_equal(clab_fit_placement_of(&p, 2e-6), -1);
    for (int i = 0; i < 40; i++)
        lines[i] = i < 3 ? 1e-6 : 95e-9;
    assert_int_equal(clab_fit_placements(lines, 40, &p), CLAB_OK);
    assert_int_equal(p.n, 1);
    assert_close(p.mark[0], 95e-9);
    assert_int_equal(clab_fit_placements(lines, 0, &p), CLAB_EINVAL);
}

// One call that was far too fast does not say how fast the cores are; samples of another placement say nothing.
static void test_fit_takes_the_fastest_calls_but_no_freak(void **state)
{
    enum { ROUNDS = 20, TASKS = 5, N = ROUNDS * TASKS };
    struct clab_placement_sample all_probed[N];
    struct fit_record record = {.ntasks = TASKS, .nrounds = ROUNDS, .all_probed = all_probed};
    const struct clab_placements all = {2, {20e-12, 65e-12}};
    double near, far;
    for (int i = 0; i < N; i++)
        all_probed[i] = (struct clab_placement_sample){.fresh = all.mark[i % 2], .call = i % 2 ? 50e-9 : 40e-9};
    all_probed[10].call = 1e-9;
    assert_int_equal(fit_fastest_calls(&record, &all, 0, &near), CLAB_OK);
    assert_int_equal(fit_fastest_calls(&record, &all, 1, &far), CLAB_OK);
    assert_true(near == 40e-9 && far == 50e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_tells_placements_apart),
        cmocka_unit_test(test_fit_takes_the_fastest_calls_but_no_freak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
