// SPDX-License-Identifier: MIT
// The watchdog: a thread that ends calls of NCCL in the caller's thread, when they last beyond the job's timeout.
//
// - They wait for no peer by design. But CUDA may make them wait: it takes about a thousand launches in a stream, and if
//   a peer is gone, no earlier one ends.
// - It aborts the communicator: the kernels end, and so does the call, which answers CLAB_ETIMEOUT.
// - If the call does not return even then, the process ends: nobody else could end it.

#include "backends/nccl/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"

static const long look_every = 50000000; // ns

void nccl_watch_enter(struct nccl_endpoint *endpoint)
{
    struct nccl_watchdog *w = &endpoint->domain->watchdog;
    pthread_mutex_lock(&w->mutex);
    w->inside = endpoint;
    w->since = clab_now();
    pthread_mutex_unlock(&w->mutex);
}

bool nccl_watch_leave(struct nccl_endpoint *endpoint)
{
    struct nccl_watchdog *w = &endpoint->domain->watchdog;
    pthread_mutex_lock(&w->mutex);
    w->inside = NULL;
    const bool is_late = endpoint->abortion != NULL;
    pthread_mutex_unlock(&w->mutex);
    return is_late;
}

bool nccl_watch_is_inside(struct nccl_endpoint *endpoint)
{
    struct nccl_watchdog *w = &endpoint->domain->watchdog;
    pthread_mutex_lock(&w->mutex);
    const bool is_inside = w->inside == endpoint;
    pthread_mutex_unlock(&w->mutex);
    return is_inside;
}

static _Noreturn void give_up(double lasted)
{
    clab_error("a call of NCCL has lasted %.0f s, also after ncclCommAbort: this process ends", lasted);
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static void look(struct nccl_watchdog *w)
{
    const double lasted = w->inside ? clab_now() - w->since : 0, late = lasted - w->timeout;
    if (late > 0 && !w->inside->abortion)
        nccl_abort_begin(w->inside);
    if (late > NCCL_ABORT_TAKES)
        give_up(lasted);
}

static void *watch(void *of)
{
    struct nccl_watchdog *w = of;
    pthread_mutex_lock(&w->mutex);
    while (!w->ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += look_every;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w->wake, &w->mutex, &until);
        look(w);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

int nccl_watchdog_start(struct nccl_watchdog *w, double timeout)
{
    w->timeout = timeout;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    return nccl_thread(watch, w, &w->thread);
}

void nccl_watchdog_stop(struct nccl_watchdog *w)
{
    pthread_mutex_lock(&w->mutex);
    w->ends = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
}
