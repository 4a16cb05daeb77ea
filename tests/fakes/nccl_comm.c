// SPDX-License-Identifier: MIT
// Life of a communicator of the fake libnccl.
//
// - As the real one's, a finalize, or a destroy without one, waits until all ranks have come to it; abort waits for
//   no other rank.
// - As the real one's, abort makes all that waits give up, and then frees: at the end of the group, if it is in one. It
//   waits for a call of another thread on a communicator that does not block. On one that blocks it does not: who frees
//   it under a call ends the process here.
// - A communicator that is not blocking answers ncclInProgress, and is not to be called before ncclCommGetAsyncError
//   says ncclSuccess: ncclInvalidArgument.

#include "tests/fakes/nccl_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

// ---- holding -------------------------------------------------------------------------------------------------

// As with the real one, the environment is over what the program asks for.
static bool is_blocking(const ncclConfig_t *config)
{
    const char *wanted = getenv("NCCL_COMM_BLOCKING");
    return wanted && *wanted ? atoi(wanted) != 0 : !config || config->blocking != 0;
}

ncclComm_t comm_new(const char *id, int nranks, int rank, const ncclConfig_t *config)
{
    ncclComm_t comm = calloc(1, sizeof *comm);
    if (!comm)
        return 0;
    comm->rank = rank;
    comm->nranks = nranks;
    comm->blocking = is_blocking(config);
    snprintf(comm->id, sizeof comm->id, "%s", id);
    cudaGetDevice(&comm->device);
    atomic_store(&comm->holders, 1);
    pthread_mutex_init(&comm->lock, 0);
    pthread_cond_init(&comm->turned, 0);
    return comm;
}

void comm_hold(ncclComm_t comm)
{
    atomic_fetch_add(&comm->holders, 1);
}

void comm_release(ncclComm_t comm)
{
    if (atomic_fetch_sub(&comm->holders, 1) > 1)
        return;
    for (int i = 0; comm->segment && i < comm->nranks; i++) {
        memory_close(comm->members[i].memory);
        if (comm->members[i].alive >= 0)
            close(comm->members[i].alive);
    }
    memory_forget_all(comm);
    profile_end(comm);
    if (comm->segment)
        munmap(comm->segment, comm->segment_bytes);
    pthread_mutex_destroy(&comm->lock);
    pthread_cond_destroy(&comm->turned);
    free(comm);
}

ncclResult_t comm_ready(ncclComm_t comm)
{
    if (!comm)
        return warn(ncclInvalidArgument, "the communicator is NULL");
    const ncclResult_t state = (ncclResult_t)atomic_load(&comm->state);
    if (state == ncclInProgress)
        return warn(ncclInvalidArgument,
                    "Attempt to use communicator before the previous operation returned ncclSuccess");
    return state;
}

// ---- works ---------------------------------------------------------------------------------------------------

ncclResult_t comm_finish(struct doing *doing)
{
    ncclComm_t comm = doing->comm;
    const ncclResult_t result = doing->work(comm, doing->data);
    free(doing);
    // What a blocking call has answered is over with that.
    int state = ncclInProgress;
    atomic_compare_exchange_strong(&comm->state, &state, (int)(comm->blocking ? ncclSuccess : result));
    pthread_mutex_lock(&comm->lock);
    comm->doing--;
    pthread_cond_broadcast(&comm->turned);
    pthread_mutex_unlock(&comm->lock);
    comm_release(comm);
    return result;
}

static void *finish(void *doing)
{
    comm_finish(doing);
    return 0;
}

ncclResult_t comm_do(ncclComm_t comm, comm_work *work, void *data)
{
    struct doing *doing = malloc(sizeof *doing);
    if (!doing)
        return ncclSystemError;
    *doing = (struct doing){.comm = comm, .work = work, .data = data};
    comm_hold(comm);
    pthread_mutex_lock(&comm->lock);
    comm->doing++;
    pthread_mutex_unlock(&comm->lock);
    atomic_store(&comm->state, ncclInProgress);
    if (comm->blocking)
        return group_takes(doing) ? ncclSuccess : comm_finish(doing);
    pthread_t thread;
    if (pthread_create(&thread, 0, finish, doing))
        return comm_finish(doing);
    pthread_detach(thread);
    return ncclInProgress;
}

// ---- beginning -----------------------------------------------------------------------------------------------

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    unsigned char bytes[12];
    if (!id || getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return id ? ncclSystemError : ncclInvalidArgument;
    memset(id, 0, sizeof *id);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id->internal + 2 * i, 3, "%02x", bytes[i]);
    inform("ncclGetUniqueId: %s", id->internal);
    return ncclSuccess;
}

static ncclResult_t bootstrap(ncclComm_t comm, void *data)
{
    (void)data;
    const ncclResult_t result = comm_bootstrap(comm);
    if (!result)
        inform("comm %s rank %d nranks %d cudaDev %d: Init COMPLETE", comm->id, comm->rank, comm->nranks, comm->device);
    return result;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm_p, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    if (!comm_p || nranks < 1 || nranks > MAX_RANKS || rank < 0 || rank >= nranks)
        return warn(ncclInvalidArgument, "Invalid rank requested : %d/%d (the fake knows %d ranks at most)", rank,
                    nranks, MAX_RANKS);
    if (config && config->magic != 0xcafebeef)
        return warn(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    int devices;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error)
        return warn(ncclUnhandledCudaError, "Cuda failure %d '%s'", error, cudaGetErrorString(error));
    id.internal[sizeof id.internal - 1] = 0;
    ncclComm_t comm = comm_new(id.internal, nranks, rank, config);
    if (!comm)
        return ncclSystemError;
    const char *connects = getenv("NCCL_RUNTIME_CONNECT");
    if (connects)
        inform("NCCL_RUNTIME_CONNECT set by environment to %s.", connects);
    *comm_p = comm;
    if (fake_fault_of(FAKE_BEGINNING) == FAKE_INIT) {
        comm_fail(comm, ncclSystemError);
        return warn(ncclSystemError, "rank %d: ncclCommInitRankConfig: a fault that CLAB_FAKE_FAULT asks for", rank);
    }
    const ncclResult_t result = comm_do(comm, bootstrap, 0);
    if (result && result != ncclInProgress) {
        *comm_p = 0;
        comm_release(comm);
    }
    return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm_p, int nranks, ncclUniqueId id, int rank)
{
    return ncclCommInitRankConfig(comm_p, nranks, id, rank, 0);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    int before;
    ncclUniqueId id;
    if (!comms || n < 1 || cudaGetDevice(&before) || ncclGetUniqueId(&id))
        return ncclInvalidArgument;
    ncclResult_t result = ncclGroupStart();
    for (int rank = 0; rank < n && !result; rank++) {
        result = cudaSetDevice(devices ? devices[rank] : rank) ? ncclInvalidArgument : ncclSuccess;
        result = result ? result : ncclCommInitRank(&comms[rank], n, id, rank);
    }
    const ncclResult_t end = ncclGroupEnd();
    cudaSetDevice(before);
    return result ? result : end;
}

// ---- end -----------------------------------------------------------------------------------------------------

static void leave(ncclComm_t comm)
{
    if (!comm->segment)
        return;
    atomic_store(&comm->segment->left[comm->rank], true);
    futex_signal(&comm->segment->departures);
}

// Whether all ranks have left, or ended. Those of this process may be destroyed one after another.
static bool all_left(ncclComm_t comm)
{
    bool left = true;
    for (int i = 0; i < comm->nranks; i++)
        left = left && (atomic_load(&comm->segment->left[i]) || comm->members[i].pid == (int)getpid() ||
                        member_has_ended(comm, i));
    return left;
}

static ncclResult_t finalize(ncclComm_t comm, void *data)
{
    (void)data;
    pthread_mutex_lock(&comm->lock);
    while ((comm->turn != comm->launched || comm->graphs) && !atomic_load(&comm->aborting))
        pthread_cond_wait(&comm->turned, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    leave(comm);
    while (comm->segment && !atomic_load(&comm->aborting)) {
        const unsigned departures = atomic_load(&comm->segment->departures);
        if (all_left(comm))
            break;
        futex_wait(&comm->segment->departures, departures);
    }
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    const ncclResult_t ready = comm_ready(comm);
    if (ready || comm->finalized)
        return ready ? ready : warn(ncclInvalidArgument, "the communicator was finalized before");
    comm->finalized = true;
    return comm_do(comm, finalize, 0);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    ncclResult_t result = ncclSuccess;
    if (!comm->finalized && atomic_load(&comm->state) == ncclSuccess) {
        comm->finalized = true;
        result = comm_do(comm, finalize, 0);
    }
    comm_release(comm);
    return result == ncclInProgress ? ncclSuccess : result;
}

static void give_up(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    atomic_store(&comm->aborting, true);
    pthread_cond_broadcast(&comm->turned);
    if (comm->segment) {
        futex_wake(&comm->segment->futexes[comm->rank]);
        futex_wake(&comm->segment->collective.round);
        futex_wake(&comm->segment->talk.round);
        futex_wake(&comm->segment->connection.round);
        futex_wake(&comm->segment->windows.round);
        futex_wake(&comm->segment->departures);
    }
    pthread_mutex_unlock(&comm->lock);
}

// For what the GPU does, and until no more than `doing` calls are in it.
static void await_end(ncclComm_t comm, int doing)
{
    pthread_mutex_lock(&comm->lock);
    while (comm->running || comm->graphs || comm->doing > doing)
        pthread_cond_wait(&comm->turned, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
}

void comm_stop(ncclComm_t comm)
{
    give_up(comm);
    await_end(comm, 0);
}

static void must_not_be_in_use(ncclComm_t comm)
{
    pthread_mutex_lock(&comm->lock);
    const int others = comm->doing - 1;
    pthread_mutex_unlock(&comm->lock);
    if (others == 0)
        return;
    fprintf(stderr, "fake NCCL: ncclCommAbort frees a communicator that blocks under a call of another thread\n");
    abort();
}

// This is one of its calls.
static ncclResult_t reclaim(ncclComm_t comm, void *data)
{
    (void)data;
    if (comm->blocking)
        must_not_be_in_use(comm);
    await_end(comm, 1);
    leave(comm);
    inform("comm %s rank %d: Abort COMPLETE", comm->id, comm->rank);
    comm_release(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    struct doing *doing = malloc(sizeof *doing);
    if (!doing)
        return ncclSystemError;
    *doing = (struct doing){.comm = comm, .work = reclaim};
    give_up(comm);
    comm_hold(comm);
    pthread_mutex_lock(&comm->lock);
    comm->doing++;
    pthread_mutex_unlock(&comm->lock);
    return group_takes(doing) ? ncclSuccess : comm_finish(doing);
}

// ---- questions -----------------------------------------------------------------------------------------------

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error_p)
{
    if (!comm || !error_p)
        return ncclInvalidArgument;
    *error_p = (ncclResult_t)atomic_load(&comm->state);
    return ncclSuccess;
}

static ncclResult_t ask(ncclComm_t comm, int value, int *value_p)
{
    const ncclResult_t ready = comm_ready(comm);
    if (ready || !value_p)
        return ready ? ready : ncclInvalidArgument;
    *value_p = value;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    return ask(comm, comm ? comm->nranks : 0, count);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    return ask(comm, comm ? comm->device : 0, device);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    return ask(comm, comm ? comm->rank : 0, rank);
}
