// SPDX-License-Identifier: MIT
// Ranks that disagree on what they call: found, and said at all ranks.

#include "comm_fixture.h"

static int sum_different_counts(struct clab_comm *comm, int rank)
{
    return ring_sum(comm, rank == 1 ? 2 * COUNT : COUNT);
}

static int sum_different_large_counts(struct clab_comm *comm, int rank)
{
    return ring_sum(comm, rank == 1 ? LARGE / 2 : LARGE);
}

static int sum_different_types(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, rank == 1 ? CLAB_I32 : CLAB_F32, CLAB_SUM);
}

static int combine_by_different_operations(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, rank == 1 ? CLAB_MAX : CLAB_SUM);
}

// Messages of COUNT / 2 elements to the one other rank, in both.
static int call_different_collectives(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_alltoall(comm, in, out, COUNT / 2, CLAB_F32) : ring_sum(comm, COUNT);
}

static int use_different_algorithms(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, rank == 1 ? "doubling" : "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

static int use_different_lanes(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", rank == 1 ? 2 : 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

static int name_different_roots(struct clab_comm *comm, int rank)
{
    return clab_broadcast(comm, in, out, COUNT, CLAB_F32, rank == 1);
}

static int send_another_count(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_send(comm, in, COUNT, CLAB_F32, 0) : clab_recv(comm, out, COUNT / 2, CLAB_F32, 1);
}

static int send_another_type(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_send(comm, in, COUNT, CLAB_F32, 0) : clab_recv(comm, out, COUNT, CLAB_I32, 1);
}

static void test_disagreement_is_found(void **state)
{
    const char *text = run_all(2, fail_once, (act_fn)*state, "20s", 0);
    assert_all_answer(CLAB_EMISMATCH, 0, 2, -1, first_answer(2), text);
}

static void test_disagreement_is_found_by_three(void **state)
{
    const char *text = run_all(3, fail_once, (act_fn)*state, "20s", 0);
    assert_all_answer(CLAB_EMISMATCH, 0, 3, -1, first_answer(3), text);
}

#define test_of(name, what)                                 \
    {                                                       \
#name "/" #what, name, forget, NULL, (void *)(what) \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_of(test_disagreement_is_found, sum_different_counts),
        test_of(test_disagreement_is_found_by_three, sum_different_counts),
        test_of(test_disagreement_is_found, sum_different_large_counts),
        test_of(test_disagreement_is_found_by_three, sum_different_large_counts),
        test_of(test_disagreement_is_found, sum_different_types),
        test_of(test_disagreement_is_found_by_three, sum_different_types),
        test_of(test_disagreement_is_found, combine_by_different_operations),
        test_of(test_disagreement_is_found, call_different_collectives),
        test_of(test_disagreement_is_found, use_different_algorithms),
        test_of(test_disagreement_is_found, use_different_lanes),
        test_of(test_disagreement_is_found, name_different_roots),
        test_of(test_disagreement_is_found, send_another_count),
        test_of(test_disagreement_is_found, send_another_type),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
