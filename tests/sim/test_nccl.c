// SPDX-License-Identifier: MIT
// NCCL's own model against figures worked out by hand from its formulas.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/nccl/nccl.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct clab_nccl_machine machine_of(int nodes, int gpus, enum clab_nccl_cpu cpu, enum clab_nccl_arch arch)
{
    struct clab_nccl_machine m = {.arch = arch, .cpu = cpu, .nodes = nodes, .gpus = gpus};
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        m.graphs[a] = (struct clab_nccl_graph){.channels = 8,
                                               .intra = 48,
                                               .inter = 48,
                                               .within = CLAB_NCCL_NVL,
                                               .between = CLAB_NCCL_PIX,
                                               .same_channels = true};
    return m;
}

static struct clab_nccl_costs costs_of(const struct clab_nccl_machine *machine, enum clab_collective collective)
{
    struct clab_nccl_costs costs;
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(NULL), machine, collective, &costs), CLAB_OK);
    return costs;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g, not %.12g", value, expected);
}

// Nodes of Hoppers with NVLink, InfiniBand of no latency of its own between them, Intel.
//   ring: base + (2(P - 1) - 2(N - 1)) max(intra, post) + 2(N - 1) inter
//   tree: base + 2 ((gpus - 1) intra + log2(N) inter)
static void test_allreduce_latencies_are_those_worked_out_by_hand(void **state)
{
    // clang-format off
    static const struct {
        int nodes, gpus;
        double ring[CLAB_NCCL_PROTOCOLS], tree[CLAB_NCCL_PROTOCOLS]; // us
    } rows[] = {
        {2, 1, {16.6, 31.0, 36.4}, {16.8, 31.0, 36.4}},       {2, 2, {16.0, 29.6, 50.0}, {18.0, 33.5, 44.4}},
        {2, 4, {24.0, 44.8, 77.2}, {20.4, 38.5, 60.4}},       {2, 8, {40.0, 75.2, 131.6}, {25.2, 48.5, 92.4}},
        {4, 1, {36.6, 65.0, 92.4}, {26.8, 48.0, 64.4}},       {4, 2, {30.8, 53.2, 119.6}, {28.0, 50.5, 72.4}},
        {4, 4, {46.8, 83.6, 174.0}, {30.4, 55.5, 88.4}},      {4, 8, {78.8, 144.4, 282.8}, {35.2, 65.5, 120.4}},
        {8, 1, {76.6, 133.0, 204.4}, {36.8, 65.0, 92.4}},     {8, 2, {60.4, 100.4, 258.8}, {38.0, 67.5, 100.4}},
        {8, 4, {92.4, 161.2, 367.6}, {40.4, 72.5, 116.4}},    {8, 8, {156.4, 282.8, 585.2}, {45.2, 82.5, 148.4}},
        {16, 1, {156.6, 269.0, 428.4}, {46.8, 82.0, 120.4}},  {16, 2, {119.6, 194.8, 537.2}, {48.0, 84.5, 128.4}},
        {16, 4, {183.6, 316.4, 754.8}, {50.4, 89.5, 144.4}},  {16, 8, {311.6, 559.6, 1190.0}, {55.2, 99.5, 176.4}},
        {32, 1, {316.6, 541.0, 876.4}, {56.8, 99.0, 148.4}},  {32, 2, {238.0, 383.6, 1094.0}, {58.0, 101.5, 156.4}},
        {32, 4, {366.0, 626.8, 1529.2}, {60.4, 106.5, 172.4}}, {32, 8, {622.0, 1113.2, 2399.6}, {65.2, 116.5, 204.4}},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct clab_nccl_machine m = machine_of(rows[i].nodes, rows[i].gpus, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
        struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++) {
            assert_near(costs.of[CLAB_NCCL_RING][p].latency, rows[i].ring[p]);
            assert_near(costs.of[CLAB_NCCL_TREE][p].latency, rows[i].tree[p]);
        }
    }
}

// An AMD node posts twice as slowly, and the network's own latency counts once, for Simple twice.
static void test_cpu_and_network_are_in_the_latency(void **state)
{
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_AMD, CLAB_NCCL_HOPPER);
    m.net_latency = 5;
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL].latency, 6.6 + 56 * 2 + 6 * (2.7 + 5));
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].latency, 8.4 + 56 * 6 + 6 * (14 + 10));
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_SIMPLE].latency, 8.4 + 2 * (7 * 4.0 + 2 * (14 + 10)));
    costs = costs_of(&m, CLAB_ALLGATHER);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL128].latency, 14.0 + 28 * 2 + 3 * (4 + 5));
    costs = costs_of(&m, CLAB_BROADCAST);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].latency, 8.4 + 14);
}

// 4 nodes of 8: the bus is 8 * 48 = 384 GB/s, 62 steps, 32 ranks.
static void test_bandwidths_are_those_worked_out_by_hand(void **state)
{
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL].bandwidth, 20.4 * 32 / 62);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL128].bandwidth, 8 * 36.7 * 32 / 62);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth, 384.0 * 32 / 62);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL].bandwidth, 20.4 / 2);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL128].bandwidth, 8 * 29.0 / 2);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_SIMPLE].bandwidth, 8 * 36.0 / 2);
    assert_true(costs.of[CLAB_NCCL_PAT][CLAB_NCCL_SIMPLE].bandwidth == 0);
    assert_true(costs.of[CLAB_NCCL_NVLS_TREE][CLAB_NCCL_SIMPLE].bandwidth == 0);
    m.nvls = true;
    costs = costs_of(&m, CLAB_ALLREDUCE); // two nodes' worth is not doubled at four
    assert_near(costs.of[CLAB_NCCL_NVLS_TREE][CLAB_NCCL_SIMPLE].bandwidth, 8 * 45.5 * 32 / 62);
    assert_near(costs.of[CLAB_NCCL_NVLS_TREE][CLAB_NCCL_SIMPLE].latency, 25 + 4 * 20.9);
    assert_true(costs.of[CLAB_NCCL_NVLS][CLAB_NCCL_SIMPLE].bandwidth == 0); // over nodes it needs CollNet
}

// One Hopper per node, NCCL 2.27.5, Intel: tree, allreduce. With one GPU per node the search takes the simple tree,
// whose bandwidth NCCL lowers at the end.
//   bus    = min(0.92 * channels * bw, channels * most)        bw: intra for two nodes, inter for more
//   LL     = min(bus / 3.8, most_ll)                            most_ll: 39.0 for two nodes, 20.4 for more
//   LL128  = min(bus * 120/128, channels * most_ll128)          most_ll128: 36.7, 29.0
//   Simple = bus                                                most: 41.4, 36.0
//   bandwidth of the buffer = 0.85 (the simple tree) * 0.5 (a reduction, then a broadcast) * that
static void test_the_tree_of_one_gpu_per_node_is_worked_out_by_hand(void **state)
{
    static const struct {
        int nodes, channels;
        double bw;                              // GB/s per channel
        double ll, ll128, simple, half_and_085; // GB/s: of the bus, as above; then what becomes of Simple
    } rows[] = {
        // An adapter of 48 GB/s as two channels of 24 GB/s.
        //   bus: 0.92 * 2 * 24 = 44.16, below 2 * 41.4 = 82.8 and 2 * 36.0 = 72.0
        //   LL: 44.16 / 3.8 = 11.621, below 39.0 and 20.4. LL128: 44.16 * 0.9375 = 41.4, below 73.4 and 58.0
        //   Simple: 44.16 * 0.85 = 37.536; half of it: 18.768
        {2, 2, 24, 44.16 / 3.8, 41.4, 44.16, 18.768},
        {4, 2, 24, 44.16 / 3.8, 41.4, 44.16, 18.768},
        {8, 2, 24, 44.16 / 3.8, 41.4, 44.16, 18.768},
        {16, 2, 24, 44.16 / 3.8, 41.4, 44.16, 18.768},
        {32, 2, 24, 44.16 / 3.8, 41.4, 44.16, 18.768},
        // Adapters of 384 GB/s as eight channels of 48 GB/s, which meets every cap.
        //   bus: 0.92 * 8 * 48 = 353.28; two nodes at most 8 * 41.4 = 331.2, more nodes 8 * 36.0 = 288
        //   LL: 331.2 / 3.8 = 87.2 and 288 / 3.8 = 75.8 are above 39.0 and 20.4
        //   LL128: 331.2 * 0.9375 = 310.5 is above 8 * 36.7 = 293.6; 288 * 0.9375 = 270 is above 8 * 29.0 = 232
        //   Simple: 331.2 * 0.425 = 140.76; 288 * 0.425 = 122.4
        {2, 8, 48, 39.0, 293.6, 331.2, 140.76},
        {3, 8, 48, 20.4, 232.0, 288.0, 122.4},
        {32, 8, 48, 20.4, 232.0, 288.0, 122.4},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct clab_nccl_machine m = machine_of(rows[i].nodes, 1, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
        struct clab_nccl_costs costs;
        for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
            m.graphs[a].channels = rows[i].channels;
            m.graphs[a].intra = m.graphs[a].inter = rows[i].bw;
        }
        assert_int_equal(clab_nccl_model(clab_nccl_tables_find("2.27.5"), &m, CLAB_ALLREDUCE, &costs), CLAB_OK);
        const struct clab_nccl_cost *tree = costs.of[CLAB_NCCL_TREE];
        assert_near(tree[CLAB_NCCL_LL].bandwidth, rows[i].ll * .85 / 2);
        assert_near(tree[CLAB_NCCL_LL128].bandwidth, rows[i].ll128 * .85 / 2);
        assert_near(tree[CLAB_NCCL_SIMPLE].bandwidth, rows[i].simple * .85 / 2);
        assert_near(tree[CLAB_NCCL_SIMPLE].bandwidth, rows[i].half_and_085);
    }
}

// Several GPUs per node, whose search fell back to the simple tree: 288 of four nodes above, times 0.85.
static void test_a_simple_tree_is_slower_however_many_gpus(void **state)
{
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    m.graphs[CLAB_NCCL_TREE].simple_tree = true;
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_SIMPLE].bandwidth, 288 * .85 / 2);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL].bandwidth, 20.4 * .85 / 2);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth, 384.0 * 32 / 62);
}

// Rings and trees have the smaller number of channels of both: 8 * 36.0 GB/s for the tree, 8 * 48 for the ring.
static void test_rings_and_trees_have_the_same_channels(void **state)
{
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    m.graphs[CLAB_NCCL_RING].channels = 16;
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth, 384.0 * 32 / 62);
    m.graphs[CLAB_NCCL_TREE].channels = 32;
    m.graphs[CLAB_NCCL_RING].channels = 8;
    costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_SIMPLE].bandwidth, 8 * 36.0 / 2);
}

// Channels that NCCL makes of those that its search found.
static void test_channels_of_the_communicator_are_more_than_the_searchs(void **state)
{
    static const struct {
        enum clab_nccl_arch arch;
        int nodes, gpus, found;
        double intra; // GB/s
        bool collnet;
        int made;
    } rows[] = {
        {CLAB_NCCL_AMPERE, 4, 8, 4, 48, false, 8},   // twice
        {CLAB_NCCL_HOPPER, 1, 8, 4, 48, false, 8},   // twice in one node
        {CLAB_NCCL_HOPPER, 4, 8, 4, 48, false, 16},  // four times: above 45 GB/s and 8 < 16
        {CLAB_NCCL_HOPPER, 4, 8, 4, 45, false, 8},   // not above 45 GB/s
        {CLAB_NCCL_HOPPER, 4, 8, 8, 48, false, 16},  // 16 are enough
        {CLAB_NCCL_HOPPER, 4, 8, 40, 48, false, 64}, // at most 64
        {CLAB_NCCL_HOPPER, 4, 8, 8, 96, true, 24},   // CollNet: half as many again, where a node is faster within
        {CLAB_NCCL_HOPPER, 4, 1, 8, 96, true, 16},   // but not with one GPU per node
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct clab_nccl_machine m = machine_of(rows[i].nodes, rows[i].gpus, CLAB_NCCL_INTEL, rows[i].arch);
        m.collnet = rows[i].collnet;
        for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
            m.graphs[a].channels = rows[i].found;
            m.graphs[a].intra = rows[i].intra;
        }
        assert_int_equal(clab_nccl_channels(&m), rows[i].made);
        m.channels = 10; // as the log says
        assert_int_equal(clab_nccl_channels(&m), 10);
    }
}

// LL128: over PXN on Hopper, up to PXB before it; NVLink, also in two hops, within the node.
static void test_ll128_needs_near_adapters_and_nvlink(void **state)
{
    static const struct {
        enum clab_nccl_arch arch;
        int nodes;
        enum clab_nccl_path within, between;
        bool offered;
    } rows[] = {
        {CLAB_NCCL_HOPPER, 2, CLAB_NCCL_NVL, CLAB_NCCL_PXN, true},
        {CLAB_NCCL_HOPPER, 2, CLAB_NCCL_NVL, CLAB_NCCL_PHB, false},
        {CLAB_NCCL_AMPERE, 2, CLAB_NCCL_NVL, CLAB_NCCL_PXB, true},
        {CLAB_NCCL_AMPERE, 2, CLAB_NCCL_NVL, CLAB_NCCL_PXN, false},
        {CLAB_NCCL_AMPERE, 2, CLAB_NCCL_NVB, CLAB_NCCL_PIX, true},
        {CLAB_NCCL_HOPPER, 2, CLAB_NCCL_C2C, CLAB_NCCL_PIX, false},
        {CLAB_NCCL_AMPERE, 1, CLAB_NCCL_NVL, CLAB_NCCL_SYS, true}, // no network is crossed
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct clab_nccl_machine m = machine_of(rows[i].nodes, 8, CLAB_NCCL_INTEL, rows[i].arch);
        for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++) {
            m.graphs[a].within = rows[i].within;
            m.graphs[a].between = rows[i].between;
        }
        struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
        assert_int_equal(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL128].bandwidth > 0, rows[i].offered);
        assert_int_equal(costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL128].bandwidth > 0, rows[i].offered);
        assert_true(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL].bandwidth > 0);
    }
}

// NVLink in two hops is as slow as PCI for the ring: 14 steps of 1.0 us, not of 0.6.
static void test_only_direct_nvlink_has_its_latency(void **state)
{
    struct clab_nccl_machine m = machine_of(1, 8, CLAB_NCCL_INTEL, CLAB_NCCL_AMPERE);
    m.graphs[CLAB_NCCL_RING].within = CLAB_NCCL_NVB;
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    assert_near(costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL].latency, 6.6 + 14 * 1.0);
}

static bool offers(const struct clab_nccl_machine *m, const char *version, enum clab_collective collective,
                   enum clab_nccl_algorithm algorithm)
{
    struct clab_nccl_costs costs;
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(version), m, collective, &costs), CLAB_OK);
    return costs.of[algorithm][CLAB_NCCL_SIMPLE].bandwidth > 0;
}

static void test_switches_and_adapters_serve_so_many_gpus(void **state)
{
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    m.collnet = true;
    assert_false(offers(&m, "2.30.7", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_DIRECT)); // there is no NVSwitch
    assert_true(offers(&m, "2.30.7", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_CHAIN));
    m.nvswitch = true;
    assert_true(offers(&m, "2.30.7", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_DIRECT));
    m.gpus = 16;
    assert_false(offers(&m, "2.30.7", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_DIRECT));
    assert_false(offers(&m, "2.28.9", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_CHAIN));
    assert_true(offers(&m, "2.27.5", CLAB_ALLREDUCE, CLAB_NCCL_COLLNET_CHAIN)); // the limit came with 2.28
    m = machine_of(1, 36, CLAB_NCCL_OTHER_CPU, CLAB_NCCL_BLACKWELL);
    m.nvls = m.nvswitch = true;
    assert_true(offers(&m, "2.30.7", CLAB_ALLREDUCE, CLAB_NCCL_NVLS));
    assert_false(offers(&m, "2.30.7", CLAB_ALLGATHER, CLAB_NCCL_NVLS));
    m.gpus = 32;
    assert_true(offers(&m, "2.30.7", CLAB_REDUCE_SCATTER, CLAB_NCCL_NVLS));
}

static void test_time_is_corrected_and_the_first_least_is_chosen(void **state)
{
    const struct clab_nccl_tables *tables = clab_nccl_tables_find("2.30.7");
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    // 1 MiB is 2^14 lines of 64 bytes: trees by LL128 have 0.6 of their bandwidth there.
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_TREE, CLAB_NCCL_LL128, 1 << 20),
                65.5 + 1048576 / (1e3 * 116 * .6));
    // The plateau of rings over nodes begins at 64 bytes per channel and rank. The search found 8 channels, NCCL makes
    // 16 of them: 16 * 32 * 64 = 32768.
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 32767),
                282.8 + 32767 / (384e3 * 32 / 62));
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 32768),
                282.8 * 1.4 + 32768 / (384e3 * 32 / 62));
    assert_int_equal(clab_nccl_choose(tables, &m, CLAB_ALLREDUCE, &costs, 1 << 20, &algorithm, &protocol), CLAB_OK);
    assert_int_equal(algorithm, CLAB_NCCL_TREE);
    assert_int_equal(protocol, CLAB_NCCL_LL128);
    assert_int_equal(clab_nccl_choose(tables, &m, CLAB_ALLREDUCE, &costs, 1 << 30, &algorithm, &protocol), CLAB_OK);
    assert_int_equal(algorithm, CLAB_NCCL_RING);
    assert_int_equal(protocol, CLAB_NCCL_SIMPLE);
    costs = (struct clab_nccl_costs){0};
    assert_int_equal(clab_nccl_choose(tables, &m, CLAB_ALLREDUCE, &costs, 8, &algorithm, &protocol), CLAB_ENOENT);
}

static void test_versions_differ_where_nccl_changed(void **state)
{
    struct clab_nccl_costs old, new;
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    m.nvls = true;
    assert_null(clab_nccl_tables_find("1.0"));
    clab_nccl_model(clab_nccl_tables_find("2.27.5"), &m, CLAB_ALLREDUCE, &old);
    clab_nccl_model(clab_nccl_tables_find("2.30.7"), &m, CLAB_ALLREDUCE, &new);
    assert_near(old.of[CLAB_NCCL_NVLS_TREE][CLAB_NCCL_SIMPLE].latency, 25 + 4 * 14.0);
    assert_near(old.of[CLAB_NCCL_NVLS_TREE][CLAB_NCCL_SIMPLE].bandwidth, 8 * 24.0 * 5 / 6);
    assert_near(new.of[CLAB_NCCL_RING][CLAB_NCCL_LL].latency, old.of[CLAB_NCCL_RING][CLAB_NCCL_LL].latency);
}

static void test_collectives_without_a_model_are_refused(void **state)
{
    struct clab_nccl_costs costs;
    struct clab_nccl_machine m = machine_of(1, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(NULL), &m, CLAB_ALLTOALL, &costs), CLAB_EUNSUPPORTED);
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(NULL), &m, CLAB_BARRIER, &costs), CLAB_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allreduce_latencies_are_those_worked_out_by_hand),
        cmocka_unit_test(test_cpu_and_network_are_in_the_latency),
        cmocka_unit_test(test_bandwidths_are_those_worked_out_by_hand),
        cmocka_unit_test(test_the_tree_of_one_gpu_per_node_is_worked_out_by_hand),
        cmocka_unit_test(test_a_simple_tree_is_slower_however_many_gpus),
        cmocka_unit_test(test_rings_and_trees_have_the_same_channels),
        cmocka_unit_test(test_channels_of_the_communicator_are_more_than_the_searchs),
        cmocka_unit_test(test_ll128_needs_near_adapters_and_nvlink),
        cmocka_unit_test(test_only_direct_nvlink_has_its_latency),
        cmocka_unit_test(test_switches_and_adapters_serve_so_many_gpus),
        cmocka_unit_test(test_time_is_corrected_and_the_first_least_is_chosen),
        cmocka_unit_test(test_versions_differ_where_nccl_changed),
        cmocka_unit_test(test_collectives_without_a_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
