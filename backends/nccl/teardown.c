// SPDX-License-Identifier: MIT
// Ends NCCL's communicators.
//
// - A communicator whose work is done is finalized, which takes until all its ranks finalize it, and then destroyed.
//   Close must not wait: it begins this, later calls continue it, and detach waits for it, with a deadline. The
//   endpoint stays until then, and also continues a split that is under way or for which other ranks wait.
// - A communicator that has failed is aborted, which ends the kernels that wait for peers. NCCL may take long for that,
//   in rare cases for ever. So a thread aborts, and we wait a few seconds for it. After that we free nothing more,
//   since CUDA would wait for the same kernels, and the process exits without waiting.

#include "backends/nccl/endpoint.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

static const double abort_takes = 5;   // s at most
static const long look_every = 200000; // ns

// ---- at once -------------------------------------------------------------------------------------------------

struct abortion {
    ncclComm_t comm;
    int device;
    sem_t over, left; // by the thread; by us: who comes last frees this
};

static void free_abortion(struct abortion *a)
{
    sem_destroy(&a->over);
    sem_destroy(&a->left);
    free(a);
}

static void *abort_comm(void *of)
{
    struct abortion *a = of;
    cudaSetDevice(a->device);
    ncclCommAbort(a->comm);
    sem_post(&a->over);
    while (sem_wait(&a->left) != 0)
        continue;
    free_abortion(a);
    return NULL;
}

static bool wait_for(sem_t *over)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)abort_takes;
    int failed;
    while ((failed = sem_timedwait(over, &until)) != 0 && errno == EINTR)
        continue;
    return !failed;
}

// NULL: it is over.
static struct abortion *begin_abort(ncclComm_t comm)
{
    struct abortion *a = calloc(1, sizeof *a);
    pthread_t thread;
    if (!a) {
        ncclCommAbort(comm);
        return NULL;
    }
    a->comm = comm;
    cudaGetDevice(&a->device);
    sem_init(&a->over, 0, 0);
    sem_init(&a->left, 0, 0);
    if (pthread_create(&thread, NULL, abort_comm, a) != 0) {
        ncclCommAbort(comm);
        free_abortion(a);
        return NULL;
    }
    pthread_detach(thread);
    return a;
}

// Together: to free one's memory CUDA waits for the kernels of the others. False: that takes too long.
static bool abort_lanes(struct nccl_endpoint *endpoint, int first, int end)
{
    struct abortion *all[CLAB_MAX_LANES] = {0};
    bool over = true;
    for (int i = first; i < end; i++)
        if (endpoint->lanes[i].comm)
            all[i] = begin_abort(endpoint->lanes[i].comm);
    for (int i = first; i < end; i++)
        if (all[i]) {
            over = over && wait_for(&all[i]->over);
            sem_post(&all[i]->left);
        }
    return over;
}

static void leave_at_once(int status, void *of)
{
    (void)of;
    fflush(NULL);
    _exit(status);
}

// The process then exits without the handlers of CUDA, which may wait for the GPU: they were there before ours, and so
// would come after it.
static void get_stuck(struct nccl_domain *domain, const char *what)
{
    if (domain->is_stuck)
        return;
    clab_warn("%s has not come to an end within %g s: what it leaves goes with this process", what, abort_takes);
    domain->is_stuck = true;
    on_exit(leave_at_once, NULL);
}

void nccl_drain(struct nccl_domain *domain, cudaStream_t stream)
{
    const double deadline = clab_now() + abort_takes;
    const struct timespec moment = {.tv_nsec = look_every};
    while (!domain->is_stuck && cudaStreamQuery(stream) == cudaErrorNotReady) {
        if (clab_now() >= deadline)
            get_stuck(domain, "CUDA: a stream");
        nanosleep(&moment, NULL);
    }
    cudaGetLastError();
}

void nccl_end_now(struct nccl_endpoint *endpoint)
{
    struct nccl_domain *domain = endpoint->domain;
    const int split = endpoint->nlanes - endpoint->is_splitting; // NCCL gives the last one when the first is aborted
    if (!abort_lanes(endpoint, 0, split) || !abort_lanes(endpoint, split, endpoint->nlanes))
        get_stuck(domain, "NCCL: ncclCommAbort");
    for (int i = 0; i < endpoint->nlanes || i == 0; i++)
        if (endpoint->lanes[i].stream) {
            nccl_drain(domain, endpoint->lanes[i].stream);
            cudaStreamDestroy(endpoint->lanes[i].stream);
        }
}

void nccl_endpoint_free(struct nccl_endpoint *endpoint)
{
    if (endpoint->domain->is_stuck)
        return;
    free(endpoint->job_ranks);
    free(endpoint);
}

// ---- in time -------------------------------------------------------------------------------------------------

// Whether NCCL is through with all that it has been called for.
static int is_ready(struct nccl_endpoint *endpoint, bool *ready_p)
{
    *ready_p = true;
    for (int i = 0; i < endpoint->nlanes && *ready_p; i++)
        CLAB_TRY(nccl_lane_ready(endpoint, i, ready_p));
    return CLAB_OK;
}

static int finalize(struct nccl_endpoint *endpoint)
{
    endpoint->is_finalized = true;
    for (int i = 0; i < endpoint->nlanes; i++) {
        struct nccl_lane *lane = &endpoint->lanes[i];
        const ncclResult_t code = ncclCommFinalize(lane->comm);
        CLAB_TRY(nccl_error(endpoint, lane->comm, code, "ncclCommFinalize"));
        lane->is_settling = code == ncclInProgress;
    }
    return CLAB_OK;
}

static int go_on(struct nccl_endpoint *endpoint, bool *ready_p)
{
    CLAB_TRY(is_ready(endpoint, ready_p));
    if (!*ready_p || endpoint->is_finalized)
        return CLAB_OK;
    CLAB_TRY(finalize(endpoint));
    return is_ready(endpoint, ready_p);
}

static void destroy(struct nccl_endpoint *endpoint)
{
    for (int i = 0; i < endpoint->nlanes; i++) {
        ncclCommDestroy(endpoint->lanes[i].comm);
        cudaStreamDestroy(endpoint->lanes[i].stream);
    }
}

// False: there is more to come. What frees memory, for which CUDA waits, is left until it may.
static bool end(struct nccl_endpoint *endpoint, bool may_wait)
{
    bool ready = true;
    if (!endpoint->has_failed)
        endpoint->has_failed = go_on(endpoint, &ready) != CLAB_OK;
    if ((!endpoint->has_failed && !ready) || !may_wait)
        return false;
    if (endpoint->has_failed)
        nccl_end_now(endpoint);
    else
        destroy(endpoint);
    return true;
}

void nccl_end_later(struct nccl_endpoint *endpoint)
{
    struct nccl_domain *domain = endpoint->domain;
    endpoint->next = domain->teardowns;
    domain->teardowns = endpoint;
    nccl_end_rest(domain, 0);
}

static void go_on_with_all(struct nccl_domain *domain, bool may_wait)
{
    for (struct nccl_endpoint **link = &domain->teardowns; *link;) {
        struct nccl_endpoint *endpoint = *link;
        if (!end(endpoint, may_wait)) {
            link = &endpoint->next;
            continue;
        }
        *link = endpoint->next;
        nccl_endpoint_free(endpoint);
    }
}

void nccl_end_rest(struct nccl_domain *domain, double deadline)
{
    const struct timespec moment = {.tv_nsec = look_every};
    go_on_with_all(domain, !domain->is_stuck && (deadline > 0 || domain->under_way == 0));
    while (domain->teardowns && clab_now() < deadline && !domain->is_stuck) {
        nanosleep(&moment, NULL);
        go_on_with_all(domain, true);
    }
    while (domain->teardowns && deadline > 0) {
        struct nccl_endpoint *endpoint = domain->teardowns;
        domain->teardowns = endpoint->next;
        if (!domain->is_stuck)
            nccl_end_now(endpoint);
        nccl_endpoint_free(endpoint);
    }
}
