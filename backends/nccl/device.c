// SPDX-License-Identifier: MIT
// The GPU as a device (device.h): kernels (kernels.h) and copies in one stream, and what comes back from it.
//
// - Calls that answer nothing do not wait. What fails is logged once, and kept for `finish`.
// - Sums and counts come back as NCCL_SUMS numbers, which are added here in order.

#include "backends/nccl/device.h"

#include <math.h>
#include <stdbool.h>

#include "backends/nccl/blas.h"
#include "backends/nccl/endpoint.h"
#include "backends/nccl/kernels.h"

enum { THREADS = 256 }; // of a block

static cudaStream_t stream;
static cudaEvent_t begin, end;  // of what is timed
static double *summands, *sums; // (NCCL_SUMMANDS), (NCCL_SUMS), the GPU's
static size_t most_blocks;      // that run at once, if they need few registers: more would leave the last of them alone
static unsigned long given, finished; // operations; the first of them that are known to be over
static int failed;                    // enum clab_err, since it was last returned

// Whether `code` is a success. Only the first failure is logged: those that follow come of it.
static bool went_well(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return true;
    if (failed == CLAB_OK)
        failed = nccl_cuda_error(code, what);
    else
        cudaGetLastError();
    return false;
}

// ---- life ----------------------------------------------------------------------------------------------------

#define X(type, name) [type] = (const void *)nccl_reduce_##name,
static const void *const reduce_kernels[] = {NCCL_KERNEL_TYPES(X)};
#undef X
#define X(type, name) [type] = (const void *)nccl_scale_##name,
static const void *const scale_kernels[] = {NCCL_KERNEL_TYPES(X)};
#undef X
static const void *const other_kernels[] = {(const void *)nccl_fill,         (const void *)nccl_check,
                                            (const void *)nccl_cast_f32_f16, (const void *)nccl_cast_f32_bf16,
                                            (const void *)nccl_cast_f16_f32, (const void *)nccl_cast_bf16_f32,
                                            (const void *)nccl_scales,       (const void *)nccl_quantize,
                                            (const void *)nccl_add_bias,     (const void *)nccl_sum_rows,
                                            (const void *)nccl_relu,         (const void *)nccl_relu_gradient,
                                            (const void *)nccl_axpy,         (const void *)nccl_squares,
                                            (const void *)nccl_sum};

static int load(const void *const kernels[], size_t n)
{
    struct cudaFuncAttributes attributes;
    for (size_t i = 0; i < n; i++)
        if (kernels[i])
            CUDA_TRY(cudaFuncGetAttributes(&attributes, kernels[i]));
    return CLAB_OK;
}

// CUDA loads a kernel when it is first used, for which it may wait for the GPU: for NCCL's kernels, too, which may wait
// for a peer that waits for this rank. So that is done now. (cuBLAS has its own, and loads them with the first product
// of each kind.)
static int load_kernels(void)
{
    CLAB_TRY(load(reduce_kernels, sizeof reduce_kernels / sizeof *reduce_kernels));
    CLAB_TRY(load(scale_kernels, sizeof scale_kernels / sizeof *scale_kernels));
    return load(other_kernels, sizeof other_kernels / sizeof *other_kernels);
}

static int open_all(void)
{
    int device, multiprocessors, threads;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreate(&begin));
    CUDA_TRY(cudaEventCreate(&end));
    CUDA_TRY(cudaMalloc((void **)&summands, (NCCL_SUMMANDS + NCCL_SUMS) * sizeof *summands));
    sums = summands + NCCL_SUMMANDS;
    most_blocks = (size_t)multiprocessors * (size_t)(threads / THREADS);
    return load_kernels();
}

int nccl_device_open(void)
{
    const int err = open_all();
    if (err != CLAB_OK)
        nccl_device_close();
    return err;
}

void nccl_device_close(void)
{
    nccl_blas_close();
    if (summands)
        cudaFree(summands);
    if (end)
        cudaEventDestroy(end);
    if (begin)
        cudaEventDestroy(begin);
    if (stream)
        cudaStreamDestroy(stream);
    summands = sums = NULL;
    begin = end = NULL;
    stream = NULL;
    given = finished = 0;
    failed = CLAB_OK;
}

cudaStream_t nccl_device_stream(void)
{
    return stream;
}

int nccl_device_follow(cudaStream_t other)
{
    cudaEvent_t event;
    CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    int err = nccl_cuda_error(cudaEventRecord(event, other), "cudaEventRecord");
    if (!err)
        err = nccl_cuda_error(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
    cudaEventDestroy(event); // CUDA keeps it until it has been reached
    given++;                 // who follows the device waits for that, too
    return err;
}

unsigned long nccl_device_given(void)
{
    return given;
}

unsigned long nccl_device_finished(void)
{
    return finished;
}

int nccl_device_error(void)
{
    const int err = failed;
    failed = CLAB_OK;
    return err;
}

static bool wait_for_all(const char *what)
{
    if (!went_well(cudaStreamSynchronize(stream), what))
        return false;
    finished = given;
    return true;
}

static int finish(void)
{
    wait_for_all("waiting for the GPU");
    return nccl_device_error();
}

static double time_work(void (*work)(void *of), void *of)
{
    float milliseconds;
    const bool begun = went_well(cudaEventRecord(begin, stream), "cudaEventRecord");
    work(of);
    if (!begun || !went_well(cudaEventRecord(end, stream), "cudaEventRecord") ||
        !went_well(cudaEventSynchronize(end), "waiting for the GPU") ||
        !went_well(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime") || failed != CLAB_OK)
        return NAN;
    return 1e-3 * milliseconds;
}

// ---- copy and set --------------------------------------------------------------------------------------------

static bool is_on_device(const void *memory)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
        return attributes.type == cudaMemoryTypeDevice;
    cudaGetLastError();
    return false;
}

// Only waiting shows when an operation has read or written the program's own memory.
static void copy(void *out, const void *in, size_t bytes)
{
    if (bytes == 0)
        return;
    given++;
    if (went_well(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync") &&
        !(is_on_device(out) && is_on_device(in)))
        wait_for_all("copying to or from the GPU");
}

static void set(void *data, int byte, size_t bytes)
{
    if (bytes == 0)
        return;
    given++;
    went_well(cudaMemsetAsync(data, byte, bytes, stream), "cudaMemsetAsync");
}

// ---- kernels -------------------------------------------------------------------------------------------------

// Run `kernel` in `in` with a thread for each of `items`, or fewer.
static bool launch_in(cudaStream_t in, const void *kernel, const char *name, size_t items, size_t most,
                      void **arguments)
{
    const size_t wanted = (items + THREADS - 1) / THREADS, blocks = wanted < most ? wanted : most;
    if (items == 0)
        return true;
    return went_well(cudaLaunchKernel(kernel, (dim3){(unsigned)blocks, 1, 1}, (dim3){THREADS, 1, 1}, arguments, 0, in),
                     name);
}

static bool launch(const void *kernel, const char *name, size_t items, size_t most, void **arguments)
{
    given += items > 0;
    return launch_in(stream, kernel, name, items, most, arguments);
}

// LAUNCH(nccl_axpy, items, &count, &a, ...): addresses of all arguments, whose types are the kernel's
#define LAUNCH(KERNEL_OF, ITEMS, ...) \
    launch((const void *)(KERNEL_OF), __func__, (ITEMS), most_blocks, (void *[]){__VA_ARGS__})

// A thread takes packs of 16 bytes.
static size_t packs_of(size_t count, size_t bytes)
{
    return (count * bytes + 15) / 16;
}

static void reduce(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count)
{
    LAUNCH(reduce_kernels[type], packs_of(count, clab_type_bytes(type)), &op, &a, &b, &out, &count);
}

void nccl_device_reduce(cudaStream_t in, enum clab_type type, enum clab_op op, const void *a, const void *b, void *out,
                        size_t count)
{
    launch_in(in, reduce_kernels[type], __func__, packs_of(count, clab_type_bytes(type)), most_blocks,
              (void *[]){&op, &a, &b, &out, &count});
}

static void scale(enum clab_type type, void *data, size_t count, int divisor)
{
    LAUNCH(scale_kernels[type], packs_of(count, clab_type_bytes(type)), &data, &count, &divisor);
}

static void fill(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out)
{
    struct clab_random copied = *random;
    LAUNCH(nccl_fill, packs_of(count, clab_type_bytes(random->type)), &copied, &rank, &first, &count, &out);
}

static void cast(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count)
{
    const void *const kernel = from == CLAB_F16    ? (const void *)nccl_cast_f16_f32
                               : from == CLAB_BF16 ? (const void *)nccl_cast_bf16_f32
                               : to == CLAB_F16    ? (const void *)nccl_cast_f32_f16
                                                   : (const void *)nccl_cast_f32_bf16;
    LAUNCH(kernel, packs_of(count, 2), &in, &out, &count);
}

static void quantize(size_t count, size_t block, const float *in, int8_t *out, float *scales)
{
    LAUNCH(nccl_scales, count / block + (count % block > 0), &count, &block, &in, &scales);
    LAUNCH(nccl_quantize, count, &count, &block, &in, &scales, &out);
}

static void gemm(const struct clab_gemm *g)
{
    if (g->m * g->n == 0 || failed != CLAB_OK)
        return;
    given++;
    if (g->k > 0)
        failed = nccl_blas_gemm(g, stream);
    else if (!g->add)
        set(g->c, 0, g->m * g->n * sizeof *g->c);
}

static void add_bias(size_t rows, size_t columns, const float *bias, float *y)
{
    LAUNCH(nccl_add_bias, rows * columns, &rows, &columns, &bias, &y);
}

static void sum_rows(size_t rows, size_t columns, const float *y, bool add, float *sums_of_rows)
{
    int adds = add;
    LAUNCH(nccl_sum_rows, columns, &rows, &columns, &y, &adds, &sums_of_rows);
}

static void relu(size_t count, float *y)
{
    LAUNCH(nccl_relu, packs_of(count, sizeof *y), &count, &y);
}

static void relu_gradient(size_t count, const float *y, float *dy)
{
    LAUNCH(nccl_relu_gradient, packs_of(count, sizeof *y), &count, &y, &dy);
}

static void axpy(size_t count, float a, const float *x, float *y)
{
    LAUNCH(nccl_axpy, packs_of(count, sizeof *y), &count, &a, &x, &y);
}

// ---- sums ----------------------------------------------------------------------------------------------------

// Threads of a kernel that gives a summand each for `items`.
static size_t summands_of(size_t items)
{
    const size_t threads = (items + THREADS - 1) / THREADS * THREADS;
    return threads < NCCL_SUMMANDS ? threads : NCCL_SUMMANDS;
}

// `kernel` has a summand of each of its threads in `summands`. NAN: something has failed
static double sum_up(const void *kernel, const char *name, size_t items, void **arguments)
{
    double parts[NCCL_SUMS], sum = 0;
    size_t count = summands_of(items);
    if (!launch(kernel, name, items, NCCL_SUMMANDS / THREADS, arguments) ||
        !LAUNCH(nccl_sum, NCCL_SUMS, &count, &summands, &sums) ||
        !went_well(cudaMemcpyAsync(parts, sums, sizeof parts, cudaMemcpyDefault, stream), "cudaMemcpyAsync") ||
        !wait_for_all(name) || failed != CLAB_OK)
        return NAN;
    for (int i = 0; i < NCCL_SUMS; i++)
        sum += parts[i];
    return sum;
}

static size_t check(const struct clab_expected *expected, const void *got)
{
    struct clab_expected copied = *expected;
    struct clab_bound bound = clab_bound_of(expected->random.type, expected->op, expected->random.nranks);
    const double wrong =
        sum_up((const void *)nccl_check, "nccl_check", expected->count, (void *[]){&copied, &bound, &got, &summands});
    return wrong >= 0 ? (size_t)wrong : expected->count;
}

static double squares(size_t count, const float *y, const float *target, float *gradient)
{
    const double sum = sum_up((const void *)nccl_squares, "nccl_squares", count,
                              (void *[]){&count, &y, &target, &gradient, &summands});
    return count ? sum / (double)count : 0;
}

const struct clab_device nccl_device = {
    .name = "cuda",
    .copy = copy,
    .copy_nontemporal = copy,
    .set = set,
    .finish = finish,
    .time = time_work,
    .time_calls = nccl_time_calls,
    .reduce = reduce,
    .scale = scale,
    .fill = fill,
    .check = check,
    .cast = cast,
    .quantize = quantize,
    .gemm = gemm,
    .add_bias = add_bias,
    .sum_rows = sum_rows,
    .relu = relu,
    .relu_gradient = relu_gradient,
    .axpy = axpy,
    .squares = squares,
};
