// SPDX-License-Identifier: MIT
// What is read out of NCCL's log, of all its versions.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "sim/nccl/nccl.h"

static struct clab_nccl_log log_of(const char *text, enum clab_collective collective)
{
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read(text, "nccl.log", collective, &log), CLAB_OK);
    return log;
}

static void assert_refused(const char *text)
{
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read(text, "nccl.log", CLAB_ALLREDUCE, &log), CLAB_EPARSE); // logged
}

static const char graphs[] =
    "gpu01:123:456 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 16, bw 20.000000/19.500000, type NVL/PIX, "
    "sameChannels 1\n"
    "gpu01:123:456 [0] NCCL INFO  0 : NET/0-0 GPU/0-0 GPU/1-0 NET/0-0\n"
    "gpu01:123:456 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 8, bw 40.000000/40.000000, type PHB/PIX, "
    "sameChannels 0\n"
    "gpu01:999:999 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 1.0/1.0, type SYS/SYS, sameChannels 0\n";

static void test_graphs_are_read_from_a_log(void **state)
{
    struct clab_nccl_log log = log_of(graphs, CLAB_ALLREDUCE);
    assert_true(log.has_graphs && !log.has_costs);
    assert_true(log.has_graph[CLAB_NCCL_RING] && log.has_graph[CLAB_NCCL_TREE] && !log.has_graph[CLAB_NCCL_NVLS]);
    const struct clab_nccl_graph *ring = &log.graphs[CLAB_NCCL_RING], *tree = &log.graphs[CLAB_NCCL_TREE];
    assert_int_equal(ring->channels, 16); // the first rank's
    assert_true(ring->intra == 20);
    assert_true(ring->inter == 19.5);
    assert_true(ring->within == CLAB_NCCL_NVL && ring->between == CLAB_NCCL_PIX && ring->same_channels);
    assert_true(tree->within == CLAB_NCCL_PHB && !tree->simple_tree && !tree->same_channels);
}

// The tree pattern, the paths' types, the switch and the communicator's own channels.
static void test_a_log_tells_the_tree_and_the_channels(void **state)
{
    static const char text[] =
        "h:1:2 [0] NCCL INFO + NVL[370.8] - NVS/0-0\n"
        "h:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 24.0/24.0, type LOC/PXN, sameChannels 1\n"
        "h:1:2 [0] NCCL INFO Pattern 3, crossNic 0, nChannels 2, bw 24.0/24.0, type C2C/P2C, sameChannels 1\n"
        "h:1:2 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per "
        "peer\n";
    struct clab_nccl_log log = log_of(text, CLAB_ALLREDUCE);
    assert_int_equal(log.channels, 8);
    assert_true(log.nvswitch && log.graphs[CLAB_NCCL_TREE].simple_tree && !log.graphs[CLAB_NCCL_RING].simple_tree);
    assert_int_equal(log.graphs[CLAB_NCCL_RING].within, CLAB_NCCL_LOC);
    assert_int_equal(log.graphs[CLAB_NCCL_RING].between, CLAB_NCCL_PXN);
    assert_int_equal(log.graphs[CLAB_NCCL_TREE].within, CLAB_NCCL_C2C);
    assert_int_equal(log.graphs[CLAB_NCCL_TREE].between, CLAB_NCCL_P2C);
    log = log_of(graphs, CLAB_ALLREDUCE);
    assert_true(log.channels == 0 && !log.nvswitch);
    assert_refused("Pattern 4, crossNic 0, nChannels 1, bw 1/1, type NVL/FAR, sameChannels 1\n");
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
    struct clab_nccl_log log = log_of(table, CLAB_ALLREDUCE);
    assert_true(log.has_costs && !log.has_graphs);
    assert_true(log.costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL].latency == 15.2);
    assert_true(log.costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth == 80);
    assert_true(log.costs.of[CLAB_NCCL_NVLS][CLAB_NCCL_SIMPLE].latency == 25);
    assert_true(log.costs.of[CLAB_NCCL_COLLNET_CHAIN][CLAB_NCCL_SIMPLE].bandwidth == 0);
    log = log_of(table, CLAB_BROADCAST);
    assert_true(log.costs.of[CLAB_NCCL_RING][CLAB_NCCL_LL128].latency == 15.9);
}

// Such a log does not say how many channels there are.
static void test_a_table_without_graphs_is_enough_to_choose(void **state)
{
    struct clab_nccl_log log;
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    const struct clab_nccl_machine machine = {.nodes = 2, .gpus = 8};
    log = log_of(table, CLAB_ALLREDUCE);
    assert_int_equal(clab_nccl_choose(clab_nccl_tables_find(NULL), &machine, CLAB_ALLREDUCE, &log.costs, 1 << 30,
                                      &algorithm, &protocol),
                     CLAB_OK);
    assert_int_equal(algorithm, CLAB_NCCL_NVLS);
}

// The same graphs, as NCCL 2.5 and 2.6 to 2.12 print them.
static void test_graphs_of_old_versions_are_read(void **state)
{
    struct clab_nccl_log log =
        log_of("h:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, speed 21/12, nvlink 1, type 2, sameChannels 1\n"
               "h:1:2 [0] NCCL INFO Pattern 3, crossNic 0, nChannels 1, speed 9/9, nvlink 0, type 3, sameChannels 0\n",
               CLAB_ALLREDUCE);
    const struct clab_nccl_graph *ring = &log.graphs[CLAB_NCCL_RING], *tree = &log.graphs[CLAB_NCCL_TREE];
    assert_true(ring->channels == 2 && ring->intra == 21 && ring->inter == 12 && ring->same_channels);
    assert_true(ring->within == CLAB_NCCL_NVL && ring->between == CLAB_NCCL_PHB);
    assert_true(tree->within == CLAB_NCCL_SYS && tree->simple_tree && !tree->same_channels);
    log = log_of("h:1:2 [0] NCCL INFO CPU/1 (1/2/-1)\n"
                 "Pattern 4, crossNic 0, nChannels 2, speed 24.000000/12.500000, type NVB/PXB, sameChannels 1\n",
                 CLAB_ALLREDUCE);
    assert_true(ring->intra == 24 && ring->inter == 12.5 && ring->within == CLAB_NCCL_NVB &&
                ring->between == CLAB_NCCL_PXB);
    assert_true(log.has_cpu && log.cpu == CLAB_NCCL_AMD);
}

// Until 2.17 all algorithms are beside each other, and CollNet was one.
static void test_tables_of_old_versions_are_read(void **state)
{
    static const char old[] =
        "h:1:2 [0] NCCL INFO Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Tree/Simple |    Ring/    LL |    Ring/ LL128 |"
        "    Ring/Simple | CollNet/    LL | CollNet/ LL128 | CollNet/Simple |\n"
        "h:1:2 [0] NCCL INFO  Max NThreads |            512 |            640 |            512 |            512 |"
        "            640 |            256 |            512 |            640 |            512 |\n"
        "h:1:2 [0] NCCL INFO     AllReduce |    14.4/   1.5 |    21.4/   0.0 |    56.0/   5.0 |    10.8/   1.7 |"
        "    21.0/   0.0 |    35.4/   6.0 |    13.7/   0.0 |    17.2/   0.0 |    30.3/   7.0 |\n";
    struct clab_nccl_log log = log_of(old, CLAB_ALLREDUCE);
    assert_true(log.costs.of[CLAB_NCCL_TREE][CLAB_NCCL_LL].latency == 14.4);
    assert_true(log.costs.of[CLAB_NCCL_RING][CLAB_NCCL_SIMPLE].bandwidth == 6);
    assert_true(log.costs.of[CLAB_NCCL_COLLNET_DIRECT][CLAB_NCCL_SIMPLE].latency == 30.3);
    assert_true(log.costs.of[CLAB_NCCL_NVLS][CLAB_NCCL_SIMPLE].bandwidth == 0 &&
                !strcmp(log.costs.of[CLAB_NCCL_NVLS][CLAB_NCCL_SIMPLE].why, "not in NCCL's log"));
    assert_refused("Latency/AlgBw | Tree/ LL | Tree/ LL128\nAllReduce | 1/2\n");
}

// By numbers without the collective, by numbers with it, and by names, where a rank's part of an allgather is logged.
static void test_choices_of_all_versions_are_read(void **state)
{
    static const char text[] =
        "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0\n"
        "h:1:2 [0] NCCL INFO 8 Bytes -> Algo 0 proto 0 time 25.2\nh:1:2 [0] NCCL INFO 8 Bytes -> Algo 0 proto 0 time 25.2\n"
        "h:1:2 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo 5 proto 2 time 60.1\n"
        "h:1:2 [0] NCCL INFO AllGather: 1024 Bytes -> Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={0..7}\n"
        "h:1:2 [0] NCCL INFO AllGather: 1024 Bytes -> Algo 9 proto 2 time 1\nh:1:2 [0] NCCL INFO Bytes -> Algo RING proto LL\n";
    struct clab_nccl_log log = log_of(text, CLAB_ALLREDUCE);
    assert_int_equal(log.nchoices, 3);
    const struct clab_nccl_logged *c = log.choices;
    assert_true(c[0].collective == -1 && c[0].bytes == 8 && c[0].algorithm == CLAB_NCCL_TREE &&
                c[0].protocol == CLAB_NCCL_LL && c[0].calls == 2);
    assert_true(c[1].collective == CLAB_ALLREDUCE && c[1].bytes == 1 << 20 && c[1].algorithm == CLAB_NCCL_NVLS_TREE &&
                c[1].protocol == CLAB_NCCL_SIMPLE && c[1].calls == 1);
    assert_true(c[2].collective == CLAB_ALLGATHER && c[2].bytes == 4096 && c[2].algorithm == CLAB_NCCL_COLLNET_DIRECT);
}

static void test_a_broken_log_is_named_by_its_line(void **state)
{
    struct clab_nccl_log log;
    assert_int_equal(clab_nccl_log_read("nothing of NCCL's\n", "nccl.log", CLAB_ALLREDUCE, &log), CLAB_ENOENT);
    assert_refused("\nPattern 4, crossNic 0, nChannels many\n");
    assert_refused("Algorithm | Tree | Ring | PAT |\nAllReduce | 1.0/2.0 | x |\n");
    assert_refused("Algorithm | Tree |\nAllReduce | 1/nan | 1/2 | 1/2 |\n");
    assert_refused("Pattern 4, crossNic 0, nChannels 1, bw -1/1, type NVL/PIX, sameChannels 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs_are_read_from_a_log),
        cmocka_unit_test(test_a_log_tells_the_tree_and_the_channels),
        cmocka_unit_test(test_the_tuning_table_is_read_from_a_log),
        cmocka_unit_test(test_a_table_without_graphs_is_enough_to_choose),
        cmocka_unit_test(test_graphs_of_old_versions_are_read),
        cmocka_unit_test(test_tables_of_old_versions_are_read),
        cmocka_unit_test(test_choices_of_all_versions_are_read),
        cmocka_unit_test(test_a_broken_log_is_named_by_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
