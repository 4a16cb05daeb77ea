// SPDX-License-Identifier: MIT
// Ends NCCL's communicators.
//
// - A communicator whose work is done is finalized, which takes until all its ranks finalize it, and then destroyed.
//   Close must not wait: it begins this, later calls continue it, and detach waits for it, with a deadline. The
//   endpoint stays until then, and also continues a split that is under way or for which other ranks wait.
// - A communicator that has failed is aborted, which ends the kernels that wait for peers. NCCL may take long for that,
//   in rare cases for ever. So a thread aborts, and we wait a few seconds for it. After that we free nothing more,
//   since CUDA would wait for the same kernels, and the process exits without waiting.
// - ncclCommAbort first makes all that waits give up, and then frees the communicator, whoever is still in a call on it
//   (NCCL 2.28.9, init.cc; only communicators that do not block wait for such a call). So it is called within a group:
//   NCCL then frees nothing before the group's end (2.22 and later), and that comes when our threads have left their
//   calls. All lanes' are in one group: none is freed while another's kernels still wait.

#include "backends/nccl/endpoint.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

static const long look_every = 200000; // ns

// ---- at once -------------------------------------------------------------------------------------------------

struct nccl_abortion {
    struct nccl_endpoint *endpoint;
    sem_t over, left; // by the thread; by us: who comes last frees this
};

static void free_abortion(struct nccl_abortion *a)
{
    sem_destroy(&a->over);
    sem_destroy(&a->left);
    free(a);
}

static bool is_in_a_call(struct nccl_endpoint *endpoint)
{
    for (int i = 0; i < endpoint->nlanes; i++)
        if (nccl_call_waits(&endpoint->lanes[i]))
            return true;
    return nccl_watch_is_inside(endpoint);
}

// Those that NCCL has given since the last time, too.
static void abort_lanes(struct nccl_endpoint *endpoint, bool aborted[CLAB_MAX_LANES])
{
    for (int i = 0; i < endpoint->nlanes; i++) {
        const ncclComm_t comm = __atomic_load_n(&endpoint->lanes[i].comm, __ATOMIC_ACQUIRE);
        if (comm && !aborted[i])
            ncclCommAbort(comm);
        aborted[i] = comm != NULL;
    }
}

static void *abort_all(void *of)
{
    struct nccl_abortion *a = of;
    const struct timespec moment = {.tv_nsec = look_every};
    bool aborted[CLAB_MAX_LANES] = {false};
    cudaSetDevice(a->endpoint->domain->device);
    ncclGroupStart();
    for (bool is_inside = true; is_inside;) {
        is_inside = is_in_a_call(a->endpoint);
        abort_lanes(a->endpoint, aborted);
        if (is_inside)
            nanosleep(&moment, NULL);
    }
    ncclGroupEnd();
    sem_post(&a->over);
    while (sem_wait(&a->left) != 0)
        continue;
    free_abortion(a);
    return NULL;
}

void nccl_abort_begin(struct nccl_endpoint *endpoint)
{
    struct nccl_abortion *a = calloc(1, sizeof *a);
    pthread_t thread;
    if (!a)
        return;
    a->endpoint = endpoint;
    sem_init(&a->over, 0, 0);
    sem_init(&a->left, 0, 0);
    if (nccl_thread(abort_all, a, &thread) != CLAB_OK) {
        free_abortion(a);
        return;
    }
    pthread_detach(thread);
    endpoint->abortion = a;
}

static bool wait_for(sem_t *over)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += NCCL_ABORT_TAKES;
    int failed;
    while ((failed = sem_timedwait(over, &until)) != 0 && errno == EINTR)
        continue;
    return !failed;
}

// False: it takes too long, or there is no thread for it.
static bool abort_now(struct nccl_endpoint *endpoint)
{
    pthread_mutex_t *mutex = &endpoint->domain->watchdog.mutex;
    pthread_mutex_lock(mutex);
    if (!endpoint->abortion)
        nccl_abort_begin(endpoint);
    struct nccl_abortion *a = endpoint->abortion;
    pthread_mutex_unlock(mutex);
    if (!a)
        return false;
    const bool over = wait_for(&a->over);
    sem_post(&a->left);
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
    clab_warn("%s has not come to an end within %g s: what it leaves goes with this process", what,
              (double)NCCL_ABORT_TAKES);
    domain->is_stuck = true;
    on_exit(leave_at_once, NULL);
}

void nccl_drain(struct nccl_domain *domain, cudaStream_t stream)
{
    const double deadline = clab_now() + NCCL_ABORT_TAKES;
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
    if (endpoint->nlanes && !abort_now(endpoint))
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
    free(endpoint->met);
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

static ncclResult_t finalize_comms(struct nccl_endpoint *endpoint, int first, void *of)
{
    ncclResult_t code = ncclSuccess;
    (void)of;
    for (int i = first; i < endpoint->nlanes && code == ncclSuccess; i++)
        code = ncclCommFinalize(endpoint->lanes[i].comm);
    return code;
}

static int finalize(struct nccl_endpoint *endpoint)
{
    endpoint->is_finalized = true;
    return nccl_call(endpoint, 0, (struct nccl_call){.make = finalize_comms, .what = "ncclCommFinalize"}, true);
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
