// SPDX-License-Identifier: MIT
// The emulated wire: a message takes the network's time and no less, also beside a longer one, both ways at once cost no
// more than one, who waits leaves its core free, and results are what they are without it. Runs alone.

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "backends/model/clock.h"
#include "core/base/order.h"
#include "core/schedule/algorithms/algorithms.h"
#include "sim/sim.h"
#include "tests/fixtures/needs.h"
#include "tests/fixtures/working_job.h"

// What the network below says.
#define ALPHA 2e-3 // s a message
#define BETA  1e-8 // s/B
static const char network[] = "[net]\ntitle = slow\ngamma = 0 ps/B\n[link inter]\nalpha = 2 ms\nbeta = 10 ns/B\n";

enum { TRIPS = 8, TURNS = 60, LONG = 25000 }; // LONG: floats, 1 ms of the wire
static float in[4 * LONG], out[4 * LONG];
static int write_network(void **state)
{
    static char path[] = "/tmp/commlab-test-XXXXXX.net";
    const int fd = mkstemps(path, 4);
    *state = path;
    setenv("CLAB_EMULATE", path, 1);
    const bool failed = fd < 0 || write(fd, network, sizeof network - 1) != sizeof network - 1;
    close(fd);
    return share_told(state) || failed;
}

static int remove_network(void **state)
{
    return unlink(getenv("CLAB_EMULATE"));
}

// The least of several turns, at rank 0: what the machine adds is not the network's. Where others have the cores, of as
// many as it takes until one is not above `most`, but for no longer than the test's limit.
static double least(struct clab_comm *comm, int rank, int (*turn)(struct clab_comm *, int), double most)
{
    static int calls;
    _Atomic int *is_over = &told->signals[calls++]; // as rank 0 says before the barrier
    const double began = clab_now();
    double seconds = INFINITY;
    for (int i = 0;; i++) {
        if (rank == 0)
            *is_over = i >= TURNS && (seconds <= most || clab_now() - began > TIME_LIMIT);
        if (clab_barrier(comm))
            return NAN;
        if (*is_over)
            return seconds;
        const double start = clab_now();
        if (turn(comm, rank))
            return NAN;
        seconds = fmin(seconds, clab_now() - start);
    }
}

// ---- time ----------------------------------------------------------------------------------------------------

static size_t count; // of a message, in floats

static int there_and_back(struct clab_comm *comm, int rank)
{
    if (rank == 0)
        CLAB_TRY(clab_send(comm, in, count, CLAB_F32, 1));
    CLAB_TRY(clab_recv(comm, out, count, CLAB_F32, !rank));
    return rank == 1 ? clab_send(comm, in, count, CLAB_F32, 0) : CLAB_OK;
}

static int both_at_once(struct clab_comm *comm, int rank)
{
    struct clab_work *send;
    CLAB_TRY(clab_send_start(comm, in, count, CLAB_F32, !rank, &send));
    CLAB_TRY(clab_recv(comm, out, count, CLAB_F32, !rank));
    return clab_work_wait(send);
}

static int time_trips(struct clab_comm *comm, int rank)
{
    const double start = clab_now();
    count = 2;
    for (int i = 0; i < 4; i++)
        CLAB_TRY(there_and_back(comm, rank));
    told->seconds[rank] = clab_now() - start;
    return CLAB_OK;
}

static double takes(size_t floats)
{
    return ALPHA + (double)(sizeof *in * floats) * BETA;
}

static int time_both(struct clab_comm *comm, int rank)
{
    const double slower = 1.15;
    count = 2;
    const double short_trip = least(comm, rank, there_and_back, slower * 2 * takes(2));
    count = LONG;
    const double long_trip = least(comm, rank, there_and_back, slower * 2 * takes(LONG));
    const double both = least(comm, rank, both_at_once, slower * takes(LONG));
    if (rank == 0) {
        told->seconds[0] = short_trip;
        told->seconds[1] = long_trip;
        told->seconds[2] = both;
    }
    return CLAB_OK;
}

static void assert_takes(double seconds, double expected)
{
    if (!(seconds >= expected * 0.999 && seconds <= expected * 1.15))
        fail_msg("%g ms, where the network says %g ms", seconds * 1e3, expected * 1e3);
}

static void test_messages_take_the_networks_time(void **state)
{
    needs_inih();
    assert_int_equal(run_work(2, time_both), 0);
    assert_takes(told->seconds[0], 2 * takes(2));
    assert_takes(told->seconds[1], 2 * takes(LONG));
    assert_takes(told->seconds[2], takes(LONG));
}

// The emulated network is `name` while the job runs.
static void on_network(const char *name, work_fn what)
{
    char *path = strdup(getenv("CLAB_EMULATE"));
    setenv("CLAB_EMULATE", name, 1);
    assert_int_equal(run_work(2, what), 0);
    setenv("CLAB_EMULATE", path, 1);
    free(path);
}

static double trips_on(const char *name)
{
    on_network(name, time_trips);
    return told->seconds[0];
}

// Nearly every message that leaves a node is lost, and is sent again after a time that no busy machine explains.
static void test_only_what_leaves_a_node_is_lost(void **state)
{
    needs_inih();
    char slow[256];
    snprintf(slow, sizeof slow, "%s+loss=99%%:50ms", getenv("CLAB_EMULATE"));
    assert_true(trips_on("dgx-h100+loss=99%:3s") < 3);
    assert_true(trips_on(slow) > 50e-3);
}

static int send_one_and_leave(struct clab_comm *comm, int rank)
{
    count = 2;
    return rank == 1 ? clab_send(comm, in, count, CLAB_F32, 0) : clab_recv(comm, out, count, CLAB_F32, 1);
}

// It is on the wire for longer than the last words of who has left are waited for.
static void test_the_last_message_of_who_leaves_arrives(void **state)
{
    needs_inih();
    char slow[256];
    snprintf(slow, sizeof slow, "%s+loss=99%%:1s", getenv("CLAB_EMULATE"));
    on_network(slow, send_one_and_leave);
}

// Rank 1 sends its clock now and then, while both wait for a long message of rank 0. The median of what that takes.
static int time_beside_a_long_message(struct clab_comm *comm, int rank)
{
    enum { NOTES = 15, BYTES = 4 << 20 };
    static char longer[BYTES];
    static double late[NOTES];
    struct clab_work *both;
    CLAB_TRY(rank == 0 ? clab_send_start(comm, longer, BYTES, CLAB_U8, 1, &both)
                       : clab_recv_start(comm, longer, BYTES, CLAB_U8, 0, &both));
    for (int i = 0; i < NOTES; i++) {
        double now = 0;
        if (rank == 1)
            usleep(1000 + 137 * (unsigned)i);
        if (rank == 1 && (now = clab_now()) > 0)
            CLAB_TRY(clab_send(comm, &now, sizeof now, CLAB_U8, 0));
        if (rank == 0)
            CLAB_TRY(clab_recv(comm, &now, sizeof now, CLAB_U8, 1));
        late[i] = clab_now() - now;
    }
    qsort(late, NOTES, sizeof *late, clab_order_doubles);
    told->seconds[rank] = late[NOTES / 2];
    return clab_work_wait(both);
}

// The long message takes 36 ms on this network, and a short one 35 us. Where others have the cores, it is tried again.
static void test_a_short_message_arrives_while_a_long_one_is_under_way(void **state)
{
    needs_inih();
    const double start = clab_now();
    do
        on_network("1gbe", time_beside_a_long_message);
    while (told->seconds[0] > 0.3e-3 && clab_now() - start < TIME_LIMIT);
    if (told->seconds[0] > 0.3e-3)
        fail_msg("a message of 8 B arrives after %g ms beside a long one", told->seconds[0] * 1e3);
}

// When a root's two messages, to a near rank and to a far one, arrive by the clocks that both policies share.
static void deliver(const struct clab_net *net, const int ranks[], int n, size_t bytes, double due[])
{
    struct clab_clock root = {.net = net, .rank = ranks[0], .slowness = 1};
    for (int r = 1; r < n; r++) {
        struct clab_clock receiver = {.net = net, .rank = ranks[r], .slowness = 1};
        struct clab_stamp stamp;
        clab_clock_send(&root, ranks[r], bytes, &stamp);
        due[r] = clab_clock_receive(&receiver, ranks[0], bytes, 0, stamp);
    }
}

static void assert_delivered_as_simulated(const char *name, const int ranks[], int n, size_t bytes)
{
    const struct clab_problem problem = {.collective = CLAB_BROADCAST, .nranks = n, .count = bytes, .lanes = 1};
    double due[3], ends[3];
    const struct clab_sim_options options = {.element_bytes = 1, .in_place = true, .members = ranks, .ends = ends};
    struct clab_sim_result result;
    struct clab_net *net;
    assert_int_equal(clab_net_load(name, &net), CLAB_OK);
    deliver(net, ranks, n, bytes, due);
    assert_int_equal(clab_sim_run(&problem, &clab_broadcast_flat, net, &options, &result), CLAB_OK);
    for (int r = 1; r < n; r++)
        if (fabs(due[r] - ends[r]) > 1e-12 + 1e-9 * ends[r])
            fail_msg("%s, %zu B to rank %d: delivered after %.12g s, simulated: %.12g s", name, bytes, ranks[r], due[r],
                     ends[r]);
    clab_net_free(net);
}

// Also with switches on the way, and with ports of their own inside a node and between nodes (superpod-h100).
static void test_deliveries_take_the_simulators_time(void **state)
{
    static const char *const nets[] = {"10gbe", "1gbe", "pcie4", "superpod-h100"};
    static const size_t sizes[] = {8, 100000, 4 << 20};
    needs_inih();
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            assert_delivered_as_simulated(nets[i], (const int[]){0, 1, 5}, 3, sizes[s]);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        assert_delivered_as_simulated("superpod-h100", (const int[]){0, 1, 8}, 3, sizes[s]);
        assert_delivered_as_simulated("superpod-h100", (const int[]){0, 1, 1000}, 3, sizes[s]);
    }
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int wait_a_lot(struct clab_comm *comm, int rank)
{
    const double cpu = cpu_seconds(), start = clab_now();
    count = 2;
    for (int i = 0; i < 3 * TRIPS; i++)
        CLAB_TRY(there_and_back(comm, rank));
    told->seconds[rank] = (cpu_seconds() - cpu) / (clab_now() - start);
    return CLAB_OK;
}

static void test_who_waits_leaves_the_core_free(void **state)
{
    needs_inih();
    assert_int_equal(run_work(2, wait_a_lot), 0);
    for (int rank = 0; rank < 2; rank++)
        if (told->seconds[rank] > 0.2)
            fail_msg("rank %d used %.0f %% of a core while it waited", rank, 100 * told->seconds[rank]);
}

static int compute_meanwhile(struct clab_comm *comm, int rank)
{
    const double work = takes(4 * LONG); // as long as the message
    struct clab_work *sum;
    CLAB_TRY(clab_allreduce_start(comm, in, out, 4 * LONG, CLAB_F32, CLAB_SUM, &sum));
    for (const double start = clab_now(); clab_now() - start < work;)
        ;
    return clab_work_wait(sum);
}

static int time_overlap(struct clab_comm *comm, int rank)
{
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "doubling", 1));
    told->seconds[rank] = least(comm, rank, compute_meanwhile, 1.3 * takes(4 * LONG));
    return CLAB_OK;
}

static void test_compute_hides_what_is_on_the_wire(void **state)
{
    needs_inih();
    assert_int_equal(run_work(2, time_overlap), 0);
    const double alone = takes(4 * LONG);
    if (told->seconds[0] > 1.3 * alone)
        fail_msg("%g ms for a sum and as much work, each of %g ms", told->seconds[0] * 1e3, alone * 1e3);
}

// ---- results -------------------------------------------------------------------------------------------------

static int sum_by_all(struct clab_comm *comm, int rank)
{
    const int n = clab_comm_ranks(comm);
    const struct clab_problem problem = {.collective = CLAB_ALLREDUCE, .nranks = n, .count = 1000, .lanes = 1};
    for (int a = 0; clab_algorithms[a]; a++) {
        if (clab_algorithms[a]->collective != CLAB_ALLREDUCE || !clab_algorithms[a]->supports(&problem))
            continue;
        CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, clab_algorithms[a]->name, 0));
        for (int i = 0; i < 1000; i++) {
            in[i] = (float)(rank * 7 + i);
            out[i] = NAN;
        }
        CLAB_TRY(clab_allreduce(comm, in, out, 1000, CLAB_F32, CLAB_SUM));
        for (int i = 0; i < 1000; i++)
            if (out[i] != (float)(7 * n * (n - 1) / 2 + n * i))
                return CLAB_EWRONG;
        told->values[rank]++;
    }
    return CLAB_OK;
}

static void test_results_are_right_by_every_algorithm(void **state)
{
    needs_inih();
    assert_int_equal(run_work(5, sum_by_all), 0);
    for (int rank = 0; rank < 5; rank++)
        assert_true(told->values[rank] >= 5);
}

static void test_an_unknown_network_is_refused(void **state)
{
    needs_inih();
    char *path = strdup(getenv("CLAB_EMULATE"));
    setenv("CLAB_EMULATE", "no-such-net", 1);
    assert_int_equal(run_work(2, time_both), NOT_OPENED); // logged
    setenv("CLAB_EMULATE", path, 1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_messages_take_the_networks_time, forget),
        cmocka_unit_test_setup(test_only_what_leaves_a_node_is_lost, forget),
        cmocka_unit_test_setup(test_the_last_message_of_who_leaves_arrives, forget),
        cmocka_unit_test_setup(test_a_short_message_arrives_while_a_long_one_is_under_way, forget),
        cmocka_unit_test(test_deliveries_take_the_simulators_time),
        cmocka_unit_test_setup(test_who_waits_leaves_the_core_free, forget),
        cmocka_unit_test_setup(test_compute_hides_what_is_on_the_wire, forget),
        cmocka_unit_test_setup(test_results_are_right_by_every_algorithm, forget),
        cmocka_unit_test_setup(test_an_unknown_network_is_refused, forget),
    };
    return cmocka_run_group_tests(tests, write_network, remove_network);
}
