// SPDX-License-Identifier: MIT
// Communicators of the fake libnccl: what never ends, what fails, and what is left when processes are killed.

#include "tests/fakes/board.h"

#include <pthread.h>

// ---- what never ends -----------------------------------------------------------------------------------------

// Still under way after a while, without an error.
static void must_be_under_way(struct rank *me)
{
    ncclResult_t error;
    nap(250);
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(me->stream));
    MUST(ncclCommGetAsyncError(me->comm, &error));
    MUST(error);
}

static void abort_it(struct rank *me)
{
    MUST(ncclCommAbort(me->comm));
    MUST(cudaStreamSynchronize(me->stream));
}

static void must_hang(struct rank *me)
{
    must_be_under_way(me);
    settle(me);
    abort_it(me);
}

// A message to each other rank, and one from it: from now on no call waits for a peer.
static void greet(struct rank *me)
{
    int *data;
    MUST(cudaMalloc((void **)&data, 2 * sizeof *data));
    MUST(ncclGroupStart());
    for (int i = 0; i < me->n; i++) {
        MUST(ncclSend(data, 1, ncclInt32, i, me->comm, me->stream));
        MUST(ncclRecv(data + 1, 1, ncclInt32, i, me->comm, me->stream));
    }
    MUST(ncclGroupEnd());
    MUST(cudaStreamSynchronize(me->stream));
    MUST(cudaFree(data));
}

// Both send first, and no group lets the receives begin.
static void send_before_receive(struct rank *me)
{
    rank_join(me);
    greet(me);
    int *data;
    MUST(cudaMalloc((void **)&data, 2 * sizeof *data));
    MUST(ncclSend(data, 1, ncclInt32, 1 - me->rank, me->comm, me->stream));
    MUST(ncclRecv(data + 1, 1, ncclInt32, 1 - me->rank, me->comm, me->stream));
    must_hang(me);
}

static void disagree_on_a_message(struct rank *me)
{
    rank_join(me);
    greet(me);
    int *data;
    MUST(cudaMalloc((void **)&data, 2 * sizeof *data));
    if (me->rank == 0)
        MUST(ncclSend(data, 1, ncclInt32, 1, me->comm, me->stream));
    else
        MUST(ncclRecv(data, 2, ncclInt32, 0, me->comm, me->stream));
    must_hang(me);
}

static void disagree_on_a_collective(struct rank *me)
{
    rank_join(me);
    int *data;
    MUST(cudaMalloc((void **)&data, 2 * sizeof *data));
    MUST(ncclAllReduce(data, data, 1 + (size_t)me->rank, ncclInt32, ncclSum, me->comm, me->stream));
    must_hang(me);
}

static void wait_for_a_stopped_rank(struct rank *me)
{
    rank_join(me);
    greet(me);
    int *data;
    MUST(cudaMalloc((void **)&data, sizeof *data));
    step(me->rank);
    if (me->rank == 1) {
        raise(SIGSTOP);
        return;
    }
    await_step(1, 1);
    MUST(ncclRecv(data, 1, ncclInt32, 1, me->comm, me->stream));
    must_be_under_way(me);
    abort_it(me);
    kill(atomic_load(&board->pids[1]), SIGKILL);
}

static void test_what_deadlocks_on_a_gpu_deadlocks_until_abort(void **state)
{
    (void)state;
    ranks_do(2, send_before_receive);
    ranks_do(2, disagree_on_a_message);
    ranks_do(2, disagree_on_a_collective);
    int status[2];
    ranks_run(2, wait_for_a_stopped_rank, status);
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], SIGKILL);
}

static void send_to_itself(struct rank *me)
{
    rank_join(me);
    int *data;
    MUST(cudaMalloc((void **)&data, sizeof *data));
    MUST_BE(ncclInvalidUsage, ncclSend(data, 1, ncclInt32, me->rank, me->comm, me->stream));
    MUST_BE(ncclInvalidArgument, ncclSend(data, 1, ncclInt32, me->n, me->comm, me->stream));
    MUST_BE(ncclInvalidArgument, ncclSend(0, 1, ncclInt32, me->rank, me->comm, me->stream));
    MUST_BE(ncclInvalidUsage, ncclGroupEnd());
    rank_leave(me);
}

static void test_what_can_never_be_is_refused_at_once(void **state)
{
    (void)state;
    ranks_do(1, send_to_itself);
}

// ---- what waits in the call ------------------------------------------------------------------------------------

struct waiting {
    struct rank *me;
    int *data;
    atomic_bool is_over;
    ncclResult_t result;
};

static void *call(void *of)
{
    struct waiting *w = of;
    struct rank *me = w->me;
    MUST(cudaSetDevice(me->rank));
    w->result = getenv("TRY_LATE") ? ncclAllReduce(w->data, w->data, 1, ncclInt32, ncclSum, me->comm, me->stream)
                                   : ncclSend(w->data, 1, ncclInt32, 1, me->comm, me->stream);
    atomic_store(&w->is_over, true);
    return 0;
}

// Rank 1 does not come. In a group, abort makes the call give up, and frees only when that has ended.
static void abort_a_call(struct rank *me)
{
    struct waiting w = {.me = me};
    pthread_t thread;
    rank_join(me);
    if (me->rank == 1) {
        await_step(0, 1);
        MUST(ncclCommAbort(me->comm));
        return;
    }
    MUST(cudaMalloc((void **)&w.data, sizeof *w.data));
    MUST_BE(0, pthread_create(&thread, 0, call, &w));
    nap(150);
    MUST_BE(false, atomic_load(&w.is_over));
    MUST(ncclGroupStart());
    MUST(ncclCommAbort(me->comm));
    MUST_BE(0, pthread_join(thread, 0));
    MUST_BE(ncclRemoteError, w.result);
    MUST(ncclGroupEnd());
    MUST(cudaStreamSynchronize(me->stream));
    step(0);
}

static void test_abort_within_a_group_ends_calls_that_wait_for_a_first_message(void **state)
{
    (void)state;
    ranks_do(2, abort_a_call);
}

static void test_with_late_connections_the_first_collective_waits_in_the_call(void **state)
{
    (void)state;
    setenv("NCCL_RUNTIME_CONNECT", "1", 1);
    setenv("TRY_LATE", "1", 1);
    ranks_do(2, abort_a_call);
    unsetenv("NCCL_RUNTIME_CONNECT");
    unsetenv("TRY_LATE");
}

static void abort_under_a_call(struct rank *me)
{
    struct waiting w = {.me = me};
    pthread_t thread;
    rank_join(me);
    if (me->rank == 1) {
        await_step(0, 1);
        nap(100);
        MUST(ncclCommAbort(me->comm));
        return;
    }
    MUST(cudaMalloc((void **)&w.data, sizeof *w.data));
    MUST_BE(0, pthread_create(&thread, 0, call, &w));
    nap(50);
    step(0);
    ncclCommAbort(me->comm);
}

static void test_to_free_a_communicator_under_a_call_ends_the_process(void **state)
{
    (void)state;
    int status[2];
    ranks_run(2, abort_under_a_call, status);
    assert_true(WIFSIGNALED(status[0]) && WTERMSIG(status[0]) == SIGABRT);
}

// ---- what fails ----------------------------------------------------------------------------------------------

static void lose_a_peer(struct rank *me)
{
    rank_join(me);
    greet(me);
    int *data;
    MUST(cudaMalloc((void **)&data, sizeof *data));
    step(me->rank);
    if (me->rank == 1)
        raise(SIGKILL);
    await_step(1, 1);
    // One waits in a collective, the other for a message.
    if (me->rank == 0)
        MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    else
        MUST(ncclSend(data, 1, ncclInt32, 1, me->comm, me->stream));
    const double begin = seconds();
    MUST_BE(ncclRemoteError, error_after(me->comm, ncclSuccess));
    MUST_BE(true, seconds() - begin < 4);
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(me->stream));
    MUST_BE(ncclRemoteError, ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    MUST(ncclCommAbort(me->comm));
    MUST(cudaStreamSynchronize(me->stream));
}

static void test_a_peer_that_ends_is_a_remote_error(void **state)
{
    (void)state;
    int status[3];
    ranks_run(3, lose_a_peer, status);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status[i], i == 1 ? SIGKILL : 0);
}

static void give_host_memory(struct rank *me)
{
    rank_join(me);
    int on_host = 0;
    MUST(ncclAllReduce(&on_host, &on_host, 1, ncclInt32, ncclSum, me->comm, me->stream));
    MUST_BE(ncclUnhandledCudaError, error_after(me->comm, ncclSuccess));
    MUST(ncclCommAbort(me->comm));
    MUST_BE(cudaErrorIllegalAddress, cudaStreamSynchronize(me->stream));
}

static void test_memory_of_the_host_alone_fails_the_device(void **state)
{
    (void)state;
    ranks_do(1, give_host_memory);
}

// The second operation of rank 1 is the one.
static void meet_a_fault(struct rank *me)
{
    rank_join(me);
    const bool async = strstr(getenv("CLAB_FAKE_FAULT"), "async") != 0;
    int *data;
    MUST(cudaMalloc((void **)&data, sizeof *data));
    for (int i = 0; i < 2; i++)
        MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    if (async && me->rank == 1) {
        MUST_BE(ncclSystemError, error_after(me->comm, ncclSuccess));
        settle(me);
        abort_it(me);
    } else if (strstr(getenv("CLAB_FAKE_FAULT"), "abort")) {
        MUST_BE(ncclRemoteError, error_after(me->comm, ncclSuccess));
        abort_it(me);
    } else {
        must_hang(me);
    }
}

static void test_faults_befall_the_operation_that_they_name(void **state)
{
    (void)state;
    static const char *const faults[] = {"async@1:2", "hang@1:2", "abort@1:2"};
    for (int i = 0; i < 3; i++) {
        int status[2];
        setenv("CLAB_FAKE_FAULT", faults[i], 1);
        ranks_run(2, meet_a_fault, status);
        assert_int_equal(status[0], 0);
        assert_int_equal(WIFSIGNALED(status[1]) ? WTERMSIG(status[1]) : status[1], i == 2 ? SIGABRT : 0);
    }
    unsetenv("CLAB_FAKE_FAULT");
}

// ---- end -----------------------------------------------------------------------------------------------------

static void leave_one_after_another(struct rank *me)
{
    rank_join(me);
    if (me->rank == 0) {
        nap(50);
        step(0);
    }
    MUST(ncclCommFinalize(me->comm));
    MUST_BE(1, atomic_load(&board->steps[0]));
    MUST(ncclCommDestroy(me->comm));
    MUST(cudaStreamDestroy(me->stream));
}

static void test_finalize_waits_for_all_ranks(void **state)
{
    (void)state;
    ranks_do(3, leave_one_after_another);
}

// Names of ours in a list of the system's.
static int names_in(const char *path, const char *name)
{
    char line[512];
    int n = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        n += strstr(line, name) != 0;
    fclose(file);
    return n;
}

static void wait_to_be_killed(struct rank *me)
{
    // Rank 2 never comes to the second bootstrap: rank 0 listens, rank 1 waits for its answer.
    ncclComm_t second;
    rank_join(me);
    me->id.internal[0] ^= 1;
    step(me->rank);
    if (me->rank < 2)
        ncclCommInitRank(&second, me->n, me->id, me->rank);
    pause(); // also rank 1, which may hear that rank 0 is dead
}

static void kill_when_all_wait(struct rank *me)
{
    if (me->rank < 3) {
        me->n = 3;
        wait_to_be_killed(me);
        return;
    }
    for (int i = 0; i < 3; i++)
        await_step(i, 1);
    me->id.internal[0] ^= 1;
    snprintf(board->name, sizeof board->name, "@fake-nccl-%.24s", me->id.internal);
    while (!names_in("/proc/net/unix", board->name))
        nap(1);
    for (int i = 0; i < 3; i++)
        kill(atomic_load(&board->pids[i]), SIGKILL);
}

static void test_killed_processes_leave_no_name_behind(void **state)
{
    (void)state;
    int status[4];
    ranks_run(4, kill_when_all_wait, status);
    for (int i = 0; i < 4; i++)
        assert_int_equal(status[i], i < 3 ? SIGKILL : 0);
    assert_int_equal(names_in("/proc/net/unix", board->name), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, new_board, drop_board)
    const struct CMUnitTest tests[] = {
        TEST(test_what_deadlocks_on_a_gpu_deadlocks_until_abort),
        TEST(test_what_can_never_be_is_refused_at_once),
        TEST(test_abort_within_a_group_ends_calls_that_wait_for_a_first_message),
        TEST(test_with_late_connections_the_first_collective_waits_in_the_call),
        TEST(test_to_free_a_communicator_under_a_call_ends_the_process),
        TEST(test_a_peer_that_ends_is_a_remote_error),
        TEST(test_memory_of_the_host_alone_fails_the_device),
        TEST(test_faults_befall_the_operation_that_they_name),
        TEST(test_finalize_waits_for_all_ranks),
        TEST(test_killed_processes_leave_no_name_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
