// SPDX-License-Identifier: MIT
// How the failure of one rank on a communicator becomes that of all: by which code, how soon, with which line, and what
// is not disturbed by it. Runs late.

#include "tests/fixtures/comm_fixture.h"

#include <stdint.h>

// ---- who does not call ---------------------------------------------------------------------------------------

static int come_late_at_1(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        stay_away(2);
    return ring_sum(comm, COUNT);
}

static void test_who_does_not_call_is_waited_for_until_the_deadline(void **state)
{
    const double start = clab_now();
    const char *text = run_all(3, fail_once, come_late_at_1, "500ms", 0);
    assert_true(first_answer(3) - start >= 0.5);
    assert_all_answer(CLAB_ETIMEOUT, 0, 3, -1, first_answer(3), text);
    assert_int_equal(occurrences(text, "commlab: error: "), 3);
    assert_int_equal(occurrences(text, "allreduce (ring) of 64 float sum, number 1"), 3);
    assert_int_equal(occurrences(text, "nothing has moved for 500 ms (CLAB_TIMEOUT)"), 1); // at one rank, first
    assert_int_equal(occurrences(text, " gave up, waiting for rank "), 2);
    assert_text_has(text, "rank 2: allreduce (ring) of 64 float sum, number 1, stage 0, waiting for rank 1: ");
}

static int receive_what_nobody_sends(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        stay_away(1);
    return rank == 0 ? clab_recv(comm, out, COUNT, CLAB_F32, 1) : CLAB_OK;
}

static void test_a_receive_without_a_send_ends(void **state)
{
    const char *text = run_all(2, fail_once, receive_what_nobody_sends, "500ms", 0);
    assert_text_has(text, "rank 0: receive of 64 float from rank 1: nothing has moved for 500 ms (CLAB_TIMEOUT): ");
    assert_text_has(text, "rank 1: allreduce (ring) of 64 float sum, number 1");
    assert_text_has(text, ": rank 0 gave up, waiting for rank 1: a deadline passed\n");
    assert_all_answer(CLAB_ETIMEOUT, 0, 2, -1, first_answer(2), text);
}

// Rank 2 only asks, and never waits.
static int poll_at_2(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    bool done = false;
    int err = CLAB_OK;
    if (rank < 2)
        return receive_what_nobody_sends(comm, rank);
    CLAB_TRY(clab_recv_start(comm, out, COUNT, CLAB_F32, 0, &work));
    while (!done && !err)
        err = clab_work_test(work, &done);
    return err;
}

static void test_who_only_asks_hears_of_it(void **state)
{
    const char *text = run_all(3, fail_once, poll_at_2, "500ms", 0);
    assert_all_answer(CLAB_ETIMEOUT, 0, 3, -1, first_answer(3), text);
}

// ---- who dies ------------------------------------------------------------------------------------------------

static void die(void)
{
    told->moment = clab_now();
    raise(SIGKILL);
}

// In the midst of a sum: rank 1 has sent what needs no answer, and nobody else has begun.
static int die_in_a_sum(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    if (rank == 1) {
        clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work);
        told->ready++;
        die();
    }
    stay_away(1);
    return ring_sum(comm, LARGE);
}

// Between two sums, which none of the others can end without it.
static int die_between_sums(struct clab_comm *comm, int rank)
{
    for (int err, i = 0;; i++) {
        if (rank == 1 && i == 100)
            die();
        if ((err = ring_sum(comm, COUNT)))
            return err;
    }
}

// While rank 0 waits for rank 2, which is alive and computes until 0.5 s later.
static int die_elsewhere(struct clab_comm *comm, int rank)
{
    if (rank == 1) {
        usleep(100 * 1000);
        die();
    }
    if (rank == 2)
        stay_away(1);
    return rank == 0 ? clab_recv(comm, out, COUNT, CLAB_F32, 2) : CLAB_OK;
}

static int die_before_a_split(struct clab_comm *comm, int rank)
{
    struct clab_comm *half = NULL;
    if (rank == 1)
        die();
    const int err = clab_comm_split(comm, rank == 1, 0, &half);
    return half ? CLAB_EWRONG : err;
}

static void test_survivors_learn_of_a_death(void **state)
{
    const char *text = run_all(3, fail_once, (act_fn)*state, "20s", 128 + SIGKILL);
    assert_all_answer(CLAB_EPEER, 0, 3, 1, told->moment, text);
    assert_int_equal(occurrences(text, "was killed by signal 9 (Killed)\n"), 1);
    assert_int_equal(occurrences(text, "error: rank 0: "), 1); // a line each
    assert_int_equal(occurrences(text, "error: rank 2: "), 1);
    if (!strstr(text, "rank 1 has ended: a peer is dead") && !strstr(text, "rank 1 is gone: a peer is dead"))
        fail_msg("rank 1 is not named: %s", text);
}

static int die_while_others_create(struct clab_comm *comm, int rank)
{
    struct clab_comm *other = NULL;
    if (rank == 1) {
        usleep(100 * 1000);
        die();
    }
    const int err = clab_comm_create(job, &other);
    return other ? CLAB_EWRONG : err;
}

static void test_nobody_waits_for_the_dead_where_communicators_are_made(void **state)
{
    const char *text = run_all(3, just_act, die_while_others_create, "20s", 128 + SIGKILL);
    assert_all_answer(CLAB_EPEER, 0, 3, 1, told->moment, text);
}

// Rank 2 dies in the allgather of a split. By a ring, rank 1 has all that it needs for it, and ranks 0 and 3 have not:
// rank 1 waits for them without success.
static int die_in_a_split(struct clab_comm *comm, int rank)
{
    struct clab_comm *part = NULL;
    clab_comm_set_algorithm(comm, CLAB_ALLGATHER, "ring", 1);
    if (rank == 2) {
        struct clab_work *work;
        const int mine[] = {1, 0, 2}; // color, key, rank
        clab_allgather_start(comm, mine, out, sizeof mine, CLAB_U8, &work);
        told->ready++;
        usleep(200 * 1000);
        die();
    }
    stay_away(1);
    const int err = clab_comm_split(comm, 0, 0, &part);
    return part ? CLAB_EWRONG : err;
}

static void test_nobody_waits_for_who_has_failed_in_a_split(void **state)
{
    const char *text = run_all(4, just_act, die_in_a_split, "20s", 128 + SIGKILL);
    assert_all_answer(CLAB_EPEER, 0, 4, 2, told->moment, text);
}

// ---- who leaves ----------------------------------------------------------------------------------------------

// Rank 1 leaves the job one call early. Nobody tells its peers; they see it.
static int leave_early_at_1(struct clab_comm *comm, int rank)
{
    if (rank != 1)
        return ring_sum(comm, COUNT);
    clab_comm_destroy(comm);
    clab_job_close(job);
    told->moment = clab_now();
    stay_away(2);
    _exit(0);
}

static void test_who_leaves_early_is_missed_at_once(void **state)
{
    const char *text = run_all(3, fail_once, leave_early_at_1, "20s", 0);
    assert_all_answer(CLAB_EPEER, 0, 3, 1, told->moment, text);
    assert_text_has(text, "rank 2: allreduce (ring) of 64 float sum, number 1, stage 0, waiting for rank 1: "
                          "rank 1 has left the job: a peer is dead or gone\n");
    assert_text_has(text, ", waiting for rank 2: rank 2 gave up, waiting for rank 1: a peer is dead or gone\n");
}

static int send_and_leave(struct clab_comm *comm, int rank)
{
    if (rank == 2)
        return CLAB_OK;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    if (rank == 1)
        return clab_send(comm, in, COUNT, CLAB_F32, 0);
    for (const double start = clab_now(); clab_now() - start < 0.3;)
        usleep(1000); // they have left by now, all of them
    const int err = clab_recv(comm, out, COUNT, CLAB_F32, 1);
    return err ? err : memcmp(in, out, COUNT * sizeof *in) ? CLAB_EWRONG : CLAB_OK;
}

static void test_the_last_message_of_who_leaves_arrives(void **state)
{
    assert_string_equal(run_all(3, just_act, send_and_leave, "20s", 0), "");
    assert_int_equal(told->values[0], CLAB_OK);
}

// Ranks 0 and 1 go on with each other, and wait for each other, for longer than it takes to see that rank 2 has left.
static int go_on_without_2(struct clab_comm *comm, int rank)
{
    for (int i = 0; rank < 2 && i < 4; i++) {
        if (i % 2 == rank)
            usleep(200 * 1000);
        CLAB_TRY(i % 2 == rank ? clab_send(comm, in, COUNT, CLAB_F32, !rank)
                               : clab_recv(comm, out, COUNT, CLAB_F32, !rank));
    }
    return CLAB_OK;
}

static void test_who_has_left_is_missed_by_nobody_else(void **state)
{
    assert_string_equal(run_all(3, just_act, go_on_without_2, "20s", 0), "");
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(told->values[rank], CLAB_OK);
}

// ---- what is not disturbed -----------------------------------------------------------------------------------

static int sum_is_right(struct clab_comm *comm)
{
    const int32_t one = 1;
    int32_t sum = 0;
    CLAB_TRY(clab_allreduce(comm, &one, &sum, 1, CLAB_I32, CLAB_SUM));
    return sum == clab_comm_ranks(comm) ? CLAB_OK : CLAB_EWRONG;
}

// Rank 3 dies. The communicator of all fails; that of ranks 0 and 1 is theirs.
static int lose_another_s_member(struct clab_comm *comm, int rank)
{
    struct clab_comm *half;
    CLAB_TRY(clab_comm_split(comm, rank / 2, 0, &half));
    told->ready++;
    stay_away(4); // until all have it
    if (rank == 3)
        die();
    if (ring_sum(comm, COUNT) != CLAB_EPEER)
        return CLAB_EWRONG;
    int err = CLAB_OK;
    for (int i = 0; i < 100 && !err; i++)
        err = sum_is_right(half);
    clab_comm_destroy(half);
    return err;
}

static void test_communicators_without_the_dead_go_on(void **state)
{
    const char *text = run_all(4, just_act, lose_another_s_member, "20s", 128 + SIGKILL);
    const int expected[] = {CLAB_OK, CLAB_OK, CLAB_EPEER};
    for (int rank = 0; rank < 3; rank++)
        if (told->values[rank] != expected[rank])
            fail_msg("rank %d: %s: %s", rank, clab_strerror(told->values[rank]), text);
}

// Of two communicators of the same ranks one fails, while all wait on the other.
static int fail_beside(struct clab_comm *comm, int rank)
{
    struct clab_comm *other;
    struct clab_work *work;
    CLAB_TRY(clab_comm_create(job, &other));
    CLAB_TRY(clab_allreduce_start(other, in, out, rank ? COUNT : COUNT + 1, CLAB_F32, CLAB_SUM, &work));
    for (int i = 0; i < 100; i++)
        CLAB_TRY(sum_is_right(comm));
    if (clab_work_wait(work) != CLAB_EMISMATCH)
        return CLAB_EWRONG;
    clab_comm_destroy(other);
    return sum_is_right(comm);
}

static void test_other_communicators_of_the_same_ranks_go_on(void **state)
{
    const char *text = run_all(3, just_act, fail_beside, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 3, -1, clab_now(), text);
}

// All ranks live: a new communicator is made in place of the one that has failed, again and again.
static int make_new_ones(struct clab_comm *comm, int rank)
{
    for (int i = 0; i < 20; i++) {
        struct clab_comm *next;
        CLAB_TRY(clab_comm_create(job, &next));
        CLAB_TRY(sum_is_right(next));
        if (clab_allreduce(next, in, out, rank == i % 3 ? 1 : 2, CLAB_F32, CLAB_SUM) == CLAB_OK)
            return CLAB_EWRONG;
        clab_comm_destroy(next);
    }
    return CLAB_OK;
}

static void test_new_communicators_are_made_after_failures(void **state)
{
    const char *text = run_all(3, just_act, make_new_ones, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 3, -1, clab_now(), text);
}

// Rank 0 sends, and then fails. What it had sent is received; what comes after is not.
static int receive_from_who_has_failed(struct clab_comm *comm, int rank)
{
    if (rank == 0) {
        CLAB_TRY(clab_send(comm, in, COUNT, CLAB_F32, 1));
        return clab_recv(comm, out, 1, CLAB_F32, 1);
    }
    stay_away(1);
    if (clab_recv(comm, out, COUNT, CLAB_F32, 0) != CLAB_OK)
        return CLAB_EWRONG;
    return clab_recv(comm, out, COUNT, CLAB_F32, 0);
}

static void test_what_had_been_sent_before_the_failure_is_received(void **state)
{
    const char *text = run_all(2, fail_once, receive_from_who_has_failed, "500ms", 0);
    assert_all_answer(CLAB_ETIMEOUT, 0, 2, -1, first_answer(2), text);
}

// ---- all -----------------------------------------------------------------------------------------------------

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_who_does_not_call_is_waited_for_until_the_deadline),
        fresh_test(test_a_receive_without_a_send_ends),
        fresh_test(test_who_only_asks_hears_of_it),
        fresh_test_of(test_survivors_learn_of_a_death, die_in_a_sum),
        fresh_test_of(test_survivors_learn_of_a_death, die_between_sums),
        fresh_test_of(test_survivors_learn_of_a_death, die_elsewhere),
        fresh_test_of(test_survivors_learn_of_a_death, die_before_a_split),
        fresh_test(test_nobody_waits_for_the_dead_where_communicators_are_made),
        fresh_test(test_nobody_waits_for_who_has_failed_in_a_split),
        fresh_test(test_who_leaves_early_is_missed_at_once),
        fresh_test(test_the_last_message_of_who_leaves_arrives),
        fresh_test(test_who_has_left_is_missed_by_nobody_else),
        fresh_test(test_communicators_without_the_dead_go_on),
        fresh_test(test_other_communicators_of_the_same_ranks_go_on),
        fresh_test(test_new_communicators_are_made_after_failures),
        fresh_test(test_what_had_been_sent_before_the_failure_is_received),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
