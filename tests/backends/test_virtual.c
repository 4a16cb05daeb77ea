// SPDX-License-Identifier: MIT
// Virtual time: messages and work take what is worked out by hand; work hides behind the network; mistakes are found as
// ever. (What collectives take: test_virtual_collectives.c.)

#include "tests/fixtures/virtual_job.h"

#include <sys/stat.h>

#include "core/comm/comm.h"

// ---- by hand -------------------------------------------------------------------------------------------------

static int send_and_answer(struct clab_comm *comm, int rank)
{
    static const size_t bytes[] = {0, 8, 1000000};
    static char data[1000000];
    const int peer = rank ? 0 : clab_comm_ranks(comm) - 1;
    CLAB_TRY(clab_barrier(comm));
    for (int i = 0; i < 3 && (rank == 0 || peer == 0); i++) {
        if (rank != 0 && rank != clab_comm_ranks(comm) - 1)
            break;
        seen->start[i][rank] = clab_seconds();
        if (rank == 0)
            CLAB_TRY(clab_send(comm, data, bytes[i], CLAB_U8, peer));
        CLAB_TRY(clab_recv(comm, data, bytes[i], CLAB_U8, peer));
        if (rank != 0)
            CLAB_TRY(clab_send(comm, data, bytes[i], CLAB_U8, peer));
        seen->end[i][rank] = clab_seconds();
    }
    return CLAB_OK;
}

static void test_messages_take_alpha_and_beta_each_way(void **state)
{
    assert_int_equal(run_on(easy, 2, send_and_answer), 0);
    assert_seconds(seen->end[0][0] - seen->start[0][0], 2 * NEAR);
    assert_seconds(seen->end[1][0] - seen->start[1][0], 2 * (NEAR + 8 * BYTE));
    assert_seconds(seen->end[2][0] - seen->start[2][0], 2 * (NEAR + 1e6 * BYTE));
    assert_int_equal(run_on(easy, 4, send_and_answer), 0); // ranks 0 and 3
    assert_seconds(seen->end[2][0] - seen->start[2][0], 2 * (FAR + 1e6 * BYTE));
}

// Rank 0 sends to all others at once: they come out of its port one after another, 1 near, 2 and 3 far.
static int send_to_all(struct clab_comm *comm, int rank)
{
    static char data[1000];
    struct clab_work *works[4];
    CLAB_TRY(clab_barrier(comm));
    CLAB_TRY(clab_barrier(comm));
    seen->start[0][rank] = clab_seconds();
    for (int r = 1; r < 4 && rank == 0; r++)
        CLAB_TRY(clab_send_start(comm, data, sizeof data, CLAB_U8, r, &works[r]));
    for (int r = 1; r < 4 && rank == 0; r++)
        CLAB_TRY(clab_work_wait(works[r]));
    if (rank)
        CLAB_TRY(clab_recv(comm, data, sizeof data, CLAB_U8, 0));
    seen->end[0][rank] = clab_seconds();
    return CLAB_OK;
}

static void test_messages_leave_a_port_one_after_another(void **state)
{
    assert_int_equal(run_on(easy, 4, send_to_all), 0);
    const double near = NEAR + 1000 * BYTE, far = FAR + 1000 * BYTE, began = seen->start[0][0];
    assert_seconds(seen->end[0][1], fmax(seen->start[0][1], began) + near);
    assert_seconds(seen->end[0][2], began + far); // its port to other nodes is another
    assert_seconds(seen->end[0][3], began + 2 * far);
    assert_seconds(seen->end[0][0], began + 2 * far);
}

enum { FLOATS = 1000000 };
#define WIRE (NEAR + 4e6 * BYTE) // of an allreduce of so many among two ranks: 5 ms

static int work_meanwhile(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    static float a[FLOATS], b[FLOATS];
    static const double flop[] = {0, 6e6, 16e6}; // 0, 3 and 8 ms at 2 Gflop/s
    struct clab_work *first, *second;
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "doubling", 1));
    for (int i = 0; i < 3; i++) {
        CLAB_TRY(clab_barrier(comm));
        seen->start[i][rank] = clab_seconds();
        CLAB_TRY(clab_allreduce_start(comm, a, a, FLOATS, CLAB_F32, CLAB_SUM, &first));
        CLAB_TRY(clab_compute(job, CLAB_FP32, flop[i], 0));
        CLAB_TRY(clab_work_wait(first));
        seen->end[i][rank] = clab_seconds();
    }
    seen->start[3][rank] = clab_seconds();
    CLAB_TRY(clab_allreduce_start(comm, a, a, FLOATS, CLAB_F32, CLAB_SUM, &first));
    CLAB_TRY(clab_allreduce_start(comm, b, b, FLOATS, CLAB_F32, CLAB_SUM, &second));
    CLAB_TRY(clab_compute(job, CLAB_FP32, 0, 7e6)); // 7 ms of its memory
    CLAB_TRY(clab_work_wait(second));
    CLAB_TRY(clab_work_wait(first));
    seen->end[3][rank] = clab_seconds();
    return CLAB_OK;
}

static void test_work_hides_behind_the_network(void **state)
{
    static const double expected[] = {WIRE, WIRE, 8e-3, 2 * WIRE};
    assert_int_equal(run_on(easy, 2, work_meanwhile), 0);
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 2; r++)
            assert_seconds(seen->end[i][r] - seen->start[i][r], expected[i]);
}

static int work_and_meet(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    double late[2];
    CLAB_TRY(clab_barrier(comm));
    seen->start[0][rank] = clab_seconds();
    CLAB_TRY(clab_compute(job, CLAB_FP32, 2e7, 0)); // 10 ms
    seen->end[1][rank] = clab_seconds();
    CLAB_TRY(clab_barrier(comm));
    seen->end[0][rank] = clab_seconds();
    CLAB_TRY(clab_compute(job, CLAB_FP64, 1e8, 0)); // 100 ms
    CLAB_TRY(clab_monitored_barrier(comm, 10, late));
    seen->end[2][rank] = late[rank];
    return CLAB_OK;
}

static void test_stragglers_compute_slower_and_others_wait(void **state)
{
    setenv("CLAB_STRAGGLE", "1=2.5", 1);
    const int status = run_on(easy, 2, work_and_meet);
    unsetenv("CLAB_STRAGGLE");
    assert_int_equal(status, 0);
    assert_seconds(seen->end[1][0] - seen->start[0][0], 10e-3);
    assert_seconds(seen->end[1][1] - seen->start[0][1], 25e-3);
    for (int r = 0; r < 2; r++) // a message each, once the straggler has come
        assert_seconds(seen->end[0][r] - seen->end[1][1], NEAR);
    assert_true(seen->end[2][0] == 0 && fabs(seen->end[2][1] - 150e-3) < 4 * NEAR); // as near as messages tell
}

static int look_at_setup(struct clab_comm *comm, int rank)
{
    const struct clab_comm_setup setup = clab_comm_setup(comm);
    seen->start[0][rank] = setup.rendezvous;
    seen->end[0][rank] = setup.connect;
    return clab_seconds() == setup.rendezvous + setup.connect ? CLAB_OK : CLAB_EWRONG;
}

static void test_a_communicator_costs_what_is_assumed(void **state)
{
    assert_int_equal(run_on(easy, 4, look_at_setup), 0);
    for (int r = 0; r < 4; r++) {
        assert_seconds(seen->start[0][r], 4 * FAR); // two levels, up and down
        assert_seconds(seen->end[0][r], 2 * NEAR + 4 * FAR);
    }
}

static double pages_of(const struct clab_job *job)
{
    struct stat status;
    return fstat(job->bootstrap->segment_fd, &status) ? -1 : (double)status.st_blocks / 8; // of 512 B, of 4 KiB
}

static int make_many(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 20; k++) {
            struct clab_comm *made;
            CLAB_TRY(clab_comm_create(job, &made));
            CLAB_TRY(clab_barrier(made));
            clab_comm_destroy(made);
        }
        CLAB_TRY(clab_barrier(comm));
        seen->end[i][rank] = pages_of(job);
        CLAB_TRY(clab_barrier(comm));
    }
    return CLAB_OK;
}

static void test_communicators_leave_no_pages_behind(void **state)
{
    assert_int_equal(run_on(easy, 4, make_many), 0);
    for (int r = 0; r < 4; r++) {
        assert_true(seen->end[0][r] > 0);
        assert_true(seen->end[1][r] < seen->end[0][r] + 10); // of 20 more
    }
}

static int count_samples(struct clab_comm *comm, int rank)
{
    return clab_samples(9) == 1 && clab_repeats(1, 1e-9) == 1 ? CLAB_OK : CLAB_EWRONG;
}

static void test_one_sample_is_enough(void **state)
{
    assert_int_equal(run_on(easy, 2, count_samples), 0);
    assert_int_equal(clab_samples(9), 9); // no job: the wall's clock
}

// ---- what goes wrong -----------------------------------------------------------------------------------------

static int call_different_things(struct clab_comm *comm, int rank)
{
    float in = 1, out;
    const int err = rank == 1 ? clab_allreduce(comm, &in, &out, 1, CLAB_F32, CLAB_MAX)
                              : clab_allreduce(comm, &in, &out, 1, CLAB_F32, CLAB_SUM);
    told->values[rank] = err;
    return CLAB_OK;
}

static void test_ranks_that_call_different_things_are_told(void **state)
{
    needs_inih();
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_on(easy, 3, call_different_things);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    for (int r = 0; r < 3; r++)
        assert_int_equal(told->values[r], CLAB_EMISMATCH);
    assert_text_has(text, "calls allreduce");
}

static int die_or_wait(struct clab_comm *comm, int rank)
{
    CLAB_TRY(clab_barrier(comm));
    if (rank == 1)
        raise(SIGKILL);
    told->values[rank] = clab_barrier(comm);
    return CLAB_OK;
}

static void test_the_death_of_a_rank_ends_the_others_call(void **state)
{
    needs_inih();
    const struct capture err = capture_begin(STDERR_FILENO);
    const double start = clab_now();
    const int status = run_on(easy, 3, die_or_wait);
    const char *text = capture_end(err);
    assert_int_equal(status, 128 + SIGKILL);
    assert_true(clab_now() - start < 5);
    assert_int_equal(told->values[0], CLAB_EPEER);
    assert_text_has(text, "barrier");
}

static int nothing(struct clab_comm *comm, int rank)
{
    return CLAB_OK;
}

static void test_settings_that_can_not_be_are_refused(void **state)
{
    needs_inih();
    static const struct {
        const char *net, *variable, *value, *expected;
    } wrong[] = {{"no-such", NULL, NULL, "no-such"},
                 {"pcie4", NULL, NULL, "fewer than the 9 ranks"},
                 {easy, "CLAB_STRAGGLE", "9=2", "RANK=FACTOR of ranks 0 to 8"},
                 {easy, "CLAB_STRAGGLE", "1=0", "RANK=FACTOR"},
                 {easy, "CLAB_EMULATE", "10gbe", "--net 10gbe"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i].variable)
            setenv(wrong[i].variable, wrong[i].value, 1);
        const struct capture err = capture_begin(STDERR_FILENO);
        const int status = run_on(wrong[i].net, 9, nothing);
        const char *text = capture_end(err);
        if (wrong[i].variable)
            unsetenv(wrong[i].variable);
        assert_int_not_equal(status, 0);
        assert_text_has(text, wrong[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_take_alpha_and_beta_each_way),
        cmocka_unit_test(test_messages_leave_a_port_one_after_another),
        cmocka_unit_test(test_work_hides_behind_the_network),
        cmocka_unit_test(test_stragglers_compute_slower_and_others_wait),
        cmocka_unit_test(test_a_communicator_costs_what_is_assumed),
        cmocka_unit_test(test_communicators_leave_no_pages_behind),
        cmocka_unit_test(test_one_sample_is_enough),
        cmocka_unit_test(test_ranks_that_call_different_things_are_told),
        cmocka_unit_test(test_the_death_of_a_rank_ends_the_others_call),
        cmocka_unit_test(test_settings_that_can_not_be_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
