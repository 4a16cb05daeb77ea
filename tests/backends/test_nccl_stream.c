// SPDX-License-Identifier: MIT
// Works of a library that takes a call before the last one is done: several under way at once, waited for in any order.
// Of any backend; of nccl, where they are in a stream, by test_nccl_fake.sh.

#include "tests/fixtures/comm_fixture.h"

enum { NRANKS = 3, MANY = 600 }; // more than a backend takes at once

// Each sum has a count and values of its own, and every fifth is an average.
static int sum_many(struct clab_comm *comm, int rank)
{
    static float given[MANY][2], got[MANY][2];
    struct clab_work *works[MANY];
    for (int i = 0; i < MANY; i++) {
        given[i][0] = (float)i;
        given[i][1] = (float)rank;
        CLAB_TRY(clab_allreduce_start(comm, given[i], got[i], (size_t)(1 + i % 2), CLAB_F32, i % 5 ? CLAB_SUM : CLAB_AVG,
                                      &works[i]));
    }
    for (int i = MANY - 1; i >= 0; i--)
        CLAB_TRY(clab_work_wait(works[i]));
    for (int i = 0; i < MANY; i++) {
        const float times = i % 5 ? NRANKS : 1;
        if (got[i][0] != times * (float)i || (i % 2 && got[i][1] != times * (NRANKS - 1) / 2))
            return CLAB_EWRONG;
    }
    return clab_barrier(comm);
}

// The same, with a schedule between natives.
static int mix(struct clab_comm *comm, int rank)
{
    static float given[3], got[3];
    struct clab_work *works[3];
    for (int i = 0; i < 3; i++) {
        given[i] = (float)(i + rank);
        CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, i == 1 ? "ring" : "auto", i == 1));
        CLAB_TRY(clab_allreduce_start(comm, &given[i], &got[i], 1, CLAB_F32, CLAB_SUM, &works[i]));
    }
    for (int i = 2; i >= 0; i--)
        CLAB_TRY(clab_work_wait(works[i]));
    for (int i = 0; i < 3; i++)
        if (got[i] != (float)(NRANKS * i + 3))
            return CLAB_EWRONG;
    return CLAB_OK;
}

// Each sum adds what the one before it gives, in memory that a GPU does not reach: it is copied before and after.
static int chain(struct clab_comm *comm, int rank)
{
    static float values[4];
    struct clab_work *works[3];
    values[0] = 1;
    for (int i = 0; i < 3; i++)
        CLAB_TRY(clab_allreduce_start(comm, &values[i], &values[i + 1], 1, CLAB_F32, CLAB_SUM, &works[i]));
    for (int i = 0; i < 3; i++)
        CLAB_TRY(clab_work_wait(works[i]));
    return values[3] == NRANKS * NRANKS * NRANKS ? CLAB_OK : CLAB_EWRONG;
}

static int give_a_stream(struct clab_comm *comm, int rank)
{
    const bool is_gpu = !strcmp(clab_job_backend(clab_comm_job(comm)), "nccl");
    CLAB_TRY(clab_comm_set_stream(comm, NULL));
    if (!is_gpu && clab_comm_set_stream(comm, comm) != CLAB_EUNSUPPORTED)
        return CLAB_EWRONG;
    return clab_barrier(comm);
}

static void assert_all_right(act_fn what)
{
    const char *text = run_all(NRANKS, just_act, what, "10s", 0);
    for (int rank = 0; rank < NRANKS; rank++)
        if (told->values[rank] != CLAB_OK)
            fail_msg("rank %d: %s: %s", rank, clab_strerror(told->values[rank]), text);
}

static void test_many_works_are_done_in_the_order_of_their_starts(void **state)
{
    assert_all_right(sum_many);
}

static void test_a_schedule_waits_for_natives_and_they_for_it(void **state)
{
    assert_all_right(mix);
}

static void test_a_sum_of_a_sum_that_is_under_way(void **state)
{
    assert_all_right(chain);
}

static void test_a_backend_without_streams_says_so(void **state)
{
    assert_all_right(give_a_stream);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(test_many_works_are_done_in_the_order_of_their_starts),
        TEST(test_a_schedule_waits_for_natives_and_they_for_it),
        TEST(test_a_sum_of_a_sum_that_is_under_way),
        TEST(test_a_backend_without_streams_says_so),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
