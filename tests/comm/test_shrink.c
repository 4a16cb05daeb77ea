// SPDX-License-Identifier: MIT
// What is left of a communicator after a failure: who is in it, in which order, how soon, and what becomes of the
// others. Runs late.
// - Ranks that are left answer with the members of the new communicator, a bit each.

#include "tests/fixtures/comm_fixture.h"

#include <stdint.h>

static void die(void)
{
    told->moment = clab_now();
    raise(SIGKILL);
}

// The members as a set, if they are in order and a sum and a ring of messages among them are right; else 0.
static int members(struct clab_comm *comm, int rank)
{
    const int n = clab_comm_ranks(comm), me = clab_comm_rank(comm);
    int32_t all[MAX_TOLD], mine = rank, got = -1, sum = 0, expected = 0;
    int set = 0;
    struct clab_work *work;
    must(clab_allgather(comm, &mine, all, 1, CLAB_I32));
    for (int r = 0; r < n; r++) {
        if (r && all[r] <= all[r - 1])
            return 0;
        set |= 1 << all[r];
        expected += all[r];
    }
    must(clab_allreduce(comm, &mine, &sum, 1, CLAB_I32, CLAB_SUM));
    must(clab_send_start(comm, &mine, 1, CLAB_I32, (me + 1) % n, &work));
    must(clab_recv(comm, &got, 1, CLAB_I32, (me + n - 1) % n));
    must(clab_work_wait(work));
    return sum == expected && all[me] == rank && got == all[(me + n - 1) % n] ? set : 0;
}

// Shrink `comm`, and answer with minus the error, or with the members of what is left.
static int shrink(struct clab_comm *comm, int rank)
{
    struct clab_comm *rest = NULL;
    const int err = clab_comm_shrink(comm, &rest);
    if (err)
        return rest ? 0 : -err;
    const int set = members(rest, rank);
    clab_comm_destroy(rest);
    return set;
}

// Ranks of `set` are left together, within `seconds` of the moment that was told.
static void assert_left(int set, double seconds, const char *text)
{
    for (int rank = 0; 1 << rank <= set; rank++) {
        if (!(set & 1 << rank))
            continue;
        if (told->values[rank] != set)
            fail_msg("rank %d answers %d, not %d: %s", rank, told->values[rank], set, text);
        if (told->moment > 0 && told->seconds[rank] - told->moment > seconds)
            fail_msg("rank %d needed %g s: %s", rank, told->seconds[rank] - told->moment, text);
    }
}

// ---- who is left ---------------------------------------------------------------------------------------------

static void test_of_a_healthy_communicator_all_are_left(void **state)
{
    const char *text = run_all(4, just_act, shrink, "20s", 0);
    assert_left(0xF, 0, text);
    assert_string_equal(text, "");
}

static int lose_1_in_a_sum(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        die();
    return ring_sum(comm, COUNT) == CLAB_EPEER ? shrink(comm, rank) : 0;
}

// Rank 3 finds out last.
static int lose_1_while_3_computes(struct clab_comm *comm, int rank)
{
    if (rank == 3)
        usleep(300 * 1000);
    return lose_1_in_a_sum(comm, rank);
}

// Nobody has tried to use it.
static int lose_1_unnoticed(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        die();
    return shrink(comm, rank);
}

static int lose_1_by_leaving(struct clab_comm *comm, int rank)
{
    if (rank != 1)
        return lose_1_in_a_sum(comm, rank);
    clab_comm_destroy(comm);
    clab_job_close(job);
    told->moment = clab_now();
    raise(SIGKILL);
    return 0;
}

static void test_survivors_are_left_in_order(void **state)
{
    const char *text = run_all(4, just_act, (act_fn)*state, "20s", 128 + SIGKILL);
    assert_left(0xF & ~(1 << 1), 1, text);
}

// Each on its way from one call to the other dies in another place of it.
static int lose_2_while_shrinking(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        die();
    const int err = ring_sum(comm, COUNT);
    if (rank == 2) {
        usleep(50 * 1000); // the others wait for it
        die();
    }
    return err == CLAB_EPEER ? shrink(comm, rank) : 0;
}

static void test_who_dies_meanwhile_is_not_waited_for(void **state)
{
    const char *text = run_all(5, just_act, lose_2_while_shrinking, "20s", 128 + SIGKILL);
    assert_left(0x1F & ~(1 << 1) & ~(1 << 2), 1, text);
}

// Sums of 1 until one fails.  Whether all others were right.
static bool sum_until_it_fails(struct clab_comm *comm, int dies_after)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = 1;
    for (int round = 0;; round++) {
        struct clab_work *work;
        if (clab_allreduce_start(comm, in, out, COUNT, CLAB_F32, CLAB_SUM, &work))
            return true;
        if (round == dies_after)
            die();
        if (clab_work_wait(work))
            return true;
        if (out[COUNT - 1] != (float)clab_comm_ranks(comm))
            return false;
    }
}

// Again and again the last but one of those who are left dies in the midst of a sum, while others are in the next.
static int lose_one_after_the_other(struct clab_comm *comm, int rank)
{
    int left = clab_comm_ranks(comm);
    for (; left > 1; left--) {
        struct clab_comm *rest;
        if (!sum_until_it_fails(comm, clab_comm_rank(comm) == left - 2 ? 10 * left : -1))
            return 0;
        if (clab_comm_shrink(comm, &rest) || clab_comm_ranks(rest) != left - 1)
            return 0;
        clab_comm_destroy(comm);
        comm = rest;
    }
    return members(comm, rank);
}

static int shrink_to_one(int rank)
{
    struct clab_comm *comm;
    signal(SIGTERM, SIG_IGN);
    if (join(&comm))
        return NOT_JOINED;
    tell_answer(rank, lose_one_after_the_other(comm, rank));
    return 0; // what is left of it has another name there
}

static void test_a_job_shrinks_to_one_rank(void **state)
{
    const char *text = run_all(6, shrink_to_one, NULL, "20s", 128 + SIGKILL);
    if (told->values[5] != 1 << 5)
        fail_msg("rank 5 answers %d: %s", told->values[5], text);
}

// ---- who does not answer -------------------------------------------------------------------------------------

// Rank 1 is stopped, and goes on when the others have done without it.
static int stop_1(struct clab_comm *comm, int rank)
{
    if (rank == 1) {
        tell_pid(getpid());
        raise(SIGSTOP);
        const int err = ring_sum(comm, COUNT);
        return err == CLAB_ETIMEOUT ? shrink(comm, rank) : err;
    }
    if (ring_sum(comm, COUNT) != CLAB_ETIMEOUT)
        return 0;
    const int set = shrink(comm, rank);
    if (rank == 0)
        kill(told->pids[0], SIGCONT);
    return set;
}

static void test_who_is_stopped_is_left_out_and_told_so(void **state)
{
    const double start = clab_now();
    const char *text = run_all(4, just_act, stop_1, "500ms", 0);
    assert_left(0xF & ~(1 << 1), 0, text);
    // A deadline in the sum, and one in the shrink; the rest is for a busy machine.
    assert_true(clab_now() - start < 2 * 0.5 + 5 * BOUND);
    assert_int_equal(told->values[1], -CLAB_EPEER);
    assert_text_has(text, "rank 1 has not answered for 500 ms (CLAB_TIMEOUT): the others go on without it\n");
    assert_text_has(text, " has waited for this rank until its deadline, and the others have gone on without it\n");
}

// Half of them find the communicator healthy, and do not come at all.
static int do_not_shrink(struct clab_comm *comm, int rank)
{
    if (rank < 2)
        return shrink(comm, rank);
    stay_away(2);
    return shrink(comm, rank);
}

static void test_who_comes_too_late_makes_no_group_of_its_own(void **state)
{
    const char *text = run_all(4, just_act, do_not_shrink, "1s", 0);
    assert_left(0x3, 0, text);
    assert_int_equal(told->values[2], -CLAB_EPEER);
    assert_int_equal(told->values[3], -CLAB_EPEER);
}

// ---- all -----------------------------------------------------------------------------------------------------

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_of_a_healthy_communicator_all_are_left),
        fresh_test_of(test_survivors_are_left_in_order, lose_1_in_a_sum),
        fresh_test_of(test_survivors_are_left_in_order, lose_1_while_3_computes),
        fresh_test_of(test_survivors_are_left_in_order, lose_1_unnoticed),
        fresh_test_of(test_survivors_are_left_in_order, lose_1_by_leaving),
        fresh_test(test_who_dies_meanwhile_is_not_waited_for),
        fresh_test(test_a_job_shrinks_to_one_rank),
        fresh_test(test_who_is_stopped_is_left_out_and_told_so),
        fresh_test(test_who_comes_too_late_makes_no_group_of_its_own),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
