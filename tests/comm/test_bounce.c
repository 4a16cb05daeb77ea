// SPDX-License-Identifier: MIT
// Buffers that a backend does not reach: what is sent through its memory, how often that is allocated, and when it is
// freed.
// - The backend is a double: shm that reaches nothing but what its alloc has given, and counts. That all collectives
//   give what they should with such a one is test_far.sh's, by the conformance suite.

#include "tests/fixtures/job_fixture.h"

#include "core/clab.h"
#include "core/comm/job.h"

enum { NRANKS = 2, COUNT = 1000, MOST = 64 };

// ---- the double ------------------------------------------------------------------------------------------------

static const struct clab_backend *shm;
static struct clab_backend distant;
static struct {
    char *memory;
    size_t bytes;
} blocks[MOST];
static int allocations; // ever

static int alloc(struct clab_domain *domain, size_t bytes, void **memory_p)
{
    int i = 0;
    CLAB_TRY(shm->alloc(domain, bytes, memory_p));
    while (i < MOST - 1 && blocks[i].memory)
        i++;
    blocks[i].memory = *memory_p;
    blocks[i].bytes = bytes;
    allocations++;
    return CLAB_OK;
}

static void release(struct clab_domain *domain, void *memory)
{
    for (int i = 0; i < MOST; i++)
        if (blocks[i].memory == memory)
            blocks[i].memory = NULL;
    shm->free(domain, memory);
}

static int blocks_left(void)
{
    int left = 0;
    for (int i = 0; i < MOST; i++)
        left += blocks[i].memory != NULL;
    return left;
}

static bool reaches(struct clab_domain *domain, const void *memory)
{
    for (int i = 0; i < MOST; i++)
        if (blocks[i].memory && (const char *)memory >= blocks[i].memory &&
            (const char *)memory < blocks[i].memory + blocks[i].bytes)
            return true;
    return false;
}

static int start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n)
{
    for (int i = 0; i < n; i++)
        if (transfers[i].count && !reaches(NULL, transfers[i].op == CLAB_SEND ? transfers[i].src : transfers[i].dst))
            abort();
    return shm->start(endpoint, transfers, n);
}

// ---- a rank ------------------------------------------------------------------------------------------------------

struct here {
    struct clab_job *job;
    struct clab_comm *comm;
    int rank, failed;
};

static void check(struct here *h, bool right, const char *what)
{
    if (!right)
        fprintf(stderr, "WRONG: rank %d: %s\n", h->rank, what);
    h->failed += !right;
}

static void sum(struct here *h, bool in_place)
{
    float in[COUNT], out[COUNT], *to = in_place ? in : out;
    bool right = true;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(h->rank + i);
    check(h, clab_allreduce(h->comm, in, to, COUNT, CLAB_F32, CLAB_SUM) == CLAB_OK, "a sum fails");
    for (int i = 0; i < COUNT; i++)
        right &= to[i] == (float)(2 * i + 1) && (in_place || in[i] == (float)(h->rank + i));
    check(h, right, "a sum is wrong");
}

static void exchange(struct here *h)
{
    const int peer = 1 - h->rank, mine[2] = {h->rank, 7};
    int theirs[2] = {-1, -1};
    struct clab_work *works[2];
    must(clab_recv_start(h->comm, theirs, 2, CLAB_I32, peer, &works[0]));
    must(clab_send_start(h->comm, mine, 2, CLAB_I32, peer, &works[1]));
    check(h, clab_work_wait(works[0]) == CLAB_OK && clab_work_wait(works[1]) == CLAB_OK, "an exchange fails");
    check(h, theirs[0] == peer && theirs[1] == 7, "an exchange is wrong");
}

static void loop(struct here *h)
{
    int once = 0;
    for (int i = 0; i < 20; i++) {
        sum(h, i % 2);
        exchange(h);
        if (i == 1)
            once = allocations;
    }
    check(h, once > 0 && allocations == once, "a loop allocates each time");
}

// The second call differs from the first in one buffer.
static void mix(struct here *h)
{
    int all[NRANKS] = {-1, -1}, *far;
    must(clab_alloc(h->job, (1 + NRANKS) * sizeof *far, (void **)&far));
    must(clab_copy(h->job, far, &h->rank, sizeof *far));
    must(clab_allgather(h->comm, far, far + 1, 1, CLAB_I32));
    const int before = allocations;
    check(h, clab_allgather(h->comm, far, all, 1, CLAB_I32) == CLAB_OK && all[0] == 0 && all[1] == 1, "a mix is wrong");
    check(h, allocations == before + 1, "what is reached was copied");
    clab_free(h->job, far);
}

static void monitor(struct here *h)
{
    double late[NRANKS] = {-1, -1};
    check(h, clab_monitored_barrier(h->comm, 5, late) == CLAB_OK, "a monitored barrier fails");
    check(h, late[0] >= 0 && late[1] >= 0 && (late[0] == 0 || late[1] == 0) && late[0] < 5 && late[1] < 5, "lateness");
}

static void call_alike(struct here *h)
{
    sum(h, false);
    sum(h, true);
    check(h, clab_barrier(h->comm) == CLAB_OK, "a barrier fails");
}

static void call_differently(struct here *h)
{
    float in[COUNT] = {0}, out[COUNT];
    out[0] = -1;
    check(h, clab_allreduce(h->comm, in, out, COUNT - (size_t)h->rank, CLAB_F32, CLAB_SUM) == CLAB_EMISMATCH, "counts");
    check(h, out[0] == -1, "what has failed was copied out");
    check(h, blocks_left() == 0, "a failed communicator keeps memory");
}

// Rank 1 never sends.
static void wait_in_vain(struct here *h)
{
    int number = -1, mine = 3;
    struct clab_work *work;
    if (h->rank == 1)
        return;
    must(clab_send_start(h->comm, &mine, 1, CLAB_I32, 1, &work));
    const int err = clab_recv(h->comm, &number, 1, CLAB_I32, 1);
    check(h, err == CLAB_EPEER && number == -1, "it does not fail, or was copied out");
    check(h, blocks_left() == 0, "a failed communicator keeps memory");
}

// ---- jobs --------------------------------------------------------------------------------------------------------

static void (*act)(struct here *);

static int run_rank(int rank)
{
    struct here h = {.rank = rank};
    char name[] = "bounce", *argv[] = {name, NULL};
    int argc = 1;
    signal(SIGTERM, SIG_IGN); // which the launcher sends to those who survive a rank
    must(clab_job_open(&argc, argv, &h.job));
    shm = h.job->backend;
    distant = *shm;
    distant.alloc = alloc;
    distant.free = release;
    distant.reaches = reaches;
    distant.bounces = true;
    distant.start = start;
    h.job->backend = &distant;
    must(clab_comm_create(h.job, &h.comm));
    act(&h);
    clab_comm_destroy(h.comm);
    check(&h, blocks_left() == 0, "a communicator leaves memory behind");
    clab_job_close(h.job);
    return h.failed;
}

static void run_all(void (*what)(struct here *), bool checked)
{
    act = what;
    setenv("CLAB_TIMEOUT", "10s", 1);
    setenv("CLAB_CHECK", checked ? "1" : "0", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(NRANKS), run_rank);
    const char *text = capture_end(err);
    unsetenv("CLAB_CHECK");
    if (status != 0)
        fail_msg("status %d: %s", status, text);
}

static void test_a_loop_takes_the_same_memory_again(void **state)
{
    run_all(loop, false);
}

static void test_only_what_is_not_reached_is_copied(void **state)
{
    run_all(mix, false);
}

static void test_a_monitored_barrier_says_who_was_late(void **state)
{
    run_all(monitor, false);
}

static void test_checks_pass_calls_that_are_alike(void **state)
{
    run_all(call_alike, true);
}

static void test_checks_find_calls_that_differ_and_free_the_memory(void **state)
{
    run_all(call_differently, true);
}

static void test_a_failure_frees_the_memory_and_copies_nothing_out(void **state)
{
    run_all(wait_in_vain, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_takes_the_same_memory_again),
        cmocka_unit_test(test_only_what_is_not_reached_is_copied),
        cmocka_unit_test(test_a_monitored_barrier_says_who_was_late),
        cmocka_unit_test(test_checks_pass_calls_that_are_alike),
        cmocka_unit_test(test_checks_find_calls_that_differ_and_free_the_memory),
        cmocka_unit_test(test_a_failure_frees_the_memory_and_copies_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
