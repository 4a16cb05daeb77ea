// SPDX-License-Identifier: MIT
// A profile where the cores are not as they were when it was measured: what becomes slower, and how much.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/net/net.h"
#include "sim/sim.h"

// A machine whose line takes 100: 20 in the calls, and 80 on the way.
static struct clab_net *near_cores(void)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(80, 1, 0.25, &net), CLAB_OK);
    net->probed.line = 100;
    net->call = 70;
    net->core_cache = 1 << 20;
    net->shared_cache = 32 << 20;
    net->intra = net->inter;
    net->intra.segments[0] =
        (struct clab_segment){.o_send = 10, .o_recv = 20, .latency = 30, .gap_send = 4, .up_to = SIZE_MAX};
    net->nlevels = 3;
    net->levels[0] = (struct clab_level){.bytes = 64 << 10, .copy = {2, 2}, .pull = {{1, 1}, {9, 9}}};
    net->levels[1] = (struct clab_level){.bytes = 16 << 20, .copy = {2, 2}, .pull = {{1, 1}, {3, 3}}};
    net->levels[2] = (struct clab_level){.bytes = 256 << 20, .copy = {2, 2}, .pull = {{5, 5}, {6, 6}}};
    return net;
}

static void test_place_slows_all_that_a_slower_core_does(void **state)
{
    struct clab_net *net = near_cores(), placed;
    clab_net_place(net, (struct clab_placement_sample){.line = 100}, &placed); // as described
    assert_true(placed.intra.alpha == 80 && placed.call == 70 && placed.levels[2].pull[CLAB_FRESH][CLAB_BOTH] == 6);
    clab_net_place(net, (struct clab_placement_sample){.line = 125}, &placed); // the same place, a quarter slower
    assert_true(placed.intra.alpha == 100 && placed.call == 87.5 && placed.intra.segments[0].latency == 37.5);
    assert_true(placed.levels[0].pull[CLAB_FRESH][CLAB_BOTH] == 11.25 && placed.levels[0].copy[CLAB_ALONE] == 2.5);
    assert_true(fabs(placed.levels[2].copy[CLAB_ALONE] / 2 - 1.175) < 1e-12); // memory is not
    assert_true(net->call == 70);
    clab_net_free(net);
}

// A neighbour slows calls more than lines.
static void test_place_slows_calls_as_calls_were_seen_to_be(void **state)
{
    struct clab_net *net = near_cores(), placed;
    clab_net_place(net, (struct clab_placement_sample){.line = 125, .call = 112}, &placed); // 1.25 and 1.6 times
    assert_true(fabs(placed.call - 112) < 1e-9 && placed.intra.alpha == 100);
    assert_true(placed.intra.segments[0].o_recv == 25 && placed.levels[0].copy[CLAB_ALONE] == 2.5);
    clab_net_place(net, (struct clab_placement_sample){.line = 100, .call = 70000}, &placed); // no neighbour does that
    assert_true(placed.call == 175 && placed.intra.segments[0].latency == 30);
    clab_net_place(net, (struct clab_placement_sample){.line = 260, .call = 105}, &placed); // elsewhere
    assert_true(placed.intra.alpha == 240 && fabs(placed.call - 105) < 1e-9);
    clab_net_free(net);
}

// Nothing waits for lines between the halves of a core, and two at work have half of it each.
static void test_place_joins_the_halves_of_one_core(void **state)
{
    struct clab_net *net = near_cores(), placed;
    net->probed.fresh = 120;
    clab_net_place(net, (struct clab_placement_sample){.line = 100, .fresh = 20}, &placed);
    assert_true(placed.call == 70 && placed.intra.alpha == 80);
    assert_true(placed.levels[0].pull[CLAB_FRESH][CLAB_ALONE] == 1 &&
                placed.levels[0].pull[CLAB_FRESH][CLAB_BOTH] == 2);
    assert_true(placed.levels[0].copy[CLAB_ALONE] == 2 && placed.levels[0].copy[CLAB_BOTH] == 4);
    // Both are busy, so that calls take longer; the line does not, since there is less of a way.
    clab_net_place(net, (struct clab_placement_sample){.line = 100, .fresh = 20, .call = 112}, &placed);
    assert_true(fabs(placed.call - 112) < 1e-9 && fabs(placed.intra.alpha - 68) < 1e-9);
    assert_true(placed.levels[0].copy[CLAB_ALONE] == 2 && placed.levels[0].copy[CLAB_BOTH] == 4);
    clab_net_place(net, (struct clab_placement_sample){.line = 100, .fresh = 150}, &placed); // near, as described
    assert_true(placed.levels[0].pull[CLAB_FRESH][CLAB_BOTH] == 9 && placed.levels[0].copy[CLAB_BOTH] == 2);
    clab_net_free(net);
}

static void test_place_scales_what_waits_for_lines(void **state)
{
    struct clab_net *net = near_cores(), placed;
    clab_net_place(net, (struct clab_placement_sample){.line = 260}, &placed); // the way takes 240, three times as long
    assert_true(placed.intra.alpha == 240);
    assert_true(placed.intra.segments[0].o_send == 30 && placed.intra.segments[0].o_recv == 60);
    assert_true(placed.intra.segments[0].latency == 90 && placed.intra.segments[0].gap_send == 12);
    assert_true(placed.call == 70); // a core's own
    for (int i = 0; i < 3; i++) {
        assert_true(placed.levels[i].copy[CLAB_ALONE] == net->levels[i].copy[CLAB_ALONE]);
        assert_true(placed.levels[i].pull[CLAB_KEPT][CLAB_ALONE] == net->levels[i].pull[CLAB_KEPT][CLAB_ALONE]);
    }
    assert_true(placed.levels[0].pull[CLAB_FRESH][CLAB_ALONE] == 27);
    // Of messages of 8 and 128 MiB, 2 MiB are in a cache that is not shared any more.
    assert_true(placed.levels[1].pull[CLAB_FRESH][CLAB_ALONE] == 3 + (27 - 3) / 4.0);
    assert_true(placed.levels[2].pull[CLAB_FRESH][CLAB_ALONE] == 6 + (27 - 6) / 64.0);
    // Fresh data was seen to take twice as long, not three times.
    net->probed.fresh = 50;
    clab_net_place(net, (struct clab_placement_sample){.line = 260, .fresh = 100}, &placed);
    assert_true(placed.intra.alpha == 240 && placed.levels[0].pull[CLAB_FRESH][CLAB_ALONE] == 18);
    clab_net_free(net);
}

static void test_place_scales_nearer_what_is_in_a_cores_own_cache(void **state)
{
    struct clab_net *net = near_cores(), placed;
    net->levels[1].pull[CLAB_FRESH][CLAB_BOTH] = 9;
    net->levels[1].add[CLAB_BOTH] = 1;
    net->levels[1].add_fresh[CLAB_BOTH] = 9;
    net->levels[1].copy[CLAB_BOTH] = 1;
    net->levels[1].copy_shared[CLAB_BOTH] = 9;
    clab_net_place(net, (struct clab_placement_sample){.line = 40}, &placed); // the way takes 20, a quarter
    assert_true(placed.levels[1].add_fresh[CLAB_BOTH] == 1 + 1.25 / 4);       // as what is pulled
    assert_true(placed.levels[1].copy_shared[CLAB_BOTH] == 1 + 1.25 / 4);
    assert_true(placed.levels[0].add_fresh[CLAB_BOTH] == 0); // and nothing is said of the others
    assert_true(placed.intra.segments[0].latency == 7.5);
    assert_true(placed.levels[0].pull[CLAB_FRESH][CLAB_BOTH] == 2.25);
    assert_true(placed.levels[1].pull[CLAB_FRESH][CLAB_BOTH] == 1 + 1.25 / 4); // a quarter of 4 MiB is in the writer's
    assert_true(placed.levels[2].pull[CLAB_FRESH][CLAB_BOTH] == 5);            // and no less than kept data
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place_slows_all_that_a_slower_core_does),
        cmocka_unit_test(test_place_slows_calls_as_calls_were_seen_to_be),
        cmocka_unit_test(test_place_joins_the_halves_of_one_core),
        cmocka_unit_test(test_place_scales_what_waits_for_lines),
        cmocka_unit_test(test_place_scales_nearer_what_is_in_a_cores_own_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
