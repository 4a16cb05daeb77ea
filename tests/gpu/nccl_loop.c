// SPDX-License-Identifier: MIT
// A bare loop of NCCL calls, to hold `commlab bench --backend nccl` against: allreduce of floats, out of place, a
// process a GPU, each call waited for, as our collectives are.
//
//   nccl_loop [-q] SECONDS GPUS BYTES...    the median over batches of a call's time, in us: a line for each size,
//                                           `usec BYTES MEDIAN BATCHES`; -q: calls are enqueued, and one is waited for,
//                                           as nccl-tests does
//
// - Memory is NCCL's own (ncclMemAlloc), and no communicator is told of it, as with bench.
// - The ranks are children that meet in shared memory: the id goes through it, and a barrier stands before each batch.
// - A batch is as many calls as fill 1 ms, as in bench; half of the time is warm-up.
#include <cuda_runtime.h>
#include <nccl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BATCHES = 4096, MOST_GPUS = 64, MOST_QUEUED = 256 };

static struct {
    ncclUniqueId id;
    _Atomic int has_id, here, round, batch; // batch: calls of the next one; 0: it is over
    double usec[MOST_BATCHES];
} * shared;

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "nccl_loop: %s: %s\n", what, why);
    _exit(EXIT_FAILURE);
}

#define CUDA(call)                                     \
    do {                                               \
        const cudaError_t code_ = (call);              \
        if (code_ != cudaSuccess)                      \
            give_up(#call, cudaGetErrorString(code_)); \
    } while (0)
#define NCCL(call)                                     \
    do {                                               \
        const ncclResult_t code_ = (call);             \
        if (code_ != ncclSuccess)                      \
            give_up(#call, ncclGetErrorString(code_)); \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Who comes last lets all go on.
static void meet(int n)
{
    const int round = atomic_load(&shared->round);
    if (atomic_fetch_add(&shared->here, 1) == n - 1) {
        atomic_store(&shared->here, 0);
        atomic_fetch_add(&shared->round, 1);
    }
    while (atomic_load(&shared->round) == round)
        if (getppid() == 1)
            _exit(EXIT_FAILURE);
}

struct rank {
    int rank, n;
    ncclComm_t comm;
    cudaStream_t stream;
    float *in, *out;
    size_t count;
    int queues; // -q
};

static void wait_for_the_last(const struct rank *r)
{
    cudaError_t code;
    while ((code = cudaStreamQuery(r->stream)) == cudaErrorNotReady)
        ;
    CUDA(code);
}

static double time_batch(const struct rank *r, int calls)
{
    meet(r->n);
    const double start = now();
    for (int i = 0; i < calls; i++) {
        NCCL(ncclAllReduce(r->in, r->out, r->count, ncclFloat, ncclSum, r->comm, r->stream));
        if (!r->queues || i == calls - 1)
            wait_for_the_last(r);
    }
    return now() - start;
}

// A stream takes about a thousand launches; bench has 256 calls in it at most.
static int fill(const struct rank *r, double calls)
{
    return r->queues && calls > MOST_QUEUED ? MOST_QUEUED : (int)calls;
}

// Rank 0 says how many calls the next batch has, and when it is over.
static int measure(struct rank *r, double seconds)
{
    const double start = now();
    int batches = 0;
    for (int calls = 1; calls > 0;) {
        const double took = time_batch(r, calls);
        if (r->rank == 0) {
            const double passed = now() - start, each = took / calls;
            if (passed > seconds / 2 && batches < MOST_BATCHES)
                shared->usec[batches++] = each * 1e6;
            atomic_store(&shared->batch, passed > seconds && batches > 0 ? 0 : each < 1e-3 ? fill(r, 1e-3 / each) : 1);
        }
        meet(r->n);
        calls = atomic_load(&shared->batch);
        meet(r->n);
    }
    return batches;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// From 1 MiB on as bench's: of NCCL, where that has such a call.
static void *allocate(size_t bytes)
{
    void *memory;
#if NCCL_VERSION_CODE >= 21900
    NCCL(ncclMemAlloc(&memory, bytes));
#else
    CUDA(cudaMalloc(&memory, bytes));
#endif
    return memory;
}

static void release(void *memory)
{
#if NCCL_VERSION_CODE >= 21900
    NCCL(ncclMemFree(memory));
#else
    CUDA(cudaFree(memory));
#endif
}

static void time_size(struct rank *r, size_t bytes, double seconds)
{
    r->count = bytes / sizeof *r->in;
    r->in = allocate(bytes);
    r->out = allocate(bytes);
    CUDA(cudaMemset(r->in, 0, bytes));
    CUDA(cudaDeviceSynchronize());
    const int batches = measure(r, seconds);
    if (r->rank == 0) {
        qsort(shared->usec, (size_t)batches, sizeof *shared->usec, by_size);
        printf("usec %zu %.3f %d\n", bytes, shared->usec[batches / 2], batches);
        fflush(stdout);
    }
    CUDA(cudaDeviceSynchronize());
    release(r->in);
    release(r->out);
}

static _Noreturn void run_rank(struct rank r, double seconds, int nsizes, char *const sizes[])
{
    CUDA(cudaSetDevice(r.rank));
    if (r.rank == 0) {
        NCCL(ncclGetUniqueId(&shared->id));
        atomic_store(&shared->has_id, 1);
    }
    while (!atomic_load(&shared->has_id))
        if (getppid() == 1)
            _exit(EXIT_FAILURE);
    NCCL(ncclCommInitRank(&r.comm, r.n, shared->id, r.rank));
    CUDA(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
    for (int i = 0; i < nsizes; i++)
        time_size(&r, (size_t)atol(sizes[i]), seconds);
    NCCL(ncclCommDestroy(r.comm));
    _exit(EXIT_SUCCESS);
}

static int refuse(void)
{
    fprintf(stderr, "usage: nccl_loop [-q] SECONDS GPUS BYTES...\n");
    return 2;
}

int main(int argc, char **argv)
{
    const int queues = argc > 1 && !strcmp(argv[1], "-q");
    argc -= queues;
    argv += queues;
    const double seconds = argc > 3 ? atof(argv[1]) : 0;
    const int n = argc > 3 ? atoi(argv[2]) : 0;
    int failed = 0, status;
    if (!(seconds > 0) || n < 1 || n > MOST_GPUS)
        return refuse();
    for (int i = 3; i < argc; i++)
        if (atol(argv[i]) < (long)sizeof(float))
            return refuse();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        give_up("mmap", "no memory");
    pid_t pids[MOST_GPUS];
    for (int rank = 0; rank < n; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0)
            run_rank((struct rank){.rank = rank, .n = n, .queues = queues}, seconds, argc - 3, argv + 3);
        failed += pids[rank] < 0;
    }
    while (wait(&status) > 0) {
        failed += status != 0;
        for (int rank = 0; failed && rank < n; rank++) // the others would wait for it
            if (pids[rank] > 0)
                kill(pids[rank], SIGKILL);
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
