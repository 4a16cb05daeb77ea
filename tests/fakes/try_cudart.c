// SPDX-License-Identifier: MIT
// The fake libcudart: devices, memory that the host can not touch, copies, kernels.

#include "tests/fakes/try.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/fakes/sample.h"

enum { N = 1000 };

// ---- devices -------------------------------------------------------------------------------------------------

static void test_devices_say_that_they_are_fake(void **state)
{
    (void)state;
    int count;
    MUST(cudaGetDeviceCount(&count));
    assert_int_equal(count, 8);
    struct cudaDeviceProp last;
    MUST(cudaGetDeviceProperties(&last, 7));
    assert_string_equal(last.name, "fake GPU 7");
    MUST_BE(cudaErrorInvalidDevice, cudaGetDeviceProperties(&last, 8));
    MUST_BE(cudaErrorInvalidDevice, cudaGetLastError());
    MUST(cudaGetLastError());
}

static void test_a_bus_id_finds_its_device(void **state)
{
    (void)state;
    char text[32];
    int device;
    MUST(cudaDeviceGetPCIBusId(text, sizeof text, 5));
    MUST(cudaDeviceGetByPCIBusId(&device, text));
    assert_int_equal(device, 5);
}

// ---- memory --------------------------------------------------------------------------------------------------

// The signal that ends a child which reads the byte, or 0.
static int signal_of_reading(const void *address)
{
    const pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile const char *)address & 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_the_host_can_not_touch_device_memory(void **state)
{
    (void)state;
    char *device, *host;
    MUST(cudaMalloc((void **)&device, N));
    MUST(cudaMallocHost((void **)&host, N));
    assert_int_equal(signal_of_reading(device), SIGSEGV);
    assert_int_equal(signal_of_reading(device + N - 1), SIGSEGV);
    assert_int_equal(signal_of_reading(host), 0);
    MUST(cudaFree(device));
    MUST(cudaFreeHost(host));
}

static void test_memory_ends_where_the_device_does(void **state)
{
    (void)state;
    size_t before, between, total;
    MUST(cudaMemGetInfo(&before, &total));
    assert_int_equal(total, (size_t)1 << 30);
    void *memory, *more;
    MUST(cudaMalloc(&memory, total / 2));
    MUST(cudaMemGetInfo(&between, &total));
    assert_int_equal(before - between, total / 2);
    MUST_BE(cudaErrorMemoryAllocation, cudaMalloc(&more, total / 2 + 1));
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc(&more, total / 2 + 1));
    MUST(cudaFree(more));
    MUST(cudaSetDevice(0));
    MUST(cudaFree(memory));
    MUST_BE(cudaErrorInvalidValue, cudaFree(memory));
    cudaGetLastError();
}

static void test_pointers_say_whose_they_are(void **state)
{
    (void)state;
    struct cudaPointerAttributes of;
    void *device, *host;
    static char registered[4096], other;
    MUST(cudaMalloc(&device, N));
    MUST(cudaMallocHost(&host, N));
    MUST(cudaHostRegister(registered, sizeof registered, cudaHostRegisterDefault));
    MUST(cudaPointerGetAttributes(&of, (char *)device + 10));
    assert_true(of.type == cudaMemoryTypeDevice && of.device == 0 && of.hostPointer == 0);
    MUST(cudaPointerGetAttributes(&of, host));
    assert_true(of.type == cudaMemoryTypeHost && of.hostPointer == host && of.devicePointer == host);
    MUST(cudaPointerGetAttributes(&of, registered + 1));
    assert_true(of.type == cudaMemoryTypeHost);
    MUST(cudaPointerGetAttributes(&of, &other));
    assert_true(of.type == cudaMemoryTypeUnregistered);
    MUST_BE(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(registered, 1, cudaHostRegisterDefault));
    MUST(cudaHostUnregister(registered));
    MUST_BE(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(registered));
    MUST(cudaFree(device));
    MUST(cudaFreeHost(host));
    cudaGetLastError();
}

static void test_copies_go_there_and_back(void **state)
{
    (void)state;
    char from[N], to[N], *a, *b;
    for (int i = 0; i < N; i++)
        from[i] = (char)(i * 7);
    MUST(cudaMalloc((void **)&a, N));
    MUST(cudaMalloc((void **)&b, N));
    MUST(cudaMemcpy(a, from, N, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(b + 1, a, N - 1, cudaMemcpyDeviceToDevice));
    MUST(cudaMemset(b, 42, 1));
    MUST(cudaMemcpy(to, b, N, cudaMemcpyDefault));
    assert_int_equal(to[0], 42);
    assert_memory_equal(to + 1, from, N - 1);
    MUST_BE(cudaErrorInvalidValue, cudaMemcpy(a, from, N, cudaMemcpyDeviceToHost));
    MUST_BE(cudaErrorInvalidValue, cudaMemcpy(to, from, N, cudaMemcpyDeviceToDevice));
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    cudaGetLastError();
}

static void test_fresh_memory_is_not_zero(void **state)
{
    (void)state;
    unsigned char got[N], *device;
    MUST(cudaMalloc((void **)&device, N));
    MUST(cudaMemcpy(got, device, N, cudaMemcpyDeviceToHost));
    assert_true(got[0] != 0 && got[N - 1] != 0);
    MUST(cudaFree(device));
}

// ---- kernels -------------------------------------------------------------------------------------------------

static void test_kernels_run_for_each_thread_of_the_grid(void **state)
{
    (void)state;
    enum { ROWS = 7, COLUMNS = 19 };
    int *cells, got[ROWS][COLUMNS];
    MUST(cudaMalloc((void **)&cells, sizeof got));
    MUST(sample_start_cells(cells, ROWS, COLUMNS, 0));
    MUST(cudaMemcpy(got, cells, sizeof got, cudaMemcpyDeviceToHost));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            assert_int_equal(got[row][column], 100 * row + column);
    MUST(cudaFree(cells));
}

static void test_kernels_compute_in_the_order_of_their_stream(void **state)
{
    (void)state;
    float x[N], y[N], *of_x, *of_y;
    cudaStream_t stream;
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 1;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaMalloc((void **)&of_x, sizeof x));
    MUST(cudaMalloc((void **)&of_y, sizeof y));
    MUST(cudaMemcpyAsync(of_x, x, sizeof x, cudaMemcpyHostToDevice, stream));
    MUST(cudaMemcpyAsync(of_y, y, sizeof y, cudaMemcpyHostToDevice, stream));
    for (int i = 0; i < 10; i++)
        MUST(sample_start_axpy(of_y, of_x, 2, N, stream));
    MUST(cudaMemcpyAsync(y, of_y, sizeof y, cudaMemcpyDeviceToHost, stream));
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 1 + 20 * (float)i);
    MUST(cudaFree(of_x));
    MUST(cudaFree(of_y));
    MUST(cudaStreamDestroy(stream));
}

// 1 + 2^-9 lies between two bf16 and is exact in float16; 1 + 2^-12 lies between two float16.
static void test_kernels_convert_half_and_bf16(void **state)
{
    (void)state;
    const float x[] = {1 + 0x1p-9f, 1 + 0x1p-12f, -3.5f, 65536};
    float half[4], bf16[4], *device;
    MUST(cudaMalloc((void **)&device, 3 * sizeof x));
    MUST(cudaMemcpy(device, x, sizeof x, cudaMemcpyHostToDevice));
    MUST(sample_start_cast(device, device + 4, device + 8, 4, 0));
    MUST(cudaMemcpy(half, device + 4, sizeof half, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(bf16, device + 8, sizeof bf16, cudaMemcpyDeviceToHost));
    assert_true(half[0] == x[0] && half[1] == 1 && half[2] == x[2] && half[3] > 1e30f);
    assert_true(bf16[0] == 1 && bf16[1] == 1 && bf16[2] == x[2] && bf16[3] == x[3]);
    MUST(cudaFree(device));
}

// ---- what fails ----------------------------------------------------------------------------------------------

// A child's status: what CUDA has failed with stays, so each has a process of its own.
static int status_of(int (*run)(void))
{
    const pid_t child = fork();
    if (!child)
        _exit(run());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// This program again, as a process in which CUDA has not been called: `case` is then in TRY_CASE.
static int status_of_case(const char *name, const char *variable, const char *value)
{
    const pid_t child = fork();
    if (!child) {
        setenv("TRY_CASE", name, 1);
        if (variable)
            setenv(variable, value, 1);
        execl("/proc/self/exe", "try_cudart", (char *)0);
        _exit(98);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int uses_cuda_after_fork(void)
{
    void *memory;
    return cudaMalloc(&memory, 1) == cudaErrorInitializationError ? 0 : 1;
}

static void test_a_forked_child_has_no_device(void **state)
{
    (void)state;
    assert_int_equal(status_of(uses_cuda_after_fork), 0);
}

static int case_host_pointer(void)
{
    float on_host[4] = {0}, *device;
    cudaStream_t stream;
    MUST(cudaMalloc((void **)&device, sizeof on_host));
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // The launch may hear of it already.
    const int launched = sample_start_axpy(device, on_host, 1, 4, stream);
    MUST_BE(true, launched == cudaSuccess || launched == cudaErrorIllegalAddress);
    MUST_BE(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    MUST_BE(cudaErrorIllegalAddress, cudaGetLastError());
    MUST_BE(cudaErrorIllegalAddress, cudaGetLastError());
    MUST_BE(cudaErrorIllegalAddress, cudaMemset(device, 0, 4));
    return 0;
}

static int case_pinned_pointer(void)
{
    float *pinned, *device, got = 0;
    MUST(cudaMalloc((void **)&device, sizeof got));
    MUST(cudaMallocHost((void **)&pinned, sizeof got));
    *pinned = 3;
    MUST(cudaMemset(device, 0, sizeof got));
    MUST(sample_start_axpy(device, pinned, 2, 1, 0));
    MUST(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost));
    return got == 6 ? 0 : 1;
}

static int case_without_host_version(void)
{
    int *cell;
    MUST(cudaMalloc((void **)&cell, sizeof *cell));
    return sample_start_without_host_version(cell);
}

static int case_no_device(void)
{
    int count = -1;
    void *memory;
    const int error = cudaGetDeviceCount(&count);
    return count == -1 && (int)cudaMalloc(&memory, 1) == error ? error : 1;
}

static int case_two_of_three_are_visible(void)
{
    int count;
    struct cudaDeviceProp first;
    MUST(cudaGetDeviceCount(&count));
    MUST(cudaGetDeviceProperties(&first, 0));
    return count == 2 && !strcmp(first.name, "fake GPU 5") ? 0 : 1;
}

static int case_third_allocation_fails(void)
{
    void *memory[4];
    MUST(cudaMalloc(&memory[0], 1));
    MUST(cudaMalloc(&memory[1], 1));
    MUST_BE(cudaErrorMemoryAllocation, cudaMalloc(&memory[2], 1));
    MUST(cudaMalloc(&memory[3], 1));
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"host pointer", case_host_pointer},
    {"pinned pointer", case_pinned_pointer},
    {"without host version", case_without_host_version},
    {"no device", case_no_device},
    {"visible", case_two_of_three_are_visible},
    {"third allocation", case_third_allocation_fails},
};

static void test_a_kernel_given_a_host_pointer_fails_its_device_for_good(void **state)
{
    (void)state;
    assert_int_equal(status_of_case("host pointer", 0, 0), 0);
    assert_int_equal(status_of_case("pinned pointer", 0, 0), 0);
}

static void test_a_kernel_without_a_host_version_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(status_of_case("without host version", 0, 0), -SIGABRT);
}

static void test_a_machine_may_have_no_device_and_no_driver(void **state)
{
    (void)state;
    assert_int_equal(status_of_case("no device", "CLAB_FAKE_GPUS", "0"), cudaErrorNoDevice);
    assert_int_equal(status_of_case("no device", "CLAB_FAKE_GPUS", "none"), cudaErrorInsufficientDriver);
    assert_int_equal(status_of_case("no device", "CUDA_VISIBLE_DEVICES", ""), cudaErrorNoDevice);
    assert_int_equal(status_of_case("visible", "CUDA_VISIBLE_DEVICES", "5,2,8,1"), 0);
}

static void test_the_allocation_that_a_fault_names_fails(void **state)
{
    (void)state;
    assert_int_equal(status_of_case("third allocation", "CLAB_FAKE_FAULT", "memory@0:3"), 0);
    assert_int_equal(status_of_case("third allocation", "CLAB_FAKE_FAULT", "memory@zero:3"), 2);
}

int main(void)
{
    const char *name = getenv("TRY_CASE");
    try_is_child = name != 0;
    for (size_t i = 0; name && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(name, cases[i].name))
            return cases[i].run();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_say_that_they_are_fake),
        cmocka_unit_test(test_a_bus_id_finds_its_device),
        cmocka_unit_test(test_the_host_can_not_touch_device_memory),
        cmocka_unit_test(test_memory_ends_where_the_device_does),
        cmocka_unit_test(test_pointers_say_whose_they_are),
        cmocka_unit_test(test_copies_go_there_and_back),
        cmocka_unit_test(test_fresh_memory_is_not_zero),
        cmocka_unit_test(test_kernels_run_for_each_thread_of_the_grid),
        cmocka_unit_test(test_kernels_compute_in_the_order_of_their_stream),
        cmocka_unit_test(test_kernels_convert_half_and_bf16),
        cmocka_unit_test(test_a_forked_child_has_no_device),
        cmocka_unit_test(test_a_kernel_given_a_host_pointer_fails_its_device_for_good),
        cmocka_unit_test(test_a_kernel_without_a_host_version_ends_the_process),
        cmocka_unit_test(test_a_machine_may_have_no_device_and_no_driver),
        cmocka_unit_test(test_the_allocation_that_a_fault_names_fails),
    };
    return cmocka_run_group_tests(tests, 0, 0);
}
