// SPDX-License-Identifier: MIT
// Calls of a library that wait for a peer which does not come, or has died: the first messages between two ranks, and
// the lanes of a schedule. The deadline holds, and the others go on without it. Of any backend; of nccl, where these
// calls wait in threads (backends/nccl/calls.c), by test_nccl_fake.sh.

#include "tests/fixtures/comm_fixture.h"

#define TIMEOUT 1.0 // s, as below

static void leave(int rank, bool dies)
{
    if (rank != 1)
        return;
    told->moment = clab_now();
    if (dies)
        raise(SIGKILL);
    stay_away(3);
}

static int sum_by(struct clab_comm *comm, int lanes)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", lanes);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

static int miss_first_messages(struct clab_comm *comm, int rank)
{
    leave(rank, false);
    return rank == 1 ? CLAB_OK : sum_by(comm, 1);
}

static int die_before_first_messages(struct clab_comm *comm, int rank)
{
    leave(rank, true);
    return sum_by(comm, 1);
}

static int die_before_lanes(struct clab_comm *comm, int rank)
{
    leave(rank, true);
    return sum_by(comm, 4);
}

static int die_before_a_communicator(struct clab_comm *comm, int rank)
{
    struct clab_comm *all;
    leave(rank, true);
    return clab_comm_split(comm, 0, 0, &all);
}

// The others can make a communicator of their own, and use it.
static int go_on_without_the_lost(struct clab_comm *comm, int rank)
{
    struct clab_comm *rest;
    const int err = die_before_first_messages(comm, rank);
    if (err != CLAB_EPEER || clab_comm_shrink(comm, &rest))
        return CLAB_EWRONG;
    const int again = sum_by(rest, 2);
    clab_comm_destroy(rest);
    return again ? again : err;
}

static void assert_lost(act_fn what)
{
    const char *text = run_all(4, just_act, what, "10s", 128 + SIGKILL);
    assert_all_answer(CLAB_EPEER, 0, 4, 1, told->moment + 1, text); // nccl's fake looks for processes once a second
}

// Each rank calls on the two in another order. Were a call to wait for its peer in the caller's thread, or in one that
// is common to both communicators, the ranks would wait for each other.
static int cross(struct clab_comm *comm, int rank)
{
    struct clab_comm *comms[2] = {comm};
    struct clab_work *works[2];
    static float sums[2][COUNT];
    CLAB_TRY(clab_comm_split(comm, 0, 0, &comms[1]));
    for (int i = 0; i < 2; i++) {
        const int which = rank ^ i;
        CLAB_TRY(clab_comm_set_algorithm(comms[which], CLAB_ALLREDUCE, "ring", 1));
        CLAB_TRY(clab_allreduce_start(comms[which], in, sums[which], COUNT, CLAB_F32, CLAB_SUM, &works[which]));
    }
    const int first = clab_work_wait(works[0]), second = clab_work_wait(works[1]);
    clab_comm_destroy(comms[1]);
    return first ? first : second;
}

static void test_first_messages_of_two_communicators_come_in_any_order(void **state)
{
    const char *text = run_all(2, just_act, cross, "2s", 0);
    for (int rank = 0; rank < 2; rank++)
        if (told->values[rank] != CLAB_OK)
            fail_msg("rank %d: %s: %s", rank, clab_strerror(told->values[rank]), text);
}

static void test_first_messages_to_a_rank_that_does_not_come_have_a_deadline(void **state)
{
    const char *text = run_all(4, just_act, miss_first_messages, "1s", 0);
    assert_all_answer(CLAB_ETIMEOUT, 0, 4, 1, told->moment + TIMEOUT, text);
}

static void test_first_messages_to_a_rank_that_has_died_end(void **state)
{
    assert_lost(die_before_first_messages);
}

static void test_lanes_end_where_a_rank_has_died(void **state)
{
    assert_lost(die_before_lanes);
}

static void test_a_communicator_ends_where_a_rank_has_died(void **state)
{
    assert_lost(die_before_a_communicator);
}

static void test_those_that_are_left_go_on(void **state)
{
    assert_lost(go_on_without_the_lost);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(test_first_messages_of_two_communicators_come_in_any_order),
        TEST(test_first_messages_to_a_rank_that_does_not_come_have_a_deadline),
        TEST(test_first_messages_to_a_rank_that_has_died_end),
        TEST(test_lanes_end_where_a_rank_has_died),
        TEST(test_a_communicator_ends_where_a_rank_has_died),
        TEST(test_those_that_are_left_go_on),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
