// SPDX-License-Identifier: MIT
// Plans of the fake libnccl: the operations of a group on one communicator, as one callback in a stream.
//
// - If they were given several streams, the plan begins after what is in all of them, and all of them go on after it.
// - Collectives come first, in their order; then all sends and receives together.
// - What can never be done (a peer has ended, a fault, memory that no device reaches) keeps its stream busy until the
//   communicator is aborted, as a kernel does that waits.

#include "tests/fakes/nccl_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fakes/fake.h"

struct plan {
    ncclComm_t comm;
    unsigned turn;
    struct task *tasks;
    int n, room;
    cudaStream_t *streams;
    int n_streams;
};

struct plan *plan_new(ncclComm_t comm)
{
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return 0;
    plan->comm = comm;
    comm_hold(comm);
    return plan;
}

void plan_free(struct plan *plan)
{
    comm_release(plan->comm);
    free(plan->tasks);
    free(plan->streams);
    free(plan);
}

ncclComm_t plan_comm(const struct plan *plan)
{
    return plan->comm;
}

static bool add_stream(struct plan *plan, cudaStream_t stream)
{
    for (int i = 0; i < plan->n_streams; i++)
        if (plan->streams[i] == stream)
            return true;
    cudaStream_t *more = realloc(plan->streams, (size_t)(plan->n_streams + 1) * sizeof *more);
    if (!more)
        return false;
    plan->streams = more;
    plan->streams[plan->n_streams++] = stream;
    return true;
}

bool plan_add(struct plan *plan, const struct task *task, cudaStream_t stream)
{
    if (plan->n == plan->room) {
        const int room = plan->room ? 2 * plan->room : 8;
        struct task *more = realloc(plan->tasks, (size_t)room * sizeof *more);
        if (!more)
            return false;
        plan->tasks = more;
        plan->room = room;
    }
    plan->tasks[plan->n++] = *task;
    return add_stream(plan, stream);
}

// ---- running -------------------------------------------------------------------------------------------------

// Where `bytes` at an address are; what no device reaches, or not all of it, fails the device.
static bool reach(ncclComm_t comm, const void *address, size_t bytes, char **host_p, size_t *at_p)
{
    struct fake_place place;
    if (!bytes || !address)
        return true;
    if (clab_fake_place(address, bytes, &place) && place.in_file) {
        *host_p = place.host;
        *at_p = place.offset;
        return true;
    }
    warn(ncclUnhandledCudaError, "rank %d: %p, %zu bytes, is not in one allocation of the device%s", comm->rank,
         address, bytes, place.type == cudaMemoryTypeHost ? "; the fake does not move memory of cudaHostRegister" : "");
    clab_fake_fail(comm->device, cudaErrorIllegalAddress);
    comm_fail(comm, ncclUnhandledCudaError);
    return false;
}

static bool reach_task(ncclComm_t comm, struct task *task)
{
    const size_t bytes = task->count * type_bytes(task->type), all = bytes * (size_t)comm->nranks;
    const bool many_in = task->kind == REDUCE_SCATTER || task->kind == ALL_TO_ALL || task->kind == SCATTER;
    const bool many_out = task->kind == ALL_GATHER || task->kind == ALL_TO_ALL || task->kind == GATHER;
    return reach(comm, task->in, many_in ? all : bytes, &task->from, &task->in_at) &&
           reach(comm, task->out, many_out ? all : bytes, &task->to, &task->out_at);
}

static atomic_bool is_stuck;

void get_stuck(void)
{
    atomic_store(&is_stuck, true);
    for (;;)
        pause();
}

// Exit may wait for what never ends, too.
static __attribute__((destructor)) void wait_for_what_is_stuck(void)
{
    while (atomic_load(&is_stuck))
        pause();
}

static bool befall(ncclComm_t comm, const struct task *task)
{
    if (task->fault == FAKE_NONE)
        return false;
    warn(ncclSystemError, "rank %d: a fault that CLAB_FAKE_FAULT asks for", comm->rank);
    if (task->fault == FAKE_ABORT) {
        fprintf(stderr, "fake NCCL: rank %d ends, as CLAB_FAKE_FAULT asks for\n", comm->rank);
        abort();
    }
    if (task->fault == FAKE_STUCK)
        get_stuck();
    if (task->fault == FAKE_ASYNC)
        comm_fail(comm, ncclSystemError);
    return true;
}

static bool run_tasks(ncclComm_t comm, struct plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (befall(comm, &plan->tasks[i]) || !reach_task(comm, &plan->tasks[i]))
            return false;
    for (int i = 0; i < plan->n; i++)
        if (plan->tasks[i].kind > RECV && !collective(comm, &plan->tasks[i]))
            return false;
    return move(comm, plan->tasks, plan->n);
}

// False: the communicator aborts.
static bool take_turn(ncclComm_t comm, unsigned turn)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->turn != turn && !atomic_load(&comm->aborting))
        pthread_cond_wait(&comm->turned, &comm->lock);
    comm->running = !atomic_load(&comm->aborting);
    pthread_mutex_unlock(&comm->lock);
    return comm->running;
}

static void pass_turn(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    comm->running = false;
    comm->turn++;
    pthread_cond_broadcast(&comm->turned);
    pthread_mutex_unlock(&comm->lock);
}

static void CUDART_CB run(cudaStream_t stream, cudaError_t status, void *data)
{
    (void)stream;
    struct plan *plan = data;
    if (take_turn(plan->comm, plan->turn)) {
        if (status)
            comm_fail(plan->comm, ncclUnhandledCudaError);
        else if (!run_tasks(plan->comm, plan))
            comm_hang(plan->comm);
        pass_turn(plan->comm);
    }
    plan_free(plan);
}

// ---- launching -----------------------------------------------------------------------------------------------

// What NCCL itself refuses.
static bool sends_to_itself_only(const struct plan *plan)
{
    int missing = 0;
    for (int i = 0; i < plan->n; i++)
        if (plan->tasks[i].kind <= RECV && plan->tasks[i].root == plan->comm->rank)
            missing += plan->tasks[i].kind == SEND ? 1 : -1;
    return missing != 0;
}

// `to` goes on after what is in `from` now.
static cudaError_t follow(cudaStream_t to, cudaStream_t from)
{
    cudaEvent_t event;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error)
        return error;
    error = cudaEventRecord(event, from);
    error = error ? error : cudaStreamWaitEvent(to, event, 0);
    cudaEventDestroy(event);
    return error;
}

static cudaError_t follow_others(const cudaStream_t streams[], int n)
{
    cudaError_t error = cudaSuccess;
    for (int i = 1; i < n && !error; i++)
        error = follow(streams[0], streams[i]);
    return error;
}

static cudaError_t others_follow(const cudaStream_t streams[], int n)
{
    cudaError_t error = cudaSuccess;
    for (int i = 1; i < n && !error; i++)
        error = follow(streams[i], streams[0]);
    return error;
}

static void take_ticket(struct plan *plan)
{
    pthread_mutex_lock(&plan->comm->lock);
    plan->turn = plan->comm->launched++;
    pthread_mutex_unlock(&plan->comm->lock);
}

static void give_ticket_back(struct plan *plan)
{
    pthread_mutex_lock(&plan->comm->lock);
    plan->comm->launched--;
    pthread_mutex_unlock(&plan->comm->lock);
}

// Stream 0 is that of the communicator's device.
static cudaError_t put(struct plan *plan)
{
    // The plan may be done and gone as soon as it is in a stream.
    cudaStream_t *streams = plan->streams;
    const int n = plan->n_streams, device = plan->comm->device;
    int before = 0;
    plan->streams = 0;
    take_ticket(plan);
    cudaGetDevice(&before);
    cudaError_t error = cudaSetDevice(device);
    error = error ? error : follow_others(streams, n);
    error = error ? error : cudaStreamAddCallback(streams[0], run, plan, 0);
    if (error) {
        give_ticket_back(plan);
        plan_free(plan);
    } else {
        error = others_follow(streams, n);
    }
    cudaSetDevice(before);
    free(streams);
    return error;
}

// ---- in a graph ------------------------------------------------------------------------------------------------

// A copy for each launch of the graph.
static void start_copy(void *data, cudaStream_t stream)
{
    const struct plan *kept = data;
    struct plan *plan = plan_new(kept->comm);
    bool has_room = plan != 0;
    for (int i = 0; i < kept->n && has_room; i++)
        has_room = plan_add(plan, &kept->tasks[i], stream);
    if (!has_room || put(plan))
        comm_fail(kept->comm, ncclSystemError);
}

static void count_graphs(ncclComm_t comm, int more)
{
    pthread_mutex_lock(&comm->lock);
    comm->graphs += more;
    pthread_cond_broadcast(&comm->turned);
    pthread_mutex_unlock(&comm->lock);
}

static void drop_kept(void *data)
{
    count_graphs(plan_comm(data), -1);
    plan_free(data);
}

static cudaError_t keep_in_graph(struct plan *plan)
{
    const cudaError_t error = clab_fake_capture(plan->streams[0], start_copy, drop_kept, plan);
    if (error)
        plan_free(plan);
    else
        count_graphs(plan->comm, 1);
    return error;
}

static bool finds_no_memory(const struct plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->tasks[i].fault == FAKE_FULL)
            return true;
    return false;
}

// As CUDA does where a stream is full. True: until the communicator aborts.
static bool waits_in_the_call(const struct plan *plan)
{
    for (int i = 0; i < plan->n; i++) {
        if (plan->tasks[i].fault == FAKE_WAIT)
            comm_hang(plan->comm);
        if (plan->tasks[i].fault == FAKE_JAM)
            get_stuck();
    }
    return atomic_load(&plan->comm->aborting);
}

ncclResult_t plan_launch(struct plan *plan)
{
    if (finds_no_memory(plan)) {
        plan_free(plan);
        return warn(ncclUnhandledCudaError, "Cuda failure '%s'", cudaGetErrorString(cudaErrorMemoryAllocation));
    }
    if (sends_to_itself_only(plan)) {
        plan_free(plan);
        return warn(ncclInvalidUsage, "Trying to send to self without a matching recv");
    }
    if (waits_in_the_call(plan) || !connect_for(plan->comm, plan->tasks, plan->n)) {
        plan_free(plan);
        return warn(ncclRemoteError, "a call has waited for a peer until it was aborted, or the peer has ended");
    }
    profile_tasks(plan->comm, plan->tasks, plan->n);
    const cudaError_t error = clab_fake_is_captured(plan->streams[0]) ? keep_in_graph(plan) : put(plan);
    return error ? warn(ncclUnhandledCudaError, "Cuda failure %d '%s'", error, cudaGetErrorString(error)) : ncclSuccess;
}
