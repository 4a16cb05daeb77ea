// SPDX-License-Identifier: MIT
// How a communicator fails: each way by its code, at every rank, in time, and then for good; what is refused leaves it
// usable.
// - Ranks are copies of this process. Each runs `act`, tells what it answered, and leaves the job as after a success.
// - An error ends the communicator at its rank; the others learn of it in this call or in the next: all try one more.

#include "job_fixture.h"

#include <stdint.h>

#include "clab.h"

enum { COUNT = 64, LARGE = 1 << 18, STILL_USABLE = 11, NOT_POISONED };
#define SOON 2.0 // seconds: a deadline of 0.5, and what a busy machine adds

static float in[LARGE], out[LARGE];

// ---- a rank --------------------------------------------------------------------------------------------------

// What the ranks of this test do; a job's ranks are copies, so that they have it, too.
static int (*act)(struct clab_comm *comm, int rank);

static int join(struct clab_job **job_p, struct clab_comm **comm_p)
{
    char name[] = "comm_errors", *argv[] = {name, NULL};
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, argv, job_p));
    CLAB_TRY(clab_comm_create(*job_p, comm_p));
    return clab_barrier(*comm_p);
}

static int ring_sum(struct clab_comm *comm, size_t count)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, count, CLAB_F32, CLAB_SUM);
}

// Act, or else fail in the call after; then every call is answered with CLAB_EPOISONED, and leaving is possible.
static int fail_once(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm, *half = NULL;
    struct clab_work *work = NULL;
    signal(SIGTERM, SIG_IGN); // which the launcher sends to those who survive a rank
    if (join(&job, &comm))
        return 10;
    const double start = clab_now();
    int err = act(comm, rank), status = 0;
    if (!err)
        err = ring_sum(comm, COUNT);
    told->seconds[rank] = clab_now() - start;
    told->values[rank] = err;
    told->ready++;
    if (!err)
        status = STILL_USABLE;
    else if (clab_barrier(comm) != CLAB_EPOISONED || clab_send(comm, in, 1, CLAB_F32, 0) != CLAB_EPOISONED ||
             clab_allreduce_start(comm, in, out, 1, CLAB_F32, CLAB_SUM, &work) != CLAB_EPOISONED ||
             clab_comm_split(comm, 0, 0, &half) != CLAB_EPOISONED || half)
        status = NOT_POISONED;
    clab_comm_destroy(comm);
    clab_job_close(job);
    return status;
}

// Run a job of `nranks` whose ranks do `what`: all that are left end clean, with an error, soon.  What they wrote.
static const char *fail_all(int nranks, int (*what)(struct clab_comm *, int), int status)
{
    act = what;
    setenv("CLAB_TIMEOUT", "500ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int ended = run_job(ranks(nranks), fail_once);
    const char *text = capture_end(err);
    if (ended != status)
        fail_msg("status %d, not %d: %s", ended, status, text);
    for (int rank = 0; rank < nranks; rank++)
        if (told->seconds[rank] >= SOON)
            fail_msg("rank %d needed %g s: %s", rank, told->seconds[rank], text);
    return text;
}

static int ranks_with(int err, int nranks)
{
    int count = 0;
    for (int rank = 0; rank < nranks; rank++)
        count += told->values[rank] == err;
    return count;
}

// ---- who does not call ---------------------------------------------------------------------------------------

// Stay away until `n` ranks have given up, or can be said not to.
static void stay_away(int n)
{
    for (const double start = clab_now(); told->ready < n && clab_now() - start < PATIENCE;)
        usleep(1000);
}

static int come_late_at_1(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        stay_away(2);
    return ring_sum(comm, COUNT);
}

static void test_who_does_not_call_is_waited_for_until_the_deadline(void **state)
{
    (void)state;
    const char *text = fail_all(3, come_late_at_1, 0);
    assert_int_equal(told->values[0], CLAB_ETIMEOUT);
    assert_int_equal(told->values[2], CLAB_ETIMEOUT);
    assert_true(told->seconds[0] >= 0.5 && told->seconds[2] >= 0.5);
    assert_text_has(text, "allreduce (ring) number ");
    assert_text_has(text, clab_strerror(CLAB_ETIMEOUT));
}

static int receive_what_nobody_sends(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        stay_away(1);
    return rank == 0 ? clab_recv(comm, out, COUNT, CLAB_F32, 1) : CLAB_OK;
}

static void test_a_receive_without_a_send_ends(void **state)
{
    (void)state;
    assert_text_has(fail_all(2, receive_what_nobody_sends, 0), "receive, peer 1: ");
    assert_int_equal(told->values[0], CLAB_ETIMEOUT);
}

// ---- who disagrees -------------------------------------------------------------------------------------------

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
    fail_all(2, *state, 0);
    assert_int_equal(ranks_with(CLAB_OK, 2), 0);
    assert_true(ranks_with(CLAB_EMISMATCH, 2) >= 1);
}

static void test_disagreement_is_found_by_three(void **state)
{
    const char *text = fail_all(3, *state, 0);
    assert_int_equal(ranks_with(CLAB_OK, 3), 0);
    assert_true(ranks_with(CLAB_EMISMATCH, 3) >= 1);
    assert_text_has(text, clab_strerror(CLAB_EMISMATCH));
}

// ---- who dies ------------------------------------------------------------------------------------------------

// Rank 1 dies in the middle of a sum: it has started it, and has sent what needs no answer.
static int die_at_1(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    if (rank == 1 && clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work) == CLAB_OK)
        raise(SIGKILL);
    return clab_allreduce(comm, in, out, LARGE, CLAB_F32, CLAB_SUM);
}

// The same between two calls: the others are in the next one.
static int die_between_at_1(struct clab_comm *comm, int rank)
{
    for (int err, i = 0;; i++) {
        if (rank == 1 && i == 100)
            raise(SIGKILL);
        if ((err = clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM)))
            return err;
    }
}

static void test_survivors_learn_of_a_death(void **state)
{
    const char *text = fail_all(3, *state, 128 + SIGKILL);
    for (int rank = 0; rank < 3; rank += 2) {
        assert_int_equal(told->values[rank], CLAB_EPEER);
        assert_true(told->seconds[rank] < 1);
    }
    assert_int_equal(occurrences(text, "was killed by signal 9 (Killed)\n"), 1);
    // Who waits for it is told so, and so is who reads its memory.
    if (!strstr(text, "rank 1 has ended during allreduce") && !strstr(text, "of rank 1's memory can not be read"))
        fail_msg("rank 1 is not named: %s", text);
}

// ---- what is refused -----------------------------------------------------------------------------------------

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
    struct clab_job *job;
    struct clab_comm *comm;
    (void)rank;
    if (join(&job, &comm))
        return 10;
    const int wrong = refuse_buffers_and_counts(comm) + refuse_ranks(comm) + refuse_algorithms(comm);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return wrong;
}

static void test_what_is_refused_leaves_a_usable_communicator(void **state)
{
    (void)state;
    setenv("CLAB_TIMEOUT", "500ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(3), be_refused);
    const char *text = capture_end(err);
    if (status)
        fail_msg("%s", text);
    assert_int_equal(occurrences(text, "\n"), 3 * REFUSALS); // one line each, at each rank
    assert_text_has(text, "allreduce has no algorithm 'rings'; it has: auto");
}

// ---- all -----------------------------------------------------------------------------------------------------

#define test(name) cmocka_unit_test_setup(name, forget)
#define test_of(name, what) {#name "/" #what, name, forget, NULL, (void *)(what)}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(test_who_does_not_call_is_waited_for_until_the_deadline),
        test(test_a_receive_without_a_send_ends),
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
        test_of(test_survivors_learn_of_a_death, die_at_1),
        test_of(test_survivors_learn_of_a_death, die_between_at_1),
        test(test_what_is_refused_leaves_a_usable_communicator),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
