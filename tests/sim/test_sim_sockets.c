// SPDX-License-Identifier: MIT
// What messages cost where sockets buffer them: packets, buckets, cores of one machine; each against a time worked out by
// hand.

#include "tests/fixtures/sim_run.h"

// Hosts whose sockets buffer: 10 to hand a message over, 30 on its way, 20 to fetch it; 5 and 2 a byte of the wire.
static struct clab_net *sockets(double burst)
{
    struct clab_net *net = flat(0, 0, 0);
    net->inter = (struct clab_link){.name = "inter", .present = true, .burst = burst, .nsegments = 1};
    net->inter.segments[0] = (struct clab_segment){.name = "any",
                                                   .up_to = SIZE_MAX,
                                                   .o_send = 10,
                                                   .latency = 30,
                                                   .o_recv = 20,
                                                   .o_both = 7,
                                                   .gap = 5,
                                                   .gap_send = 2,
                                                   .gap_recv = 2,
                                                   .gap_both = 0.5,
                                                   .buffers = true};
    return net;
}

static void test_sim_a_socket_takes_the_message_and_the_wire_follows(void **state)
{
    struct clab_net *net = sockets(0);
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    // Handed over at 10, on the wire until 215, there at 245, fetched by 265.
    assert_true(seconds_of("flat", problem, net, options) == 265);
    // The root goes on at 10, but the wire needs 205 a message, and so does what comes in.
    options.calls = 8;
    assert_true(seconds_of("flat", problem, net, options) == 205);
    // To two others: the second is on the wire behind the first, and handed over meanwhile.
    options.calls = 1;
    problem.nranks = 3;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 2 * 205 + 30 + 20);
    // From two others: both are there at 245, but one wire leads in.
    problem.collective = CLAB_GATHER;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 205 + 30 + 205 + 20);
    // Both ways at once: the wires do not mind, the receiver pays 7, and 50 for the bytes.
    problem.collective = CLAB_SENDRECV;
    problem.nranks = 2;
    assert_true(seconds_of("shift", problem, net, options) == 265 + 57);
    clab_net_free(net);
}

static void test_sim_what_a_bucket_holds_goes_ahead_of_its_turn(void **state)
{
    struct clab_net *net = sockets(150);
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    // 150 of its 205 are on the wire at once.
    assert_true(seconds_of("flat", problem, net, options) == 265 - 150);
    // One that fits goes whole, and no faster.
    problem.count = 20;
    assert_true(seconds_of("flat", problem, net, options) == 60);
    // The next ones find the bucket empty: one of 45 every 45, the first four of them at once.
    options.calls = 16;
    assert_true(seconds_of("flat", problem, net, options) == 45);
    clab_net_free(net);
}

// A call before this one took what the bucket holds, and ended with its receiver at 255, when the wire is 100 ahead.
static void test_sim_a_bucket_fills_between_calls(void **state)
{
    struct clab_net *net = sockets(150);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .calls = 1, .busy = true};
    // So 45 + 5 of the 150 are there again while it ends and begins: handed over at 265, on the wire until 560 of its
    // own clock and 410 of ours.
    assert_true(seconds_of("flat", problem, net, options) == 410 + 30 + 20 - 255);
    options.pause = 40;
    assert_true(seconds_of("flat", problem, net, options) == 410 + 30 + 20 - 295);
    options.pause = 1000;
    assert_true(seconds_of("flat", problem, net, options) == 265 - 150);
    clab_net_free(net);
}

static void test_sim_small_messages_join_a_packet_that_waits(void **state)
{
    struct clab_net *net = sockets(0);
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    net->inter.segments[0].gap = 90;
    net->inter.segments[0].gap_joined = 60;
    // Four messages of 5 B to rank 1, handed over at 10, 20, 30, 40. The first leaves at once, until 110. Until then the
    // second waits, and the others join it: 100, 40 and 40 more.
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 5};
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_BROADCAST, "flat");
    options.calls = 4;
    assert_true(run(&problem, flat, net, options).whole == 290 + 30 + 20);
    // A bucket of 100 lets the first one go at once, so that the second has nothing to wait behind, and the third begins
    // the packet that the fourth joins: 100, 100, 100 and 40, of which 100 go ahead.
    net->inter.burst = 100;
    assert_true(run(&problem, flat, net, options).whole == 10 + 340 - 100 + 30 + 20);
    net->inter.burst = 0;
    // Messages to several others do not join each other: each has a socket.
    const struct clab_problem wide = {.collective = CLAB_BROADCAST, .nranks = 5, .lanes = 1, .count = 5};
    options.calls = 1;
    assert_true(run(&wide, flat, net, options).whole == 10 + 4 * 100 + 30 + 20);
    net->inter.segments[0].gap_joined = 0;
    options.calls = 4;
    assert_true(run(&problem, flat, net, options).whole == 410 + 30 + 20);
    clab_net_free(net);
}

static void test_sim_a_core_is_busy_after_its_message_has_left(void **state)
{
    struct clab_net *net = sockets(0);
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 3, .lanes = 1, .count = 1};
    net->inter.segments[0].o_after = 100;
    // Handed over at 10, and the second at 120: it is there at 157, while the root is busy until 220.
    assert_true(seconds_of("flat", problem, net, options) == 2 * (10 + 100));
    net->inter.segments[0].latency = 130;
    assert_true(seconds_of("flat", problem, net, options) == 120 + 7 + 130 + 20);
    clab_net_free(net);
}

// Three containers on a machine of two cores: ranks 0 and 2 share one.
static void test_sim_containers_take_turns_at_the_cores_of_their_machine(void **state)
{
    struct clab_net *net = sockets(0);
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO};
    struct clab_problem problem = {.collective = CLAB_GATHER, .nranks = 3, .lanes = 1, .count = 1};
    // Ranks 1 and 2 hand over at 10; both messages are there at 47 and 54, and fetched by 67 and 87.
    assert_true(seconds_of("flat", problem, net, options) == 87);
    net->machine_cores = 2;
    net->switch_cost = 100;
    // Rank 2 has the core of rank 0 from 100 on: its message is there at 147, and rank 0 has the core again at 210.
    assert_true(seconds_of("flat", problem, net, options) == 100 + 10 + 100 + 20 + 20);
    // Who can go on keeps the core: three calls of rank 2, and then three of rank 0, cost two changes.
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_GATHER, "flat");
    const struct clab_sim_options three = {.engine = CLAB_ENGINE_AUTO, .calls = 3};
    struct clab_sim_result r = run(&problem, flat, net, three);
    assert_true(r.whole == 100 + 30 + 100 + 3 * 40 && r.engine == CLAB_ENGINE_EVENTS);
    // By then all messages have come. Of each socket it reads them together, and all but the first cost 15 less.
    net->inter.segments[0].o_joined = 15;
    r = run(&problem, flat, net, three);
    assert_true(r.whole == 100 + 30 + 100 + 40 + 2 * 10);
    net->inter.segments[0].o_joined = 0;
    // As many cores as ranks: nobody shares one.
    net->machine_cores = 3;
    assert_true(seconds_of("flat", problem, net, options) == 87);
    clab_net_free(net);
}

// A communicator of some containers: whether they share a core is said by which they are.
static void test_sim_members_share_the_cores_of_their_machine(void **state)
{
    struct clab_net *net = sockets(0);
    const int apart[] = {1, 4}, together[] = {1, 3};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO, .members = apart};
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 10};
    net->machine_cores = 2;
    net->switch_cost = 100;
    // Handed over at 10, there at 65: 1 and 4 have a core each.
    assert_true(seconds_of("flat", problem, net, options) == 85);
    // 1 and 3 have the same, and 1 has it first: it hands over at 10, and 3 can go on at 110.
    options.members = together;
    const struct clab_algorithm *flat = clab_algorithm_find(CLAB_BROADCAST, "flat");
    const struct clab_sim_result r = run(&problem, flat, net, options);
    assert_true(r.seconds == 10 + 100 + 20 && r.engine == CLAB_ENGINE_EVENTS);
    clab_net_free(net);
}

// Cores carry the bytes beside the wire: nobody waits for that who has a core of his own.
static void test_sim_cores_carry_bytes_beside_the_wire(void **state)
{
    struct clab_net *net = sockets(0);
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    net->inter.segments[0].core_send = 1;
    net->inter.segments[0].core_recv = 2;
    assert_true(seconds_of("flat", problem, net, options) == 265);
    // A receiver with more to carry than the wire is done later: its core begins when the message could have begun to
    // come in, 3 * 100 before its end; but no earlier than its call.
    net->inter.segments[0].core_recv = 3;
    assert_true(seconds_of("flat", problem, net, options) == 300 + 20);
    // Two ranks on one core: the sender's core carries until 110, and only then the receiver has it.
    net->machine_cores = 1;
    net->inter.segments[0].core_recv = 2;
    assert_true(seconds_of("flat", problem, net, options) == 110 + 200 + 20);
    clab_net_free(net);
}

// A packet that waits for the wire costs the sender's core a timer. What a bucket lets go at once does not wait.
static void test_sim_packets_that_wait_take_the_core(void **state)
{
    struct clab_net *net = sockets(0);
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO};
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    net->machine_cores = 1;
    net->inter.segments[0].core_wait = 4.1;
    // Handed over at 10, and it takes the wire 205: it all waits. Then the receiver has the core.
    assert_true(seconds_of("flat", problem, net, options) == 10 + 410 + 20);
    net->inter.burst = 105; // it leaves so much earlier: a wait of 100 is left
    assert_true(seconds_of("flat", problem, net, options) == 10 + 200 + 20);
    net->inter.burst = 300;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 30 + 20);
    net->inter.burst = 0; // of a timer's 410 the core's other host has armed a quarter
    net->arming = 0.25;
    assert_true(fabs(seconds_of("flat", problem, net, options) - (10 + 307.5 + 20)) < 1e-6);
    net->machine_cores = 2; // nobody shares: the receiver is done at 265, and the sender arms all of its timers
    assert_true(seconds_of("flat", problem, net, options) == 10 + 410);
    clab_net_free(net);
}

// What only the sender's next message waits for.
static void test_sim_a_port_waits_behind_a_message(void **state)
{
    struct clab_net *net = sockets(0);
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_AUTO};
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    net->inter.segments[0].gap_out = 1000;
    assert_true(seconds_of("flat", problem, net, options) == 265);
    net->inter.burst = 150; // of its 205, however long the port waits behind them
    assert_true(seconds_of("flat", problem, net, options) == 265 - 150);
    net->inter.burst = 0;
    problem.nranks = 3;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 205 + 1000 + 205 + 30 + 20);
    problem.collective = CLAB_GATHER;
    assert_true(seconds_of("flat", problem, net, options) == 10 + 205 + 30 + 205 + 20);
    clab_net_free(net);
}

static void test_sim_acknowledgements_share_the_wire_back(void **state)
{
    struct clab_net *net = sockets(0);
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .calls = 8};
    struct clab_problem problem = {.collective = CLAB_SENDRECV, .nranks = 2, .lanes = 1, .count = 100};
    net->inter.segments[0].o_both = net->inter.segments[0].gap_both = 0;
    net->inter.segments[0].gap_acks = 1;
    // Each wire carries 205 of messages and 100 of acknowledgements a call, which is more than the 265 from call to call.
    assert_true(seconds_of("shift", problem, net, options) == 305);
    // One way only, they have the wire back for themselves.
    problem.collective = CLAB_BROADCAST;
    assert_true(seconds_of("flat", problem, net, options) == 205);
    clab_net_free(net);
}

static void test_sim_what_comes_early_waits_in_its_socket(void **state)
{
    struct clab_net *net = sockets(0);
    // Binomial gather of 4 x 10 B: 1 and 3 hand over at 10, there at 65 and fetched by 85; 2 sends 20 B from 85 on,
    // which are there at 170. All that time what 1 sent lay with 0.
    const struct clab_problem problem = {.collective = CLAB_GATHER, .nranks = 4, .lanes = 1, .count = 10};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    assert_true(seconds_of("binomial", problem, net, options) == 10 + 25 + 30 + 20 + 10 + 45 + 30 + 20);
    clab_net_free(net);
}

static void test_sim_all_calls_together_take_the_first_and_what_each_adds(void **state)
{
    struct clab_net *net = sockets(0);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_BROADCAST, "flat");
    struct clab_sim_result r = run(&problem, algorithm, net, (struct clab_sim_options){.calls = 5});
    assert_true(r.whole == 265 + 4 * 205 && r.seconds == 205);
    r = run(&problem, algorithm, net, (struct clab_sim_options){.engine = CLAB_ENGINE_CLOSED, .calls = 5});
    assert_true(r.whole == 5 * r.seconds);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_a_socket_takes_the_message_and_the_wire_follows),
        cmocka_unit_test(test_sim_what_a_bucket_holds_goes_ahead_of_its_turn),
        cmocka_unit_test(test_sim_a_bucket_fills_between_calls),
        cmocka_unit_test(test_sim_small_messages_join_a_packet_that_waits),
        cmocka_unit_test(test_sim_a_core_is_busy_after_its_message_has_left),
        cmocka_unit_test(test_sim_containers_take_turns_at_the_cores_of_their_machine),
        cmocka_unit_test(test_sim_members_share_the_cores_of_their_machine),
        cmocka_unit_test(test_sim_cores_carry_bytes_beside_the_wire),
        cmocka_unit_test(test_sim_packets_that_wait_take_the_core),
        cmocka_unit_test(test_sim_a_port_waits_behind_a_message),
        cmocka_unit_test(test_sim_acknowledgements_share_the_wire_back),
        cmocka_unit_test(test_sim_what_comes_early_waits_in_its_socket),
        cmocka_unit_test(test_sim_all_calls_together_take_the_first_and_what_each_adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
