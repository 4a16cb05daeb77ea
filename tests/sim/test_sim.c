// SPDX-License-Identifier: MIT
// The engines: hand-computed times, the dataflow against the closed form for every algorithm, deadlock, determinism.

#include "tests/fixtures/sim_run.h"

#include "sim/engine/in_network.h"

// ---- alpha, beta, gamma --------------------------------------------------------------------------------------

static void test_sim_ring_is_as_on_paper(void **state)
{
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
    struct clab_net *net = flat(10, 1, 0);
    // Rank 0 receives 3 messages of 100 B, one after another (330), then sends 3, one after another.
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = 4, .lanes = 1, .count = 100};
    assert_true(seconds_of("star", problem, net, (struct clab_sim_options){.engine = CLAB_ENGINE_FULL}) == 660);
    clab_net_free(net);
}

static void test_sim_lanes_of_a_chain_form_a_pipeline(void **state)
{
    struct clab_net *net = flat(10, 1, 0);
    struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 4, .lanes = 1, .count = 120};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL};
    assert_true(seconds_of("chain", problem, net, options) == 3 * (10 + 120)); // P - 1 hops
    problem.lanes = 3;
    assert_true(seconds_of("chain", problem, net, options) == 5 * (10 + 40)); // P - 2 + L hops of a third
    clab_net_free(net);
}

// The cost, which the verifier holds, and the clocks are found in two ways that have only the stages in common.
static void test_sim_dataflow_equals_the_closed_form(void **state)
{
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

// ---- odd schedules -------------------------------------------------------------------------------------------

static bool always(const struct clab_problem *p)
{
    return p->nranks == 3;
}
static int one(const struct clab_problem *p)
{
    return 1;
}
static int none(const struct clab_problem *p)
{
    return 0;
}
static int four(const struct clab_problem *p)
{
    return 4;
}
static struct clab_cost no_cost(const struct clab_problem *p)
{
    return (struct clab_cost){.rounds = 1};
}

static const struct clab_span whole = {CLAB_DATA, 0, 1};

static struct clab_step step(enum clab_step_op op, int peer)
{
    return (struct clab_step){.op = op, .peer = peer, .src = whole, .dst = whole};
}

// Rank 2 waits for rank 1, which has nothing to say.
static int mute(const struct clab_problem *p, int rank, int lane, int stage, struct clab_step out[])
{
    if (rank != 2 || stage > 0)
        return CLAB_DONE;
    out[0] = step(CLAB_RECV, 1);
    return 1;
}

// Rank 0 receives from 1 and 2 in one stage; 2 sends only once 1, whose message is pulled, has told it to.
static int circle(const struct clab_problem *p, int rank, int lane, int stage, struct clab_step out[])
{
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
                                   .cost = no_cost};
}

static void test_sim_finds_a_deadlock(void **state)
{
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
    struct clab_net *net = two_cores();
    const struct clab_algorithm algorithm = odd(circle);
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = 3, .lanes = 1, .count = 500};
    struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .in_place = true};
    // 1 to 0: by 560, heard at 590. 1 to 2: posted 600, there 630, by 1150. 2 to 0: posted 1160, there 1190, by 1710.
    assert_true(run(&problem, &algorithm, net, options).seconds == 1710 + 30);
    clab_net_free(net);
}

// ---- the engine itself ---------------------------------------------------------------------------------------

static void test_sim_answers_the_same_each_time(void **state)
{
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

// What a core touches is known of any number of ranks: more of them do not make caches larger.
static void test_sim_caches_do_not_grow_with_ranks(void **state)
{
    struct clab_net *net = two_cores();
    net->core_cache = 1 << 20;
    net->nlevels = 2;
    net->levels[1] = net->levels[0];
    net->levels[0].bytes = 1 << 16;
    net->levels[1].bytes = 1 << 26;
    for (int load = 0; load < CLAB_LOADS; load++)
        net->levels[1].reduce[CLAB_KEPT][load] = net->levels[1].pull[CLAB_KEPT][load] = net->levels[1].add[load] = 50;
    for (size_t bytes = 1 << 16; bytes <= 1 << 26; bytes <<= 1)
        for (int nranks = 14; nranks < 20; nranks++) {
            struct clab_problem few = {.collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = 1, .count = bytes};
            struct clab_problem more = few;
            more.nranks++;
            assert_true(seconds_of("ring", more, net, (struct clab_sim_options){0}) >
                        0.95 * seconds_of("ring", few, net, (struct clab_sim_options){0}));
        }
    clab_net_free(net);
}

static void test_sim_refuses_what_can_not_be(void **state)
{
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
    problem.nranks = 1 << 19; // x 64 lanes is more than the run queue holds
    problem.lanes = 64;
    assert_int_equal(clab_sim_run(&problem, ring, net, &options, &result), CLAB_EINVAL);
    problem.nranks = 4;
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
        cmocka_unit_test(test_sim_finds_a_deadlock),
        cmocka_unit_test(test_sim_receives_of_a_stage_do_not_wait_for_each_other),
        cmocka_unit_test(test_sim_answers_the_same_each_time),
        cmocka_unit_test(test_sim_counts_every_message),
        cmocka_unit_test(test_sim_falls_back_to_the_closed_form_where_it_knows_all),
        cmocka_unit_test(test_sim_switches_reduce_in_two_passes),
        cmocka_unit_test(test_sim_caches_do_not_grow_with_ranks),
        cmocka_unit_test(test_sim_refuses_what_can_not_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
