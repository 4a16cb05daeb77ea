// SPDX-License-Identifier: MIT
// Collectives in virtual time: they take what the simulator says, to the clock's grid; members of any communicator are
// where they are; and bytes between hosts are counted.

#include "tests/fixtures/virtual_job.h"

#include "backends/model/clock.h"
#include "sim/sim.h"

// ---- the simulator's time ------------------------------------------------------------------------------------

static const struct {
    enum clab_collective collective;
    const char *algorithm;
    size_t count;
} cases[] = {
    {CLAB_ALLREDUCE, "ring", 1024},      {CLAB_ALLREDUCE, "ring", 1000},     {CLAB_ALLREDUCE, "doubling", 5},
    {CLAB_ALLREDUCE, "double_tree", 77}, {CLAB_BROADCAST, "binomial", 4096}, {CLAB_REDUCE, "binomial", 64},
    {CLAB_ALLTOALL, "pairwise", 100},    {CLAB_ALLGATHER, "bruck", 9},       {CLAB_ALLREDUCE, "ring", 1024},
};
enum { NCASES = sizeof cases / sizeof *cases };

static int call(struct clab_comm *comm, int i, const float *in, float *out)
{
    const size_t n = cases[i].count;
    CLAB_TRY(clab_comm_set_algorithm(comm, cases[i].collective, cases[i].algorithm, 0));
    switch (cases[i].collective) {
    case CLAB_ALLREDUCE: return clab_allreduce(comm, in, out, n, CLAB_F32, CLAB_SUM);
    case CLAB_BROADCAST: return clab_broadcast(comm, in, out, n, CLAB_F32, 0);
    case CLAB_REDUCE: return clab_reduce(comm, in, out, n, CLAB_F32, CLAB_SUM, 0);
    case CLAB_ALLGATHER: return clab_allgather(comm, in, out, n, CLAB_F32);
    default: return clab_alltoall(comm, in, out, n, CLAB_F32);
    }
}

static int call_all(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    static float in[RANKS * 4096], out[RANKS * 4096];
    CLAB_TRY(clab_compute(job, CLAB_FP32, 1e6 * (rank % 3), 0)); // not all come at the same time
    for (int i = 0; i < NCASES; i++) {
        seen->start[i][rank] = clab_seconds();
        CLAB_TRY(call(comm, i, in, out));
        seen->end[i][rank] = clab_seconds();
    }
    return CLAB_OK;
}

static void assert_as_simulated(const struct clab_net *net, int i, int nranks, const int *members)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(cases[i].collective, cases[i].algorithm);
    const struct clab_problem problem = {.collective = cases[i].collective,
                                         .nranks = nranks,
                                         .lanes = algorithm->default_lanes,
                                         .count = cases[i].count};
    double first = INFINITY, delays[RANKS], ends[RANKS];
    struct clab_sim_options options = {.element_bytes = 4, .delays = delays, .ends = ends, .members = members};
    struct clab_sim_result result;
    for (int r = 0; r < nranks; r++)
        first = fmin(first, seen->start[i][r]);
    for (int r = 0; r < nranks; r++)
        delays[r] = seen->start[i][r] - first;
    assert_int_equal(clab_sim_run(&problem, algorithm, net, &options, &result), CLAB_OK);
    for (int r = 0; r < nranks; r++)
        if (seen->end[i][r] - first != clab_clock_round(ends[r]))
            fail_msg("%s, %s, rank %d of %d: %.17g s, simulated: %.17g s", net->name, algorithm->name, r, nranks,
                     seen->end[i][r] - first, ends[r]);
}

static void test_collectives_take_the_simulators_time(void **state)
{
    static const struct {
        const char *net;
        int nranks;
    } runs[] = {{"dgx-h100", 16}, {"dgx-h100", 5}, {"10gbe", 7}, {"gcp-a3", 16}, {"pcie4", 8}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct clab_net *net;
        assert_int_equal(run_on(runs[i].net, runs[i].nranks, call_all), 0);
        assert_int_equal(clab_net_load(runs[i].net, &net), CLAB_OK);
        for (int c = 0; c < NCASES; c++)
            assert_as_simulated(net, c, runs[i].nranks, NULL);
        clab_net_free(net);
    }
}

// Ranks 0, 8; 1, 9; ...: a node apart. And 0 to 7, 8 to 15.
static int split_and_call(struct clab_comm *comm, int rank)
{
    float in[8] = {1}, out[8];
    struct clab_comm *across, *within;
    CLAB_TRY(clab_comm_split(comm, rank % 8, rank, &across));
    CLAB_TRY(clab_comm_split(comm, rank / 8, rank, &within));
    struct clab_comm *comms[] = {across, within};
    for (int i = 0; i < 2; i++) {
        CLAB_TRY(clab_comm_set_algorithm(comms[i], CLAB_ALLREDUCE, "doubling", 0));
        CLAB_TRY(clab_barrier(comm));
        CLAB_TRY(clab_barrier(comms[i])); // its members have no other to wait for
        seen->start[i][rank] = clab_seconds();
        CLAB_TRY(clab_allreduce(comms[i], in, out, 8, CLAB_F32, CLAB_SUM));
        seen->end[i][rank] = clab_seconds();
        if (out[0] != (i ? 8 : 2))
            return CLAB_EWRONG;
        clab_comm_destroy(comms[i]);
    }
    return CLAB_OK;
}

static void test_communicators_are_priced_where_their_members_are(void **state)
{
    const double sum = 32 / 1117e9;
    assert_int_equal(run_on("dgx-h100", 16, split_and_call), 0);
    for (int r = 0; r < 16; r++) {
        assert_seconds(seen->end[0][r] - seen->start[0][r], 14e-6 + 32 / 48e9 + sum);
        assert_seconds(seen->end[1][r] - seen->start[1][r], 3 * (3.4e-6 + 32 / 450e9 + sum));
    }
}

// gcp-a3 has four adapters for eight ranks: those of ranks 0 and 1 share one. Communicators that were split at the same
// time are busy at the same time.
static void test_communicators_of_one_split_share_adapters(void **state)
{
    const double sum = 32 / 1117e9;
    assert_int_equal(run_on("gcp-a3", 16, split_and_call), 0);
    for (int r = 0; r < 16; r++) {
        assert_seconds(seen->end[0][r] - seen->start[0][r], 50e-6 + 2 * 32 / 12.5e9 + sum);
        assert_seconds(seen->end[1][r] - seen->start[1][r], 3 * (3.4e-6 + 32 / 450e9 + sum));
    }
}

// ---- hosts ---------------------------------------------------------------------------------------------------

// Of an allreduce around a ring of P ranks, a rank sends 2 (P - 1) chunks to the next one.
static int ring_and_message(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    enum { COUNT = 64 };
    float in[COUNT] = {0}, out[COUNT];
    const int P = clab_comm_ranks(comm), me = rank, next = (me + 1) % P;
    struct clab_comm *scattered;
    for (int r = 0; r < P; r++)
        if (clab_comm_host(comm, r) != r / 2)
            return CLAB_EWRONG;
    CLAB_TRY(clab_comm_split(comm, 0, me % 2, &scattered)); // hosts 0 1 2 3, then again
    struct clab_comm *comms[] = {comm, scattered};
    for (int i = 0; i < 2; i++) {
        CLAB_TRY(clab_comm_set_algorithm(comms[i], CLAB_ALLREDUCE, "ring", 0));
        const size_t before = clab_job_counts(job).bytes_across;
        CLAB_TRY(clab_allreduce(comms[i], in, out, COUNT, CLAB_F32, CLAB_SUM));
        const bool goes_across = i == 1 || next / 2 != me / 2;
        const size_t sent = 2 * ((size_t)P - 1) * sizeof in / (size_t)P;
        if (clab_job_counts(job).bytes_across - before != (goes_across ? sent : 0))
            return CLAB_EWRONG;
    }
    for (int r = 0; r < P; r++)
        if (clab_comm_host(scattered, r) != r % (P / 2))
            return CLAB_EWRONG;
    const size_t before = clab_comm_traffic(comm).bytes_across;
    if (me == 0)
        CLAB_TRY(clab_send(comm, in, 1, CLAB_F32, 1));
    if (me == 0)
        CLAB_TRY(clab_send(comm, in, 1, CLAB_F32, 2));
    if (me == 1 || me == 2)
        CLAB_TRY(clab_recv(comm, in, 1, CLAB_F32, 0));
    clab_comm_destroy(scattered);
    return clab_comm_traffic(comm).bytes_across - before == (me == 0 ? 4 : 0) ? CLAB_OK : CLAB_EWRONG;
}

static void test_bytes_between_hosts_are_counted(void **state)
{
    assert_int_equal(run_on(easy, 8, ring_and_message), 0);
}

// A rank's algorithm of two levels knows the hosts: with ranks in their order it is priced, and counted, by nodes of two.
static int two_levels(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    enum { COUNT = 64 };
    float in[COUNT] = {0}, out[COUNT];
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "hierarchical", 0));
    CLAB_TRY(clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM));
    return clab_job_counts(job).bytes_across == 2 * (4 - 1) * sizeof in / 2 / 4 ? CLAB_OK : CLAB_EWRONG;
}

static void test_two_levels_are_those_of_the_hosts(void **state)
{
    assert_int_equal(run_on(easy, 8, two_levels), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_take_the_simulators_time),
        cmocka_unit_test(test_communicators_are_priced_where_their_members_are),
        cmocka_unit_test(test_communicators_of_one_split_share_adapters),
        cmocka_unit_test(test_bytes_between_hosts_are_counted),
        cmocka_unit_test(test_two_levels_are_those_of_the_hosts),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
