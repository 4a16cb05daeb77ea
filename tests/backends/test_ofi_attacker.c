// SPDX-License-Identifier: MIT
// An unauthenticated peer sends to the ranks of a job over ofi (ofi_attacker.h): results are right, no rank is blamed,
// and memory stays bounded. Takes long.
// - CLAB_ATTACKER_RUNS (1 unless told) says how many jobs each trial has.

#include <limits.h>

#include "tests/fixtures/job_fixture.h"
#include "tests/fixtures/load_libfabric.h"
#include "tests/fixtures/needs.h"

#ifdef HAVE_LIBFABRIC

#include "core/clab.h"
#include "tests/fixtures/ofi_attacker.h"

enum { RANKS = 3, SMALL = 64, LARGE = 1 << 20, ROUNDS = 40, REACHED = 3000, SOME = 300, GROWTH = 24 << 20 };

static const char rxm[] = "tcp;ofi_rxm";

static int runs(void)
{
    const char *text = getenv("CLAB_ATTACKER_RUNS");
    return text ? atoi(text) : 1;
}

// ---- the job -------------------------------------------------------------------------------------------------

enum { WRONG = 1, FAILED, NOT_REACHED };

static long resident(void)
{
    long pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
        pages[1] = 0;
    if (file)
        fclose(file);
    return pages[1] * sysconf(_SC_PAGESIZE);
}

// Send to the next rank, receive from the one before.
static int pass_on(struct clab_comm *comm, char *data, size_t bytes, int round)
{
    const int rank = clab_comm_rank(comm), next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    struct clab_work *sent;
    char *come = data + LARGE;
    memset(data, round + rank, bytes);
    memset(come, 0, bytes);
    if (clab_send_start(comm, data, bytes, CLAB_U8, next, &sent) || clab_recv(comm, come, bytes, CLAB_U8, before) ||
        clab_work_wait(sent))
        return FAILED;
    for (size_t i = 0; i < bytes; i++)
        if (come[i] != (char)(round + before))
            return WRONG;
    return 0;
}

static int add_up(struct clab_comm *comm, int mine, int *sum_p)
{
    return clab_allreduce(comm, &mine, sum_p, 1, CLAB_I32, CLAB_SUM) ? FAILED : 0;
}

static bool has_had_enough(int rank)
{
    return trial->targets[rank].reached >= trial->reached && trial->targets[rank].closed >= trial->closed;
}

// Until the attacker has had its say, but not for ever.
static int talk(struct clab_comm *comm, char *data)
{
    const int rank = clab_comm_rank(comm);
    const double deadline = clab_now() + TIME_LIMIT;
    int status = 0, sum = 0, want = RANKS;
    for (int round = 0; !status && (round < ROUNDS || want > 0); round++) {
        status = pass_on(comm, data, round % 8 ? SMALL : LARGE, round);
        if (!status)
            status = add_up(comm, 1 << rank, &sum);
        if (!status && sum != (1 << RANKS) - 1)
            status = WRONG;
        if (!status)
            status = add_up(comm, !has_had_enough(rank) && clab_now() < deadline, &want);
    }
    return status ? status : has_had_enough(rank) ? 0 : NOT_REACHED;
}

static int (*exchange)(struct clab_bootstrap *, struct clab_fence, const void *, size_t, void *);

// Endpoints are open when their cards are exchanged: they are the largest that is.
static int exchange_late(struct clab_bootstrap *boot, struct clab_fence fence, const void *mine, size_t bytes,
                         void *all)
{
    const double start = clab_now();
    while (bytes > 250 && trial->come < trial->awaited && clab_now() - start < TIME_LIMIT)
        usleep(1000);
    return exchange(boot, fence, mine, bytes, all);
}

static void come_late(struct clab_bootstrap *boot)
{
    exchange = boot->exchange;
    boot->exchange = exchange_late;
}

static int work_on(int rank)
{
    char name[] = "attacker", *argv[] = {name, NULL};
    int argc = 1;
    struct clab_job *job;
    struct clab_comm *comm;
    char *data = malloc(2 * LARGE);
    trial->targets[rank].pid = getpid();
    if (!data || clab_job_open(&argc, argv, &job))
        return FAILED;
    if (rank == RANKS - 1 && trial->awaited)
        come_late(job->bootstrap);
    int status = clab_comm_create(job, &comm) ? FAILED : 0;
    if (!status) {
        memset(data, 0, 2 * LARGE);
        status = pass_on(comm, data, LARGE, 0);
        const long before = resident();
        tell_target(rank, (const struct ofi_endpoint *)comm->endpoint);
        if (!status)
            status = talk(comm, data);
        trial->grown[rank] = resident() - before;
        clab_comm_destroy(comm);
    }
    clab_job_close(job);
    free(data);
    return status;
}

// ---- a trial -------------------------------------------------------------------------------------------------

static void floods(void)
{
    attacker_floods("net", LONG_MAX);
}

// The layer ofi_rxm keeps whatever fits no buffer, without a bound: it gets no more than is needed here.
static void sends_some_by_rxm(void)
{
    attacker_floods(rxm, SOME);
}

static pid_t start_attacker(void (*attacker)(void))
{
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        attacker();
        _exit(0);
    }
    return pid;
}

static void set_or_not(const char *variable, const char *value)
{
    if (value)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

// A job that a attacker disturbs.  What was written is good until the next call.
static const char *run_trial(void (*attacker)(void), long reached, long closed, int awaited)
{
    struct clab_launch launch = ranks(RANKS);
    launch.backend = "ofi";
    memset((void *)trial, 0, sizeof *trial);
    trial->ntargets = RANKS;
    trial->awaited = awaited;
    trial->reached = reached;
    trial->closed = closed;
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t pid = start_attacker(attacker);
    const int status = run_job(launch, work_on);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    const char *text = capture_end(err);
    if (status)
        fail_msg("status %d (%d: wrong results, %d: a call failed, %d: it was not reached): %s", status, WRONG, FAILED,
                 NOT_REACHED, text);
    for (int r = 0; r < RANKS; r++)
        if (trial->grown[r] > GROWTH && !IS_SLOW)
            fail_msg("rank %d has grown by %ld MiB", r, trial->grown[r] >> 20);
    return text;
}

// Jobs whose ranks go on listening, as where the system has no filter for sockets: what comes, the key must keep out.
static void assert_key_keeps_out(void (*attacker)(void), long enough, const char *jobs_provider, const char *registers)
{
    set_or_not("CLAB_PROVIDER", jobs_provider);
    set_or_not("CLAB_OFI_REGISTER", registers);
    for (int i = 0, n = runs(); i < n; i++) {
        setenv("CLAB_OFI_LISTEN", "1", 1);
        const char *text = run_trial(attacker, enough, 0, 0);
        assert_text_has(text, "that a process outside of this job sent to this rank's port");
        assert_null(strstr(text, "error"));
    }
    unsetenv("CLAB_OFI_LISTEN");
    unsetenv("CLAB_PROVIDER");
    unsetenv("CLAB_OFI_REGISTER");
}

static int share_trial(void **state)
{
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("CLAB_TIMEOUT", "20s", 1);
    return trial == MAP_FAILED;
}

static void test_forged_messages_change_nothing(void **state)
{
    assert_key_keeps_out(floods, REACHED, NULL, NULL);
}

static void test_forged_messages_change_nothing_in_registered_memory(void **state)
{
    assert_key_keeps_out(floods, REACHED, NULL, "1");
}

static void test_forged_messages_change_nothing_over_rxm(void **state)
{
    assert_key_keeps_out(sends_some_by_rxm, SOME, rxm, NULL);
}

static void test_messages_that_break_off_use_nothing_up(void **state)
{
    assert_key_keeps_out(attacker_breaks_off, 40, NULL, NULL);
}

static void assert_nobody_connects(void (*attacker)(void), long enough, const char *jobs_provider)
{
    set_or_not("CLAB_PROVIDER", jobs_provider);
    for (int i = 0, n = runs(); i < n; i++) {
        assert_string_equal(run_trial(attacker, 0, enough, 0), "");
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(trial->targets[r].reached, 0);
    }
    unsetenv("CLAB_PROVIDER");
}

static void test_nobody_connects_to_an_open_communicator(void **state)
{
    assert_nobody_connects(attacker_crashes_libfabric, 4, NULL);
    assert_nobody_connects(attacker_crashes_libfabric, 4, rxm);
}

static void test_no_message_reaches_an_open_communicator(void **state)
{
    assert_nobody_connects(floods, REACHED, NULL);
    assert_nobody_connects(sends_some_by_rxm, REACHED, rxm);
}

// The last rank lets the others wait for its address until the attacker has connected with them.
static void test_who_connects_while_a_communicator_opens_is_not_heard(void **state)
{
    for (int i = 0, n = runs(); i < n; i++) {
        const char *text = run_trial(attacker_comes_early, 0, 5, RANKS - 1);
        assert_true(trial->targets[0].reached > 0);
        assert_true(trial->targets[1].reached > 0);
        assert_null(strstr(text, "error"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forged_messages_change_nothing),
        cmocka_unit_test(test_forged_messages_change_nothing_in_registered_memory),
        cmocka_unit_test(test_forged_messages_change_nothing_over_rxm),
        cmocka_unit_test(test_messages_that_break_off_use_nothing_up),
        cmocka_unit_test(test_nobody_connects_to_an_open_communicator),
        cmocka_unit_test(test_who_connects_while_a_communicator_opens_is_not_heard),
        cmocka_unit_test(test_no_message_reaches_an_open_communicator),
    };
    load_libfabric();
    return cmocka_run_group_tests(tests, share_trial, NULL);
}

#else
MAIN_WITHOUT("libfabric")
#endif
