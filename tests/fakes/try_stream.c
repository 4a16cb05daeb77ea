// SPDX-License-Identifier: MIT
// Streams and events of the fake libcudart: what waits for what, and what does not.

#include "tests/fakes/try.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 1 << 16 };

// A stream is kept busy until its gate opens, so that what comes after it can be seen not to have come.
static void wait_at_gate(void *gate)
{
    while (sem_wait(gate))
        ;
}

static void note(void *noted)
{
    atomic_store((atomic_int *)noted, 1);
}

static cudaStream_t new_stream(unsigned flags)
{
    cudaStream_t stream;
    MUST(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

static void test_a_stream_runs_beside_the_program(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    atomic_int noted = 0;
    cudaEvent_t event;
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    MUST(cudaEventCreate(&event));
    MUST(cudaEventQuery(event)); // never recorded
    MUST(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
    MUST(cudaLaunchHostFunc(stream, note, &noted));
    MUST(cudaEventRecord(event, stream));
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(stream));
    MUST_BE(cudaErrorNotReady, cudaEventQuery(event));
    MUST_BE(cudaErrorNotReady, cudaGetLastError());
    assert_int_equal(atomic_load(&noted), 0);
    sem_post(&gate);
    MUST(cudaEventSynchronize(event));
    assert_int_equal(atomic_load(&noted), 1);
    MUST(cudaStreamQuery(stream));
    MUST(cudaEventDestroy(event));
    MUST(cudaStreamDestroy(stream));
    MUST_BE(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    cudaGetLastError();
}

static void test_a_destroyed_stream_does_what_it_was_given(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    atomic_int noted = 0;
    cudaEvent_t event;
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    MUST(cudaEventCreate(&event));
    MUST(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
    MUST(cudaLaunchHostFunc(stream, note, &noted));
    MUST(cudaEventRecord(event, stream));
    MUST(cudaStreamDestroy(stream));
    sem_post(&gate);
    MUST(cudaEventSynchronize(event));
    assert_int_equal(atomic_load(&noted), 1);
    MUST(cudaEventDestroy(event));
}

static void test_a_stream_waits_for_an_event_of_another(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    atomic_int before = 0, after = 0;
    cudaEvent_t event;
    cudaStream_t one = new_stream(cudaStreamNonBlocking), two = new_stream(cudaStreamNonBlocking);
    MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    MUST(cudaLaunchHostFunc(one, wait_at_gate, &gate));
    MUST(cudaEventRecord(event, one));
    MUST(cudaLaunchHostFunc(two, note, &before));
    MUST(cudaStreamSynchronize(two));
    assert_int_equal(atomic_load(&before), 1);
    MUST(cudaStreamWaitEvent(two, event, 0));
    MUST(cudaLaunchHostFunc(two, note, &after));
    // What the event is recorded for later does not count.
    MUST(cudaEventRecord(event, two));
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(two));
    assert_int_equal(atomic_load(&after), 0);
    sem_post(&gate);
    MUST(cudaStreamSynchronize(two));
    assert_int_equal(atomic_load(&after), 1);
    MUST(cudaEventDestroy(event));
    MUST(cudaStreamDestroy(one));
    MUST(cudaStreamDestroy(two));
    cudaGetLastError();
}

static void nap(void *milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = *(const int *)milliseconds * 1000000L}, 0);
}

static void test_the_time_between_events_is_that_of_the_stream(void **state)
{
    (void)state;
    int milliseconds = 20;
    float took;
    cudaEvent_t from, to, silent;
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&to));
    MUST(cudaEventCreateWithFlags(&silent, cudaEventDisableTiming));
    MUST_BE(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&took, from, to));
    MUST(cudaEventRecord(from, stream));
    MUST(cudaLaunchHostFunc(stream, nap, &milliseconds));
    MUST(cudaEventRecord(to, stream));
    MUST(cudaEventRecord(silent, stream));
    MUST_BE(cudaErrorNotReady, cudaEventElapsedTime(&took, from, to));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaEventElapsedTime(&took, from, to));
    assert_true(took >= 20 && took < 20000); // ms
    MUST_BE(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&took, from, silent));
    MUST(cudaEventDestroy(from));
    MUST(cudaEventDestroy(to));
    MUST(cudaEventDestroy(silent));
    MUST(cudaStreamDestroy(stream));
    cudaGetLastError();
}

static void test_the_default_stream_takes_turns_with_blocking_streams_only(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    atomic_int in_default = 0, after_default = 0, beside = 0;
    cudaStream_t blocking = new_stream(cudaStreamDefault), other = new_stream(cudaStreamDefault),
                 free_one = new_stream(cudaStreamNonBlocking);
    MUST(cudaLaunchHostFunc(blocking, wait_at_gate, &gate));
    MUST(cudaLaunchHostFunc(0, note, &in_default));
    MUST(cudaLaunchHostFunc(other, note, &after_default));
    MUST(cudaLaunchHostFunc(free_one, note, &beside));
    MUST(cudaStreamSynchronize(free_one));
    assert_int_equal(atomic_load(&beside), 1);
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(0));
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(other));
    assert_int_equal(atomic_load(&in_default) + atomic_load(&after_default), 0);
    sem_post(&gate);
    MUST(cudaDeviceSynchronize());
    assert_int_equal(atomic_load(&in_default) + atomic_load(&after_default), 2);
    MUST(cudaStreamDestroy(blocking));
    MUST(cudaStreamDestroy(other));
    MUST(cudaStreamDestroy(free_one));
    cudaGetLastError();
}

// ---- copies --------------------------------------------------------------------------------------------------

static void test_copies_wait_as_cuda_says_they_do(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    char *device, *pinned, pageable[N], got[N];
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    MUST(cudaMalloc((void **)&device, 2 * N));
    MUST(cudaMallocHost((void **)&pinned, N));
    memset(pageable, 1, N);
    memset(pinned, 2, N);
    MUST(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
    MUST(cudaMemcpyAsync(device, pageable, N, cudaMemcpyHostToDevice, stream));
    MUST(cudaMemcpyAsync(device + N, pinned, N, cudaMemcpyHostToDevice, stream));
    MUST_BE(cudaErrorNotReady, cudaStreamQuery(stream));
    memset(pageable, 3, N); // has been taken
    memset(pinned, 4, N);   // has not
    sem_post(&gate);
    MUST(cudaMemcpyAsync(got, device, N, cudaMemcpyDeviceToHost, stream));
    assert_true(got[0] == 1 && got[N - 1] == 1);
    MUST(cudaMemcpyAsync(got, device + N, N, cudaMemcpyDeviceToHost, stream));
    assert_true(got[0] == 4 && got[N - 1] == 4);
    MUST(cudaStreamDestroy(stream));
    MUST(cudaFree(device));
    MUST(cudaFreeHost(pinned));
    cudaGetLastError();
}

static void *open_soon(void *gate)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, 0);
    sem_post(gate);
    return 0;
}

static void test_free_waits_for_what_uses_the_memory(void **state)
{
    (void)state;
    sem_t gate;
    sem_init(&gate, 0, 0);
    char *device;
    atomic_int noted = 0;
    pthread_t opener;
    cudaStream_t stream = new_stream(cudaStreamNonBlocking);
    MUST(cudaMalloc((void **)&device, N));
    MUST(cudaLaunchHostFunc(stream, wait_at_gate, &gate));
    MUST(cudaMemsetAsync(device, 1, N, stream));
    MUST(cudaLaunchHostFunc(stream, note, &noted));
    assert_int_equal(pthread_create(&opener, 0, open_soon, &gate), 0);
    MUST(cudaFree(device));
    assert_int_equal(atomic_load(&noted), 1);
    pthread_join(opener, 0);
    MUST(cudaStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_runs_beside_the_program),
        cmocka_unit_test(test_a_destroyed_stream_does_what_it_was_given),
        cmocka_unit_test(test_a_stream_waits_for_an_event_of_another),
        cmocka_unit_test(test_the_time_between_events_is_that_of_the_stream),
        cmocka_unit_test(test_the_default_stream_takes_turns_with_blocking_streams_only),
        cmocka_unit_test(test_copies_wait_as_cuda_says_they_do),
        cmocka_unit_test(test_free_waits_for_what_uses_the_memory),
    };
    return cmocka_run_group_tests(tests, 0, 0);
}
