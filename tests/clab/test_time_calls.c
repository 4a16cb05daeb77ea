// SPDX-License-Identifier: MIT
// What collectives take by a device's own clock: their kernels, and nothing of what the host does between them. The
// processor has no such clock.
// Usage: test_time_calls [--backend NAME -n 1]

#include "tests/fixtures/capture.h"

#include <math.h>
#include <time.h>

#include "core/clab.h"
#include "core/comm/job.h"

enum { CALLS = 3 };
static const double pause_of = 0.2; // s, of the host, behind each call

static struct clab_job *job;
static struct clab_comm *comm;
static float *data;

static void call_and_pause(void *of)
{
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(clab_allreduce(comm, data, data, 1, CLAB_F32, CLAB_SUM), CLAB_OK);
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause_of)}, NULL);
    }
}

static void pause_only(void *of)
{
}

static void test_pauses_of_the_host_are_in_no_time_of_kernels(void **state)
{
    const struct clab_device *device = job->backend->device;
    const double all = device->time(call_and_pause, NULL), kernels = device->time_calls(call_and_pause, NULL);
    assert_true(all >= CALLS * pause_of);
    if (strcmp(device->name, "cuda") != 0)
        assert_true(isnan(kernels));
    else
        assert_true(kernels > 0 && kernels < pause_of);
}

static void test_no_call_has_no_time(void **state)
{
    assert_true(isnan(job->backend->device->time_calls(pause_only, NULL)));
}

int main(int argc, char **argv)
{
    static char *alone[] = {"test_time_calls", "--backend", "shm", "-n", "1", NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_of_the_host_are_in_no_time_of_kernels),
        cmocka_unit_test(test_no_call_has_no_time),
    };
    int nwords = argc > 1 ? argc : 5;
    void *memory;
    if (argc == 1)
        alone[0] = argv[0];
    if (clab_job_open(&nwords, argc > 1 ? argv : alone, &job) || clab_comm_create(job, &comm) ||
        clab_alloc(job, sizeof *data, &memory))
        return EXIT_FAILURE;
    data = memory;
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    clab_free(job, memory);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return failures;
}
