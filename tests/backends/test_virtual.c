// SPDX-License-Identifier: MIT
// Virtual time: a collective takes what the simulator says, to the clock's grid; messages and work take what is worked
// out by hand; work hides behind the network; members of any communicator are where they are; mistakes are found as
// ever.

#include "tests/fixtures/job_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/clab.h"
#include "backends/model/clock.h"
#include "core/comm/comm.h"
#include "tests/fixtures/needs.h"
#include "sim/sim.h"

// A network whose figures are easy to add: nodes of two ranks.
#define NEAR 1e-3 // s a message in a node
#define FAR  8e-3 // to another
#define BYTE 1e-9 // s/B on either
static const char network[] = "[net]\ntitle = easy\nranks = 2\ngamma = 0 ps/B\n"
                              "[link intra]\nalpha = 1 ms\nbeta = 1 ns/B\n[link inter]\nalpha = 8 ms\nbeta = 1 ns/B\n"
                              "[compute]\nf64 = 1 Gflop/s\nf32 = 2 Gflop/s\nmemory = 1 GB/s\n";

enum { RANKS = 16, CASES = 16 };
static struct {
    double start[CASES][RANKS], end[CASES][RANKS];
} * seen;

static int (*body)(struct clab_job *, struct clab_comm *);

static int run_body(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    int none = 0, err;
    char *no_words[] = {NULL};
    (void)rank;
    if (clab_job_open(&none, no_words, &job) != CLAB_OK || clab_comm_create(job, &comm) != CLAB_OK)
        return 9;
    err = body(job, comm);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return err ? 1 : 0;
}

static int run_on(const char *net, int nranks, int (*what)(struct clab_job *, struct clab_comm *))
{
    body = what;
    setenv("CLAB_NET", net, 1);
    setenv("CLAB_BACKEND", "sim", 1);
    return run_job(ranks(nranks), run_body);
}

static char easy[] = "/tmp/commlab-test-XXXXXX.net";

static void assert_seconds(double seconds, double expected)
{
    if (!(fabs(seconds - expected) <= 1e-12))
        fail_msg("%.15g s, where %.15g s were worked out", seconds, expected);
}

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

static int call_all(struct clab_job *job, struct clab_comm *comm)
{
    static float in[RANKS * 4096], out[RANKS * 4096];
    const int rank = clab_comm_rank(comm);
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
    (void)state;
    needs_inih();
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
static int split_and_call(struct clab_job *job, struct clab_comm *comm)
{
    (void)job;
    const int rank = clab_comm_rank(comm);
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
    (void)state;
    needs_inih();
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
    (void)state;
    needs_inih();
    const double sum = 32 / 1117e9;
    assert_int_equal(run_on("gcp-a3", 16, split_and_call), 0);
    for (int r = 0; r < 16; r++) {
        assert_seconds(seen->end[0][r] - seen->start[0][r], 50e-6 + 2 * 32 / 12.5e9 + sum);
        assert_seconds(seen->end[1][r] - seen->start[1][r], 3 * (3.4e-6 + 32 / 450e9 + sum));
    }
}

// ---- hosts ---------------------------------------------------------------------------------------------------

// Of an allreduce around a ring of P ranks, a rank sends 2 (P - 1) chunks to the next one.
static int ring_and_message(struct clab_job *job, struct clab_comm *comm)
{
    enum { COUNT = 64 };
    float in[COUNT] = {0}, out[COUNT];
    const int P = clab_comm_ranks(comm), me = clab_comm_rank(comm), next = (me + 1) % P;
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
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 8, ring_and_message), 0);
}

// A rank's algorithm of two levels knows the hosts: with ranks in their order it is priced, and counted, by nodes of two.
static int two_levels(struct clab_job *job, struct clab_comm *comm)
{
    enum { COUNT = 64 };
    float in[COUNT] = {0}, out[COUNT];
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "hierarchical", 0));
    CLAB_TRY(clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM));
    return clab_job_counts(job).bytes_across == 2 * (4 - 1) * sizeof in / 2 / 4 ? CLAB_OK : CLAB_EWRONG;
}

static void test_two_levels_are_those_of_the_hosts(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 8, two_levels), 0);
}

// ---- by hand -------------------------------------------------------------------------------------------------

static int send_and_answer(struct clab_job *job, struct clab_comm *comm)
{
    static const size_t bytes[] = {0, 8, 1000000};
    static char data[1000000];
    const int rank = clab_comm_rank(comm), peer = rank ? 0 : clab_comm_ranks(comm) - 1;
    (void)job;
    CLAB_TRY(clab_barrier(comm));
    for (int i = 0; i < 3 && (rank == 0 || peer == 0); i++) {
        if (rank != 0 && rank != clab_comm_ranks(comm) - 1)
            break;
        seen->start[i][rank] = clab_seconds();
        if (rank == 0)
            CLAB_TRY(clab_send(comm, data, bytes[i], CLAB_U8, peer));
        CLAB_TRY(clab_recv(comm, data, bytes[i], CLAB_U8, peer));
        if (rank != 0)
            CLAB_TRY(clab_send(comm, data, bytes[i], CLAB_U8, peer));
        seen->end[i][rank] = clab_seconds();
    }
    return CLAB_OK;
}

static void test_messages_take_alpha_and_beta_each_way(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 2, send_and_answer), 0);
    assert_seconds(seen->end[0][0] - seen->start[0][0], 2 * NEAR);
    assert_seconds(seen->end[1][0] - seen->start[1][0], 2 * (NEAR + 8 * BYTE));
    assert_seconds(seen->end[2][0] - seen->start[2][0], 2 * (NEAR + 1e6 * BYTE));
    assert_int_equal(run_on(easy, 4, send_and_answer), 0); // ranks 0 and 3
    assert_seconds(seen->end[2][0] - seen->start[2][0], 2 * (FAR + 1e6 * BYTE));
}

// Rank 0 sends to all others at once: they come out of its port one after another, 1 near, 2 and 3 far.
static int send_to_all(struct clab_job *job, struct clab_comm *comm)
{
    static char data[1000];
    const int rank = clab_comm_rank(comm);
    struct clab_work *works[4];
    (void)job;
    CLAB_TRY(clab_barrier(comm));
    CLAB_TRY(clab_barrier(comm));
    seen->start[0][rank] = clab_seconds();
    for (int r = 1; r < 4 && rank == 0; r++)
        CLAB_TRY(clab_send_start(comm, data, sizeof data, CLAB_U8, r, &works[r]));
    for (int r = 1; r < 4 && rank == 0; r++)
        CLAB_TRY(clab_work_wait(works[r]));
    if (rank)
        CLAB_TRY(clab_recv(comm, data, sizeof data, CLAB_U8, 0));
    seen->end[0][rank] = clab_seconds();
    return CLAB_OK;
}

static void test_messages_leave_a_port_one_after_another(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 4, send_to_all), 0);
    const double near = NEAR + 1000 * BYTE, far = FAR + 1000 * BYTE, began = seen->start[0][0];
    assert_seconds(seen->end[0][1], fmax(seen->start[0][1], began) + near);
    assert_seconds(seen->end[0][2], began + far); // its port to other nodes is another
    assert_seconds(seen->end[0][3], began + 2 * far);
    assert_seconds(seen->end[0][0], began + 2 * far);
}

enum { FLOATS = 1000000 };
#define WIRE (NEAR + 4e6 * BYTE) // of an allreduce of so many among two ranks: 5 ms

static int work_meanwhile(struct clab_job *job, struct clab_comm *comm)
{
    static float a[FLOATS], b[FLOATS];
    static const double flop[] = {0, 6e6, 16e6}; // 0, 3 and 8 ms at 2 Gflop/s
    struct clab_work *first, *second;
    const int rank = clab_comm_rank(comm);
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "doubling", 1));
    for (int i = 0; i < 3; i++) {
        CLAB_TRY(clab_barrier(comm));
        seen->start[i][rank] = clab_seconds();
        CLAB_TRY(clab_allreduce_start(comm, a, a, FLOATS, CLAB_F32, CLAB_SUM, &first));
        CLAB_TRY(clab_compute(job, CLAB_FP32, flop[i], 0));
        CLAB_TRY(clab_work_wait(first));
        seen->end[i][rank] = clab_seconds();
    }
    seen->start[3][rank] = clab_seconds();
    CLAB_TRY(clab_allreduce_start(comm, a, a, FLOATS, CLAB_F32, CLAB_SUM, &first));
    CLAB_TRY(clab_allreduce_start(comm, b, b, FLOATS, CLAB_F32, CLAB_SUM, &second));
    CLAB_TRY(clab_compute(job, CLAB_FP32, 0, 7e6)); // 7 ms of its memory
    CLAB_TRY(clab_work_wait(second));
    CLAB_TRY(clab_work_wait(first));
    seen->end[3][rank] = clab_seconds();
    return CLAB_OK;
}

static void test_work_hides_behind_the_network(void **state)
{
    (void)state;
    needs_inih();
    static const double expected[] = {WIRE, WIRE, 8e-3, 2 * WIRE};
    assert_int_equal(run_on(easy, 2, work_meanwhile), 0);
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 2; r++)
            assert_seconds(seen->end[i][r] - seen->start[i][r], expected[i]);
}

static int work_and_meet(struct clab_job *job, struct clab_comm *comm)
{
    const int rank = clab_comm_rank(comm);
    double late[2];
    CLAB_TRY(clab_barrier(comm));
    seen->start[0][rank] = clab_seconds();
    CLAB_TRY(clab_compute(job, CLAB_FP32, 2e7, 0)); // 10 ms
    seen->end[1][rank] = clab_seconds();
    CLAB_TRY(clab_barrier(comm));
    seen->end[0][rank] = clab_seconds();
    CLAB_TRY(clab_compute(job, CLAB_FP64, 1e8, 0)); // 100 ms
    CLAB_TRY(clab_monitored_barrier(comm, 10, late));
    seen->end[2][rank] = late[rank];
    return CLAB_OK;
}

static void test_stragglers_compute_slower_and_others_wait(void **state)
{
    (void)state;
    needs_inih();
    setenv("CLAB_STRAGGLE", "1=2.5", 1);
    const int status = run_on(easy, 2, work_and_meet);
    unsetenv("CLAB_STRAGGLE");
    assert_int_equal(status, 0);
    assert_seconds(seen->end[1][0] - seen->start[0][0], 10e-3);
    assert_seconds(seen->end[1][1] - seen->start[0][1], 25e-3);
    for (int r = 0; r < 2; r++) // a message each, once the straggler has come
        assert_seconds(seen->end[0][r] - seen->end[1][1], NEAR);
    assert_true(seen->end[2][0] == 0 && fabs(seen->end[2][1] - 150e-3) < 4 * NEAR); // as near as messages tell
}

static int look_at_setup(struct clab_job *job, struct clab_comm *comm)
{
    (void)job;
    const struct clab_comm_setup setup = clab_comm_setup(comm);
    seen->start[0][clab_comm_rank(comm)] = setup.rendezvous;
    seen->end[0][clab_comm_rank(comm)] = setup.connect;
    return clab_seconds() == setup.rendezvous + setup.connect ? CLAB_OK : CLAB_EWRONG;
}

static void test_a_communicator_costs_what_is_assumed(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 4, look_at_setup), 0);
    for (int r = 0; r < 4; r++) {
        assert_seconds(seen->start[0][r], 4 * FAR); // two levels, up and down
        assert_seconds(seen->end[0][r], 2 * NEAR + 4 * FAR);
    }
}

static double pages_of(const struct clab_job *job)
{
    struct stat status;
    return fstat(job->bootstrap->segment_fd, &status) ? -1 : (double)status.st_blocks / 8; // of 512 B, of 4 KiB
}

static int make_many(struct clab_job *job, struct clab_comm *comm)
{
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 20; k++) {
            struct clab_comm *made;
            CLAB_TRY(clab_comm_create(job, &made));
            CLAB_TRY(clab_barrier(made));
            clab_comm_destroy(made);
        }
        CLAB_TRY(clab_barrier(comm));
        seen->end[i][clab_comm_rank(comm)] = pages_of(job);
        CLAB_TRY(clab_barrier(comm));
    }
    return CLAB_OK;
}

static void test_communicators_leave_no_pages_behind(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 4, make_many), 0);
    for (int r = 0; r < 4; r++) {
        assert_true(seen->end[0][r] > 0);
        assert_true(seen->end[1][r] < seen->end[0][r] + 10); // of 20 more
    }
}

static int count_samples(struct clab_job *job, struct clab_comm *comm)
{
    (void)job, (void)comm;
    return clab_samples(9) == 1 && clab_repeats(1, 1e-9) == 1 ? CLAB_OK : CLAB_EWRONG;
}

static void test_one_sample_is_enough(void **state)
{
    (void)state;
    needs_inih();
    assert_int_equal(run_on(easy, 2, count_samples), 0);
    assert_int_equal(clab_samples(9), 9); // no job: the wall's clock
}

// ---- what goes wrong -----------------------------------------------------------------------------------------

static int call_different_things(struct clab_job *job, struct clab_comm *comm)
{
    float in = 1, out;
    (void)job;
    const int err = clab_comm_rank(comm) == 1 ? clab_allreduce(comm, &in, &out, 1, CLAB_F32, CLAB_MAX)
                                              : clab_allreduce(comm, &in, &out, 1, CLAB_F32, CLAB_SUM);
    told->values[clab_comm_rank(comm)] = err;
    return CLAB_OK;
}

static void test_ranks_that_call_different_things_are_told(void **state)
{
    (void)state;
    needs_inih();
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_on(easy, 3, call_different_things);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    for (int r = 0; r < 3; r++)
        assert_int_equal(told->values[r], CLAB_EMISMATCH);
    assert_text_has(text, "calls allreduce");
}

static int die_or_wait(struct clab_job *job, struct clab_comm *comm)
{
    (void)job;
    CLAB_TRY(clab_barrier(comm));
    if (clab_comm_rank(comm) == 1)
        raise(SIGKILL);
    told->values[clab_comm_rank(comm)] = clab_barrier(comm);
    return CLAB_OK;
}

static void test_the_death_of_a_rank_ends_the_others_call(void **state)
{
    (void)state;
    needs_inih();
    const struct capture err = capture_begin(STDERR_FILENO);
    const double start = clab_now();
    const int status = run_on(easy, 3, die_or_wait);
    const char *text = capture_end(err);
    assert_int_equal(status, 128 + SIGKILL);
    assert_true(clab_now() - start < 5);
    assert_int_equal(told->values[0], CLAB_EPEER);
    assert_text_has(text, "barrier");
}

static int nothing(struct clab_job *job, struct clab_comm *comm)
{
    (void)job, (void)comm;
    return CLAB_OK;
}

static void test_settings_that_can_not_be_are_refused(void **state)
{
    (void)state;
    needs_inih();
    static const struct {
        const char *net, *variable, *value, *expected;
    } wrong[] = {{"no-such", NULL, NULL, "no-such"},
                 {"pcie4", NULL, NULL, "fewer than the 9 ranks"},
                 {easy, "CLAB_STRAGGLE", "9=2", "RANK=FACTOR of ranks 0 to 8"},
                 {easy, "CLAB_STRAGGLE", "1=0", "RANK=FACTOR"},
                 {easy, "CLAB_EMULATE", "10gbe", "--net 10gbe"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i].variable)
            setenv(wrong[i].variable, wrong[i].value, 1);
        const struct capture err = capture_begin(STDERR_FILENO);
        const int status = run_on(wrong[i].net, 9, nothing);
        const char *text = capture_end(err);
        if (wrong[i].variable)
            unsetenv(wrong[i].variable);
        assert_int_not_equal(status, 0);
        assert_text_has(text, wrong[i].expected);
    }
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int prepare(void **state)
{
    const int fd = mkstemps(easy, 4);
    const bool failed = fd < 0 || write(fd, network, sizeof network - 1) != sizeof network - 1;
    close(fd);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return failed || seen == MAP_FAILED || share_told(state);
}

static int clean_up(void **state)
{
    (void)state;
    return unlink(easy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_take_the_simulators_time),
        cmocka_unit_test(test_communicators_are_priced_where_their_members_are),
        cmocka_unit_test(test_communicators_of_one_split_share_adapters),
        cmocka_unit_test(test_bytes_between_hosts_are_counted),
        cmocka_unit_test(test_two_levels_are_those_of_the_hosts),
        cmocka_unit_test(test_messages_take_alpha_and_beta_each_way),
        cmocka_unit_test(test_messages_leave_a_port_one_after_another),
        cmocka_unit_test(test_work_hides_behind_the_network),
        cmocka_unit_test(test_stragglers_compute_slower_and_others_wait),
        cmocka_unit_test(test_a_communicator_costs_what_is_assumed),
        cmocka_unit_test(test_communicators_leave_no_pages_behind),
        cmocka_unit_test(test_one_sample_is_enough),
        cmocka_unit_test(test_ranks_that_call_different_things_are_told),
        cmocka_unit_test(test_the_death_of_a_rank_ends_the_others_call),
        cmocka_unit_test(test_settings_that_can_not_be_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
