// SPDX-License-Identifier: MIT
// The engines: hand-computed times, the dataflow against the closed form for every algorithm, deadlock, determinism.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "in_network.h"
#include "net.h"
#include "sim.h"

static struct clab_net *flat(double alpha, double beta, double gamma)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(alpha, beta, gamma, &net), CLAB_OK);
    return net;
}

static struct clab_sim_result run(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                                  const struct clab_net *net, struct clab_sim_options options)
{
    struct clab_sim_result result;
    if (options.element_bytes == 0)
        options.element_bytes = 1;
    assert_int_equal(clab_sim_run(problem, algorithm, net, &options, &result), CLAB_OK);
    double sum = result.latency + result.bandwidth + result.reduce + result.wait;
    assert_true(fabs(sum - result.seconds) <= 1e-12 * result.seconds);
    return result;
}

static double seconds_of(const char *name, struct clab_problem problem, const struct clab_net *net,
                         struct clab_sim_options options)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(problem.collective, name);
    assert_non_null(algorithm);
    return run(&problem, algorithm, net, options).seconds;
}

// ---- alpha, beta, gamma --------------------------------------------------------------------------------------

static void test_sim_ring_is_as_on_paper(void **state)
{
    (void)state;
    struct clab_net *net = flat(1000, 1, 0.5);
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 4, .lanes = 1, .count = 400};
    for (enum clab_sim_engine engine = CLAB_ENGINE_CLOSED; engine <= CLAB_ENGINE_FULL; engine++) {
        struct clab_sim_result r = run(&problem, ring, net, (struct clab_sim_options){.engine = engine});
        // 2 (P - 1) = 6 messages of 100 B one after the other; P - 1 = 3 of them are added.
        assert_true(r.latency == 6 * 1000);
        assert_true(r.bandwidth == 6 * 100 * 1);
        assert_true(r.reduce == 3 * 100 * 0.5);
        assert_true(r.wait == 0);
        assert_true(r.seconds == 6750);
    }
    clab_net_free(net);
}

static void test_sim_one_way_in_serialises_a_star(void **state)
{
    (void)state;
    struct clab_net *net = flat(10, 1, 0);
    // Rank 0 receives 3 messages of 100 B, one after another (330), then sends 3, one after another.
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 4, .lanes = 1, .count = 100};
    assert_true(seconds_of("star", problem, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL}) == 660);
    clab_net_free(net);
}

static void test_sim_lanes_of_a_chain_form_a_pipeline(void **state)
{
    (void)state;
    struct clab_net *net = flat(10, 1, 0);
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 4, .lanes = 1, .count = 120};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    assert_true(seconds_of("chain", problem, net, options) == 3 * (10 + 120)); // P - 1 hops
    problem.lanes = 3;
    assert_true(seconds_of("chain", problem, net, options) == 5 * (10 + 40)); // P - 2 + L hops of a third
    clab_net_free(net);
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

// The claim, which the verifier holds, and the clocks are found in two ways that have only the stages in common.
static void test_sim_dataflow_equals_the_closed_form(void **state)
{
    (void)state;
    static const double costs[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= 33; nranks++)
            for (int i = 0; i < 3; i++) {
                struct clab_net *net = flat(costs[i][0], costs[i][1], costs[i][2]);
                struct clab_problem problem = {.collective = (*a)->collective, .nranks = nranks, .root = 0, .lanes = 1};
                if (!(*a)->supports(&problem)) {
                    clab_net_free(net);
                    continue;
                }
                problem.root =
                    (*a)->collective != CLAB_BARRIER && clab_collective_rooted((*a)->collective) ? nranks / 2 : 0;
                problem.count = (*a)->collective == CLAB_BARRIER ? 0 : 64 * (size_t)(*a)->chunks(&problem);
                double full = run(&problem, *a, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL}).seconds;
                double closed = run(&problem, *a, net, (struct clab_sim_options){.engine = CLAB_ENGINE_CLOSED}).seconds;
                if (!is_close(full, closed))
                    fail_msg("%s %s, %d ranks, cost %d: dataflow %g, closed form %g",
                             clab_collective_name((*a)->collective), (*a)->name, nranks, i, full, closed);
                clab_net_free(net);
            }
}

// ---- protocols and a shared core -----------------------------------------------------------------------------

// Two ranks on one node whose cores move all bytes: small messages are buffered, large ones are pulled.
static struct clab_net *two_cores(void)
{
    struct clab_net *net = flat(0, 0, 0);
    net->nodes = 1;
    net->ranks_per_node = 1024;
    net->intra = (struct clab_link){.name = "intra", .present = true, .port = CLAB_PORT_CORE, .nsegments = 3};
    net->intra.segments[0] = (struct clab_segment){
        .name = "inline", .up_to = 48, .o_send = 10, .o_recv = 20, .latency = 30, .fragment = SIZE_MAX};
    net->intra.segments[1] = (struct clab_segment){.name = "slots",
                                                   .up_to = 400,
                                                   .o_send = 10,
                                                   .o_recv = 20,
                                                   .latency = 30,
                                                   .gap_send = 2,
                                                   .gap_recv = 3,
                                                   .fragment = 100};
    net->intra.segments[2] = (struct clab_segment){.name = "pull",
                                                   .up_to = SIZE_MAX,
                                                   .o_send = 10,
                                                   .o_recv = 20,
                                                   .latency = 30,
                                                   .fragment = SIZE_MAX,
                                                   .waits = true,
                                                   .memory = true};
    net->nlevels = 1;
    net->levels[0] = (struct clab_level){
        .bytes = 1, .copy = {4, 5}, .pull = {{1, 2}, {3, 6}}, .reduce = {{7, 8}, {9, 10}}, .add = {4, 5}};
    return net;
}

static void test_sim_prices_each_protocol(void **state)
{
    (void)state;
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

static void test_sim_charges_both_directions_of_an_exchange(void **state)
{
    (void)state;
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

static void test_sim_fresh_data_costs_more_by_its_message(void **state)
{
    (void)state;
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .footprint = 1};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    // Rank 0 pulls kept data and adds it by 40 + 20 + 7 * 500 = 3560; its sum is there at 3600; by 3600 + 20 + 3 * 500
    // = 5120.
    assert_true(seconds_of("star", problem, net, options) == 5120 + 30);
    // The answer is priced by level 2 * 500 (read and written), whatever the footprint; it costs no less than kept
    // data.
    net->nlevels = 2;
    net->levels[1] = net->levels[0];
    net->levels[1].bytes = 1000;
    net->levels[1].pull[CLAB_FRESH][CLAB_ALONE] = 11;
    assert_true(seconds_of("star", problem, net, options) == 3620 + 11 * 500 + 30);
    net->levels[1].pull[CLAB_FRESH][CLAB_ALONE] = 0.5;
    assert_true(seconds_of("star", problem, net, options) == 3620 + 1 * 500 + 30);
    clab_net_free(net);
}

static void test_sim_in_place_what_was_written_stays_fresh(void **state)
{
    (void)state;
    struct clab_net *net = two_cores();
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true, .calls = 8};
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 500};
    // From the second call on both pull what the other wrote in the call before: 10 a byte, where kept data takes 8.
    // Since it is sent meanwhile, the sum lands beside, and is copied home: 5 a byte.
    assert_true(seconds_of("doubling", problem, net, options) == 40 + 20 + 10 * 500 + 30 + 5 * 500);
    options.in_place = false;
    assert_true(seconds_of("doubling", problem, net, options) == 40 + 20 + 8 * 500 + 30);
    clab_net_free(net);
}

static void test_sim_calls_overlap_where_no_one_waits(void **state)
{
    (void)state;
    struct clab_net *net = two_cores();
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 40};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true, .calls = 8};
    // The root runs ahead; the other needs 20 a message.
    assert_true(seconds_of("flat", problem, net, options) == 20);
    // A round trip hides nothing: 60 there, adding 40 B in place at 4 - 1 more than a pull, 60 back.
    problem.collective = CLAB_ALLREDUCE;
    assert_true(seconds_of("star", problem, net, options) == 240);
    net->call = 5; // on either core: rank 0 begins its next call while rank 1 has not yet ended this one
    assert_true(seconds_of("star", problem, net, options) == 245);
    clab_net_free(net);
}

static void test_sim_two_levels_of_links(void **state)
{
    (void)state;
    struct clab_net *net = flat(100, 1, 0);
    net->ranks_per_node = 2;
    net->intra = (struct clab_link){.name = "intra", .present = true, .nsegments = 1};
    net->intra.segments[0] = clab_segment_hockney(10, 0.5);
    // Binomial from 0: first to 2 (another node, 110), then 0 to 1 and 2 to 3 (same node, 15).
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 4, .lanes = 1, .count = 10};
    assert_true(seconds_of("binomial", problem, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL}) == 125);
    clab_net_free(net);
}

// ---- sockets -------------------------------------------------------------------------------------------------

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
    (void)state;
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
    (void)state;
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
    // After others have used the network, so does the first, but for what came in while it was handed over.
    options.calls = 1;
    options.busy = true;
    problem.count = 100;
    assert_true(seconds_of("flat", problem, net, options) == 265 - 10);
    clab_net_free(net);
}

static void test_sim_what_comes_early_waits_in_its_socket(void **state)
{
    (void)state;
    struct clab_net *net = sockets(0);
    // Binomial gather of 4 x 10 B: 1 and 3 hand over at 10, there at 65 and fetched by 85; 2 sends 20 B from 85 on, which
    // are there at 170. All that time what 1 sent lay with 0.
    const struct clab_problem problem = {.collective = CLAB_GATHER, .nranks = 4, .lanes = 1, .count = 10};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    assert_true(seconds_of("binomial", problem, net, options) == 10 + 25 + 30 + 20 + 10 + 45 + 30 + 20);
    clab_net_free(net);
}

static void test_sim_all_calls_together_take_the_first_and_what_each_adds(void **state)
{
    (void)state;
    struct clab_net *net = sockets(0);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 2, .lanes = 1, .count = 100};
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_BROADCAST, "flat");
    struct clab_sim_result r = run(&problem, algorithm, net, (struct clab_sim_options){.calls = 5});
    assert_true(r.whole == 265 + 4 * 205 && r.seconds == 205);
    r = run(&problem, algorithm, net, (struct clab_sim_options){.engine = CLAB_ENGINE_CLOSED, .calls = 5});
    assert_true(r.whole == 5 * r.seconds);
    clab_net_free(net);
}

// ---- odd schedules -------------------------------------------------------------------------------------------

static bool always(const struct clab_problem *p)
{
    return p->nranks == 3;
}
static int one(const struct clab_problem *p)
{
    (void)p;
    return 1;
}
static int none(const struct clab_problem *p)
{
    (void)p;
    return 0;
}
static int four(const struct clab_problem *p)
{
    (void)p;
    return 4;
}
static struct clab_claim no_claim(const struct clab_problem *p)
{
    (void)p;
    return (struct clab_claim){.rounds = 1};
}

static const struct clab_span whole = {CLAB_DATA, 0, 1};

static struct clab_step step(enum clab_step_op op, int peer)
{
    return (struct clab_step){.op = op, .peer = peer, .src = whole, .dst = whole};
}

// Rank 2 waits for rank 1, which has nothing to say.
static int mute(const struct clab_problem *p, int rank, int lane, int stage, struct clab_step out[])
{
    (void)p, (void)lane;
    if (rank != 2 || stage > 0)
        return CLAB_DONE;
    out[0] = step(CLAB_RECV, 1);
    return 1;
}

// Rank 0 receives from 1 and 2 in one stage; 2 sends only once 1, whose message is pulled, has told it to.
static int circle(const struct clab_problem *p, int rank, int lane, int stage, struct clab_step out[])
{
    (void)p, (void)lane;
    if (rank == 0 && stage == 0) {
        out[0] = step(CLAB_RECV, 2);
        out[1] = step(CLAB_RECV, 1);
        return 2;
    }
    if (rank == 1 && stage < 2) {
        out[0] = step(CLAB_SEND, stage == 0 ? 0 : 2);
        return 1;
    }
    if (rank == 2 && stage < 2) {
        out[0] = stage == 0 ? step(CLAB_RECV, 1) : step(CLAB_SEND, 0);
        return 1;
    }
    return CLAB_DONE;
}

static struct clab_algorithm odd(int (*stage)(const struct clab_problem *, int, int, int, struct clab_step[]))
{
    return (struct clab_algorithm){.name = "odd",
                                   .title = "odd",
                                   .source = "this test",
                                   .collective = CLAB_BROADCAST,
                                   .default_lanes = 1,
                                   .supports = always,
                                   .chunks = one,
                                   .scratch = none,
                                   .width = four,
                                   .stage = stage,
                                   .claim = no_claim};
}

static void test_sim_finds_a_deadlock(void **state)
{
    (void)state;
    struct clab_net *net = flat(1, 1, 0);
    const struct clab_algorithm algorithm = odd(mute);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 3, .lanes = 1, .count = 8};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 1};
    struct clab_sim_result result = {.seconds = -1};
    assert_int_equal(clab_sim_run(&problem, &algorithm, net, &options, &result), CLAB_EDEADLOCK);
    assert_true(result.seconds == -1); // written only on success
    clab_net_free(net);
}

static void test_sim_receives_of_a_stage_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct clab_net *net = two_cores();
    const struct clab_algorithm algorithm = odd(circle);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 3, .lanes = 1, .count = 500};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    // 1 to 0: by 560, heard at 590. 1 to 2: posted 600, there 630, by 1150. 2 to 0, fresh: posted 1160, there 1190, by
    // 2710.
    assert_true(run(&problem, &algorithm, net, options).seconds == 2710 + 30);
    clab_net_free(net);
}

// ---- the engine itself ---------------------------------------------------------------------------------------

static void test_sim_answers_the_same_each_time(void **state)
{
    (void)state;
    struct clab_net *net = two_cores();
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        struct clab_problem problem = {.collective = (*a)->collective, .nranks = 12, .lanes = 3, .count = 1001};
        struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .calls = 3};
        if (problem.collective == CLAB_BARRIER)
            problem.count = 0;
        if (!(*a)->supports(&problem))
            continue;
        struct clab_sim_result first = run(&problem, *a, net, options), second = run(&problem, *a, net, options);
        assert_true(first.seconds > 0 && first.seconds == second.seconds);
        assert_true(first.wait == second.wait && first.messages == second.messages);
    }
    clab_net_free(net);
}

static void test_sim_counts_every_message(void **state)
{
    (void)state;
    struct clab_net *net = flat(1e-6, 1e-9, 0);
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 1024, .lanes = 1, .count = 262144};
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_sim_result r =
        run(&problem, ring, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL, .element_bytes = 4});
    assert_int_equal(r.engine, CLAB_ENGINE_FULL);
    assert_int_equal(r.messages, 1024 * 2 * 1023);
    assert_true(r.peak_bytes < 1 << 20);
    clab_net_free(net);
}

// Chunks are not equal, and there are 2e12 messages. The formula knows a flat network, and takes the largest chunk.
static void test_sim_falls_back_to_the_closed_form_where_it_knows_all(void **state)
{
    (void)state;
    struct clab_net *net = flat(1e-6, 1e-9, 0);
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = 1 << 20, .lanes = 1, .count = (1 << 20) - 1};
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_sim_result r = run(&problem, ring, net, (struct clab_sim_options){.element_bytes = 4});
    assert_int_equal(r.engine, CLAB_ENGINE_CLOSED);
    assert_true(is_close(r.seconds, 2 * ((1 << 20) - 1) * (1e-6 + 4e-9)));
    net->call = 1e-6;
    const struct clab_sim_options options = {.element_bytes = 4};
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &r), CLAB_EINVAL);
    clab_net_free(net);
}

// Two levels of switches of 4 for 16 ranks: up and down, 4 hops; the wire is slower than the switches.
static void test_sim_switches_reduce_in_two_passes(void **state)
{
    (void)state;
    struct clab_net *net = flat(10, 2, 100);
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 16, .lanes = 1, .count = 50};
    struct clab_sim_result r;
    assert_int_equal(clab_sim_in_network(&problem, net, 4, &r), CLAB_EUNSUPPORTED); // they can not
    net->reducer = (struct clab_reducer){.radix = 4, .hop = 3, .beta = 1};
    assert_int_equal(clab_sim_in_network(&problem, net, 4, &r), CLAB_OK);
    assert_true(r.seconds == 10 + 4 * 3 + 200 * 2 && r.reduce == 0);
    problem.nranks = 17;
    net->reducer.beta = 5;
    assert_int_equal(clab_sim_in_network(&problem, net, 4, &r), CLAB_OK);
    assert_true(r.seconds == 10 + 6 * 3 + 200 * 5);
    problem.collective = CLAB_REDUCE;
    assert_int_equal(clab_sim_in_network(&problem, net, 4, &r), CLAB_OK);
    assert_true(r.seconds == 10 + 3 * 3 + 200 * 5);
    problem.collective = CLAB_ALLTOALL;
    assert_int_equal(clab_sim_in_network(&problem, net, 4, &r), CLAB_EUNSUPPORTED);
    clab_net_free(net);
}

static void test_sim_refuses_what_can_not_be(void **state)
{
    (void)state;
    struct clab_net *net = flat(1, 1, 1);
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 0, .lanes = 1, .count = 8};
    struct clab_sim_options options = {.element_bytes = 4};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_EINVAL);
    problem.nranks = 4;
    options.element_bytes = 0;
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_EINVAL);
    options.element_bytes = 4;
    problem.lanes = 1000;
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_EINVAL);
    problem.lanes = 1;
    net->nodes = 3;
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_EINVAL);
    clab_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_ring_is_as_on_paper),
        cmocka_unit_test(test_sim_one_way_in_serialises_a_star),
        cmocka_unit_test(test_sim_lanes_of_a_chain_form_a_pipeline),
        cmocka_unit_test(test_sim_dataflow_equals_the_closed_form),
        cmocka_unit_test(test_sim_prices_each_protocol),
        cmocka_unit_test(test_sim_charges_both_directions_of_an_exchange),
        cmocka_unit_test(test_sim_fresh_data_costs_more_by_its_message),
        cmocka_unit_test(test_sim_in_place_what_was_written_stays_fresh),
        cmocka_unit_test(test_sim_calls_overlap_where_no_one_waits),
        cmocka_unit_test(test_sim_two_levels_of_links),
        cmocka_unit_test(test_sim_a_socket_takes_the_message_and_the_wire_follows),
        cmocka_unit_test(test_sim_what_a_bucket_holds_goes_ahead_of_its_turn),
        cmocka_unit_test(test_sim_what_comes_early_waits_in_its_socket),
        cmocka_unit_test(test_sim_all_calls_together_take_the_first_and_what_each_adds),
        cmocka_unit_test(test_sim_finds_a_deadlock),
        cmocka_unit_test(test_sim_receives_of_a_stage_do_not_wait_for_each_other),
        cmocka_unit_test(test_sim_answers_the_same_each_time),
        cmocka_unit_test(test_sim_counts_every_message),
        cmocka_unit_test(test_sim_falls_back_to_the_closed_form_where_it_knows_all),
        cmocka_unit_test(test_sim_switches_reduce_in_two_passes),
        cmocka_unit_test(test_sim_refuses_what_can_not_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
