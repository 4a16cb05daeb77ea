// SPDX-License-Identifier: MIT
// A communicator that is revoked while its members split it, and then shrunk: nobody is dead, so all are left. On the
// job's pages, and on a store. Runs alone.
// - Rank 3 makes a group of its own, and then sends rank 0 more than rank 0 asks for, which is an error of the
//   communicator. At that time the others are somewhere in the split: in some rounds one of them has completed a
//   meeting that another has given up. How often depends on the machine: test_mailboxes.c has that case for certain.

#include "tests/fixtures/comm_fixture.h"
#include "tests/fixtures/needs.h"

enum { NRANKS = 8, ROUNDS = 300 };

// Shorter than the system lets a process sleep.
static void linger(double seconds)
{
    for (const double until = clab_now() + seconds; clab_now() < until;)
        ;
}

static int split_and_revoke(struct clab_comm *comm, int rank, int round)
{
    struct clab_comm *part = NULL;
    struct clab_work *work = NULL;
    if (rank == 0)
        CLAB_TRY(clab_recv_start(comm, out, 1, CLAB_F32, 3, &work));
    const int err = clab_comm_split(comm, rank == 3, 0, &part);
    if (rank == 3 && !err) {
        linger(1e-6 * (round * 37 % 100));
        clab_send(comm, in, 2, CLAB_F32, 0);
    }
    if (work)
        clab_work_wait(work);
    if (part)
        clab_comm_destroy(part);
    return CLAB_OK;
}

static int revoke_and_shrink(struct clab_comm *comm, int rank)
{
    struct clab_comm *rest = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        CLAB_TRY(split_and_revoke(comm, rank, round));
        CLAB_TRY(clab_comm_shrink(comm, &rest));
        if (clab_comm_ranks(rest) != NRANKS)
            return CLAB_EWRONG;
        if (round)
            clab_comm_destroy(comm);
        comm = rest;
    }
    const int err = clab_barrier(comm);
    clab_comm_destroy(comm);
    return err;
}

static void check_that_all_are_left(body_fn body)
{
    const char *text = run_all(NRANKS, body, revoke_and_shrink, "5s", 0);
    for (int rank = 0; rank < NRANKS; rank++)
        if (told->values[rank])
            fail_msg("rank %d: %s: %s", rank, clab_strerror(told->values[rank]), text);
}

static void test_who_has_completed_a_split_is_not_held_up(void **state)
{
    check_that_all_are_left(just_act);
}

// As ranks that were started by hand: rank 0 starts the store.
static int act_by_a_store(int rank)
{
    unsetenv("CLAB_JOB_FD");
    return just_act(rank);
}

static void test_nor_at_a_store(void **state)
{
    needs_sodium();
    check_that_all_are_left(act_by_a_store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_who_has_completed_a_split_is_not_held_up),
        fresh_test(test_nor_at_a_store),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
