// SPDX-License-Identifier: MIT
// Collectives of a library's own, as a communicator runs them: chosen, queued, averaged, timed out and refused.
// - The library is a double: shm with a native sum of floats, all to all. It is in the place of the job's backend.

#include "tests/fixtures/job_fixture.h"

#include "core/clab.h"
#include "core/comm/job.h"

enum { NRANKS = 3, LANE = 5, COUNT = 1000 };

// ---- the double ----------------------------------------------------------------------------------------------

enum mode { WORKS, NEVER_ENDS, FAILS, SECOND_FAILS };
static enum mode mode; // of the ranks, which are copies
static const struct clab_backend *shm;
static int under_way; // natives of this rank that have not been freed

struct native {
    struct clab_call call;
    float *given; // (NRANKS, count)
    struct clab_transfer transfers[2 * NRANKS];
};
static struct native *last;

static bool has_native(enum clab_collective collective, enum clab_type type, enum clab_op op)
{
    if (op == CLAB_AVG)
        abort(); // it is never asked for
    return collective == CLAB_ALLREDUCE && type == CLAB_F32 && op == CLAB_SUM;
}

static int native_start(struct clab_endpoint *endpoint, const struct clab_call *call)
{
    if (mode == SECOND_FAILS && under_way > 0)
        return CLAB_ENOMEM;
    struct native *n = last = calloc(1, sizeof *n);
    n->call = *call;
    n->given = malloc(NRANKS * call->problem.count * sizeof *n->given);
    for (int i = 0; i < 2 * NRANKS; i++)
        n->transfers[i] = (struct clab_transfer){.op = i < NRANKS ? CLAB_SEND : CLAB_RECV,
                                                 .peer = i % NRANKS,
                                                 .lane = LANE,
                                                 .src = call->in,
                                                 .dst = n->given + (size_t)(i % NRANKS) * call->problem.count,
                                                 .count = call->problem.count,
                                                 .bytes = call->problem.count * sizeof(float),
                                                 .type = CLAB_F32};
    under_way++;
    return shm->start(endpoint, n->transfers, 2 * NRANKS);
}

static void free_native(struct native *n)
{
    free(n->given);
    free(n);
    under_way--;
}

static int native_test(struct clab_endpoint *endpoint, struct clab_answer *answer_p)
{
    struct native *n = last;
    int err = shm->test(endpoint, n->transfers, 2 * NRANKS, &answer_p->done);
    if (mode == NEVER_ENDS || mode == SECOND_FAILS)
        answer_p->done = false;
    if (!err && mode == FAILS)
        err = CLAB_EPEER;
    float *out = n->call.out;
    for (size_t i = 0; i < n->call.problem.count && answer_p->done && !err; i++) {
        float sum = 0;
        for (size_t r = 0; r < NRANKS; r++)
            sum += n->given[r * n->call.problem.count + i];
        out[i] = sum;
    }
    if (err || answer_p->done)
        free_native(n);
    return err;
}

static void close_endpoint(struct clab_endpoint *endpoint, bool failed)
{
    shm->close(endpoint, failed);
    if (under_way)
        free_native(last);
}

static const struct clab_collectives natives = {.has = has_native,
                                                .reaches = clab_host_reaches,
                                                .start = native_start,
                                                .test = native_test,
                                                .record = clab_no_recording,
                                                .recorded = clab_nothing_recorded,
                                                .forget = clab_forget_nothing,
                                                .ran = clab_ran_unknown,
                                                .look = clab_look_nowhere};
static struct clab_backend library;

// ---- a rank --------------------------------------------------------------------------------------------------

struct here {
    struct clab_job *job;
    struct clab_comm *comm;
    int failed;
};

static void check(struct here *h, bool right, const char *what)
{
    if (!right)
        fprintf(stderr, "WRONG: rank %d: %s\n", clab_job_rank(h->job), what);
    h->failed += !right;
}

static bool ran(const struct here *h, const char *algorithm)
{
    return !strcmp(clab_comm_traffic(h->comm).algorithm, algorithm);
}

// Element i of rank r is r + i.
static void sum(struct here *h, enum clab_op op, const char *algorithm)
{
    float in[COUNT], out[COUNT];
    const float divisor = op == CLAB_AVG ? NRANKS : 1;
    bool right = true;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(clab_job_rank(h->job) + i);
    check(h, clab_allreduce(h->comm, in, out, COUNT, CLAB_F32, op) == CLAB_OK, "a sum fails");
    for (int i = 0; i < COUNT; i++)
        right &= out[i] == (float)(NRANKS * (NRANKS - 1) / 2 + NRANKS * i) / divisor;
    check(h, right, "a sum is wrong");
    check(h, ran(h, algorithm), algorithm);
}

static void take_it(struct here *h)
{
    sum(h, CLAB_SUM, "native");
    check(h, clab_comm_traffic(h->comm).messages == 0, "what a native sends was counted");
    sum(h, CLAB_AVG, "native");
}

static void do_without(struct here *h)
{
    int32_t one = 1, total = 0;
    float largest = (float)clab_job_rank(h->job);
    check(h, !clab_allreduce(h->comm, &one, &total, 1, CLAB_I32, CLAB_SUM) && total == NRANKS, "another type");
    check(h, !ran(h, "native"), "another type is the library's");
    check(h, !clab_allreduce(h->comm, &largest, &largest, 1, CLAB_F32, CLAB_MAX) && largest == NRANKS - 1, "a maximum");
    check(h, !ran(h, "native"), "a maximum is the library's");
    check(h, !clab_broadcast(h->comm, &one, &total, 1, CLAB_I32, 0) && total == 1, "a broadcast");
    check(h, !ran(h, "native"), "a broadcast is the library's");
}

static void choose(struct here *h)
{
    check(h, !clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, "ring", 2), "ring");
    sum(h, CLAB_SUM, "ring");
    check(h, !clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, "native", 0), "native");
    sum(h, CLAB_SUM, "native");
    check(h, !clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, "auto", 0), "auto");
    sum(h, CLAB_SUM, "native");
}

// Natives and schedules, begun together and waited for backwards.
static void queue(struct here *h)
{
    static const char *const algorithms[] = {"native", "ring", "native", "doubling", "native", "native"};
    enum { N = 6 };
    struct clab_work *works[N];
    float in[N], out[N] = {0};
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i + 1);
        check(h, !clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, algorithms[i], 0), algorithms[i]);
        must(clab_allreduce_start(h->comm, &in[i], &out[i], 1, CLAB_F32, CLAB_SUM, &works[i]));
    }
    for (int i = N - 1; i >= 0; i--)
        check(h, clab_work_wait(works[i]) == CLAB_OK && out[i] == NRANKS * in[i], "a work in a queue");
}

static void refuse(struct here *h)
{
    int32_t one = 1, total;
    check(h, clab_comm_set_algorithm(h->comm, CLAB_BROADCAST, "native", 0) == CLAB_ENOENT, "there is none");
    check(h, clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, "native", 1) == CLAB_EINVAL, "it has no lanes");
    check(h, clab_comm_set_algorithm(h->comm, CLAB_ALLREDUCE, "native", 0) == CLAB_OK, "there is one");
    check(h, clab_allreduce(h->comm, &one, &total, 1, CLAB_I32, CLAB_SUM) == CLAB_EINVAL, "not for this type");
    sum(h, CLAB_SUM, "native");
}

static void fail_with(struct here *h, int expected)
{
    float in = 1, out;
    const double start = clab_now();
    check(h, clab_allreduce(h->comm, &in, &out, 1, CLAB_F32, CLAB_SUM) == expected, "it ends otherwise");
    check(h, clab_now() - start < 3, "it ends late");
    check(h, clab_barrier(h->comm) == CLAB_EPOISONED, "it is not poisoned");
}

static void time_out(struct here *h)
{
    fail_with(h, CLAB_ETIMEOUT);
    check(h, under_way == 0, "it is under way, but its buffers are the caller's");
}

// It begins behind the first, which never ends.
static void see_the_second_fail(struct here *h)
{
    float in[2] = {1, 2}, out[3];
    struct clab_work *works[2];
    must(clab_allreduce_start(h->comm, in, out, 1, CLAB_F32, CLAB_SUM, &works[0]));
    must(clab_allreduce_start(h->comm, in, out + 1, 2, CLAB_F32, CLAB_SUM, &works[1]));
    check(h, clab_work_wait(works[0]) != CLAB_OK, "the first ends");
}

static void see_it_fail(struct here *h)
{
    fail_with(h, CLAB_EPEER);
    check(h, under_way == 0, "it was not freed");
}

// ---- jobs ----------------------------------------------------------------------------------------------------

static void (*act)(struct here *);

static int run_rank(int rank)
{
    struct here h = {0};
    char name[] = "native", *argv[] = {name, NULL};
    int argc = 1;
    must(clab_job_open(&argc, argv, &h.job));
    shm = h.job->backend;
    library = *shm;
    static struct clab_collectives queueing;
    queueing = natives;
    queueing.queues = mode == SECOND_FAILS;
    library.collectives = &queueing;
    library.close = close_endpoint;
    h.job->backend = &library;
    must(clab_comm_create(h.job, &h.comm));
    act(&h);
    clab_comm_destroy(h.comm);
    check(&h, under_way == 0, "a native is left");
    clab_job_close(h.job);
    return h.failed;
}

static const char *run_all(enum mode how, void (*what)(struct here *))
{
    mode = how;
    act = what;
    setenv("CLAB_TIMEOUT", "500ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(NRANKS), run_rank);
    const char *text = capture_end(err);
    if (status != 0)
        fail_msg("status %d: %s", status, text);
    return text;
}

static void test_the_automatic_choice_takes_the_library_s_own(void **state)
{
    run_all(WORKS, take_it);
}

static void test_what_the_library_lacks_is_done_by_a_schedule(void **state)
{
    run_all(WORKS, do_without);
}

static void test_schedules_and_the_native_are_chosen_by_name(void **state)
{
    run_all(WORKS, choose);
}

static void test_natives_and_schedules_share_a_queue(void **state)
{
    run_all(WORKS, queue);
}

static void test_a_native_that_is_not_there_is_refused(void **state)
{
    const char *text = run_all(WORKS, refuse);
    assert_text_has(text, "broadcast has no algorithm 'native'; it has: auto flat");
    assert_text_has(text, "allreduce: the library has no such reduction of its own; set \"auto\"");
}

static void test_a_native_that_never_ends_times_out(void **state)
{
    assert_text_has(run_all(NEVER_ENDS, time_out),
                    "allreduce (native) of 1 float sum, number 0: nothing has moved for 500 ms (CLAB_TIMEOUT): "
                    "a deadline passed");
}

static void test_a_native_that_fails_ends_the_communicator(void **state)
{
    assert_text_has(run_all(FAILS, see_it_fail), "allreduce (native) of 1 float sum, number 0: a peer is dead or gone");
}

static void test_a_native_that_can_not_begin_is_named(void **state)
{
    assert_text_has(run_all(SECOND_FAILS, see_the_second_fail), "allreduce (native) of 2 float sum, number 1: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_automatic_choice_takes_the_library_s_own),
        cmocka_unit_test(test_what_the_library_lacks_is_done_by_a_schedule),
        cmocka_unit_test(test_schedules_and_the_native_are_chosen_by_name),
        cmocka_unit_test(test_natives_and_schedules_share_a_queue),
        cmocka_unit_test(test_a_native_that_is_not_there_is_refused),
        cmocka_unit_test(test_a_native_that_never_ends_times_out),
        cmocka_unit_test(test_a_native_that_can_not_begin_is_named),
        cmocka_unit_test(test_a_native_that_fails_ends_the_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
