// SPDX-License-Identifier: MIT
// Trace buffers: what the ranks of a job did, sent to rank 0, written, and read again. Takes long.

#include "tests/fixtures/capture.h"

#include "tests/fixtures/job_fixture.h"
#include "tests/fixtures/needs.h"

#include "core/clab.h"
#include "cmd/trace/file.h"

static char path[64];

static int set_path(void **state)
{
    snprintf(path, sizeof path, "/tmp/commlab-test-trace-buffer-%d.json", (int)getpid());
    setenv("CLAB_TRACE", path, 1);
    setenv("CLAB_TIMEOUT", "5s", 1);
    return forget(state);
}

static int remove_file(void **state)
{
    unlink(path);
    unsetenv("CLAB_TRACE");
    return 0;
}

static int join(struct clab_job **job_p, struct clab_comm **comm_p)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, argv, job_p));
    return clab_comm_create(*job_p, comm_p);
}

static void spin(double seconds)
{
    for (const double start = clab_seconds(); clab_seconds() - start < seconds;)
        ;
}

static struct trace_process *load(int *n_p)
{
    struct trace_file *file;
    struct trace_process *processes;
    assert_int_equal(trace_file_load(path, &file), CLAB_OK);
    assert_int_equal(trace_file_sum_up(file, &processes, n_p), CLAB_OK);
    trace_file_free(file);
    return processes;
}

// ---- what is there -------------------------------------------------------------------------------------------

// Three sums by a ring of three, of 2 * 2 stages, beside computing; then a message from 0 to 1.
static int sum_thrice(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    float in[30] = {0}, out[30];
    CLAB_TRY(join(&job, &comm));
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1));
    for (int i = 0; i < 3; i++) {
        struct clab_work *work;
        clab_span_begin(job, "all");
        CLAB_TRY(clab_allreduce_start(comm, in, out, 30, CLAB_F32, CLAB_SUM, &work));
        clab_span_begin(job, "backward");
        spin(1e-3);
        clab_span_end(job);
        CLAB_TRY(clab_work_wait(work));
        clab_span_end(job);
    }
    if (rank == 0)
        CLAB_TRY(clab_send(comm, in, 1, CLAB_F32, 1));
    else if (rank == 1)
        CLAB_TRY(clab_recv(comm, out, 1, CLAB_F32, 0));
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

static void test_a_file_holds_the_calls_stages_messages_and_spans_of_all_ranks(void **state)
{
    needs_jansson();
    int n;
    assert_int_equal(run_job(ranks(3), sum_thrice), 0);
    struct trace_process *p = load(&n);
    assert_int_equal(n, 3);
    for (int rank = 0; rank < 3; rank++) {
        char name[64];
        snprintf(name, sizeof name, "rank %d (measured)", rank);
        assert_string_equal(p[rank].name, name);
        assert_int_equal(p[rank].calls, rank < 2 ? 4 : 3);
        assert_int_equal(p[rank].stages, 3 * 4);
        assert_int_equal(p[rank].arrows, 3 * 4);
        assert_true(p[rank].communication >= 3e-3); // each began before 1 ms of computing
    }
    // "backward" hides 1 ms of each sum. "all", in which they start, hides nothing.
    assert_true(p[2].exposed > 0 && p[2].communication - p[2].exposed >= 3e-3);
    free(p);
}

// ---- bounds --------------------------------------------------------------------------------------------------

static int call_often(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    CLAB_TRY(join(&job, &comm));
    for (int i = 0; i < 9000; i++)
        CLAB_TRY(clab_barrier(comm));
    for (int i = 0; i < 40; i++) // deeper than a trace buffer records
        clab_span_begin(job, "deep");
    for (int i = 0; i < 41; i++)
        clab_span_end(job);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

static void test_of_many_calls_the_last_ones_are_kept(void **state)
{
    needs_jansson();
    int n;
    assert_int_equal(run_job(ranks(2), call_often), 0);
    struct trace_process *p = load(&n);
    assert_int_equal(n, 2);
    assert_in_range(p[0].calls, 1000, 8999);
    assert_in_range(p[0].calls, p[1].calls - 1,
                    p[1].calls + 1); // where it was cut, one may have begun and not the other
    free(p);
}

// 16 stages a call: their ring is full long before that of the calls is. All beside one span.
static int fill_the_ring_of_stages(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    float in[24] = {0}, out[24];
    CLAB_TRY(join(&job, &comm));
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 4));
    clab_span_begin(job, "all");
    for (int i = 0; i < 2300; i++)
        CLAB_TRY(clab_allreduce(comm, in, out, 24, CLAB_F32, CLAB_SUM));
    clab_span_end(job);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

static void test_what_is_kept_is_whole_in_one_window_and_what_is_not_is_said(void **state)
{
    needs_jansson();
    int n;
    struct trace_file *file;
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(3), fill_the_ring_of_stages);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    if (!strstr(text, "before the last"))
        fail_msg("no line about what was overwritten in: %s", text);
    assert_int_equal(trace_file_load(path, &file), CLAB_OK);
    assert_non_null(trace_file_about(file, 0, "overwritten"));
    struct trace_process *p;
    assert_int_equal(trace_file_sum_up(file, &p, &n), CLAB_OK);
    trace_file_free(file);
    int calls = 0;
    assert_int_equal(n, 3);
    for (int rank = 0; rank < 3; rank++) {
        assert_in_range(p[rank].calls, 1900, 2048);           // 32,768 stages are of 2048 calls
        assert_int_equal(p[rank].stages, 16 * p[rank].calls); // none has lost a part of its own
        assert_true(p[rank].exposed > 0.99 * p[rank].communication); // the span in which they start hides nothing
        assert_true(p[rank].communication > 0.5 * p[rank].seconds);
        calls += p[rank].calls;
    }
    char lost[64];
    snprintf(lost, sizeof lost, "overwritten are %d calls, %d stages and 0 spans", 3 * 2300 - calls,
             16 * (3 * 2300 - calls));
    if (!strstr(text, lost))
        fail_msg("not '%s' but: %s", lost, text);
    free(p);
}

// ---- failures ------------------------------------------------------------------------------------------------

static int lose_one(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    CLAB_TRY(join(&job, &comm));
    CLAB_TRY(clab_barrier(comm));
    clab_comm_destroy(comm);
    if (rank == 1)
        _exit(0); // as one that forgets to close its job
    clab_job_close(job);
    return 0;
}

static void test_a_rank_that_hands_nothing_in_is_said_and_left_out(void **state)
{
    needs_jansson();
    int n;
    const struct capture err = capture_begin(STDERR_FILENO);
    struct clab_launch launch = ranks(3);
    launch.keep_going = true;
    run_job(launch, lose_one);
    const char *text = capture_end(err);
    if (!strstr(text, "1 rank has handed nothing in: 1"))
        fail_msg("no line about rank 1 in: %s", text);
    struct trace_process *p = load(&n);
    assert_int_equal(n, 2);
    assert_string_equal(p[1].name, "rank 2 (measured)");
    free(p);
}

static int open_only(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    return join(&job, &comm) ? 7 : 0;
}

static void test_a_file_that_can_not_be_written_is_refused_at_the_start(void **state)
{
    needs_jansson();
    setenv("CLAB_TRACE", "/nowhere/trace.json", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(2), open_only);
    const char *text = capture_end(err);
    assert_int_equal(status, 7);
    assert_non_null(strstr(text, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file_holds_the_calls_stages_messages_and_spans_of_all_ranks, set_path,
                                        remove_file),
        cmocka_unit_test_setup_teardown(test_of_many_calls_the_last_ones_are_kept, set_path, remove_file),
        cmocka_unit_test_setup_teardown(test_what_is_kept_is_whole_in_one_window_and_what_is_not_is_said, set_path,
                                        remove_file),
        cmocka_unit_test_setup_teardown(test_a_rank_that_hands_nothing_in_is_said_and_left_out, set_path, remove_file),
        cmocka_unit_test_setup_teardown(test_a_file_that_can_not_be_written_is_refused_at_the_start, set_path,
                                        remove_file),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
