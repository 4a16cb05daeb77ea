// SPDX-License-Identifier: MIT
// netmon's numbers are held to what a job has counted itself: per pair by its sockets, in all by the loopback interface
// of a network namespace that nobody else uses.

#include "tests/fixtures/own_network.h"

#include <netinet/in.h>

#include "cmd/netmon/interfaces.h"
#include "cmd/netmon/ranks.h"
#include "core/clab.h"

enum { COUNT = 1 << 20, CALLS = 8, RANKS = 2 };

// ---- a job that waits ----------------------------------------------------------------------------------------

static struct {
    _Atomic int counted, is_over;
    _Atomic size_t sent[RANKS], received[RANKS];
} * shared;

// Allreduce, tell what was counted, and wait: connections stay as long as the test looks at them.
static void be_a_rank(void)
{
    char name[] = "netmon", n[] = "-n", two[] = "2", flag[] = "--backend", ofi[] = "ofi";
    char *argv[] = {name, n, two, flag, ofi, NULL};
    int argc = 5;
    struct clab_job *job;
    struct clab_comm *comm;
    float *data = calloc(COUNT, sizeof *data);
    if (!data || clab_job_open(&argc, argv, &job) || clab_comm_create(job, &comm))
        _exit(1);
    for (int i = 0; i < CALLS; i++)
        if (clab_allreduce(comm, data, data, COUNT, CLAB_F32, CLAB_SUM))
            _exit(2);
    const struct clab_counts counts = clab_job_counts(job);
    shared->sent[clab_job_rank(job)] = counts.bytes_sent;
    shared->received[clab_job_rank(job)] = counts.bytes_received;
    shared->counted++;
    for (const double until = clab_now() + TIME_LIMIT; !shared->is_over && clab_now() < until;)
        usleep(1000);
    free(data);
    clab_comm_destroy(comm);
    _exit(clab_job_close(job));
}

static pid_t start(void)
{
    shared->counted = shared->is_over = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_a_rank();
    }
    for (const double until = clab_now() + TIME_LIMIT; shared->counted < RANKS && clab_now() < until;)
        usleep(1000);
    return pid;
}

static int finish(pid_t pid)
{
    int status = -1;
    shared->is_over = 1;
    waitpid(pid, &status, 0);
    return status;
}

static bool is_near(double got, double expected)
{
    return got > 0.95 * expected && got < 1.05 * expected;
}

// ---- pairs ---------------------------------------------------------------------------------------------------

static void read_pairs(const char *name, struct netmon_pair **pairs_p, int *n_p)
{
    char text[16];
    struct netmon_ranks ranks;
    struct netmon_socket *sockets;
    int n;
    snprintf(text, sizeof text, "%s", name);
    assert_int_equal(netmon_ranks_find(text, &ranks), CLAB_OK);
    assert_int_equal(ranks.n, RANKS);
    assert_int_equal(netmon_ranks_alive(&ranks), RANKS);
    assert_int_equal(netmon_sockets_read(&sockets, &n), CLAB_OK);
    assert_int_equal(netmon_pairs_sum(&ranks, sockets, n, pairs_p, n_p), CLAB_OK);
    free(sockets);
    netmon_ranks_free(&ranks);
}

static void test_bytes_of_pairs_are_what_the_job_counts(void **state)
{
    if (!clab_backend_find("ofi")) {
        puts("skip: this build has no ofi");
        skip();
    }
    const pid_t pid = start();
    if (shared->counted != RANKS) {
        finish(pid);
        fail_msg("the job did not come that far");
    }
    char name[16];
    struct netmon_pair *pairs;
    int n, found = 0;
    snprintf(name, sizeof name, "%d", (int)pid);
    read_pairs(name, &pairs, &n);
    for (int i = 0; i < n; i++) {
        const struct netmon_pair *p = &pairs[i];
        if (p->peer < 0)
            continue;
        found++;
        assert_true(p->rank + p->peer == 1 && p->sockets > 0 && p->rtt > 0);
        assert_true(is_near((double)(p->sent + p->backlog), (double)shared->sent[p->rank]));
        assert_true(is_near((double)p->received, (double)shared->received[p->rank]));
    }
    free(pairs);
    assert_int_equal(finish(pid), 0);
    assert_int_equal(found, RANKS);
    assert_true(shared->sent[0] >= (size_t)CALLS * COUNT * sizeof(float));
}

// ---- an interface --------------------------------------------------------------------------------------------

static uint64_t loopback_bytes(void)
{
    struct netmon_interfaces all;
    uint64_t bytes = 0;
    if (netmon_interfaces_read(&all) == CLAB_OK) {
        const struct netmon_interface *lo = netmon_interface_find(&all, "lo");
        bytes = lo && lo->rx_bytes == lo->tx_bytes ? lo->tx_bytes : 0;
        netmon_interfaces_free(&all);
    }
    return bytes;
}

enum { NO_JOB = 1, WRONG };

static int count_in_namespace(void)
{
    const uint64_t before = loopback_bytes();
    const pid_t pid = start();
    const uint64_t bytes = loopback_bytes() - before;
    const size_t counted = shared->sent[0] + shared->sent[1];
    if (finish(pid) != 0 || shared->counted != RANKS)
        return NO_JOB;
    return is_near((double)bytes, (double)counted) ? 0 : WRONG;
}

static void test_bytes_of_the_interface_are_what_the_job_counts(void **state)
{
    if (!clab_backend_find("ofi")) {
        puts("skip: this build has no ofi");
        skip();
    }
    assert_in_own_network(count_in_namespace);
}

// ---- the kernel's texts --------------------------------------------------------------------------------------

static void test_counters_are_read_from_the_columns_that_proc_5_names(void **state)
{
    char text[] =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
        "    lo:     100       2    3    4    5     6          7         8      900      10   11   12 0 0 0 0\n"
        "eth0.1:1099511627776 20 0 0 0 0 0 0 30 40 0 0 0 0 0 0\n";
    struct netmon_interfaces all;
    assert_int_equal(netmon_interfaces_parse(text, &all), CLAB_OK);
    assert_int_equal(all.n, 2);
    const struct netmon_interface *lo = netmon_interface_find(&all, "lo");
    assert_non_null(lo);
    assert_int_equal(lo->rx_bytes, 100);
    assert_int_equal(lo->rx_packets, 2);
    assert_int_equal(lo->tx_bytes, 900);
    assert_int_equal(lo->tx_packets, 10);
    assert_string_equal(all.list[1].name, "eth0.1");
    assert_true(all.list[1].rx_bytes == 1099511627776);
    assert_null(netmon_interface_find(&all, "eth0"));
    netmon_interfaces_free(&all);
}

static struct netmon_interfaces parse(const char *text)
{
    char copy[512];
    struct netmon_interfaces all;
    snprintf(copy, sizeof copy, "%s", text);
    assert_int_equal(netmon_interfaces_parse(copy, &all), CLAB_OK);
    return all;
}

// eth1 comes between two samples, and has counted before; eth2 begins anew.
static void test_an_interface_counts_from_its_second_sample_on(void **state)
{
    struct netmon_interfaces before = parse("lo: 10 1 0 0 0 0 0 0 10 1\neth0: 100 2 0 0 0 0 0 0 900 10\n"
                                            "eth2: 5000 50 0 0 0 0 0 0 6000 60\n"),
                             now = parse("lo: 90 9 0 0 0 0 0 0 90 9\neth0: 150 3 0 0 0 0 0 0 990 12\n"
                                         "eth1: 7000 70 0 0 0 0 0 0 8000 80\neth2: 0 0 0 0 0 0 0 0 0 0\n");
    const struct netmon_interface all = netmon_interfaces_growth(&before, &now, NULL),
                                  lo = netmon_interfaces_growth(&before, &now, "lo");
    netmon_interfaces_free(&before);
    netmon_interfaces_free(&now);
    assert_true(all.rx_bytes == 50 && all.rx_packets == 1 && all.tx_bytes == 90 && all.tx_packets == 2);
    assert_true(lo.rx_bytes == 80 && lo.tx_packets == 8);
}

// ---- numbers of ranks ----------------------------------------------------------------------------------------

enum { FIRST = 4 }; // of the ranks on this host

static pid_t start_rank(int rank)
{
    const pid_t pid = fork();
    if (pid == 0) {
        char text[32], *const environment[] = {text, NULL};
        snprintf(text, sizeof text, "RANK=%d", rank);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        execle("/bin/sh", "sh", "-c", "read line", (char *)NULL, environment);
        _exit(1);
    }
    return pid;
}

static void be_a_launcher(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = RANKS - 1; i >= 0; i--)
        start_rank(FIRST + i);
    for (;;)
        pause();
}

static bool are_those_of_the_environment(const int numbers[RANKS])
{
    return numbers[0] == FIRST && numbers[1] == FIRST + 1;
}

// On the second host of a job, ranks begin at 4. Until a rank has become its program, it has the launcher's environment.
static void test_ranks_have_the_numbers_of_their_environment(void **state)
{
    char name[16];
    int ends[2], numbers[RANKS] = {0};
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO); // ranks wait for a line that never comes
        be_a_launcher();
    }
    snprintf(name, sizeof name, "%d", (int)pid);
    const struct capture err = capture_begin(STDERR_FILENO); // there may be no ranks yet
    for (const double until = clab_now() + TIME_LIMIT; !are_those_of_the_environment(numbers) && clab_now() < until;) {
        struct netmon_ranks ranks;
        usleep(1000);
        if (netmon_ranks_find(name, &ranks) != CLAB_OK)
            continue;
        if (ranks.n == RANKS)
            memcpy(numbers, ranks.numbers, sizeof numbers);
        netmon_ranks_free(&ranks);
    }
    capture_end(err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ends[0]), close(ends[1]);
    assert_true(are_those_of_the_environment(numbers));
}

// A connection of this process with itself, as rank 4: its pairs have that number, at both ends.
static void test_pairs_have_the_numbers_of_ranks(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof at;
    pid_t pid = getpid();
    int number = FIRST, n, npairs;
    const struct netmon_ranks ranks = {&pid, &number, 1};
    struct netmon_socket *sockets;
    struct netmon_pair *pairs;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
              here = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    assert_int_equal(connect(here, (struct sockaddr *)&at, sizeof at), 0);
    const int there = accept(listener, NULL, NULL);
    assert_int_equal(netmon_sockets_read(&sockets, &n), CLAB_OK);
    assert_int_equal(netmon_pairs_sum(&ranks, sockets, n, &pairs, &npairs), CLAB_OK);
    close(listener), close(here), close(there);
    free(sockets);
    assert_int_equal(npairs, 1);
    assert_int_equal(pairs[0].rank, FIRST);
    assert_int_equal(pairs[0].peer, FIRST);
    free(pairs);
}

static void test_a_process_without_ranks_is_no_job(void **state)
{
    struct netmon_ranks ranks;
    const struct capture err = capture_begin(STDERR_FILENO);
    const int found = netmon_ranks_find("no-such-program", &ranks);
    const char *text = capture_end(err);
    assert_int_equal(found, CLAB_ENOENT);
    assert_one_line_with(text, "no job of that name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_pairs_are_what_the_job_counts),
        cmocka_unit_test(test_bytes_of_the_interface_are_what_the_job_counts),
        cmocka_unit_test(test_counters_are_read_from_the_columns_that_proc_5_names),
        cmocka_unit_test(test_an_interface_counts_from_its_second_sample_on),
        cmocka_unit_test(test_ranks_have_the_numbers_of_their_environment),
        cmocka_unit_test(test_pairs_have_the_numbers_of_ranks),
        cmocka_unit_test(test_a_process_without_ranks_is_no_job),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
