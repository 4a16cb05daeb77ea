// SPDX-License-Identifier: MIT
// The engine in the order of time: equal to the dataflow where nothing is shared; links and cores that are, worked out
// by hand; stragglers.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/engine/flows.h"
#include "sim/net/net.h"
#include "tests/fixtures/segments.h"
#include "sim/sim.h"
#include "sim/net/topology.h"

// ---- fixtures ------------------------------------------------------------------------------------------------

static struct clab_link link_of(const char *name, double alpha, double beta)
{
    struct clab_link link = {.present = true, .alpha = alpha, .beta = beta, .nsegments = 1};
    strcpy(link.name, name);
    link.segments[0] = clab_segment_hockney(alpha, beta);
    return link;
}

// Nodes of `ranks`: nothing in a node costs anything, between them a message costs 10 s and 1 s a byte.
static struct clab_net make_net(int ranks)
{
    struct clab_net net = {.name = "test", .ranks_per_node = ranks};
    net.intra = link_of("intra", 0, 0);
    net.inter = link_of("inter", 10, 1);
    return net;
}

static struct clab_sim_result run(const struct clab_problem *p, const char *name, const struct clab_net *net,
                                  struct clab_sim_options options)
{
    struct clab_sim_result result;
    options.element_bytes = 1;
    assert_int_equal(clab_sim_run(p, clab_algorithm_find(p->collective, name), net, &options, &result), CLAB_OK);
    return result;
}

static double seconds_by(enum clab_sim_engine engine, enum clab_collective collective, const char *name, int nranks,
                         size_t count, const struct clab_net *net)
{
    const struct clab_problem p = {.collective = collective, .nranks = nranks, .lanes = 1, .count = count};
    return run(&p, name, net, (struct clab_sim_options){.engine = engine}).seconds;
}

static void assert_close(double actual, double expected)
{
    if (fabs(actual - expected) > 1e-12 * fabs(expected))
        fail_msg("%.15g is not %.15g", actual, expected);
}

// ---- events and full -----------------------------------------------------------------------------------------

static struct clab_net protocols(void)
{
    struct clab_net net = make_net(4);
    net.gamma = 0.9e-9;
    net.stage = 0.05e-6;
    for (int i = 0; i < 2; i++) {
        struct clab_link *link = i ? &net.inter : &net.intra;
        link->port = i ? CLAB_PORT_DUPLEX : CLAB_PORT_CORE;
        link->nsegments = 2;
        link->segments[0] = eager;
        link->segments[1] = rendezvous;
    }
    return net;
}

static void assert_same(const struct clab_problem *p, const struct clab_algorithm *a, const struct clab_net *net)
{
    struct clab_sim_result full = run(p, a->name, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL});
    struct clab_sim_result events = run(p, a->name, net, (struct clab_sim_options){.engine = CLAB_ENGINE_EVENTS});
    if (full.seconds != events.seconds || full.latency != events.latency || full.bandwidth != events.bandwidth ||
        full.reduce != events.reduce || full.wait != events.wait || full.messages != events.messages)
        fail_msg("%s %s, %d ranks, %d lanes, %zu elements: full %a, events %a", clab_collective_name(p->collective),
                 a->name, p->nranks, p->lanes, p->count, full.seconds, events.seconds);
}

static void test_events_equal_full_where_nothing_is_shared(void **state)
{
    struct clab_net nets[] = {make_net(1), make_net(4), protocols()};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 33; nranks++)
            for (int i = 0; i < 12; i++) {
                struct clab_problem p = {.collective = (*a)->collective, .nranks = nranks, .lanes = 1 + i / 6};
                p.root = p.collective != CLAB_BARRIER && clab_collective_rooted(p.collective) ? nranks / 2 : 0;
                p.count = p.collective == CLAB_BARRIER ? 0 : i % 2 ? 10007 : 101;
                if ((*a)->supports(&p))
                    assert_same(&p, *a, &nets[i / 2 % 3]);
            }
}

// Ways that are shared, but in whose use nobody gets in anybody's way.
static void test_events_a_shared_way_for_one_is_as_its_own(void **state)
{
    struct clab_net own = protocols(), shared = protocols();
    own.ranks_per_node = shared.ranks_per_node = 2;
    own.inter.segments[1].waits = shared.inter.segments[1].waits = false;
    shared.topology.adapters = 1;
    shared.inter.beta = 0.11e-9; // of the larger messages
    for (size_t count = 100; count < 1 << 20; count = 3 * count + 1) {
        double a = seconds_by(CLAB_ENGINE_FULL, CLAB_BROADCAST, "chain", 10, count, &own);
        assert_true(a == seconds_by(CLAB_ENGINE_EVENTS, CLAB_BROADCAST, "chain", 10, count, &shared));
        a = seconds_by(CLAB_ENGINE_FULL, CLAB_ALLREDUCE, "ring", 10, 10 * count, &own);
        assert_true(a == seconds_by(CLAB_ENGINE_EVENTS, CLAB_ALLREDUCE, "ring", 10, 10 * count, &shared));
    }
}

static void test_events_answer_the_same_each_time(void **state)
{
    struct clab_net net = make_net(8);
    net.intra = link_of("intra", 0.3, 0.07);
    net.topology = (struct clab_topology){
        .adapters = 3, .between = CLAB_BETWEEN_FAT_TREE, .leaf = 2, .oversubscription = 3, .hop = 0.1};
    const struct clab_problem p = {.collective = CLAB_ALLTOALL, .nranks = 64, .lanes = 1, .count = 333};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO};
    struct clab_sim_result first = run(&p, "pairwise", &net, options), second = run(&p, "pairwise", &net, options);
    assert_int_equal(first.engine, CLAB_ENGINE_EVENTS);
    assert_string_equal(first.why, "ranks share links");
    assert_true(first.seconds > 0 && first.seconds == second.seconds && first.wait == second.wait);
}

// ---- max-min -------------------------------------------------------------------------------------------------

static void take(struct flows *f, double when, int tag)
{
    int taken;
    assert_close(flows_next(f), when);
    assert_true(flows_take(f, flows_next(f), &taken));
    assert_int_equal(taken, tag);
}

// Links of 10 and 4 B/s. Flow 0 passes both, 1 the first, 2 the second; each has 16 bytes and could take 100 B/s.
static void test_flows_share_as_worked_out_by_hand(void **state)
{
    struct flows f;
    assert_int_equal(flows_init(&f, 2, ticks_for(100)), CLAB_OK);
    f.capacity[0] = 10;
    f.capacity[1] = 4;
    flows_add(&f, 0, 0.16, 100, (const int[]){0, 1}, 2, 0);
    flows_add(&f, 0, 0.16, 100, (const int[]){0}, 1, 1);
    flows_add(&f, 0, 0.16, 100, (const int[]){1}, 1, 2);
    take(&f, 2, 1); // the second link gives 2 B/s to each, so the first has 8 left for flow 1
    int taken;
    assert_close(flows_next(&f), 8); // both have had 2 B/s all the time
    assert_true(flows_take(&f, flows_next(&f), &taken) && flows_take(&f, f.now, &taken));
    assert_int_equal(f.n, 0);
    flows_free(&f);
}

static void test_flows_get_no_more_than_they_can_take(void **state)
{
    struct flows f;
    assert_int_equal(flows_init(&f, 1, ticks_for(100)), CLAB_OK);
    f.capacity[0] = 10;
    flows_add(&f, 0, 6, 2, (const int[]){0}, 1, 0);   // 12 bytes, at 2 B/s at most
    flows_add(&f, 0, 1, 100, (const int[]){0}, 1, 1); // 100 bytes
    assert_true(flows_next(&f) == 6);                 // as if alone, to the bit
    take(&f, 6, 0);                                   // the other has had 48
    take(&f, 6 + 5.2, 1);
    flows_free(&f);
}

static void test_flows_that_come_later_slow_those_under_way(void **state)
{
    struct flows f;
    assert_int_equal(flows_init(&f, 1, ticks_for(100)), CLAB_OK);
    f.capacity[0] = 8;
    flows_add(&f, 0, 4, 8, (const int[]){0}, 1, 0); // 32 bytes
    assert_true(flows_next(&f) == 4);
    flows_add(&f, 2, 3, 8, (const int[]){0}, 1, 1); // 8 bytes; 16 of the first are left
    take(&f, 4, 1);
    take(&f, 5, 0);
    flows_free(&f);
}

// ---- shared links --------------------------------------------------------------------------------------------

static void test_events_ranks_of_a_node_share_its_adapter(void **state)
{
    struct clab_net net = make_net(2);
    // Within the node for nothing, then both ranks of a node to the other node.
    assert_true(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 4, 100, &net) == 10 + 100);
    net.topology.adapters = 1;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 4, 100, &net), 10 + 200);
    net.ranks_per_node = 4;
    net.topology.adapters = 2;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 8, 100, &net), 10 + 200);
    net.topology.adapters = 1;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 8, 100, &net), 10 + 400);
    net.topology.adapters = 4;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 8, 100, &net), 10 + 100);
}

static void test_events_messages_of_a_port_leave_one_after_another(void **state)
{
    struct clab_net net = make_net(2);
    net.topology.adapters = 1;
    // The root's three messages: nothing to its neighbour, then two of 10 + 100.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_BROADCAST, "flat", 4, 100, &net), 220);
}

static void test_events_leaves_of_a_fat_tree_share_the_ways_up(void **state)
{
    struct clab_net net = make_net(1);
    net.topology = (struct clab_topology){.between = CLAB_BETWEEN_FAT_TREE, .leaf = 2, .oversubscription = 4, .hop = 3};
    // To the next rank: every second message leaves its leaf, whose way up has half the rate of a rank's.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_SENDRECV, "shift", 4, 100, &net), 10 + 200 + 2 * 3);
    // Within a leaf, nothing is shared.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_SENDRECV, "shift", 2, 100, &net), 10 + 100);
    // An alltoall. Stage 1 is such a shift: 1 and 3 have sent by 210, 0 and 2 hear them by 216. Stage 2: 1 and 3 post
    // at 220 and have their ways up alone until 226, when 0 and 2 come: 97 bytes at a quarter each by 614, the others'
    // last 3 at half by 620; so 1 and 3 have heard by 620, 0 and 2 by 626. Stage 3: 0 and 2 leave theirs from 636 on,
    // by 836, heard by 842.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLTOALL, "pairwise", 4, 100, &net), 842);
}

static void test_events_neighbours_of_a_torus_carry_what_passes(void **state)
{
    struct clab_net net = make_net(1);
    net.topology = (struct clab_topology){.between = CLAB_BETWEEN_TORUS, .size = {4}, .hop = 3};
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_SENDRECV, "shift", 4, 100, &net), 110);
    // Two ahead: two messages on each link.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLTOALL, "pairwise", 4, 100, &net), 110 + (10 + 200 + 3) + 110);
}

static void test_events_switches_of_a_host_meet_above(void **state)
{
    struct clab_net net = make_net(4);
    net.nodes = 1;
    net.intra = link_of("intra", 10, 1);
    net.topology = (struct clab_topology){.inside = CLAB_INSIDE_PCIE, .below = 2};
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_SENDRECV, "shift", 4, 100, &net), 110); // one crosses each way
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLTOALL, "pairwise", 4, 100, &net), 110 + 210 + 110);
}

static void test_events_a_mesh_has_a_link_for_every_pair(void **state)
{
    struct clab_net net = make_net(8);
    net.intra = link_of("intra", 10, 1);
    net.topology.inside = CLAB_INSIDE_MESH;
    // All seven messages of the root at the same time.
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_BROADCAST, "flat", 8, 100, &net), 110);
    net.topology.inside = CLAB_INSIDE_SWITCH;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_BROADCAST, "flat", 8, 100, &net), 770);
}

static void test_events_bridged_pairs_have_a_link_of_their_own(void **state)
{
    struct clab_net net = make_net(4);
    net.intra = link_of("intra", 10, 1);
    net.pair = link_of("pair", 2, 0.5);
    net.topology.inside = CLAB_INSIDE_PAIRS;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 4, 100, &net), 52 + 110);
}

static void test_events_tiers_join_what_is_further_apart(void **state)
{
    struct clab_net net = make_net(1);
    net.ntiers = 2;
    net.tiers[0] = link_of("zone", 20, 1);
    net.tiers[0].nodes = 2;
    net.tiers[1] = link_of("region", 70, 2);
    net.tiers[1].nodes = 4;
    assert_close(seconds_by(CLAB_ENGINE_AUTO, CLAB_ALLREDUCE, "doubling", 8, 100, &net), 110 + 120 + 270);
}

// ---- routes --------------------------------------------------------------------------------------------------

static void test_topology_routes_lead_from_one_to_the_other(void **state)
{
    struct clab_net net = make_net(1);
    int links[CLAB_ROUTE_LINKS];
    net.topology = (struct clab_topology){.between = CLAB_BETWEEN_TORUS, .size = {4, 3, 2}};
    for (int a = 0; a < 24; a++)
        for (int b = 0; b < 24; b++) {
            int n = clab_net_route(&net, 24, a, b, links);
            int x = abs(a % 4 - b % 4), y = abs(a / 4 % 3 - b / 4 % 3), z = abs(a / 12 - b / 12);
            assert_int_equal(n, (x > 2 ? 4 - x : x) + (y > 1 ? 3 - y : y) + z);
            for (int i = 0; i < n; i++)
                assert_in_range(links[i], 0, clab_net_shared_links(&net, 24) - 1);
            assert_true(n == 0 || links[0] / 6 == a); // it begins at a
            assert_true(a == b || clab_net_hops(&net, a, b) == n - 1);
        }
    net.topology = (struct clab_topology){.between = CLAB_BETWEEN_DRAGONFLY, .leaf = 2, .routers = 3};
    assert_int_equal(clab_net_route(&net, 24, 0, 1, links), 0);  // one router
    assert_int_equal(clab_net_route(&net, 24, 0, 2, links), 1);  // one group
    assert_int_equal(clab_net_route(&net, 24, 0, 23, links), 2); // 0 is at the router to group 0 or 3: over, and on
    assert_int_equal(clab_net_route(&net, 24, 4, 10, links), 3); // to the way out, over, and on
    assert_int_equal(clab_net_hops(&net, 4, 10), 3);
}

// ---- cores and stragglers ------------------------------------------------------------------------------------

static void test_events_ranks_take_turns_on_cores(void **state)
{
    struct clab_net net = make_net(8);
    net.nodes = 1;
    net.cores_per_node = 2;
    const struct clab_problem p = {.collective = CLAB_BARRIER, .nranks = 5, .lanes = 1};
    struct clab_sim_result r = run(&p, "dissemination", &net, (struct clab_sim_options){.compute = 100});
    assert_int_equal(r.engine, CLAB_ENGINE_EVENTS);
    assert_string_equal(r.why, "ranks share cores");
    assert_true(r.seconds == 300); // two, two, one
    net.cores_per_node = 5;
    assert_true(run(&p, "dissemination", &net, (struct clab_sim_options){.compute = 100}).seconds == 100);
    // Messages are cores' work, too: a rank sends for 10 + 50, one hears for as long at the same time. Four such pairs
    // have one core after the other.
    net.cores_per_node = 1;
    net.intra = link_of("intra", 0, 0);
    net.intra.port = CLAB_PORT_CORE;
    net.intra.segments[0] = (struct clab_segment){.up_to = SIZE_MAX, .o_send = 10, .o_recv = 20, .latency = 5};
    assert_true(seconds_by(CLAB_ENGINE_AUTO, CLAB_SENDRECV, "shift", 4, 50, &net) == 4 * 10 + 4 * 20);
}

static void test_events_a_straggler_holds_up_those_who_wait_for_it(void **state)
{
    struct clab_net net = make_net(1);
    const double delays[] = {0, 1000, 0, 0};
    for (enum clab_sim_engine engine = CLAB_ENGINE_FULL; engine <= CLAB_ENGINE_EVENTS; engine++) {
        const struct clab_sim_options options = {.engine = engine, .delays = delays};
        struct clab_problem p = {.collective = CLAB_ALLREDUCE, .nranks = 4, .lanes = 1, .count = 400};
        assert_true(run(&p, "ring", &net, options).seconds == 1000 + 6 * 110);
        p.collective = CLAB_BROADCAST;
        p.count = 100;
        assert_true(run(&p, "chain", &net, options).seconds == 1000 + 3 * 110); // it passes on to two more
        const double late_end[] = {0, 0, 0, 1000};
        assert_true(run(&p, "chain", &net, (struct clab_sim_options){.engine = engine, .delays = late_end}).seconds ==
                    1110);
    }
    const double before[] = {0, -1, 0, 0};
    struct clab_problem p = {.collective = CLAB_ALLREDUCE, .nranks = 4, .lanes = 1, .count = 400};
    const struct clab_sim_options options = {.element_bytes = 1, .delays = before};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(&p, clab_algorithm_find(CLAB_ALLREDUCE, "ring"), &net, &options, &result),
                     CLAB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_equal_full_where_nothing_is_shared),
        cmocka_unit_test(test_events_a_shared_way_for_one_is_as_its_own),
        cmocka_unit_test(test_events_answer_the_same_each_time),
        cmocka_unit_test(test_flows_share_as_worked_out_by_hand),
        cmocka_unit_test(test_flows_get_no_more_than_they_can_take),
        cmocka_unit_test(test_flows_that_come_later_slow_those_under_way),
        cmocka_unit_test(test_events_ranks_of_a_node_share_its_adapter),
        cmocka_unit_test(test_events_messages_of_a_port_leave_one_after_another),
        cmocka_unit_test(test_events_leaves_of_a_fat_tree_share_the_ways_up),
        cmocka_unit_test(test_events_neighbours_of_a_torus_carry_what_passes),
        cmocka_unit_test(test_events_switches_of_a_host_meet_above),
        cmocka_unit_test(test_events_a_mesh_has_a_link_for_every_pair),
        cmocka_unit_test(test_events_bridged_pairs_have_a_link_of_their_own),
        cmocka_unit_test(test_events_tiers_join_what_is_further_apart),
        cmocka_unit_test(test_topology_routes_lead_from_one_to_the_other),
        cmocka_unit_test(test_events_ranks_take_turns_on_cores),
        cmocka_unit_test(test_events_a_straggler_holds_up_those_who_wait_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
