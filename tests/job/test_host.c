// SPDX-License-Identifier: MIT
// Ranks that nobody of ours has launched: which of them share a host, and its memory.

#include "tests/fixtures/job_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>

#include "core/job/bootstrap.h"
#include "core/job/store/socket.h"
#include "tests/fixtures/needs.h"

enum { RANKS = 4 };

// A port that is free now.
static int free_port(void)
{
    int fd, port;
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &fd, &port), CLAB_OK);
    close(fd);
    return port;
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

static pid_t start_rank(int rank, int port, int (*body)(int rank))
{
    const pid_t pid = fork();
    if (pid == 0) {
        crash_as_others_do();
        set_number("RANK", rank);
        set_number("WORLD_SIZE", RANKS);
        set_number("MASTER_PORT", port);
        setenv("MASTER_ADDR", "127.0.0.1", 1);
        setenv("CLAB_TOKEN", "0123456789abcdef0123456789abcdef", 1);
        _exit(body(rank));
    }
    return pid;
}

// All ranks run `body`, which ends each with status 0; and their store ends.
static void run_ranks(int (*body)(int rank))
{
    needs_sodium();
    pid_t pids[RANKS];
    int fd, port = free_port();
    for (int rank = RANKS - 1; rank >= 0; rank--)
        pids[rank] = start_rank(rank, port, body);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(end_status(pids[rank]), 0);
    for (const double start = clab_now(); store_connect("127.0.0.1", port, 1, &fd) == CLAB_OK; usleep(1000)) {
        close(fd);
        if (clab_now() - start > TIME_LIMIT)
            fail_msg("the store at port %d is still there", port);
    }
}

// Whether what every rank of the host writes into the memory is what all read there.
static bool sees_the_others(struct clab_bootstrap *boot)
{
    int all[RANKS];
    char *mine = boot->flights + (size_t)boot->local_rank * CLAB_FLIGHT_BYTES;
    const bool was_zero = mine[0] == 0 && mine[CLAB_FLIGHT_BYTES - 1] == 0;
    mine[0] = (char)(1 + boot->rank);
    if (boot->exchange(boot, (struct clab_fence){.key = 7}, &boot->rank, sizeof boot->rank, all) != CLAB_OK)
        return false;
    for (int i = 0; i < boot->local_ranks; i++)
        if (boot->flights[(size_t)i * CLAB_FLIGHT_BYTES] != 1 + boot->locals[i])
            return false;
    return was_zero && boot->exchange(boot, (struct clab_fence){.key = 8}, NULL, 0, NULL) == CLAB_OK;
}

static int share_one_host(int rank)
{
    struct clab_bootstrap *boot;
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    bool fine = boot->node == 0 && boot->nnodes == 1 && boot->local_rank == rank && boot->local_ranks == RANKS;
    for (int i = 0; i < RANKS; i++)
        fine = fine && boot->locals[i] == i;
    fine = fine && boot->segment_fd >= 0 && boot->segment_bytes > 0 && boot->cores >= 1 && sees_the_others(boot);
    clab_bootstrap_close(boot);
    return fine ? 0 : 2;
}

static void test_ranks_of_one_host_share_its_memory(void **state)
{
    run_ranks(share_one_host);
}

// Odd ranks are in a container, as it were.
static int share_two_hosts(int rank)
{
    struct clab_bootstrap *boot;
    if (rank % 2 && unshare(CLONE_NEWIPC) != 0)
        return 3;
    if (rank == 3) { // it joins the namespace of rank 1, not one of its own
        char path[64];
        await(&told->pids[0], 1);
        snprintf(path, sizeof path, "/proc/%d/ns/ipc", told->pids[0]);
        const int fd = open(path, O_RDONLY);
        if (setns(fd, CLONE_NEWIPC) != 0)
            return 4;
    } else if (rank == 1) {
        told->pids[0] = getpid();
    }
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    const bool fine = boot->nnodes == 2 && boot->node == rank % 2 && boot->local_rank == rank / 2 &&
                      boot->local_ranks == 2 && boot->locals[0] == rank % 2 && boot->locals[1] == 2 + rank % 2 &&
                      boot->segment_fd >= 0 && sees_the_others(boot);
    clab_bootstrap_close(boot);
    return fine ? 0 : 2;
}

static void test_other_namespaces_are_other_hosts(void **state)
{
    if (geteuid() != 0) {
        print_message("skip: only root may make namespaces\n");
        skip();
    }
    run_ranks(share_two_hosts);
}

// Each is in a container of its own, and all have but one core between them.
static int share_a_core(int rank)
{
    struct clab_bootstrap *boot;
    cpu_set_t mine, one;
    sched_getaffinity(0, sizeof mine, &mine);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &mine))
            CPU_SET(c, &one);
    sched_setaffinity(0, sizeof one, &one);
    if (rank > 0 && unshare(CLONE_NEWIPC) != 0)
        return 3;
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    const bool fine =
        boot->nnodes == RANKS && boot->local_ranks == 1 && boot->cores == 1 && boot->job_cores == 1 && boot->machines == 1 &&
        boot->crowded;
    clab_bootstrap_close(boot);
    return fine ? 0 : 2;
}

static void test_containers_crowd_the_cores_of_their_machine(void **state)
{
    if (geteuid() != 0) {
        print_message("skip: only root may make namespaces\n");
        skip();
    }
    run_ranks(share_a_core);
}

// What others have open can not be opened: they, like us, are closed to all but the system.
static int share_nothing(int rank)
{
    struct clab_bootstrap *boot;
    struct clab_domain *domain;
    if (geteuid() == 0 && setuid(65534) != 0)
        return 3;
    prctl(PR_SET_DUMPABLE, 0);
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    const bool fine = boot->nnodes == 1 && boot->local_rank == rank && boot->local_ranks == RANKS &&
                      boot->segment_fd == -1 && boot->flights && boot->flights[CLAB_FLIGHT_BYTES] == 0;
    const int err = clab_attach(clab_backend_find("shm"), boot, &domain);
    clab_bootstrap_close(boot);
    return fine && err == CLAB_EUNSUPPORTED ? 0 : 2;
}

static void test_without_proc_ranks_go_on_without_memory(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    run_ranks(share_nothing);
    assert_one_line_with(capture_end(err), "shm: this job has no memory file");
}

// A rank is killed: the others hear of it, and the flights of the dead stay readable.
static int die_at_2(int rank)
{
    struct clab_bootstrap *boot;
    struct clab_notice notice = {.culprit = -1};
    int all[RANKS];
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    boot->flights[(size_t)rank * CLAB_FLIGHT_BYTES] = 'x';
    if (boot->exchange(boot, (struct clab_fence){.key = 1}, &rank, sizeof rank, all) != CLAB_OK)
        return 2;
    if (rank == 2) {
        told->ready++;
        raise(SIGKILL);
    }
    const int err = boot->exchange(boot, (struct clab_fence){.key = 2, .quiet = true}, &rank, sizeof rank, all);
    const bool heard = boot->next_notice(boot, &notice) && notice.kind == CLAB_NOTICE_LOST && notice.culprit == 2;
    const bool fine = err == CLAB_EPEER && heard && boot->presence(boot, 2) == CLAB_LOST &&
                      boot->presence(boot, rank) == CLAB_PRESENT && boot->flights[2 * CLAB_FLIGHT_BYTES] == 'x';
    clab_bootstrap_close(boot);
    return fine ? 0 : 3;
}

static void test_survivors_receive_a_notice_of_a_killed_rank(void **state)
{
    needs_sodium();
    pid_t pids[RANKS];
    const int port = free_port();
    for (int rank = 0; rank < RANKS; rank++)
        pids[rank] = start_rank(rank, port, die_at_2);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(end_status(pids[rank]), rank == 2 ? 128 + SIGKILL : 0);
}

static int join_twice(int rank)
{
    struct clab_bootstrap *boot, *second = NULL;
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 1;
    const int err = boot->exchange(boot, (struct clab_fence){.key = 1}, NULL, 0, NULL);
    const int again = rank == 1 ? clab_bootstrap_open(&second) : CLAB_EINVAL;
    const int last = boot->exchange(boot, (struct clab_fence){.key = 2}, NULL, 0, NULL);
    clab_bootstrap_close(boot);
    return !err && again == CLAB_EINVAL && !second && !last ? 0 : 2;
}

static void test_a_rank_joins_once(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    run_ranks(join_twice);
    const char *text = capture_end(err);
    assert_text_has(text, "rank 1 has joined the job at 127.0.0.1:");
    assert_text_has(
        text, "a process from 127.0.0.1 was refused: it is a rank or node that has joined already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_ranks_of_one_host_share_its_memory),          fresh_test(test_other_namespaces_are_other_hosts),
        fresh_test(test_containers_crowd_the_cores_of_their_machine), fresh_test(test_without_proc_ranks_go_on_without_memory),
        fresh_test(test_survivors_receive_a_notice_of_a_killed_rank), fresh_test(test_a_rank_joins_once),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
