// SPDX-License-Identifier: MIT
// How long the operations of communicators take by the GPU's clock. A span begins with an event before an operation's
// kernels and ends with one behind them, in their own stream. Spans are added up while nccl_time_calls runs.
//
// - The GPU would reach the first event long before the host has launched the kernels. So a function of the host holds
//   the stream at a gate before that event, until the operation is in the stream: a span has no time of the host in it.
// - The gate opens by itself after `longest_hold`. NCCL may wait for the GPU in a call, and the GPU for the gate: where
//   that happens again and again, the measurement is given up.

#include "backends/nccl/endpoint.h"

#include <math.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "backends/nccl/device.h"

static const long longest_hold = 10000000; // ns
enum { MOST_LATE = 50 };                   // openings, which a busy machine may cause, too

static bool is_on;
static sem_t gate;     // openings that no stream has passed; those of a process have one GPU
static double seconds; // of all spans
static int nspans;     // that have ended; -1: given up
static atomic_int late;

static void CUDART_CB hold(void *of)
{
    struct timespec until;
    (void)of;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += longest_hold;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (sem_timedwait(&gate, &until) != 0)
        atomic_fetch_add(&late, 1);
}

static int make(struct nccl_span *span)
{
    if (!span->begin)
        CUDA_TRY(cudaEventCreate(&span->begin));
    if (!span->end)
        CUDA_TRY(cudaEventCreate(&span->end));
    return CLAB_OK;
}

int nccl_span_begin(struct nccl_span *span, cudaStream_t stream)
{
    if (atomic_load(&late) > MOST_LATE)
        nspans = -1;
    if (!is_on || nspans < 0)
        return CLAB_OK;
    CLAB_TRY(make(span));
    CUDA_TRY(cudaLaunchHostFunc(stream, hold, NULL));
    CUDA_TRY(cudaEventRecord(span->begin, stream));
    span->state = NCCL_SPAN_BEGUN;
    return CLAB_OK;
}

int nccl_span_end(struct nccl_span *span, cudaStream_t stream)
{
    if (span->state != NCCL_SPAN_BEGUN)
        return CLAB_OK;
    span->state = NCCL_SPAN_ENDED;
    const int err = nccl_cuda_error(cudaEventRecord(span->end, stream), "cudaEventRecord");
    sem_post(&gate);
    return err;
}

void nccl_span_add(struct nccl_span *span)
{
    float milliseconds;
    if (span->state != NCCL_SPAN_ENDED)
        return;
    span->state = NCCL_SPAN_NONE;
    if (nccl_cuda_error(cudaEventElapsedTime(&milliseconds, span->begin, span->end), "cudaEventElapsedTime"))
        nspans = -1;
    if (nspans < 0)
        return;
    seconds += 1e-3 * milliseconds;
    nspans++;
}

void nccl_span_free(struct nccl_span *span)
{
    if (span->begin)
        cudaEventDestroy(span->begin);
    if (span->end)
        cudaEventDestroy(span->end);
    *span = (struct nccl_span){0};
}

// Openings that came too late are left over.
static void close_gate(void)
{
    static bool is_made;
    if (!is_made)
        sem_init(&gate, 0, 0);
    is_made = true;
    while (sem_trywait(&gate) == 0)
        continue;
}

double nccl_time_calls(void (*work)(void *of), void *of)
{
    close_gate();
    seconds = 0;
    nspans = 0;
    atomic_store(&late, 0);
    is_on = true;
    work(of);
    is_on = false;
    return nspans > 0 ? seconds : NAN;
}
