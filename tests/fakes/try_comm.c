// SPDX-License-Identifier: MIT
// Communicators of the fake libnccl: how they begin, what comes of them, and in which order they work.

#include "tests/fakes/board.h"

// ---- beginning -----------------------------------------------------------------------------------------------

static void wait_for_the_last(struct rank *me)
{
    ncclResult_t error;
    int count;
    if (me->rank == 1)
        await_step(0, 1);
    join_without_blocking(me);
    if (me->rank == 0) {
        MUST(ncclCommGetAsyncError(me->comm, &error));
        MUST_BE(ncclInProgress, error);
        MUST_BE(ncclInvalidArgument, ncclCommCount(me->comm, &count));
        step(0);
    }
    MUST_BE(ncclSuccess, error_after(me->comm, ncclInProgress));
    MUST(ncclCommCount(me->comm, &count));
    MUST_BE(2, count);

    float *data;
    MUST(cudaMalloc((void **)&data, COUNT * sizeof *data));
    MUST_BE(ncclInProgress, ncclAllReduce(data, data, COUNT, ncclFloat32, ncclSum, me->comm, me->stream));
    MUST_BE(ncclSuccess, error_after(me->comm, ncclInProgress));
    MUST(cudaStreamSynchronize(me->stream));
    MUST_BE(ncclInProgress, ncclCommFinalize(me->comm));
    MUST_BE(ncclSuccess, error_after(me->comm, ncclInProgress));
    MUST(ncclCommDestroy(me->comm));
    MUST(cudaFree(data));
    MUST(cudaStreamDestroy(me->stream));
}

static void test_a_communicator_that_does_not_block_is_in_progress_until_all_have_come(void **state)
{
    (void)state;
    ranks_do(2, wait_for_the_last);
}

static void give_up_waiting(struct rank *me)
{
    join_without_blocking(me);
    MUST(ncclCommAbort(me->comm));
    MUST(cudaStreamDestroy(me->stream));
}

static void test_abort_ends_a_wait_for_ranks_that_never_come(void **state)
{
    (void)state;
    struct rank me = {.n = 2};
    int status;
    MUST(ncclGetUniqueId(&me.id));
    for (me.rank = 0; me.rank < 2; me.rank++) {
        fflush(0);
        const pid_t child = fork();
        if (!child) {
            try_is_child = true;
            alarm(20);
            give_up_waiting(&me);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void share_a_device(struct rank *me)
{
    const char *how = getenv("TRY_HOW");
    char text[16];
    snprintf(text, sizeof text, "host-%d", me->rank);
    if (!strcmp(how, "hosts"))
        setenv("NCCL_HOSTID", text, 1);
    if (!strcmp(how, "allowed"))
        setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    MUST_BE(!strcmp(how, "refused") ? ncclInvalidUsage : ncclSuccess,
            ncclCommInitRank(&me->comm, me->n, me->id, me->rank));
    if (!strcmp(how, "refused"))
        MUST_BE(true, strstr(ncclGetLastError(0), "Duplicate GPU") != 0 && me->comm == 0);
    else
        MUST(ncclCommDestroy(me->comm));
}

static void test_two_ranks_on_one_device_are_refused_unless_told_otherwise(void **state)
{
    (void)state;
    static const char *const ways[] = {"refused", "hosts", "allowed"};
    for (int i = 0; i < 3; i++) {
        setenv("TRY_HOW", ways[i], 1);
        ranks_do(2, share_a_device);
    }
}

static void drive_all(struct rank *me)
{
    enum { DEVICES = 3 };
    ncclComm_t comms[DEVICES];
    int *data[DEVICES], got;
    (void)me;
    MUST(ncclCommInitAll(comms, DEVICES, 0));
    MUST(ncclGroupStart());
    for (int i = 0; i < DEVICES; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaMalloc((void **)&data[i], sizeof got));
        got = 1 << i;
        MUST(cudaMemcpy(data[i], &got, sizeof got, cudaMemcpyHostToDevice));
        MUST(ncclAllReduce(data[i], data[i], 1, ncclInt32, ncclSum, comms[i], 0));
    }
    MUST(ncclGroupEnd());
    for (int i = 0; i < DEVICES; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaMemcpy(&got, data[i], sizeof got, cudaMemcpyDeviceToHost));
        MUST_BE(7, got);
        MUST(cudaFree(data[i]));
    }
    for (int i = 0; i < DEVICES; i++)
        MUST(ncclCommDestroy(comms[i]));
}

static void test_one_thread_drives_several_devices_in_a_group(void **state)
{
    (void)state;
    ranks_do(1, drive_all);
}

// ---- children ------------------------------------------------------------------------------------------------

static int sum_of_ranks(struct rank *me, ncclComm_t comm)
{
    int *data, got = me->rank;
    MUST(cudaMalloc((void **)&data, sizeof got));
    MUST(cudaMemcpy(data, &got, sizeof got, cudaMemcpyHostToDevice));
    MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, me->stream));
    MUST(cudaMemcpyAsync(&got, data, sizeof got, cudaMemcpyDeviceToHost, me->stream));
    MUST(cudaFree(data));
    return got;
}

// Even and odd ranks, in reverse order; the last has none.
static void split_by_parity(struct rank *me)
{
    rank_join(me);
    const bool last = me->rank == me->n - 1;
    for (int again = 0; again < 2; again++) {
        ncclComm_t half = me->comm;
        int rank, count;
        MUST(ncclCommSplit(me->comm, last ? NCCL_SPLIT_NOCOLOR : me->rank % 2, -me->rank, &half, 0));
        if (last) {
            MUST_BE(true, half == 0);
            continue;
        }
        MUST(ncclCommUserRank(half, &rank));
        MUST(ncclCommCount(half, &count));
        MUST_BE(2, count);
        MUST_BE(me->rank < 2 ? 1 : 0, rank);
        MUST_BE(me->rank % 2 ? 1 + 3 : 0 + 2, sum_of_ranks(me, half));
        MUST(ncclCommDestroy(half));
    }
    MUST_BE(10, sum_of_ranks(me, me->comm));
    rank_leave(me);
}

static void test_split_makes_a_communicator_for_each_color(void **state)
{
    (void)state;
    ranks_do(5, split_by_parity);
}

// Rank 1 comes late: until then rank 0 has no child, and the parent can not be called.
static void split_before_the_last(struct rank *me)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t child = 0;
    ncclResult_t error;
    int count;
    join_without_blocking(me);
    MUST_BE(ncclSuccess, error_after(me->comm, ncclInProgress));
    if (me->rank == 1)
        await_step(0, 1);
    MUST_BE(ncclInProgress, ncclCommSplit(me->comm, 0, me->rank, &child, &config));
    if (me->rank == 0) {
        nap(20);
        MUST_BE(true, __atomic_load_n(&child, __ATOMIC_ACQUIRE) == 0);
        MUST_BE(ncclInvalidArgument, ncclCommGetAsyncError(0, &error));
        MUST_BE(ncclInvalidArgument, ncclCommCount(me->comm, &count));
        step(0);
    }
    MUST_BE(ncclSuccess, error_after(me->comm, ncclInProgress));
    MUST(ncclCommCount(child, &count));
    MUST_BE(2, count);
    MUST(ncclCommAbort(child));
    MUST(ncclCommAbort(me->comm));
    MUST(cudaStreamDestroy(me->stream));
}

static void test_split_hands_out_the_child_when_all_have_come(void **state)
{
    (void)state;
    ranks_do(2, split_before_the_last);
}

static void shrink_after_a_death(struct rank *me)
{
    int *data, out = 1, count;
    ncclComm_t rest;
    rank_join(me);
    MUST(cudaMalloc((void **)&data, sizeof *data));
    if (me->rank == 1)
        raise(SIGKILL);
    MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    MUST_BE(ncclRemoteError, error_after(me->comm, ncclSuccess));
    MUST(ncclCommShrink(me->comm, &out, 1, &rest, 0, NCCL_SHRINK_ABORT));
    MUST(cudaStreamSynchronize(me->stream));
    MUST(ncclCommCount(rest, &count));
    MUST_BE(3, count);
    MUST_BE(0 + 2 + 3, sum_of_ranks(me, rest));
    MUST(ncclCommDestroy(rest));
    MUST(ncclCommAbort(me->comm));
}

static void test_shrink_leaves_out_a_rank_that_has_died(void **state)
{
    (void)state;
    int status[4];
    ranks_run(4, shrink_after_a_death, status);
    for (int i = 0; i < 4; i++)
        assert_int_equal(status[i], i == 1 ? SIGKILL : 0);
}

// ---- order ---------------------------------------------------------------------------------------------------

static void wait_at_gate(void *gate)
{
    while (sem_wait(gate))
        ;
}

// The second operation is in a free stream, but comes after the first, whose stream is busy; and so does a group over
// both.
static void use_two_streams(struct rank *me)
{
    rank_join(me);
    sem_t gate;
    sem_init(&gate, 0, 0);
    int *data;
    cudaStream_t other;
    MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    MUST(cudaMalloc((void **)&data, 2 * sizeof *data));
    MUST(cudaLaunchHostFunc(me->stream, wait_at_gate, &gate));
    MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, other));
    nap(30);
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(other));
    sem_post(&gate);
    MUST(cudaStreamSynchronize(other));
    MUST(cudaLaunchHostFunc(other, wait_at_gate, &gate));
    MUST(ncclGroupStart());
    MUST(ncclSend(data, 1, ncclInt32, 1 - me->rank, me->comm, me->stream));
    MUST(ncclRecv(data + 1, 1, ncclInt32, 1 - me->rank, me->comm, other));
    MUST(ncclGroupEnd());
    nap(30);
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(me->stream));
    sem_post(&gate);
    MUST(cudaStreamSynchronize(me->stream));
    MUST(cudaStreamSynchronize(other));
    MUST(cudaStreamDestroy(other));
    MUST(cudaFree(data));
    rank_leave(me);
}

static void test_operations_of_a_communicator_run_in_the_order_of_their_calls(void **state)
{
    (void)state;
    ranks_do(2, use_two_streams);
}

// What is captured does not run, and runs with each launch; nothing but NCCL's can be captured.
static void launch_a_graph(struct rank *me)
{
    int *data, got = 1;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    rank_join(me);
    MUST(cudaMalloc((void **)&data, sizeof got));
    MUST(cudaMemcpy(data, &got, sizeof got, cudaMemcpyHostToDevice));
    MUST(cudaStreamBeginCapture(me->stream, cudaStreamCaptureModeThreadLocal));
    MUST(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, me->comm, me->stream));
    MUST_BE(cudaErrorStreamCaptureUnsupported,
            cudaMemcpyAsync(&got, data, sizeof got, cudaMemcpyDeviceToHost, me->stream));
    MUST_BE(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(me->stream));
    MUST(cudaStreamEndCapture(me->stream, &graph));
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cudaGraphDestroy(graph));
    MUST(cudaMemcpy(&got, data, sizeof got, cudaMemcpyDeviceToHost));
    MUST_BE(1, got);
    for (int i = 0; i < 3; i++)
        MUST(cudaGraphLaunch(exec, me->stream));
    MUST(cudaStreamSynchronize(me->stream));
    MUST(cudaMemcpy(&got, data, sizeof got, cudaMemcpyDeviceToHost));
    MUST_BE(8, got);
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaFree(data));
    rank_leave(me);
}

static void test_a_graph_runs_what_was_captured_with_each_launch(void **state)
{
    (void)state;
    ranks_do(2, launch_a_graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, new_board, drop_board)
    const struct CMUnitTest tests[] = {
        TEST(test_a_communicator_that_does_not_block_is_in_progress_until_all_have_come),
        TEST(test_abort_ends_a_wait_for_ranks_that_never_come),
        TEST(test_two_ranks_on_one_device_are_refused_unless_told_otherwise),
        TEST(test_one_thread_drives_several_devices_in_a_group),
        TEST(test_split_makes_a_communicator_for_each_color),
        TEST(test_split_hands_out_the_child_when_all_have_come),
        TEST(test_shrink_leaves_out_a_rank_that_has_died),
        TEST(test_operations_of_a_communicator_run_in_the_order_of_their_calls),
        TEST(test_a_graph_runs_what_was_captured_with_each_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
