// SPDX-License-Identifier: MIT
// What messages cost in shared memory: protocols, cores that are shared, what peers have read, links of two levels; each
// against a time worked out by hand.

#include "sim/engine/touched.h"
#include "tests/fixtures/sim_run.h"

static void test_sim_prices_each_protocol(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 40};
    // Posted at 10, there at 40, received by 60.
    assert_true(seconds_of("flat", problem, net, options) == 60);
    // 400 B in 4 fragments: the first is copied in by 10 + 200, there at 240; received by 240 + 20 + 1200 = 1460;
    // the sender had ended at 810, so that the last fragment was no later than 810 + 30 + 300.
    problem.count = 400;
    assert_true(seconds_of("flat", problem, net, options) == 1460);
    // There at 40, pulled (kept data, one direction) by 40 + 20 + 500 = 560; the sender hears of it at 590.
    problem.count = 500;
    assert_true(seconds_of("flat", problem, net, options) == 590);
    // Out of place the root copies its own meanwhile: from 10 on, 5 * 500.
    options.in_place = false;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 2500);
    clab_net_free(net);
}

static void test_sim_pulls_beside_what_the_sender_copies(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 500};
    net->levels[0].copy[CLAB_BOTH] = 0.5;
    // The root copies as many bytes as are pulled meanwhile: they take 2 each, as in an exchange, instead of 1.
    assert_true(seconds_of("flat", problem, net, options) == 40 + 20 + 2 * 500 + 30);
    // Two blocks are pulled beside the root's one: half of them at 2. Who has them sends one on, beside which nobody
    // copies, hears of it, and copies the other to `out`.
    problem.collective = CLAB_SCATTER;
    problem.nranks = 4;
    assert_true(seconds_of("binomial", problem, net, options) == 60 + 500 + 2 * 500 + 60 + 500 + 30 + 0.5 * 500);
    // Who gathers copies its own, and then pulls alone.
    problem.collective = CLAB_GATHER;
    problem.nranks = 2;
    assert_true(seconds_of("flat", problem, net, options) == 0.5 * 500 + 20 + 500 + 30);
    clab_net_free(net);
}

static void test_sim_charges_both_directions_of_an_exchange(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    // Both pull 500 kept bytes and add them: there at 40, 20 + 500 * 8 more; the peer's acknowledgement comes 30 later.
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    const struct clab_algorithm *doubling = clab_algorithm_find(CLAB_ALLREDUCE, "doubling");
    struct clab_sim_result r = run(&problem, doubling, net, options);
    assert_true(r.seconds == 40 + 20 + 4000 + 30);
    assert_true(r.bandwidth == 1000); // the pull's 2 s/B
    assert_true(r.reduce == 3000);
    assert_true(r.latency == 30);
    assert_true(r.wait == 60);
    clab_net_free(net);
}

// Where it costs nothing, what peers have read takes no memory; else each rank remembers a float per chunk, and two
// where chunks alternate between two places.
static void test_sim_remembers_reads_only_where_they_cost(void **state)
{
    static const char *const names[] = {"ring", "halving_doubling", "doubling"};
    static const size_t chunks[] = {8, 8, 1}, places[] = {1, 1, 2}; // of 8 ranks
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        struct clab_net *net = two_cores();
        const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 8, .lanes = 1, .count = 8000};
        const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, names[i / 2]);
        const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = i % 2};
        const struct clab_sim_result asks = run(&problem, algorithm, net, options);
        memcpy(net->levels[0].pull[CLAB_FRESH], net->levels[0].pull[CLAB_KEPT], sizeof net->levels[0].pull[CLAB_KEPT]);
        memcpy(net->levels[0].reduce[CLAB_FRESH], net->levels[0].reduce[CLAB_KEPT],
               sizeof net->levels[0].reduce[CLAB_KEPT]);
        const struct clab_sim_result does_not = run(&problem, algorithm, net, options);
        assert_true(asks.seconds >= does_not.seconds);
        assert_int_equal(asks.peak_bytes - does_not.peak_bytes, 8 * chunks[i / 2] * 4 * places[i / 2]);
        clab_net_free(net);
    }
}

static void test_sim_writes_what_a_peer_has_read_at_its_price(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .footprint = 1};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    // Rank 0 pulls kept data and adds it by 40 + 20 + 7 * 500 = 3560; its sum is there at 3600, and pulled by 3600 + 20
    // + 500.
    assert_true(seconds_of("star", problem, net, options) == 4120 + 30);
    options.busy = true; // in the call before rank 1 has read the sum's place: 9 a byte instead of 7
    assert_true(seconds_of("star", problem, net, options) == 4120 + 2 * 500 + 30);
    // It has touched on average 500 bytes since, which level 1000 knows, whatever the footprint. It costs no less than
    // what nobody has read.
    net->nlevels = 2;
    net->levels[1] = net->levels[0];
    net->levels[1].bytes = 1000;
    net->levels[1].reduce[CLAB_FRESH][CLAB_ALONE] = 17;
    assert_true(seconds_of("star", problem, net, options) == 4120 + 10 * 500 + 30);
    net->levels[1].reduce[CLAB_FRESH][CLAB_ALONE] = 5;
    assert_true(seconds_of("star", problem, net, options) == 4120 + 30);
    clab_net_free(net);
}

static void test_sim_forgets_what_a_peer_has_read_by_what_it_touches(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .footprint = 1, .calls = 8};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 1000};
    const double once = 90 + 8 * 500 + 90 + 2 * 500; // a half is summed, the other half's sum is pulled
    assert_true(seconds_of("ring", problem, net, options) == once + 2 * 500);
    // The first byte was read when 2 * 500 others were to come, the last one 3 * 500 ago: on average 1250.
    net->nlevels = 2;
    net->levels[1] = net->levels[0];
    net->levels[1].bytes = 2500;
    net->levels[1].reduce[CLAB_FRESH][CLAB_BOTH] = 9;
    assert_true(seconds_of("ring", problem, net, options) == once + 500);
    // In place each sum lies where the other has read, and so does what is pulled: 2 * 500 ago, both.
    options.in_place = true;
    net->levels[1].bytes = 2000;
    net->levels[1].pull[CLAB_FRESH][CLAB_BOTH] = 5;
    assert_true(seconds_of("ring", problem, net, options) == 90 + 5 * 500 + 90 + 2 * 500 + 500 + 3 * 500);
    clab_net_free(net);
}

static void test_sim_adds_to_what_a_peer_has_read_at_its_price(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .footprint = 1, .in_place = true, .busy = true};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    // Rank 0 adds to what rank 1 has pulled in the call before, and rank 1 pulls to what rank 0 has read: as nothing
    // else is said, what adding costs more is what reducing does, 4 + 2 and 1 + 2 a byte.
    const double fixed = 2 * 60 + 30;
    assert_true(seconds_of("star", problem, net, options) == fixed + 6 * 500 + 3 * 500);
    net->levels[0].add_fresh[CLAB_ALONE] = 11;
    assert_true(seconds_of("star", problem, net, options) == fixed + 11 * 500 + 3 * 500);
    const struct clab_problem copies = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 1000};
    // Nobody sums: half is scattered, and pulled back, each to what the other has read.
    assert_true(seconds_of("scatter_allgather", copies, net, options) == 60 + 3 * 500 + 90 + 6 * 500);
    net->levels[0].reduce[CLAB_FRESH][CLAB_ALONE] = 20; // nor is a sum of two others an addition
    assert_true(seconds_of("star", problem, net, options) == fixed + 11 * 500 + 3 * 500);
    options.in_place = false;
    assert_true(seconds_of("star", problem, net, options) == fixed + 20 * 500 + 1 * 500);
    options.footprint = 2; // twice the shared cache: sums of two others go around it, and no peer has their lines
    net->shared_cache = 1;
    assert_true(seconds_of("star", problem, net, options) == fixed + 7 * 500 + 1 * 500);
    clab_net_free(net);
}

static void test_sim_in_place_brings_home_what_both_have_read(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    // What is added is sent meanwhile, so the sum lands beside, and is copied home, 5 a byte, to what both have just
    // read: 6 - 2 more, as fresh data, where the level says nothing else.
    for (options.calls = 1; options.calls < 9; options.calls += 7)
        assert_true(seconds_of("doubling", problem, net, options) == 40 + 20 + 8 * 500 + 30 + 9 * 500);
    net->levels[0].copy_shared[CLAB_BOTH] = 13;
    assert_true(seconds_of("doubling", problem, net, options) == 40 + 20 + 8 * 500 + 30 + 13 * 500);
    options.in_place = false;
    assert_true(seconds_of("doubling", problem, net, options) == 40 + 20 + 8 * 500 + 30);
    options.in_place = true;
    // A message that went through slots was not read by the peer: it is copied home like any other.
    problem.count = 300;
    const double at_home = seconds_of("doubling", problem, net, options);
    options.in_place = false;
    assert_true(at_home == seconds_of("doubling", problem, net, options) + 5 * 300);
    clab_net_free(net);
}

static void assert_touched(enum clab_collective collective, const char *name, bool in_place, size_t all, size_t core,
                           size_t written)
{
    const struct clab_problem problem = {.collective = collective, .nranks = 2, .lanes = 1, .count = 50};
    struct touched touched;
    assert_int_equal(touched_by(&problem, clab_algorithm_find(collective, name), in_place, 2, &touched), CLAB_OK);
    assert_int_equal(touched.all, all);
    assert_int_equal(touched.core, core);
    assert_int_equal(touched.written, written);
}

static void test_sim_counts_each_touched_byte_once(void **state)
{
    // The root copies `in` to `out`; the other reads the former, and writes its `out`.
    assert_touched(CLAB_BROADCAST, "flat", false, 300, 200, 100);
    // In place the root's own block lies where it should: nobody touches it.
    assert_touched(CLAB_GATHER, "flat", true, 200, 200, 100);
    assert_touched(CLAB_GATHER, "flat", false, 400, 400, 200);
    // Each reads the other's block, and writes that one of its own.
    assert_touched(CLAB_ALLGATHER, "ring", true, 400, 200, 100);
    // Each adds a half of its `in` and of the other's, and lets the other read its other half.
    assert_touched(CLAB_REDUCE_SCATTER, "pairwise", false, 600, 300, 100);
}

// A core's own cache holds what that core touches: three buffers of a sum, as in a level of five thirds of that.
static void test_sim_prices_sums_by_what_a_core_touches(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    const struct clab_problem problem = {.collective = CLAB_REDUCE_SCATTER, .nranks = 2, .lanes = 1, .count = 600};
    net->nlevels = 2;
    net->levels[0].bytes = 3000; // 1800 of each core
    net->levels[1] = net->levels[0];
    net->levels[1].bytes = 3600;
    net->levels[1].reduce[CLAB_KEPT][CLAB_BOTH] = 80;
    net->core_cache = 1800;
    assert_true(seconds_of("pairwise", problem, net, options) == 40 + 20 + 8 * 600 + 30);
    net->core_cache = 800; // it holds none of that
    assert_true(seconds_of("pairwise", problem, net, options) == 40 + 20 + 80 * 600 + 30);
    clab_net_free(net);
}

// A core's first cache holds what a pull writes, as in the level below, or not, as in the level above.
static void test_sim_prices_pulls_by_what_a_core_writes(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 600};
    net->nlevels = 2;
    net->levels[0].bytes = 1000;
    net->levels[1] = net->levels[0];
    net->levels[1].bytes = 4000;
    net->levels[1].pull[CLAB_KEPT][CLAB_ALONE] *= 3;
    const double between = seconds_of("flat", problem, net, options);
    net->first_cache = 601;
    const double low = seconds_of("flat", problem, net, options);
    net->first_cache = 600;
    const double high = seconds_of("flat", problem, net, options);
    assert_true(low < between && between < high);
    assert_true(high - low == 600 * 2 * net->levels[0].pull[CLAB_KEPT][CLAB_ALONE]);
    clab_net_free(net);
}

static void test_sim_calls_overlap_where_no_one_waits(void **state)
{
    struct clab_net *net = two_cores();
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 40};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true, .calls = 8};
    // The root runs ahead; the other needs 20 a message.
    assert_true(seconds_of("flat", problem, net, options) == 20);
    // A round trip hides nothing: 60 there, adding 40 B in place at 4 - 1 more than a pull, 60 back.
    problem.collective = CLAB_ALLREDUCE;
    assert_true(seconds_of("star", problem, net, options) == 240);
    net->call = 10; // of rank 1, which has waited for the sum
    net->wait = 5;
    assert_true(seconds_of("star", problem, net, options) == 255);
    net->call = net->wait = 0;
    net->intra.segments[0].o_reduce = 7; // of the one message that is added
    assert_true(seconds_of("star", problem, net, options) == 247);
    net->intra.segments[0].o_reduce = 0;
    net->call = 5; // on either core: rank 0 begins its next call while rank 1 has not yet ended this one
    assert_true(seconds_of("star", problem, net, options) == 245);
    clab_net_free(net);
}

static void test_sim_two_levels_of_links(void **state)
{
    struct clab_net *net = flat(100, 1, 0);
    net->ranks_per_node = 2;
    net->intra = (struct clab_link){.name = "intra", .present = true, .nsegments = 1};
    net->intra.segments[0] = clab_segment_hockney(10, 0.5);
    // Binomial from 0: first to 2 (another node, 110), then 0 to 1 and 2 to 3 (same node, 15).
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 4, .lanes = 1, .count = 10};
    assert_true(seconds_of("binomial", problem, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL}) == 125);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_prices_each_protocol),
        cmocka_unit_test(test_sim_pulls_beside_what_the_sender_copies),
        cmocka_unit_test(test_sim_charges_both_directions_of_an_exchange),
        cmocka_unit_test(test_sim_remembers_reads_only_where_they_cost),
        cmocka_unit_test(test_sim_writes_what_a_peer_has_read_at_its_price),
        cmocka_unit_test(test_sim_forgets_what_a_peer_has_read_by_what_it_touches),
        cmocka_unit_test(test_sim_adds_to_what_a_peer_has_read_at_its_price),
        cmocka_unit_test(test_sim_in_place_brings_home_what_both_have_read),
        cmocka_unit_test(test_sim_counts_each_touched_byte_once),
        cmocka_unit_test(test_sim_prices_pulls_by_what_a_core_writes),
        cmocka_unit_test(test_sim_prices_sums_by_what_a_core_touches),
        cmocka_unit_test(test_sim_calls_overlap_where_no_one_waits),
        cmocka_unit_test(test_sim_two_levels_of_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
