// SPDX-License-Identifier: MIT
// What tests of a device share: which one it is, and data of the test's own there and back.
// - Without arguments the processor's two tables are tried; with `--backend NAME -n 1` that backend's, whose memory the
//   test can not touch. Its data is the same: memory of the device that holds what an array here holds.
#pragma once

#include "capture.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "clab.h"
#include "job/job.h"

static const struct clab_device *device;
static struct clab_job *job; // NULL: the device is the processor
static void *taken[16];      // by the running test
static size_t ntaken;

static inline void *take(size_t bytes)
{
    void *memory = job ? NULL : malloc(bytes ? bytes : 1);
    if (job)
        assert_int_equal(clab_alloc(job, bytes, &memory), CLAB_OK);
    assert_non_null(memory);
    assert_true(ntaken < sizeof taken / sizeof *taken);
    return taken[ntaken++] = memory;
}

// All that was taken, at the end of a test or of a turn of its loop.
static inline void give_back(void)
{
    for (; ntaken > 0; ntaken--)
        job ? clab_free(job, taken[ntaken - 1]) : free(taken[ntaken - 1]);
}

// Memory of the device, `skip` bytes behind a boundary of 64, that holds what is at `from`.
static inline void *bring(const void *from, size_t bytes, size_t skip)
{
    char *memory = take(bytes + skip + 64);
    memory += (size_t)(-(uintptr_t)memory % 64) + skip;
    device->copy(memory, from, bytes);
    return memory;
}

static inline void fetch(void *to, const void *from, size_t bytes)
{
    device->copy(to, from, bytes);
}

// The next of a sequence, and n numbers from -1 to 1.  source: Knuth's MMIX
static inline uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32 | *state << 32;
}

static inline void fill_floats(float *values, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)((double)(int32_t)next_random(&seed) / (1u << 31));
}

static inline int give_back_after(void **state)
{
    (void)state;
    give_back();
    return device->finish();
}

#define DEVICE_TEST(test) cmocka_unit_test_teardown(test, give_back_after)

// Run `n` tests on the devices that the command line names, and at the end the one of `last` (or NULL) on a backend's;
// how many have failed.
static inline int run_on_devices(int argc, char **argv, const struct CMUnitTest *tests, size_t n,
                                 const struct CMUnitTest *last)
{
    if (argc > 1 && clab_job_open(&argc, argv, &job) != CLAB_OK)
        return EXIT_FAILURE;
    device = job ? job->backend->device : &clab_device_plain;
    int failures = _cmocka_run_group_tests(device->name, tests, n, NULL, NULL);
    device = job ? device : &clab_device_cpu;
    failures += job ? 0 : _cmocka_run_group_tests(device->name, tests, n, NULL, NULL);
    failures += job && last ? _cmocka_run_group_tests(device->name, last, 1, NULL, NULL) : 0;
    clab_job_close(job);
    return failures;
}
