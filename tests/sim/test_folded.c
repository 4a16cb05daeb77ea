// SPDX-License-Identifier: MIT
// Folding: that algorithms are as symmetric as they say, and the folded engine's answer is the full one's to the bit.
// Takes long. One rank a node, at every number of ranks: test_folded_ring.c.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/fixtures/needs.h"
#include "core/base/err.h"
#include "sim/net/net.h"
#include "tests/fixtures/segments.h"
#include "sim/sim.h"

enum { RANKS_OF_ALL = IS_SLOW ? 24 : 64, RANKS_AT_MOST = 1024 };

// ---- networks ------------------------------------------------------------------------------------------------

// Nodes of `ranks` ranks. kind 0: alpha and beta; 1: protocols; 2: protocols, and in the node the core does it all; 3:
// sockets between nodes, by token buckets.
static struct clab_net make_net(int ranks, int kind)
{
    struct clab_net net = {.name = "test", .ranks_per_node = ranks, .gamma = 0.9e-9};
    net.intra =
        (struct clab_link){.name = "intra", .present = true, .alpha = 3.4e-6, .beta = 1 / 450e9, .nsegments = 1};
    net.inter = (struct clab_link){.name = "inter", .present = true, .alpha = 14e-6, .beta = 1 / 48e9, .nsegments = 1};
    net.intra.segments[0] = clab_segment_hockney(net.intra.alpha, net.intra.beta);
    net.inter.segments[0] = clab_segment_hockney(net.inter.alpha, net.inter.beta);
    if (kind > 0) {
        net.stage = 0.05e-6;
        net.call = 0.33e-6;
        net.inter.segments[0] = eager;
        net.inter.segments[1] = rendezvous;
        net.inter.nsegments = 2;
    }
    if (kind == 3) {
        net.inter.burst = 11e-6;
        net.inter.segments[0] = socket_segment;
        net.inter.nsegments = 1;
    }
    if (kind > 1) {
        net.intra.port = CLAB_PORT_CORE;
        net.intra.segments[0] = eager;
        net.intra.segments[1] = rendezvous;
        net.intra.nsegments = 2;
    }
    return net;
}

static const int node_sizes[] = {1, 2, 3, 4, 8, 2048};
enum { NODE_SIZES = sizeof node_sizes / sizeof *node_sizes, KINDS = 4 };

static struct clab_problem problem_of(const struct clab_algorithm *algorithm, int nranks, int group, size_t chunk)
{
    struct clab_problem p = {.collective = algorithm->collective, .nranks = nranks, .lanes = 1, .group = group};
    p.count = p.collective == CLAB_BARRIER ? 0 : chunk * (size_t)algorithm->chunks(&p);
    return p;
}

// ---- the symmetry itself -------------------------------------------------------------------------------------

static void assert_renamed(const struct clab_algorithm *a, const struct clab_problem *p, int period, int rank)
{
    struct clab_step mine[1100], theirs[1100];
    int first = a->representative(p, period, rank, rank), n;
    for (int stage = 0;; stage++) {
        n = a->stage(p, rank, 0, stage, mine);
        assert_int_equal(a->stage(p, first, 0, stage, theirs), n);
        for (int i = 0; i < n; i++) {
            assert_int_equal(mine[i].op, theirs[i].op);
            assert_int_equal(mine[i].src.count, theirs[i].src.count);
            assert_int_equal(mine[i].dst.count, theirs[i].dst.count);
            if (mine[i].op == CLAB_COPY)
                continue;
            assert_int_equal(a->representative(p, period, rank, mine[i].peer), theirs[i].peer);
            assert_int_equal(mine[i].peer / period == rank / period, theirs[i].peer / period == first / period);
        }
        if (n == CLAB_DONE)
            return;
    }
}

// Every stage of a rank is, renamed, that of its representative. Representatives come first; ranks of a node stay
// together.
static void test_folded_representatives_have_the_same_stages(void **state)
{
    int folded = 0;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= RANKS_OF_ALL && (*a)->representative; nranks++)
            for (int i = 0; i < NODE_SIZES; i++) {
                int period = node_sizes[i] < nranks ? node_sizes[i] : 1, orbits = 0;
                struct clab_problem p = problem_of(*a, nranks, period > 1 ? period : 0, 4);
                while (orbits < nranks && (*a)->representative(&p, period, orbits, orbits) == orbits)
                    orbits++;
                folded += orbits < nranks;
                for (int rank = 0; rank < nranks; rank++) {
                    assert_in_range((*a)->representative(&p, period, rank, rank), 0, orbits - 1);
                    assert_renamed(*a, &p, period, rank);
                }
            }
    assert_true(folded > 10 * RANKS_OF_ALL);
}

static void assert_same_steps(const struct clab_step *x, const struct clab_step *y, int n)
{
    int receives = 0;
    for (int i = 0; i < n; i++) {
        assert_int_equal(x[i].op, y[i].op);
        assert_int_equal(x[i].peer, y[i].peer);
        assert_int_equal(x[i].src.count, y[i].src.count);
        assert_int_equal(x[i].dst.count, y[i].dst.count);
        receives += x[i].op == CLAB_RECV || x[i].op == CLAB_RECV_REDUCE;
    }
    assert_in_range(receives, 0, 1);
}

static void test_folded_stages_that_are_alike_differ_in_chunks_only(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int nranks = 1; nranks <= RANKS_OF_ALL && (*a)->same_until; nranks++)
            for (int rank = 0; rank < nranks; rank++) {
                struct clab_problem p = problem_of(*a, nranks, 0, 4);
                struct clab_step before[4], now[4];
                int n = (*a)->stage(&p, rank, 0, 0, before);
                for (int stage = 0, end = 0; n != CLAB_DONE; stage++) {
                    if (stage == end)
                        end = (*a)->same_until(&p, stage);
                    assert_true(end > stage);
                    int next = (*a)->stage(&p, rank, 0, stage + 1, now);
                    if (stage + 1 < end) {
                        assert_int_equal(next, n);
                        assert_same_steps(before, now, n);
                    }
                    memcpy(before, now, sizeof before);
                    n = next;
                }
            }
}

// ---- folded and full -----------------------------------------------------------------------------------------

static struct clab_sim_result run(const struct clab_problem *p, const struct clab_algorithm *a,
                                  const struct clab_net *net, enum clab_sim_engine engine, int calls)
{
    struct clab_sim_result result;
    const struct clab_sim_options options = {.engine = engine, .element_bytes = 4, .calls = calls};
    assert_int_equal(clab_sim_run(p, a, net, &options, &result), CLAB_OK);
    return result;
}

// To the bit. Whether it was folded.
static bool assert_equal(const struct clab_problem *p, const struct clab_algorithm *a, const struct clab_net *net,
                         int calls)
{
    struct clab_sim_result folded = run(p, a, net, CLAB_ENGINE_FOLDED, calls);
    if (folded.engine != CLAB_ENGINE_FOLDED)
        return false;
    struct clab_sim_result full = run(p, a, net, CLAB_ENGINE_FULL, calls);
    if (folded.seconds != full.seconds || folded.latency != full.latency || folded.bandwidth != full.bandwidth ||
        folded.reduce != full.reduce || folded.wait != full.wait)
        fail_msg("%s %s, %d ranks in nodes of %d, %zu elements: folded %a (%a %a %a %a), full %a (%a %a %a %a)",
                 clab_collective_name(p->collective), a->name, p->nranks, net->ranks_per_node, p->count, folded.seconds,
                 folded.latency, folded.bandwidth, folded.reduce, folded.wait, full.seconds, full.latency,
                 full.bandwidth, full.reduce, full.wait);
    assert_true(folded.ranks < p->nranks && full.ranks == p->nranks);
    return true;
}

// Every number to 32, and some that fill nodes of 8 or do not; all of them are for who sets CLAB_TEST_LONG.
static int next_number(int nranks)
{
    if (nranks < 32 || getenv("CLAB_TEST_LONG"))
        return nranks + 1;
    return nranks == 56 ? 63 : nranks == 63 ? 64 : nranks + 8;
}

static void test_folded_equals_full_for_every_algorithm(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        int folded = 0;
        for (int nranks = 2; nranks <= RANKS_OF_ALL && (*a)->representative; nranks = next_number(nranks))
            for (int i = 0; i < NODE_SIZES * KINDS * 2; i++) {
                struct clab_net net = make_net(node_sizes[i % NODE_SIZES], i / NODE_SIZES % KINDS);
                bool is_large = i >= NODE_SIZES * KINDS;
                struct clab_problem p = problem_of(*a, nranks, net.ranks_per_node, is_large ? 1000 : 3);
                folded += assert_equal(&p, *a, &net, 1);
                folded += assert_equal(&p, *a, &net, 3);
            }
        assert_true(!(*a)->representative || folded > RANKS_OF_ALL);
    }
}

// At every number of ranks that fills its nodes, or, from `sparse` on, at every 31st; others are not folded.
static void assert_ring_equal(int ranks_per_node, size_t chunk, int sparse)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_net net = make_net(ranks_per_node, 0);
    for (int nranks = 2; nranks <= RANKS_AT_MOST; nranks++) {
        struct clab_problem p = problem_of(ring, nranks, 0, chunk);
        bool whole = nranks % ranks_per_node == 0 || nranks < ranks_per_node;
        if (whole && (nranks < sparse || nranks % 31 == 0))
            assert_true(assert_equal(&p, ring, &net, 1));
        else if (!whole && nranks < 100)
            assert_int_equal(run(&p, ring, &net, CLAB_ENGINE_AUTO, 1).engine, CLAB_ENGINE_FULL);
    }
}

// Chunks so large that what a slow rank loses is made good over many stages.
static void test_folded_ring_equals_full_at_every_size_in_nodes(void **state)
{
    assert_ring_equal(8, 1000, IS_SLOW ? 200 : RANKS_AT_MOST + 1);
    assert_ring_equal(12, 2, 200);
}

static void test_folded_equals_full_at_large_sizes(void **state)
{
    static const int sizes[] = {127, 128, 250, 256, 500, 512, 1000, 1023, 1024};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && (*a)->representative; i++)
            for (int ranks = 1; ranks <= 8; ranks *= 8) {
                struct clab_net net = make_net(ranks, ranks > 1 ? 1 : 0);
                struct clab_problem p = problem_of(*a, sizes[i], ranks > 1 ? ranks : 0, 100);
                if (strcmp((*a)->name, "bruck") || sizes[i] < 300) // whose stages have a step a rank
                    assert_equal(&p, *a, &net, 1);
            }
}

static void test_folded_falls_back_where_ranks_differ(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_net net = make_net(4, 0);
    struct clab_problem p = problem_of(ring, 16, 0, 10);
    assert_int_equal(run(&p, ring, &net, CLAB_ENGINE_AUTO, 1).engine, CLAB_ENGINE_FOLDED);
    p.count++;
    struct clab_sim_result r = run(&p, ring, &net, CLAB_ENGINE_FOLDED, 1);
    assert_int_equal(r.engine, CLAB_ENGINE_FULL);
    assert_string_equal(r.why, "its chunks are not equal");
    p.count--;
    p.lanes = 2;
    assert_string_equal(run(&p, ring, &net, CLAB_ENGINE_AUTO, 1).why, "lanes take turns");
    p = problem_of(ring, 15, 0, 10);
    assert_string_equal(run(&p, ring, &net, CLAB_ENGINE_AUTO, 1).why, "so many ranks are not alike on this network");
    net.nlevels = 1;
    net.levels[0].bytes = 1;
    p = problem_of(ring, 16, 0, 10);
    assert_string_equal(run(&p, ring, &net, CLAB_ENGINE_AUTO, 1).why, "caches tell ranks apart");
    const struct clab_algorithm *tree = clab_algorithm_find(CLAB_ALLREDUCE, "tree");
    assert_string_equal(run(&p, tree, &net, CLAB_ENGINE_AUTO, 1).why, "its ranks are not known to be alike");
}

static void test_folded_a_million_ranks_are_few(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_net net = make_net(8, 0);
    struct clab_problem p = problem_of(ring, 1 << 20, 0, 256);
    struct clab_sim_result r = run(&p, ring, &net, CLAB_ENGINE_AUTO, 1);
    assert_int_equal(r.engine, CLAB_ENGINE_FOLDED);
    assert_int_equal(r.ranks, 8);
    assert_true(r.messages < 100000 && r.peak_bytes < 1 << 16);
    // The slowest rank of a node hears from another one: a message's time and the sum's, then the message's alone.
    double message = 14e-6 + 1024 / 48e9, sum = 1024 * 0.9e-9, stages = (1 << 20) - 1;
    assert_true(r.seconds > stages * (2 * message + sum) && r.seconds < 1.0001 * stages * (2 * message + sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_representatives_have_the_same_stages),
        cmocka_unit_test(test_folded_stages_that_are_alike_differ_in_chunks_only),
        cmocka_unit_test(test_folded_equals_full_for_every_algorithm),
        cmocka_unit_test(test_folded_ring_equals_full_at_every_size_in_nodes),
        cmocka_unit_test(test_folded_equals_full_at_large_sizes),
        cmocka_unit_test(test_folded_falls_back_where_ranks_differ),
        cmocka_unit_test(test_folded_a_million_ranks_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
