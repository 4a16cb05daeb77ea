// SPDX-License-Identifier: MIT
// Events of the fake libcudart: a mark in a stream, whose time is when the stream came to it.

#include "tests/fakes/fake.h"

#include <pthread.h>
#include <stdlib.h>

struct CUevent_st {
    unsigned flags;
    struct fake_work *mark; // 0: never recorded
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all events' marks

// The mark, held; 0 if there is none.
static struct fake_work *mark_of(cudaEvent_t event)
{
    pthread_mutex_lock(&lock);
    struct fake_work *mark = event->mark ? fake_work_keep(event->mark) : 0;
    pthread_mutex_unlock(&lock);
    return mark;
}

static void set_mark(cudaEvent_t event, struct fake_work *mark)
{
    pthread_mutex_lock(&lock);
    struct fake_work *old = event->mark;
    event->mark = mark;
    pthread_mutex_unlock(&lock);
    fake_work_drop(old);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event_p, unsigned flags)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    struct CUevent_st *event = calloc(1, sizeof *event);
    if (!event)
        return fake_error(cudaErrorMemoryAllocation);
    event->flags = flags;
    *event_p = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event_p)
{
    return cudaEventCreateWithFlags(event_p, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return fake_error(cudaErrorInvalidResourceHandle);
    set_mark(event, 0);
    free(event);
    return fake_enter();
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    struct fake_work *mark;
    const cudaError_t error = event ? fake_stream_put(stream, 0, 0, &mark) : fake_error(cudaErrorInvalidResourceHandle);
    if (!error)
        set_mark(event, mark);
    return error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    const cudaError_t error = event ? fake_enter() : fake_error(cudaErrorInvalidResourceHandle);
    struct fake_work *mark = error ? 0 : mark_of(event);
    if (!mark)
        return error;
    double time;
    const bool done = fake_work_done(mark, &time);
    fake_work_drop(mark);
    return fake_error(done ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const cudaError_t error = event ? fake_enter() : fake_error(cudaErrorInvalidResourceHandle);
    struct fake_work *mark = error ? 0 : mark_of(event);
    return mark ? fake_work_wait(mark) : error;
}

// What the event stands for now, not what it will: without a record there is nothing to wait for.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    const cudaError_t error = event ? fake_enter() : fake_error(cudaErrorInvalidResourceHandle);
    struct fake_work *mark = error ? 0 : mark_of(event);
    if (!mark)
        return error;
    const cudaError_t put = fake_stream_put_after(stream, mark, 0);
    fake_work_drop(mark);
    return put;
}

static cudaError_t time_of(cudaEvent_t event, double *time_p)
{
    struct fake_work *mark = event && !(event->flags & cudaEventDisableTiming) ? mark_of(event) : 0;
    if (!mark)
        return cudaErrorInvalidResourceHandle;
    const bool done = fake_work_done(mark, time_p);
    fake_work_drop(mark);
    return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *milliseconds_p, cudaEvent_t from, cudaEvent_t to)
{
    double begin, end;
    cudaError_t error = fake_enter();
    if (error)
        return error;
    error = time_of(from, &begin);
    error = error ? error : time_of(to, &end);
    if (!error)
        *milliseconds_p = (float)((end - begin) * 1e3);
    return fake_error(error);
}
