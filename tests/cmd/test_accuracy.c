// SPDX-License-Identifier: MIT
// How predictions are judged: which sizes are held out, what counts as noise, and as the right choice. Rows are made up, and
// what must come out is worked out by hand.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "cmd/accuracy/accuracy.h"
#include "cmd/bench/predict.h"
#include "core/base/err.h"
#include "sim/net/net.h"

static struct accuracy_row made(const char *algorithm, size_t bytes, int round, double seconds, double predicted)
{
    return (struct accuracy_row){
        .what = {.problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1},
                 .algorithm = clab_algorithm_find(CLAB_BROADCAST, algorithm)},
        .bytes = bytes,
        .round = round,
        .batch = {.calls = 1, .probed = {.line = 100e-9}},
        .seconds = seconds,
        .predicted = predicted,
    };
}

static void assert_near(double is, double expected)
{
    if (!(fabs(is - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", is, expected);
}

// What the wires' buckets fill with between two batches: four collectives, of which each is one round of two ranks.
static void test_two_ranks_pause_for_one_round_per_collective(void **state)
{
    struct clab_net *net;
    struct clab_sim_result result;
    struct bench_row what = made("flat", 100, 0, 1, 1).what;
    what.problem.count = 100;
    const struct bench_batch batch = {.calls = 1};
    assert_int_equal(clab_net_create_flat(50e-6, 1e-6, 0, &net), CLAB_OK);
    net->inter.burst = 1e-3;
    net->inter.segments[0] = (struct clab_segment){
        .up_to = SIZE_MAX, .latency = 50e-6, .gap = 2e-6, .gap_send = 1e-6, .gap_recv = 1e-6, .buffers = true};
    const struct clab_sim_options options = {
        .element_bytes = clab_type_bytes(what.type), .calls = 1, .busy = true, .pause = 4 * (50e-6 - 10e-6)};
    assert_int_equal(clab_sim_run(&what.problem, what.algorithm, net, &options, &result), CLAB_OK);
    assert_near(bench_predict(net, &what, &batch), result.seconds);
    clab_net_free(net);
}

// Two calls of one message each are no collective.
static void test_the_row_sendrecv_has_no_collective_call(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(50e-6, 1e-6, 0, &net), CLAB_OK);
    net->call = 7e-6;
    struct bench_row what = made("flat", 100, 0, 1, 1).what;
    const struct bench_batch batch = {.calls = 8};
    what.problem.count = 25;
    assert_near(bench_predict(net, &what, &batch), 50e-6 + 7e-6 + 100e-6); // of the one that receives
    what.problem.collective = CLAB_SENDRECV;
    what.algorithm = clab_algorithm_find(CLAB_SENDRECV, "shift");
    assert_near(bench_predict(net, &what, &batch), 50e-6 + 100e-6);
    clab_net_free(net);
}

static bool is_any(const struct accuracy_row *row, const void *which)
{
    return true;
}

static void test_of_each_two_neighbouring_sizes_one_is_held_out(void **state)
{
    int lower = 0, pairs = 0;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        for (size_t bytes = 16; bytes <= 64 << 20 && c != CLAB_BARRIER; bytes *= 4, pairs++) {
            const bool first = accuracy_is_held_out((enum clab_collective)c, bytes);
            assert_int_equal(first, !accuracy_is_held_out((enum clab_collective)c, 2 * bytes));
            assert_int_equal(first, accuracy_is_held_out((enum clab_collective)c, bytes + bytes / 2));
            lower += first;
        }
    assert_in_range(lower, pairs / 3, 2 * pairs / 3); // neither half systematically
    assert_false(accuracy_is_held_out(CLAB_BARRIER, 0));
}

// The choice is fixed before anything is fitted: whoever changes it, changes this.
static void test_what_is_held_out_stays_so(void **state)
{
    uint32_t allreduce = 0, broadcast = 0;
    for (int i = 3; i < 26; i++) {
        allreduce |= (uint32_t)accuracy_is_held_out(CLAB_ALLREDUCE, (size_t)1 << i) << i;
        broadcast |= (uint32_t)accuracy_is_held_out(CLAB_BROADCAST, (size_t)1 << i) << i;
    }
    assert_int_equal(allreduce, 0x2959598);
    assert_int_equal(broadcast, 0x16a6968);
}

static void test_errors_are_of_predictions_by_what_was_measured(void **state)
{
    struct accuracy_row all[] = {made("flat", 64, 0, 1e-6, 1.1e-6), made("flat", 64, 1, 1.25e-6, 1.1e-6),
                                 made("chain", 64, 0, 2e-6, 1e-6)};
    const struct accuracy_rows rows = {.all = all, .n = 3};
    struct accuracy_figures f;
    assert_int_equal(accuracy_figures(&rows, is_any, NULL, &f), CLAB_OK);
    assert_int_equal(f.n, 3);
    assert_near(f.median, 0.12); // of 0.1, 0.12, 0.5
    assert_near(f.bias, -0.12);
    assert_near(f.noise, 0.25); // that of the two which are the same
    assert_ptr_equal(accuracy_again(&rows, &all[0]), &all[1]);
    assert_null(accuracy_again(&rows, &all[2]));
}

static void test_a_choice_is_right_within_the_noise(void **state)
{
    struct accuracy_row all[] = {
        made("flat", 64, 0, 1.00e-6, 2e-6),  made("chain", 64, 0, 1.04e-6, 1e-6),  // chosen: chain, 4 % slower
        made("flat", 128, 0, 1.00e-6, 1e-6), made("chain", 128, 0, 1.50e-6, 2e-6), // chosen: flat, the fastest
        made("flat", 256, 0, 1.00e-6, 1e-6),                                       // there is no choice
    };
    const struct accuracy_rows rows = {.all = all, .n = 5};
    struct accuracy_choices strict = accuracy_choices(&rows, 0.01), loose = accuracy_choices(&rows, 0.05);
    assert_int_equal(strict.n, 2);
    assert_int_equal(strict.right, 1);
    assert_int_equal(loose.right, 2);
    assert_int_equal(accuracy_choices(&rows, NAN).right, 1); // measured once: the noise is not known
    assert_near(strict.regret, 0.02);
    assert_near(strict.worst, 0.04);
}

static void test_rows_are_disturbed_by_their_spread_or_their_place(void **state)
{
    struct clab_net net = {.probed.line = 100e-9};
    struct accuracy_row row = made("flat", 64, 0, 1e-6, 1e-6);
    assert_false(accuracy_is_disturbed(&row, &net));
    row.spread = 0.06;
    assert_true(accuracy_is_disturbed(&row, &net));
    row.spread = 0.01;
    row.batch.probed.line = 300e-9;
    assert_true(accuracy_is_disturbed(&row, &net));
    struct clab_net other = {.probed.line = 290e-9};
    net.other = &other;
    assert_false(accuracy_is_disturbed(&row, &net));
}

// The time itself has no say.
static void test_the_better_of_two_measurements_is_told_by_what_was_seen(void **state)
{
    const struct clab_net net = {.probed.line = 100e-9, .call = 90e-9};
    struct accuracy_row far = made("flat", 64, 0, 1e-6, 1e-6), unsteady = far, slow = far, wide = far, good = far;
    unsteady.spread = 0.06;
    far.batch.probed = (struct clab_placement_sample){.line = 300e-9, .call = 90e-9};
    slow.batch.probed.call = 140e-9;
    unsteady.batch.probed.call = wide.batch.probed.call = good.batch.probed.call = 91e-9;
    far.spread = slow.spread = good.spread = 0.01;
    wide.spread = 0.04;
    good.seconds = 2e-6;
    const struct accuracy_row *order[] = {&good, &wide, &slow, &unsteady, &far};
    for (int i = 0; i < 5; i++)
        for (int k = i + 1; k < 5; k++) {
            assert_true(accuracy_is_better(order[i], order[k], &net));
            assert_false(accuracy_is_better(order[k], order[i], &net));
        }
    assert_false(accuracy_is_slowed(&good, &net) || accuracy_is_slowed(&wide, &net));
    assert_true(accuracy_is_slowed(&slow, &net) && accuracy_is_slowed(&far, &net) &&
                accuracy_is_slowed(&unsteady, &net));
    const struct clab_net no_profile = {.probed.line = 100e-9}; // does not know what a call takes
    assert_false(accuracy_is_slowed(&slow, &no_profile));
}

static void test_the_same_row_is_found_in_its_round(void **state)
{
    struct accuracy_row all[] = {made("flat", 64, 1, 1e-6, 1e-6), made("chain", 64, 0, 1e-6, 1e-6),
                                 made("flat", 64, 0, 1e-6, 1e-6)};
    const struct accuracy_rows rows = {.all = all, .n = 3};
    const struct accuracy_row row = made("flat", 64, 0, 3e-6, 1e-6), none = made("flat", 128, 0, 3e-6, 1e-6);
    assert_ptr_equal(accuracy_same(&rows, &row), &all[2]);
    assert_null(accuracy_same(&rows, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks_pause_for_one_round_per_collective),
        cmocka_unit_test(test_the_row_sendrecv_has_no_collective_call),
        cmocka_unit_test(test_of_each_two_neighbouring_sizes_one_is_held_out),
        cmocka_unit_test(test_what_is_held_out_stays_so),
        cmocka_unit_test(test_errors_are_of_predictions_by_what_was_measured),
        cmocka_unit_test(test_a_choice_is_right_within_the_noise),
        cmocka_unit_test(test_rows_are_disturbed_by_their_spread_or_their_place),
        cmocka_unit_test(test_the_better_of_two_measurements_is_told_by_what_was_seen),
        cmocka_unit_test(test_the_same_row_is_found_in_its_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
