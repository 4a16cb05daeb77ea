// SPDX-License-Identifier: MIT
// Calls of NCCL. Communicators block: a call returns when its work is in the stream, or when what it made is there.
//
// - A call that may wait for peers is made by a worker, a thread for this call alone: to begin, split and end a
//   communicator, and the first message to or from a peer, for which NCCL connects. The caller goes on, and looks
//   whether it is over; its deadline holds. Such calls are rare.
// - A worker for all calls would not do: two ranks may come to the first messages of two lanes in different orders, and
//   their workers would wait for each other.
// - All other calls are made at once, in the caller's thread: NCCL starts no thread for them. The watchdog sees to it
//   that they return (watchdog.c).

#include "backends/nccl/endpoint.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "core/base/log.h"

static void *work(void *of)
{
    struct nccl_call *call = of;
    cudaSetDevice(call->endpoint->domain->device);
    call->result = call->make(call->endpoint, call->lane, call->of);
    atomic_store_explicit(&call->state, NCCL_CALL_OVER, memory_order_release);
    return NULL;
}

// Signals are for the program's threads.
int nccl_thread(void *(*run)(void *), void *of, pthread_t *thread_p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(thread_p, NULL, run, of);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!code)
        return CLAB_OK;
    clab_error("nccl: no thread can be started: %s: `ulimit -u` says how many a user may have", strerror(code));
    return CLAB_ESYS;
}

static int start_worker(struct nccl_call *call)
{
    pthread_t thread;
    atomic_store(&call->state, NCCL_CALL_WAITS);
    const int err = nccl_thread(work, call, &thread);
    if (err)
        atomic_store(&call->state, NCCL_CALL_NONE);
    else
        pthread_detach(thread);
    return err;
}

int nccl_call(struct nccl_endpoint *endpoint, int lane, struct nccl_call call, bool may_wait)
{
    struct nccl_call *kept = &endpoint->lanes[lane].call;
    kept->endpoint = endpoint;
    kept->lane = lane;
    kept->make = call.make;
    kept->of = call.of;
    kept->what = call.what;
    if (may_wait)
        return start_worker(kept);
    nccl_watch_enter(endpoint);
    const ncclResult_t result = call.make(endpoint, lane, call.of);
    if (nccl_watch_leave(endpoint))
        return CLAB_ETIMEOUT;
    return nccl_error(endpoint, endpoint->lanes[lane].comm, result, call.what);
}

bool nccl_call_waits(const struct nccl_lane *lane)
{
    return atomic_load_explicit(&lane->call.state, memory_order_acquire) == NCCL_CALL_WAITS;
}

int nccl_call_settle(const struct nccl_endpoint *endpoint, struct nccl_lane *lane, bool *settled_p)
{
    *settled_p = !nccl_call_waits(lane);
    if (!*settled_p || atomic_load(&lane->call.state) == NCCL_CALL_NONE)
        return CLAB_OK;
    atomic_store(&lane->call.state, NCCL_CALL_NONE);
    return nccl_error(endpoint, lane->comm, lane->call.result, lane->call.what);
}
