// SPDX-License-Identifier: MIT
// What is refused before anything is sent: by its code, with a line at each rank, and the communicator stays usable.

#include "tests/fixtures/comm_fixture.h"

#include <stdint.h>

struct refusal {
    const char *what;
    int expected, answered;
};

// 1: wrong, and said so. Each call is refused with its code, and a sum after it is right.
static int is_accepted(struct clab_comm *comm, struct refusal refusal)
{
    const int32_t one = 1;
    int32_t sum = 0;
    if (refusal.answered != refusal.expected)
        fprintf(stderr, "WRONG: %s: %s\n", refusal.what, clab_strerror(refusal.answered));
    else if (clab_allreduce(comm, &one, &sum, 1, CLAB_I32, CLAB_SUM) || sum != clab_comm_ranks(comm))
        fprintf(stderr, "WRONG: after %s a sum is %d\n", refusal.what, sum);
    else
        return 0;
    return 1;
}

#define INVALID(call) is_accepted(comm, (struct refusal){#call, CLAB_EINVAL, call})
#define UNKNOWN(call) is_accepted(comm, (struct refusal){#call, CLAB_ENOENT, call})

static int refuse_buffers_and_counts(struct clab_comm *comm)
{
    const size_t huge = SIZE_MAX / 4;
    const enum clab_type no_type = (enum clab_type)99;
    return INVALID(clab_allreduce(comm, NULL, out, COUNT, CLAB_F32, CLAB_SUM)) +
           INVALID(clab_allreduce(comm, in, NULL, COUNT, CLAB_F32, CLAB_SUM)) +
           INVALID(clab_allgather(comm, NULL, out, COUNT, CLAB_F32)) +
           INVALID(clab_reduce_scatter(comm, in, NULL, COUNT, CLAB_F32, CLAB_SUM)) +
           INVALID(clab_alltoall(comm, in, in, COUNT, CLAB_F32)) +
           INVALID(clab_allreduce(comm, in, out, huge, CLAB_F32, CLAB_SUM)) +
           INVALID(clab_allgather(comm, in, out, SIZE_MAX, CLAB_U8)) +
           INVALID(clab_allreduce(comm, in, out, COUNT, no_type, CLAB_SUM)) +
           INVALID(clab_allreduce(comm, in, out, COUNT, CLAB_F32, (enum clab_op)99));
}

static int refuse_ranks(struct clab_comm *comm)
{
    const int n = clab_comm_ranks(comm);
    return INVALID(clab_broadcast(comm, in, out, COUNT, CLAB_F32, -1)) +
           INVALID(clab_broadcast(comm, in, out, COUNT, CLAB_F32, n)) +
           INVALID(clab_reduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM, n)) +
           INVALID(clab_gather(comm, in, out, COUNT, CLAB_F32, -1)) +
           INVALID(clab_scatter(comm, in, out, COUNT, CLAB_F32, n)) +
           INVALID(clab_send(comm, in, COUNT, CLAB_F32, -1)) + INVALID(clab_send(comm, in, COUNT, CLAB_F32, n)) +
           INVALID(clab_recv(comm, out, COUNT, CLAB_F32, n)) + INVALID(clab_send(comm, NULL, COUNT, CLAB_F32, 0)) +
           INVALID(clab_recv(comm, NULL, COUNT, CLAB_F32, 0)) + INVALID(clab_recv(comm, out, SIZE_MAX, CLAB_F32, 0));
}

static int refuse_algorithms(struct clab_comm *comm)
{
    return UNKNOWN(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "rings", 0)) +
           UNKNOWN(clab_comm_set_algorithm(comm, CLAB_ALLTOALL, "ring", 0)) +
           INVALID(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "auto", 3)) +
           INVALID(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", -1)) +
           INVALID(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1000)) +
           INVALID(clab_comm_set_algorithm(comm, (enum clab_collective)99, "auto", 0));
}

enum { REFUSALS = 9 + 11 + 6 };

static int be_refused(int rank)
{
    struct clab_comm *comm;
    if (join(&comm))
        return NOT_JOINED;
    const int wrong = refuse_buffers_and_counts(comm) + refuse_ranks(comm) + refuse_algorithms(comm);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return wrong;
}

static void test_what_is_refused_leaves_a_usable_communicator(void **state)
{
    const char *text = run_all(3, be_refused, NULL, "500ms", 0);
    assert_int_equal(occurrences(text, "\n"), 3 * REFUSALS); // one line each, at each rank
    assert_text_has(text, "allreduce has no algorithm 'rings' (did you mean 'ring'?); it has: auto");
}

// ---- what there is no memory for -----------------------------------------------------------------------------

static int ask_for_too_much(struct clab_comm *comm, int rank)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 45};
    int wrong = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = NULL;
        const struct refusal refusal = {"clab_alloc", CLAB_ENOMEM, clab_alloc(job, sizes[i], &memory)};
        wrong += is_accepted(comm, refusal) + (memory != NULL);
    }
    return wrong;
}

static void test_memory_that_is_not_there_is_refused(void **state)
{
    const char *text = run_all(2, just_act, ask_for_too_much, "20s", 0);
    assert_int_equal(occurrences(text, "\n"), 2 * 3);
    assert_int_equal(told->values[0] + told->values[1], 0);
}

// ---- copies to and from memory of clab_alloc ------------------------------------------------------------------

static int copy_there_and_back(struct clab_comm *comm, int rank)
{
    const int32_t there[3] = {rank, 5, -7};
    int32_t back[3] = {0};
    void *memory;
    CLAB_TRY(clab_alloc(job, sizeof there, &memory));
    CLAB_TRY(clab_copy(job, memory, there, sizeof there));
    CLAB_TRY(clab_copy(job, back, memory, sizeof back));
    CLAB_TRY(clab_copy(job, NULL, NULL, 0));
    bool refuses = clab_copy(job, NULL, there, 4) == CLAB_EINVAL && clab_copy(job, back, NULL, 4) == CLAB_EINVAL;
    const bool comes_back = !memcmp(there, back, sizeof there);
    CLAB_TRY(clab_reduce_local(job, memory, memory, 0, CLAB_I32, CLAB_SUM));
    CLAB_TRY(clab_set(job, NULL, 0, 0));
    refuses &= clab_set(job, NULL, 0, 4) == CLAB_EINVAL;
    refuses &= clab_reduce_local(job, memory, memory, 3, CLAB_I32, CLAB_AVG) == CLAB_EINVAL;
    clab_free(job, memory);
    return !refuses || !comes_back;
}

static int set_and_reduce(struct clab_comm *comm, int rank)
{
    int32_t *a, *b, got[4], mine[4] = {rank, 2, 3, -4};
    CLAB_TRY(clab_alloc(job, sizeof got, (void **)&a));
    CLAB_TRY(clab_alloc(job, sizeof got, (void **)&b));
    CLAB_TRY(clab_set(job, a, 0xff, sizeof got));
    CLAB_TRY(clab_copy(job, b, mine, sizeof mine));
    CLAB_TRY(clab_reduce_local(job, b, a, 4, CLAB_I32, CLAB_SUM));
    CLAB_TRY(clab_reduce_local(job, b, a, 2, CLAB_I32, CLAB_MAX));
    CLAB_TRY(clab_copy(job, got, a, sizeof got));
    clab_free(job, b);
    clab_free(job, a);
    return !(got[0] == rank && got[1] == 2 && got[2] == 2 && got[3] == -5);
}

static void test_a_copy_comes_back_and_one_of_null_is_refused(void **state)
{
    const char *text = run_all(2, just_act, copy_there_and_back, "20s", 0);
    assert_int_equal(told->values[0] + told->values[1], 0);
    assert_int_equal(occurrences(text, "clab_copy: 4 bytes to NULL"), 2);
    assert_int_equal(occurrences(text, "clab_copy: 4 bytes from NULL"), 2);
    assert_int_equal(occurrences(text, "is no memory of clab_alloc"), 2);
    assert_int_equal(occurrences(text, "it is an average, which is of all ranks"), 2);
}

static void test_memory_is_set_and_reduced_where_it_lies(void **state)
{
    run_all(2, just_act, set_and_reduce, "20s", 0);
    assert_int_equal(told->values[0] + told->values[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_what_is_refused_leaves_a_usable_communicator),
        fresh_test(test_memory_that_is_not_there_is_refused),
        fresh_test(test_a_copy_comes_back_and_one_of_null_is_refused),
        fresh_test(test_memory_is_set_and_reduced_where_it_lies),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
