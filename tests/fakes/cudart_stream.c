// SPDX-License-Identifier: MIT
// Streams of the fake libcudart: each is a thread that does what it is given, one after another.
//
// - What is given to a stream is a `fake_work`, counted by those who hold it: its stream's queue, the stream as its
//   last one, events, works that wait for it, and callers who do.
// - The legacy default stream of a device (0) begins a work after all that its blocking streams had been given before,
//   and they begin theirs after all that it had been given. Streams with cudaStreamNonBlocking have nothing to do with
//   it.
// - One lock for all; threads start with the first work of their stream, and end with the stream.

#include "tests/fakes/fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct fake_work {
    int holders;
    bool done;
    double time; // when it was
    int device;
    void (*run)(void *data, cudaError_t status); // 0: nothing to do, a mark in the stream
    void *data;
    struct fake_work **after; // (n_after) what must be done before, beside what is before it in its stream
    int n_after;
    struct fake_work *next;
};

struct CUstream_st {
    int device, priority;
    unsigned flags;
    bool has_thread, closing;
    struct fake_work *first, *end; // of the queue; `first` is what the thread does now
    struct fake_work *last;        // that it was ever given
    pthread_cond_t given;
    struct CUstream_st *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER; // some work is done
static struct CUstream_st *streams;                        // all but the default ones
static struct CUstream_st *legacies[FAKE_MAX_GPUS];        // from their first use on

// ---- works ---------------------------------------------------------------------------------------------------

static void drop(struct fake_work *work)
{
    if (!work || --work->holders)
        return;
    free(work->after);
    free(work);
}

void fake_work_drop(struct fake_work *work)
{
    pthread_mutex_lock(&lock);
    drop(work);
    pthread_mutex_unlock(&lock);
}

struct fake_work *fake_work_keep(struct fake_work *work)
{
    pthread_mutex_lock(&lock);
    work->holders++;
    pthread_mutex_unlock(&lock);
    return work;
}

bool fake_work_done(struct fake_work *work, double *time_p)
{
    pthread_mutex_lock(&lock);
    const bool done = work->done;
    *time_p = work->time;
    pthread_mutex_unlock(&lock);
    return done;
}

cudaError_t fake_work_wait(struct fake_work *work)
{
    pthread_mutex_lock(&lock);
    while (!work->done)
        pthread_cond_wait(&finished, &lock);
    const int device = work->device;
    drop(work);
    pthread_mutex_unlock(&lock);
    return fake_error(fake_sticky(device));
}

// `work` shall wait for `other` (0: for nothing), unless that is done. It has room.
static void add_after(struct fake_work *work, struct fake_work *other)
{
    if (!other || other->done)
        return;
    other->holders++;
    work->after[work->n_after++] = other;
}

// ---- a stream's thread ---------------------------------------------------------------------------------------

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// Do the first work of the queue; with the lock, which is not held meanwhile.
static void do_first(struct CUstream_st *stream)
{
    struct fake_work *work = stream->first;
    for (int i = 0; i < work->n_after; i++) {
        while (!work->after[i]->done)
            pthread_cond_wait(&finished, &lock);
        drop(work->after[i]);
    }
    work->n_after = 0;
    pthread_mutex_unlock(&lock);
    if (work->run)
        work->run(work->data, fake_sticky(work->device));
    pthread_mutex_lock(&lock);
    work->time = now();
    work->done = true;
    stream->first = work->next;
    drop(work);
    pthread_cond_broadcast(&finished);
}

static void destroy(struct CUstream_st *stream)
{
    drop(stream->last);
    pthread_cond_destroy(&stream->given);
    free(stream);
}

static void *serve(void *argument)
{
    struct CUstream_st *stream = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!stream->first && !stream->closing)
            pthread_cond_wait(&stream->given, &lock);
        if (!stream->first)
            break;
        do_first(stream);
    }
    destroy(stream);
    pthread_mutex_unlock(&lock);
    return 0;
}

static bool start_thread(struct CUstream_st *stream)
{
    pthread_t thread;
    if (!stream->has_thread && pthread_create(&thread, 0, serve, stream) == 0) {
        pthread_detach(thread);
        stream->has_thread = true;
    }
    return stream->has_thread;
}

// ---- giving --------------------------------------------------------------------------------------------------

static struct CUstream_st *new_stream(int device, unsigned flags, int priority)
{
    struct CUstream_st *stream = calloc(1, sizeof *stream);
    if (!stream)
        return 0;
    *stream = (struct CUstream_st){.device = device, .flags = flags, .priority = priority};
    pthread_cond_init(&stream->given, 0);
    return stream;
}

// The stream that a caller means: 0 if there is none such. With the lock.
static struct CUstream_st *find(cudaStream_t stream)
{
    if (stream == 0 || stream == cudaStreamLegacy) {
        struct CUstream_st **legacy = &legacies[fake_device()];
        return *legacy ? *legacy : (*legacy = new_stream(fake_device(), 0, 0));
    }
    struct CUstream_st *found = streams;
    while (found && found != stream)
        found = found->next;
    return found;
}

int fake_stream_device(cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *found = find(stream);
    const int device = found ? found->device : -1;
    pthread_mutex_unlock(&lock);
    return device;
}

static bool is_blocking(const struct CUstream_st *stream, int device)
{
    return stream->device == device && !(stream->flags & cudaStreamNonBlocking);
}

// Its place beside the legacy default stream.
static void order(struct fake_work *work, const struct CUstream_st *stream)
{
    const struct CUstream_st *legacy = legacies[stream->device];
    if (stream == legacy)
        for (const struct CUstream_st *other = streams; other; other = other->next)
            add_after(work, is_blocking(other, stream->device) ? other->last : 0);
    else if (legacy && is_blocking(stream, stream->device))
        add_after(work, legacy->last);
}

static int count_streams(void)
{
    int n = 0;
    for (const struct CUstream_st *stream = streams; stream; stream = stream->next)
        n++;
    return n;
}

static void append(struct CUstream_st *stream, struct fake_work *work)
{
    if (stream->first)
        stream->end->next = work;
    else
        stream->first = work;
    stream->end = work;
    drop(stream->last);
    stream->last = work;
    pthread_cond_signal(&stream->given);
}

// A new work, held by its queue and its stream, and by the caller if that asks for it.
static cudaError_t put(cudaStream_t to, struct fake_work given, struct fake_work *other, struct fake_work **work_p)
{
    struct CUstream_st *stream = find(to);
    if (!stream)
        return cudaErrorInvalidResourceHandle;
    struct fake_work *work = malloc(sizeof *work), **after = calloc((size_t)count_streams() + 2, sizeof(void *));
    if (!work || !after || !start_thread(stream)) {
        free(work);
        free(after);
        return cudaErrorMemoryAllocation;
    }
    given.after = after;
    given.device = stream->device;
    given.holders = work_p ? 3 : 2;
    *work = given;
    order(work, stream);
    add_after(work, other);
    append(stream, work);
    if (work_p)
        *work_p = work;
    return cudaSuccess;
}

cudaError_t fake_stream_put(cudaStream_t stream, void (*run)(void *, cudaError_t), void *data,
                            struct fake_work **work_p)
{
    cudaError_t error = fake_enter();
    if (error || clab_fake_is_captured(stream))
        return error ? error : fake_error(cudaErrorStreamCaptureUnsupported);
    pthread_mutex_lock(&lock);
    error = put(stream, (struct fake_work){.run = run, .data = data}, 0, work_p);
    pthread_mutex_unlock(&lock);
    return fake_error(error);
}

cudaError_t fake_stream_put_after(cudaStream_t stream, struct fake_work *other, struct fake_work **work_p)
{
    cudaError_t error = fake_enter();
    if (error || clab_fake_is_captured(stream))
        return error ? error : fake_error(cudaErrorStreamCaptureUnsupported);
    pthread_mutex_lock(&lock);
    error = put(stream, (struct fake_work){0}, other, work_p);
    pthread_mutex_unlock(&lock);
    return fake_error(error);
}

// ---- CUDA's calls --------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream_p, unsigned flags, int priority)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    if (flags & ~(unsigned)cudaStreamNonBlocking)
        return fake_error(cudaErrorInvalidValue);
    struct CUstream_st *stream = new_stream(fake_device(), flags, priority);
    if (!stream)
        return fake_error(cudaErrorMemoryAllocation);
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    *stream_p = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream_p, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream_p, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream_p)
{
    return cudaStreamCreateWithPriority(stream_p, cudaStreamDefault, 0);
}

// What it has been given is done all the same.
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const cudaError_t error = fake_enter();
    pthread_mutex_lock(&lock);
    struct CUstream_st **at = &streams;
    while (*at && *at != stream)
        at = &(*at)->next;
    const bool found = *at;
    if (found) {
        *at = stream->next;
        stream->closing = true;
        if (stream->has_thread)
            pthread_cond_signal(&stream->given);
        else
            destroy(stream);
    }
    pthread_mutex_unlock(&lock);
    return found ? error : fake_error(cudaErrorInvalidResourceHandle);
}

// Its last work, held; 0 if it was never given any.
static cudaError_t last_of(cudaStream_t stream, struct fake_work **work_p)
{
    const cudaError_t error = fake_enter();
    if (error || clab_fake_is_captured(stream))
        return error ? error : fake_error(cudaErrorStreamCaptureUnsupported);
    pthread_mutex_lock(&lock);
    const struct CUstream_st *found = find(stream);
    *work_p = found ? found->last : 0;
    if (*work_p)
        (*work_p)->holders++;
    pthread_mutex_unlock(&lock);
    return fake_error(found ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

// The default stream is done when the blocking ones are, too: a mark in it is behind them all.
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    struct fake_work *work = 0;
    const bool legacy = stream == 0 || stream == cudaStreamLegacy;
    const cudaError_t error = legacy ? fake_stream_put(stream, 0, 0, &work) : last_of(stream, &work);
    return error || !work ? error : fake_work_wait(work);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    struct fake_work *work = 0;
    const cudaError_t error = last_of(stream, &work);
    if (error || !work)
        return error;
    double time;
    const bool done = fake_work_done(work, &time);
    const int device = work->device;
    fake_work_drop(work);
    return fake_error(fake_sticky(device) ? fake_sticky(device) : done ? cudaSuccess : cudaErrorNotReady);
}

// Some work of the device that is not done, held; 0: there is none.
static struct fake_work *undone(int device)
{
    const struct CUstream_st *legacy = legacies[device];
    struct fake_work *work = legacy && legacy->last && !legacy->last->done ? legacy->last : 0;
    for (const struct CUstream_st *stream = streams; stream && !work; stream = stream->next)
        if (stream->device == device && stream->last && !stream->last->done)
            work = stream->last;
    if (work)
        work->holders++;
    return work;
}

cudaError_t cudaDeviceSynchronize(void)
{
    const cudaError_t error = fake_enter();
    if (error)
        return error;
    for (;;) {
        pthread_mutex_lock(&lock);
        struct fake_work *work = undone(fake_device());
        pthread_mutex_unlock(&lock);
        if (!work)
            return fake_error(fake_sticky(fake_device()));
        fake_work_wait(work);
    }
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags_p)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *found = find(stream);
    if (found)
        *flags_p = found->flags;
    pthread_mutex_unlock(&lock);
    return fake_error(found ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority_p)
{
    pthread_mutex_lock(&lock);
    const struct CUstream_st *found = find(stream);
    if (found)
        *priority_p = found->priority;
    pthread_mutex_unlock(&lock);
    return fake_error(found ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least_p, int *greatest_p)
{
    *least_p = 0;
    *greatest_p = -5;
    return fake_enter();
}
