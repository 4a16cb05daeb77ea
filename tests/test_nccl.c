// SPDX-License-Identifier: MIT
// NCCL's own model against figures worked out by hand from its formulas, and what is read out of its log.

#include "capture.h"

#include <math.h>

#include "base/err.h"
#include "nccl.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct clab_nccl_machine machine_of(int nodes, int gpus, enum clab_nccl_cpu cpu, enum clab_nccl_arch arch)
{
    struct clab_nccl_machine m = {.arch = arch, .cpu = cpu, .nodes = nodes, .gpus = gpus};
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS; a++)
        m.graphs[a] = (struct clab_nccl_graph){8, 48, 48, true, true};
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
    (void)state;
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
    (void)state;
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
    (void)state;
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

static void test_time_is_corrected_and_the_first_least_is_chosen(void **state)
{
    (void)state;
    const struct clab_nccl_tables *tables = clab_nccl_tables_find("2.30.7");
    struct clab_nccl_machine m = machine_of(4, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    struct clab_nccl_costs costs = costs_of(&m, CLAB_ALLREDUCE);
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    // 1 MiB is 2^14 lines of 64 bytes: trees by LL128 have 0.6 of their bandwidth there.
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_TREE, CLAB_NCCL_LL128, 1 << 20),
                65.5 + 1048576 / (1e3 * 116 * .6));
    // The plateau of rings over nodes begins at 64 bytes a channel and rank: 8 * 32 * 64.
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 16383),
                282.8 + 16383 / (384e3 * 32 / 62));
    assert_near(clab_nccl_time(tables, &m, CLAB_ALLREDUCE, &costs, CLAB_NCCL_RING, CLAB_NCCL_SIMPLE, 16384),
                282.8 * 1.4 + 16384 / (384e3 * 32 / 62));
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
    (void)state;
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
    (void)state;
    struct clab_nccl_costs costs;
    struct clab_nccl_machine m = machine_of(1, 8, CLAB_NCCL_INTEL, CLAB_NCCL_HOPPER);
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(NULL), &m, CLAB_ALLTOALL, &costs), CLAB_EUNSUPPORTED);
    assert_int_equal(clab_nccl_model(clab_nccl_tables_find(NULL), &m, CLAB_BARRIER, &costs), CLAB_EUNSUPPORTED);
}

// ---- the log -------------------------------------------------------------------------------------------------

static const char graphs[] =
    "gpu01:123:456 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 16, bw 20.000000/19.500000, type NVL/PIX, "
    "sameChannels 1\n"
    "gpu01:123:456 [0] NCCL INFO  0 : NET/0-0 GPU/0-0 GPU/1-0 NET/0-0\n"
    "gpu01:123:456 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 8, bw 40.000000/40.000000, type PHB/PIX, "
    "sameChannels 0\n"
    "gpu01:999:999 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 1.0/1.0, type SYS/SYS, sameChannels 0\n";

static void test_graphs_are_read_from_a_log(void **state)
{
    (void)state;
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read(graphs, CLAB_ALLREDUCE, &log), CLAB_OK);
    assert_true(log.has_graphs && !log.has_costs);
    assert_true(log.has_graph[CLAB_NCCL_RING] && log.has_graph[CLAB_NCCL_TREE] && !log.has_graph[CLAB_NCCL_NVLS]);
    const struct clab_nccl_graph *ring = &log.graphs[CLAB_NCCL_RING], *tree = &log.graphs[CLAB_NCCL_TREE];
    assert_int_equal(ring->channels, 16); // the first rank's
    assert_near(ring->intra, 20);
    assert_near(ring->inter, 19.5);
    assert_true(ring->nvlink && ring->same_channels);
    assert_true(!tree->nvlink && !tree->same_channels);
}

static const char table[] =
    "h:1:2 [0] NCCL INFO   Algorithm   |                            Tree                  |"
    "                            Ring                  |                   CollNetDirect                  |\n"
    "h:1:2 [0] NCCL INFO   Protocol    |             LL |          LL128 |         Simple |             LL |"
    "          LL128 |         Simple |             LL |          LL128 |         Simple |\n"
    "h:1:2 [0] NCCL INFO  Max NThreads |            512 |            640 |            512 |            512 |"
    "            640 |            256 |              0 |              0 |            640 |\n"
    "h:1:2 [0] NCCL INFO     Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     7.2/  20.0 |"
    "    15.9/  80.0 |    11.8/ 100.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |\n"
    "h:1:2 [0] NCCL INFO     AllReduce |    15.2/  16.0 |    31.5/  57.6 |    64.4/  72.0 |    15.0/  12.0 |"
    "    40.6/  68.0 |    56.0/  80.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |\n"
    "h:1:2 [0] NCCL INFO   Algorithm   |                   CollNetChain                   |"
    "                            NVLS                  |                        NVLSTree                  |\n"
    "h:1:2 [0] NCCL INFO     AllReduce |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |"
    "     0.0/   0.0 |    25.0/ 120.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |\n";

static void test_the_tuning_table_is_read_from_a_log(void **state)
{
    (void)state;
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read(table, CLAB_ALLREDUCE, &log), CLAB_OK);
    assert_true(log.has_costs && !log.has_graphs);
    assert_near(log.costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL].latency, 15.2);
    assert_near(log.costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth, 80);
    assert_near(log.costs.of[CLAB_NCCL_NVLS][CLAB_NCCL_SIMPLE].latency, 25);
    assert_true(log.costs.of[CLAB_NCCL_COLLNET_CHAIN][CLAB_NCCL_SIMPLE].bandwidth == 0);
    assert_int_equal(clab_nccl_log_read(table, CLAB_BROADCAST, &log), CLAB_OK);
    assert_near(log.costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL128].latency, 15.9);
}

// Such a log does not say how many channels there are.
static void test_a_table_without_graphs_is_enough_to_choose(void **state)
{
    (void)state;
    struct clab_nccl_log log;
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    const struct clab_nccl_machine machine = {.nodes = 2, .gpus = 8};
    assert_int_equal(clab_nccl_log_read(table, CLAB_ALLREDUCE, &log), CLAB_OK);
    assert_int_equal(clab_nccl_choose(clab_nccl_tables_find(NULL), &machine, CLAB_ALLREDUCE, &log.costs, 1 << 30,
                                      &algorithm, &protocol),
                     CLAB_OK);
    assert_int_equal(algorithm, CLAB_NCCL_NVLS);
}

static void test_a_broken_log_is_named_by_its_line(void **state)
{
    (void)state;
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read("nothing of NCCL's\n", CLAB_ALLREDUCE, &log), CLAB_ENOENT);
    assert_int_equal(clab_nccl_log_read("\nPattern 4, crossNic 0, nChannels many\n", CLAB_ALLREDUCE, &log),
                     CLAB_EPARSE); // logged
    assert_int_equal(
        clab_nccl_log_read("Algorithm | Tree | Ring | PAT |\nAllReduce | 1.0/2.0 | x |\n", CLAB_ALLREDUCE, &log),
        CLAB_EPARSE); // logged
    assert_int_equal(clab_nccl_log_read("Algorithm | Tree |\nAllReduce | 1/nan | 1/2 | 1/2 |\n", CLAB_ALLREDUCE, &log),
                     CLAB_EPARSE); // logged
    assert_int_equal(clab_nccl_log_read("Pattern 4, crossNic 0, nChannels 1, bw -1/1, type NVL/PIX, sameChannels 1\n",
                                        CLAB_ALLREDUCE, &log),
                     CLAB_EPARSE); // logged
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allreduce_latencies_are_those_worked_out_by_hand),
        cmocka_unit_test(test_cpu_and_network_are_in_the_latency),
        cmocka_unit_test(test_bandwidths_are_those_worked_out_by_hand),
        cmocka_unit_test(test_time_is_corrected_and_the_first_least_is_chosen),
        cmocka_unit_test(test_versions_differ_where_nccl_changed),
        cmocka_unit_test(test_collectives_without_a_model_are_refused),
        cmocka_unit_test(test_graphs_are_read_from_a_log),
        cmocka_unit_test(test_the_tuning_table_is_read_from_a_log),
        cmocka_unit_test(test_a_table_without_graphs_is_enough_to_choose),
        cmocka_unit_test(test_a_broken_log_is_named_by_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
