// SPDX-License-Identifier: MIT
// What is refused before anything is sent: by its code, with a line at each rank, and the communicator stays usable.

#include "comm_fixture.h"

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
           INVALID(clab_recv(comm, NULL, COUNT, CLAB_F32, 0)) +
           INVALID(clab_recv(comm, out, SIZE_MAX, CLAB_F32, 0));
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
    (void)rank;
    if (join(&comm))
        return NOT_JOINED;
    const int wrong = refuse_buffers_and_counts(comm) + refuse_ranks(comm) + refuse_algorithms(comm);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return wrong;
}

static void test_what_is_refused_leaves_a_usable_communicator(void **state)
{
    (void)state;
    const char *text = run_all(3, be_refused, NULL, "500ms", 0);
    assert_int_equal(occurrences(text, "\n"), 3 * REFUSALS); // one line each, at each rank
    assert_text_has(text, "allreduce has no algorithm 'rings'; it has: auto");
}

// ---- what there is no memory for -----------------------------------------------------------------------------

static int ask_for_too_much(struct clab_comm *comm, int rank)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 45};
    int wrong = 0;
    (void)rank;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = NULL;
        const struct refusal refusal = {"clab_alloc", CLAB_ENOMEM, clab_alloc(job, sizes[i], &memory)};
        wrong += is_accepted(comm, refusal) + (memory != NULL);
    }
    return wrong;
}

static void test_memory_that_is_not_there_is_refused(void **state)
{
    (void)state;
    const char *text = run_all(2, just_act, ask_for_too_much, "20s", 0);
    assert_int_equal(occurrences(text, "\n"), 2 * 3);
    assert_int_equal(told->values[0] + told->values[1], 0);
}

#define test(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_what_is_refused_leaves_a_usable_communicator),
        test(test_memory_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
