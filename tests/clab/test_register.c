// SPDX-License-Identifier: MIT
// Registered memory: pages are locked as long as they are registered, by the kernel's own account, what is communicated
// from there is right, and what can not be is refused with the limit.

#include "tests/fixtures/job_fixture.h"
#include "tests/fixtures/needs.h"

#include <sys/resource.h>

#include "core/clab.h"

enum { BYTES = 1 << 20, UNSUPPORTED = 77, NOBODY = 65534 };

// Bytes that this process has locked, as the kernel says.
static long locked(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    long kib = -1;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmLck: %ld", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

static int open_job(struct clab_job **job_p, char **memory_p)
{
    char name[] = "register", *argv[] = {name, NULL};
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, argv, job_p));
    return clab_alloc(*job_p, 2 * BYTES, (void **)memory_p);
}

static char *page_in(char *memory)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return memory + (page - (uintptr_t)memory % page) % page;
}

// Whether an allreduce in place, there, of the ranks' numbers is right.
static bool sums_right(struct clab_job *job, float *data)
{
    struct clab_comm *comm;
    const int n = clab_job_ranks(job);
    bool right = clab_comm_create(job, &comm) == CLAB_OK;
    for (size_t i = 0; i < BYTES / sizeof *data; i++)
        data[i] = (float)(clab_job_rank(job) + (int)(i % 5));
    right = right && clab_allreduce(comm, data, data, BYTES / sizeof *data, CLAB_F32, CLAB_SUM) == CLAB_OK;
    for (size_t i = 0; i < BYTES / sizeof *data; i++)
        right = right && data[i] == (float)(n * (n - 1) / 2 + n * (int)(i % 5));
    clab_comm_destroy(comm);
    return right;
}

static int expected_locked; // bytes, of a registration of BYTES

static int register_and_let_go(int rank)
{
    struct clab_job *job;
    struct clab_registration *registration = NULL;
    char *memory;
    const int err = open_job(&job, &memory);
    if (err)
        return err == CLAB_EUNSUPPORTED ? UNSUPPORTED : 1;
    char *data = page_in(memory);
    const long before = locked();
    int status = 0;
    for (int i = 0; i < 3 && !status; i++) {
        status = clab_register(job, data, BYTES, &registration) ? 2 : 0;
        status = status ? status : locked() - before == expected_locked ? 0 : 3;
        status = status ? status : sums_right(job, (float *)(void *)data) ? 0 : 4;
        clab_unregister(job, registration);
        status = status ? status : locked() == before ? 0 : 5;
    }
    clab_unregister(job, NULL);
    clab_free(job, memory);
    clab_job_close(job);
    return status;
}

static void assert_registers(const char *backend, const char *variable, const char *value, int bytes)
{
    struct clab_launch launch = ranks(2);
    launch.backend = backend;
    expected_locked = bytes;
    if (variable)
        setenv(variable, value, 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(launch, register_and_let_go);
    const char *text = capture_end(err);
    if (variable)
        unsetenv(variable);
    if (status == UNSUPPORTED || strstr(text, "can not be registered")) {
        print_message("skip: %.*s\n", (int)strcspn(text, "\n"), text);
        skip();
    }
    if (status)
        fail_msg("status %d: %s", status, text);
}

static void test_registered_pages_are_locked_until_they_are_let_go(void **state)
{
    needs_mlock();
    assert_registers("shm", NULL, NULL, BYTES);
}

static void test_an_emulated_wire_registers_as_its_backend(void **state)
{
    needs_mlock();
    needs_inih();
    assert_registers("shm", "CLAB_EMULATE", "100gbe", BYTES);
}

static void test_in_virtual_time_nothing_is_locked(void **state)
{
    needs_inih();
    assert_registers("sim", NULL, NULL, 0);
}

// A provider that registers does so by itself; one that does not leaves it to the host.
static void test_a_fabric_registers_where_its_provider_does(void **state)
{
    needs_mlock();
    needs_libfabric();
    assert_registers("ofi", NULL, NULL, BYTES);
    assert_registers("ofi", "CLAB_OFI_REGISTER", "1", 0);
}

// ---- what is refused -----------------------------------------------------------------------------------------

static int refuse(int rank)
{
    struct clab_job *job;
    struct clab_registration *registration = NULL;
    char *memory;
    if (open_job(&job, &memory))
        return 1;
    char *data = page_in(memory);
    int status = clab_register(job, data + 64, BYTES, &registration) == CLAB_EINVAL ? 0 : 2;
    status |= clab_register(job, data, 0, &registration) == CLAB_EINVAL ? 0 : 4;
    status |= registration ? 8 : 0;
    clab_free(job, memory);
    clab_job_close(job);
    return status;
}

static void test_what_is_no_page_is_refused(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(1), refuse);
    assert_text_has(capture_end(err), "at the start of a page");
    assert_int_equal(status, 0);
}

// As somebody who may lock a quarter of it: root may lock all, whatever the limit says.
static int exceed(int rank)
{
    const struct rlimit limit = {BYTES / 4, BYTES / 4};
    struct clab_job *job;
    struct clab_registration *registration = NULL, *small = NULL;
    char *memory;
    if (open_job(&job, &memory) || setrlimit(RLIMIT_MEMLOCK, &limit) || (geteuid() == 0 && setresuid(-1, NOBODY, -1)))
        return 1;
    char *data = page_in(memory);
    int status = clab_register(job, data, BYTES, &registration) == CLAB_EUNSUPPORTED ? 0 : 2;
    status |= registration ? 4 : 0;
    status |= locked() == 0 ? 0 : 8;
    status |= clab_register(job, data, BYTES / 8, &small) == CLAB_OK ? 0 : 16; // what is below it is not
    clab_unregister(job, small);
    clab_free(job, memory);
    clab_job_close(job);
    return status;
}

static void test_more_than_may_be_locked_is_refused_with_the_limit(void **state)
{
    needs_mlock();
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(1), exceed);
    const char *text = capture_end(err);
    assert_one_line_with(text, "this process may lock 262144 bytes in all (ulimit -l)");
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registered_pages_are_locked_until_they_are_let_go),
        cmocka_unit_test(test_an_emulated_wire_registers_as_its_backend),
        cmocka_unit_test(test_in_virtual_time_nothing_is_locked),
        cmocka_unit_test(test_a_fabric_registers_where_its_provider_does),
        cmocka_unit_test(test_what_is_no_page_is_refused),
        cmocka_unit_test(test_more_than_may_be_locked_is_refused_with_the_limit),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
