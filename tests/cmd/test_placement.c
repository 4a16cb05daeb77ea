// SPDX-License-Identifier: MIT
// Which of a row's batches count: those beside which the cores were where they usually were, and not interrupted.

#include "tests/fixtures/capture.h"

#include "cmd/probe/placement.h"
#include "cmd/probe/timer.h"

static const struct clab_placement_sample near = {110e-9, 120e-12, 0}, far = {300e-9, 500e-12, 0},
                                          halves = {110e-9, 20e-12, 0}, none;

static void test_batches_count_where_the_cores_usually_were(void **state)
{
    const struct clab_placement_sample all_probed[] = {near, far, near, near, halves};
    double values[] = {1, 2, 3, 4, 5};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 5, &probed), 3);
    assert_true(values[0] == 1 && values[1] == 3 && values[2] == 4);
    assert_true(probed.line == near.line && probed.fresh == near.fresh);
}

// Two halves of one core have a line as others have.
static void test_halves_of_a_core_are_a_place_of_their_own(void **state)
{
    const struct clab_placement_sample all_probed[] = {halves, near, halves};
    double values[] = {1, 2, 3};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 3, &probed), 2);
    assert_true(values[1] == 3 && probed.fresh == halves.fresh);
}

static void test_interrupted_batches_do_not_count(void **state)
{
    const struct clab_placement_sample all_probed[] = {near, none, near, none, none};
    double values[] = {1, 9, 2, 9, 9};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 5, &probed), 2);
    assert_true(values[0] == 1 && values[1] == 2 && probed.line == near.line);
}

static void test_where_most_were_interrupted_all_count(void **state)
{
    const struct clab_placement_sample all_probed[] = {none, none, none, none, near};
    double values[] = {1, 2, 3, 4, 5};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 5, &probed), 5);
    assert_true(probed.line == 0);
}

// A neighbour slows a core.
static void test_batches_count_at_the_fastest_pace_that_a_quarter_have(void **state)
{
    const struct clab_placement_sample fast = {110e-9, 120e-12, 90e-9}, slow = {130e-9, 140e-12, 145e-9};
    const struct clab_placement_sample all_probed[] = {slow, fast, slow, slow};
    double values[] = {1, 2, 3, 4};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 4, &probed), 1);
    assert_true(values[0] == 2 && probed.call == fast.call && probed.line == fast.line);
}

static void test_where_few_are_fast_the_usual_pace_counts(void **state)
{
    const struct clab_placement_sample fast = {110e-9, 120e-12, 90e-9}, slow = {130e-9, 140e-12, 145e-9};
    const struct clab_placement_sample all_probed[] = {slow, fast, slow, slow, slow};
    double values[] = {1, 2, 3, 4, 5};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 5, &probed), 4);
    assert_true(values[0] == 1 && values[1] == 3 && probed.call == slow.call);
}

static void test_an_even_number_of_places_leaves_some(void **state)
{
    const struct clab_placement_sample all_probed[] = {near, far};
    double values[] = {1, 2};
    struct clab_placement_sample probed;
    assert_int_equal(probe_keep_same(values, all_probed, 2, &probed), 1);
}

// Six ranks on two cores for 6 ms each: they have 12 ms of the cores, or another program has some of these.
static void test_ranks_that_share_cores_see_others_take_them(void **state)
{
    assert_false(probe_are_taken((struct probe_turns){.now = 36e-3, .had = 12e-3}, 6, 2));
    assert_true(probe_are_taken((struct probe_turns){.now = 36e-3, .had = 9e-3}, 6, 2));
    assert_false(probe_are_taken((struct probe_turns){.now = 36e-3, .had = 9e-3, .sleeps = 1}, 6, 2)); // or it slept
}

static void test_arming_is_a_part_of_a_timer(void **state)
{
    (void)state;
    const double part = probe_arming();
    assert_true(part >= 0 && part < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_count_where_the_cores_usually_were),
        cmocka_unit_test(test_halves_of_a_core_are_a_place_of_their_own),
        cmocka_unit_test(test_interrupted_batches_do_not_count),
        cmocka_unit_test(test_where_most_were_interrupted_all_count),
        cmocka_unit_test(test_batches_count_at_the_fastest_pace_that_a_quarter_have),
        cmocka_unit_test(test_where_few_are_fast_the_usual_pace_counts),
        cmocka_unit_test(test_an_even_number_of_places_leaves_some),
        cmocka_unit_test(test_ranks_that_share_cores_see_others_take_them),
        cmocka_unit_test(test_arming_is_a_part_of_a_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
