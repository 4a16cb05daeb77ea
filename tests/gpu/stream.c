// SPDX-License-Identifier: MIT
// A stream of the program's own orders a communicator's work (clab_comm_set_stream): on a GPU, or over the fakes.
//
//   stream [-n RANKS] [--backend nccl]    each rank says `rank R: right`, or what is wrong, and ends with 1
//
// - A function of the host holds the stream, so that what is in it is seen not to have run yet.
#include <cuda_runtime.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/err.h"
#include "core/clab.h"

enum { COUNT = 1000 };

struct test {
    struct clab_job *job;
    struct clab_comm *comm;
    cudaStream_t stream;
    int rank, nranks;
    float *in, *out;    // (COUNT) on the GPU
    float *given, *got; // (COUNT) on the host
    sem_t gate;
};

static _Noreturn void fail(const struct test *t, const char *what)
{
    printf("rank %d: wrong: %s\n", t->rank, what);
    exit(EXIT_FAILURE);
}

#define CUDA(call) ((call) == cudaSuccess ? (void)0 : fail(t, #call))

static void CUDART_CB hold(void *gate)
{
    while (sem_wait(gate) != 0)
        continue;
}

static void open_all(struct test *t, int *argc, char **argv)
{
    must(clab_job_open(argc, argv, &t->job));
    must(clab_comm_create(t->job, &t->comm));
    t->rank = clab_job_rank(t->job);
    t->nranks = clab_job_ranks(t->job);
    must(clab_alloc(t->job, COUNT * sizeof *t->in, (void **)&t->in));
    must(clab_alloc(t->job, COUNT * sizeof *t->out, (void **)&t->out));
    CUDA(cudaMallocHost((void **)&t->given, COUNT * sizeof *t->given));
    CUDA(cudaMallocHost((void **)&t->got, COUNT * sizeof *t->got));
    CUDA(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    sem_init(&t->gate, 0, 0);
    must(clab_comm_set_stream(t->comm, t->stream));
}

static void close_all(struct test *t)
{
    must(clab_comm_set_stream(t->comm, NULL));
    must(clab_barrier(t->comm));
    CUDA(cudaStreamDestroy(t->stream));
    CUDA(cudaFreeHost(t->given));
    CUDA(cudaFreeHost(t->got));
    clab_comm_destroy(t->comm);
    clab_free(t->job, t->out);
    clab_free(t->job, t->in);
    must(clab_job_close(t->job));
}

// Fresh data, on its way to the GPU in the stream.
static void give(struct test *t, float base)
{
    for (int i = 0; i < COUNT; i++) {
        t->given[i] = base + (float)(i % 7 + t->rank);
        t->got[i] = -1;
    }
    CUDA(cudaMemcpyAsync(t->in, t->given, COUNT * sizeof *t->in, cudaMemcpyHostToDevice, t->stream));
}

static void get(struct test *t)
{
    CUDA(cudaMemcpyAsync(t->got, t->out, COUNT * sizeof *t->out, cudaMemcpyDeviceToHost, t->stream));
    CUDA(cudaStreamSynchronize(t->stream));
}

// factor: ranks whose values were added, by what that was divided
static void check(const struct test *t, float base, float factor, const char *what)
{
    const float mean = (float)(t->nranks - 1) / 2;
    for (int i = 0; i < COUNT; i++)
        if (t->got[i] != factor * (base + (float)(i % 7) + mean))
            fail(t, what);
}

static struct clab_work *start(struct test *t, const float *in, float *out)
{
    struct clab_work *work;
    must(clab_allreduce_start(t->comm, in, out, COUNT, CLAB_F32, CLAB_SUM, &work));
    return work;
}

// Two natives in the stream, between copies of the program's; nobody waits in between.
static void test_natives(struct test *t)
{
    const struct timespec moment = {.tv_nsec = 30000000};
    bool done[2];
    CUDA(cudaLaunchHostFunc(t->stream, hold, &t->gate));
    give(t, 10);
    struct clab_work *first = start(t, t->in, t->out), *second = start(t, t->out, t->out);
    if (clab_comm_set_stream(t->comm, NULL) != CLAB_EINVAL)
        fail(t, "the stream is changed while work is under way");
    nanosleep(&moment, NULL);
    must(clab_work_test(first, &done[0]));
    must(clab_work_test(second, &done[1]));
    if (done[0] || done[1])
        fail(t, "a work is done before what the stream was given before");
    sem_post(&t->gate);
    get(t);
    check(t, 10, (float)(t->nranks * t->nranks), "what follows natives in the stream");
    must(clab_work_wait(second));
    must(clab_work_wait(first));
}

static void test_average(struct test *t)
{
    give(t, 20);
    must(clab_allreduce(t->comm, t->in, t->out, COUNT, CLAB_F32, CLAB_AVG));
    get(t);
    check(t, 20, 1, "an average");
}

static void *open_later(void *gate)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    sem_post(gate);
    return NULL;
}

// The second is the same call again, made while the stream is held.
static void test_schedule(struct test *t)
{
    must(clab_comm_set_algorithm(t->comm, CLAB_ALLREDUCE, "ring", 2));
    for (int base = 30; base < 32; base++) {
        pthread_t opener;
        CUDA(cudaLaunchHostFunc(t->stream, hold, &t->gate));
        give(t, (float)base);
        if (pthread_create(&opener, NULL, open_later, &t->gate) != 0)
            fail(t, "no thread can be started");
        must(clab_allreduce(t->comm, t->in, t->out, COUNT, CLAB_F32, CLAB_SUM));
        get(t);
        pthread_join(opener, NULL);
        check(t, (float)base, (float)t->nranks, base == 30 ? "a schedule" : "the same schedule again");
    }
    must(clab_comm_set_algorithm(t->comm, CLAB_ALLREDUCE, "auto", 0));
}

// Around the ring of ranks: what comes is of the rank before.
static void test_message(struct test *t)
{
    const int next = (t->rank + 1) % t->nranks, before = (t->rank + t->nranks - 1) % t->nranks;
    struct clab_work *send;
    give(t, 40);
    must(clab_send_start(t->comm, t->in, COUNT, CLAB_F32, next, &send));
    must(clab_recv(t->comm, t->out, COUNT, CLAB_F32, before));
    must(clab_work_wait(send));
    get(t);
    for (int i = 0; i < COUNT; i++)
        if (t->got[i] != 40 + (float)(i % 7 + before))
            fail(t, "a message");
}

static void CUDART_CB fill(void *values)
{
    for (int i = 0; i < COUNT; i++)
        ((float *)values)[i] = 50;
}

// Memory that NCCL does not reach is copied, after what the stream was given before has written it.
static void test_memory_of_malloc(struct test *t)
{
    pthread_t opener;
    float *values = calloc(COUNT, sizeof *values);
    CUDA(cudaLaunchHostFunc(t->stream, hold, &t->gate));
    CUDA(cudaLaunchHostFunc(t->stream, fill, values));
    if (!values || pthread_create(&opener, NULL, open_later, &t->gate) != 0)
        fail(t, "no memory, or no thread can be started");
    must(clab_allreduce(t->comm, values, values, COUNT, CLAB_F32, CLAB_SUM));
    pthread_join(opener, NULL);
    for (int i = 0; i < COUNT; i++)
        if (values[i] != 50 * (float)t->nranks)
            fail(t, "memory of malloc");
    free(values);
}

int main(int argc, char **argv)
{
    struct test test = {0}, *t = &test;
    open_all(t, &argc, argv);
    for (int again = 0; again < 3; again++) {
        test_natives(t);
        test_average(t);
        test_schedule(t);
        test_message(t);
        test_memory_of_malloc(t);
    }
    close_all(t);
    printf("rank %d: right\n", t->rank);
    return EXIT_SUCCESS;
}
