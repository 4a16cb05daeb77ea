// SPDX-License-Identifier: MIT
// Ranks that exchange messages in a stage: the dataflow engine ends a pair together, rather than deliver each message
// by itself. The answer is that of the engines which do not, to the bit: in the order of time, and with a record.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "tests/fixtures/needs.h"
#include "sim/net/net.h"
#include "sim/engine/record.h"
#include "sim/sim.h"

// More than a core's own cache holds, where exchanges wait.
enum { MANY = 3000, MESSAGES_OF_ALL = IS_SLOW ? 50000 : 100000 };

// ---- fixtures ------------------------------------------------------------------------------------------------

// Nodes of eight, whose cores do all the work in the node if `by_core`.
static struct clab_net make_net(bool by_core)
{
    struct clab_net net = {.name = "test", .ranks_per_node = 8, .gamma = 0.9e-9, .stage = 0.05e-6, .call = 0.3e-6};
    net.intra = (struct clab_link){.name = "intra", .present = true, .alpha = 3e-6, .beta = 2e-9, .nsegments = 1};
    net.inter = (struct clab_link){.name = "inter", .present = true, .alpha = 14e-6, .beta = 21e-9, .nsegments = 1};
    net.intra.port = by_core ? CLAB_PORT_CORE : CLAB_PORT_DUPLEX;
    net.intra.segments[0] = clab_segment_hockney(net.intra.alpha, net.intra.beta);
    net.inter.segments[0] = (struct clab_segment){.name = "eager",
                                                  .up_to = SIZE_MAX,
                                                  .o_send = 0.3e-6,
                                                  .o_recv = 0.7e-6,
                                                  .o_both = 0.1e-6,
                                                  .latency = 1.1e-6,
                                                  .gap_send = 0.13e-9,
                                                  .gap_recv = 0.17e-9,
                                                  .gap_both = 0.05e-9,
                                                  .fragment = 256};
    return net;
}

static void assert_same(const char *what, int nranks, struct clab_sim_result a, struct clab_sim_result b)
{
    if (a.seconds != b.seconds || a.whole != b.whole || a.latency != b.latency || a.bandwidth != b.bandwidth ||
        a.reduce != b.reduce || a.wait != b.wait || a.messages != b.messages)
        fail_msg("%s, %d ranks: %a s, not %a s", what, nranks, a.seconds, b.seconds);
}

// ---- all algorithms ------------------------------------------------------------------------------------------

static void test_exchanges_of_many_ranks_equal_what_happens_in_order(void **state)
{
    static const int nranks[] = {MANY, 4096};
    struct clab_net net = make_net(false);
    int compared = 0;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int i = 0; i < 2; i++) {
            struct clab_problem p = {.collective = (*a)->collective, .nranks = nranks[i], .lanes = 1};
            p.count = p.collective == CLAB_BARRIER ? 0 : 3 * (size_t)nranks[i] + 5;
            if (!(*a)->supports(&p) || (*a)->cost(&p).messages_max > MESSAGES_OF_ALL / nranks[i] ||
                (*a)->width(&p) > 64) // and not those whose stages take long
                continue;
            struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 4};
            struct clab_sim_result full, events;
            assert_int_equal(clab_sim_run(&p, *a, &net, &options, &full), CLAB_OK);
            options.engine = CLAB_ENGINE_EVENTS;
            assert_int_equal(clab_sim_run(&p, *a, &net, &options, &events), CLAB_OK);
            assert_same((*a)->name, nranks[i], full, events);
            compared++;
        }
    assert_in_range(compared, 8, 1000);
}

// ---- pairs of which one does otherwise -----------------------------------------------------------------------

static bool any(const struct clab_problem *problem)
{
    return problem->nranks > 0;
}

static int one(const struct clab_problem *problem)
{
    return problem->nranks > 0;
}

static int none(const struct clab_problem *problem)
{
    return 0 * problem->nranks;
}

static int two(const struct clab_problem *problem)
{
    return 2 * (problem->nranks > 0);
}

static struct clab_step step_of(enum clab_step_op op, int peer)
{
    struct clab_span span = {CLAB_DATA, 0, 1};
    return op == CLAB_SEND ? (struct clab_step){.op = op, .peer = peer, .src = span}
                           : (struct clab_step){.op = op, .peer = peer, .dst = span};
}

// What a pair does in a round of three stages: E exchanges, S sends, R receives, - nothing.
static const char *const ways[][2] = {
    {"E--", "E--"}, {"E--", "SR-"}, {"E--", "RS-"}, {"SE-", "RE-"}, {"SE-", "ER-"},
    {"SER", "E-E"}, {"-E-", "S-R"}, {"EE-", "SRE"}, {"SSR", "RE-"}, {"RSE", "SRE"},
};
enum { STAGES = 3, WAYS = sizeof ways / sizeof *ways };

// In round k each rank exchanges with the one whose number differs in bit k, in one of the ways, drawn at random.
static int mixed(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])
{
    int round = stage / STAGES, peer = rank ^ 1 << round, low = rank < peer ? rank : peer;
    if (1 << round >= problem->nranks)
        return CLAB_DONE;
    if (lane > 0 || peer >= problem->nranks)
        return 0;
    unsigned dice = ((unsigned)low * 0x9E3779B1u + (unsigned)round * 0x85EBCA6Bu) >> 16;
    bool is_first = (rank == low) == (dice / WAYS % 2 == 0);
    switch (ways[dice % WAYS][is_first ? 0 : 1][stage % STAGES]) {
    case 'E':
        out[0] = step_of(CLAB_SEND, peer);
        out[1] = step_of(dice / 64 % 2 ? CLAB_RECV : CLAB_RECV_REDUCE, peer);
        return 2;
    case 'S': out[0] = step_of(CLAB_SEND, peer); return 1;
    case 'R': out[0] = step_of(CLAB_RECV_REDUCE, peer); return 1;
    default: return 0;
    }
}

static struct clab_cost cost_mixed(const struct clab_problem *problem)
{
    long rounds = 0;
    while (1 << rounds < problem->nranks)
        rounds++;
    return (struct clab_cost){.rounds = 3 * rounds,
                              .serial = 3 * rounds,
                              .reduced = 3 * rounds,
                              .messages_max = 2 * rounds,
                              .sent_max = 2 * rounds,
                              .reduced_max = 2 * rounds,
                              .sent_total = 2 * rounds * problem->nranks};
}

static const struct clab_algorithm mixed_algorithm = {
    .name = "mixed",
    .title = "pairs that do not do the same",
    .source = "this test",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = two,
    .stage = mixed,
    .cost = cost_mixed,
};

static void compare(int nranks, bool by_core, int calls, const double *delays)
{
    const struct clab_net net = make_net(by_core);
    const struct clab_problem p = {.collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = 1, .count = 1000};
    struct clab_sim_options options = {.element_bytes = 4, .calls = calls, .delays = delays};
    struct clab_record record = {0};
    struct clab_sim_result full, events, recorded;
    options.engine = CLAB_ENGINE_EVENTS;
    assert_int_equal(clab_sim_run(&p, &mixed_algorithm, &net, &options, &events), CLAB_OK);
    options.engine = CLAB_ENGINE_FULL;
    assert_int_equal(clab_sim_run(&p, &mixed_algorithm, &net, &options, &full), CLAB_OK);
    options.record = &record;
    assert_int_equal(clab_sim_run(&p, &mixed_algorithm, &net, &options, &recorded), CLAB_OK);
    clab_record_free(&record);
    assert_same("in order", nranks, full, events);
    assert_same("with a record", nranks, full, recorded);
}

static void test_exchanges_fail_where_one_does_otherwise_and_nothing_changes(void **state)
{
    static double delays[MANY];
    for (int rank = 0; rank < MANY; rank++)
        delays[rank] = 1e-6 * ((unsigned)rank * 0x9E3779B1u >> 24);
    for (int nranks = 1; nranks <= 40; nranks++)
        for (int calls = 1; calls <= 3; calls += 2)
            for (int i = 0; i < 4; i++)
                compare(nranks, i % 2, calls, i / 2 ? delays : NULL);
    compare(MANY, false, 1, NULL);
    compare(MANY - 500, true, 2, delays);
}

// ---- nobody comes --------------------------------------------------------------------------------------------

// Rank 0 exchanges with rank 1, which has nothing to do.
static int alone(const struct clab_problem *problem, int rank, int lane, int stage, struct clab_step out[])
{
    if (stage > 0)
        return CLAB_DONE;
    if (lane > 0 || rank > 0 || problem->nranks < 2)
        return 0;
    out[0] = step_of(CLAB_SEND, 1);
    out[1] = step_of(CLAB_RECV, 1);
    return 2;
}

static void test_exchanges_that_never_come_are_a_deadlock(void **state)
{
    struct clab_algorithm algorithm = mixed_algorithm;
    const struct clab_net net = make_net(false);
    const struct clab_problem p = {.collective = CLAB_ALLREDUCE, .nranks = 2, .lanes = 1, .count = 10};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 4};
    struct clab_sim_result result;
    struct clab_log_held held;
    algorithm.stage = alone;
    clab_log_hold(&held);
    assert_int_equal(clab_sim_run(&p, &algorithm, &net, &options, &result), CLAB_EDEADLOCK);
    clab_log_release(&held);
    assert_non_null(strstr(held.text, "rank 0, lane 0, stage 0 waits for a message of rank 1 that is never sent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchanges_of_many_ranks_equal_what_happens_in_order),
        cmocka_unit_test(test_exchanges_fail_where_one_does_otherwise_and_nothing_changes),
        cmocka_unit_test(test_exchanges_that_never_come_are_a_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
