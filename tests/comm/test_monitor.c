// SPDX-License-Identifier: MIT
// The monitored barrier: who was late, by how much, and who did not come; the same at every rank. Runs late.

#include "tests/fixtures/comm_fixture.h"

#include <math.h>

enum { RANKS = 4 };
static double late[RANKS];
static double lateness[RANKS]; // s, that a test injects
enum { TRIES = 20 };
static struct shared {
    double late[RANKS];
    unsigned absent[TRIES]; // who did not come in time: a bit each
} * shared;                 // of each rank

static int share_all(void **state)
{
    shared = mmap(NULL, RANKS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return share_told(state) || shared == MAP_FAILED;
}

// Work that takes this long, as a straggler has.
static void work_for(double seconds)
{
    for (const double start = clab_now(); clab_now() - start < seconds;)
        ;
}

static int come_late(struct clab_comm *comm, int rank)
{
    CLAB_TRY(clab_barrier(comm));
    const double start = clab_now();
    if (lateness[rank] > 0)
        work_for(lateness[rank]);
    told->values[rank + MAX_TOLD / 2] = (int)(1e6 * (clab_now() - start)); // what it came to, in us
    CLAB_TRY(clab_monitored_barrier(comm, 5, late));
    memcpy(shared[rank].late, late, sizeof late);
    return clab_barrier(comm);
}

static bool is_lateness(int straggler)
{
    const double injected = 1e-6 * told->values[straggler + MAX_TOLD / 2];
    for (int rank = 0; rank < RANKS; rank++)
        if (rank == straggler ? fabs(shared[0].late[rank] - injected) > 0.05 * injected
                              : shared[0].late[rank] > 0.2 * injected)
            return false;
    return true;
}

// More ranks than cores: one of a few runs is not disturbed.
static void run_late(int straggler, double seconds)
{
    for (int tries = 0; tries < 5; tries++) {
        memset(lateness, 0, sizeof lateness);
        lateness[straggler] = seconds;
        run_all(RANKS, just_act, come_late, "30s", 0);
        for (int rank = 0; rank < RANKS; rank++) {
            assert_int_equal(told->values[rank], CLAB_OK);
            assert_memory_equal(shared[rank].late, shared[0].late, sizeof late);
        }
        if (is_lateness(straggler))
            return;
    }
    fail_msg("rank %d was held up for %g s, and came %g s late", straggler, seconds, shared[0].late[straggler]);
}

static void test_a_straggler_is_named_with_its_lateness(void **state)
{
    run_late(2, 0.3);
}

static void test_rank_0_may_be_the_straggler(void **state)
{
    run_late(0, 0.3);
}

// ---- who does not come ---------------------------------------------------------------------------------------

static int missing;

static int stay_away_at_missing(struct clab_comm *comm, int rank)
{
    if (rank == missing) {
        stay_away(RANKS - 1);
        return CLAB_OK;
    }
    const double start = clab_now();
    int err = clab_monitored_barrier(comm, 0.3, late);
    memcpy(shared[rank].late, late, sizeof late);
    told->signals[rank] = (int)(1e3 * (clab_now() - start)); // ms
    return err ? err : CLAB_EWRONG;
}

static void run_missing(int who)
{
    missing = who;
    const char *text = run_all(RANKS, just_act, stay_away_at_missing, "30s", 0);
    char line[64];
    snprintf(line, sizeof line, "rank %d has not come within 300 ms", who);
    assert_text_has(text, line);
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank == who)
            continue;
        assert_int_equal(told->values[rank], CLAB_ETIMEOUT);
        assert_true(told->signals[rank] >= 290 && told->signals[rank] < 1500);
        for (int r = 0; r < RANKS; r++)
            assert_true(r == who ? isinf(shared[rank].late[r]) : shared[rank].late[r] < 0.2);
    }
}

static void test_who_does_not_come_is_named(void **state)
{
    run_missing(3);
}

static void test_rank_0_may_not_come(void **state)
{
    run_missing(0);
}

// ---- who comes just as the others give up --------------------------------------------------------------------

static int come_at_the_deadline(struct clab_comm *comm, int rank)
{
    const double deadline = 0.02;
    for (int i = 0; i < TRIES; i++) {
        struct clab_comm *one;
        CLAB_TRY(clab_comm_split(comm, 0, 0, &one));
        memset(late, 0, sizeof late);
        int err = clab_barrier(one);
        if (rank == 1)
            work_for(deadline + 1e-4 * (i - TRIES / 2));
        if (!err)
            err = clab_monitored_barrier(one, deadline, late);
        else // others have left it, and given up waiting for us, while we had no core
            late[rank] = INFINITY;
        clab_comm_destroy(one);
        unsigned absent = 0;
        for (int r = 0; r < RANKS; r++)
            absent |= (isinf(late[r]) ? 1u : 0u) << r;
        shared[rank].absent[i] = absent;
        if (err != (absent ? CLAB_ETIMEOUT : CLAB_OK))
            return err ? err : CLAB_EWRONG;
    }
    return CLAB_OK;
}

// Who knows that it was late itself has not heard the verdict.
static void assert_those_in_time_agree(int try)
{
    const struct shared *first = NULL;
    for (int rank = 0; rank < RANKS; rank++) {
        if (shared[rank].absent[try] >> rank & 1)
            continue;
        first = first ? first : &shared[rank];
        assert_int_equal(shared[rank].absent[try], first->absent[try]);
    }
    assert_non_null(first);
}

static void test_who_comes_at_the_deadline_is_in_time_or_late_at_every_rank(void **state)
{
    run_all(RANKS, just_act, come_at_the_deadline, "30s", 0);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(told->values[rank], CLAB_OK);
    for (int try = 0; try < TRIES; try++)
        assert_those_in_time_agree(try);
}

// ---- the rest ------------------------------------------------------------------------------------------------

static int use_it_much(struct clab_comm *comm, int rank)
{
    struct clab_comm *alone;
    double one[1] = {NAN};
    for (int i = 0; i < 200; i++) {
        CLAB_TRY(clab_monitored_barrier(comm, 5, late));
        CLAB_TRY(clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM));
    }
    if (clab_monitored_barrier(comm, 0, late) != CLAB_EINVAL || clab_monitored_barrier(comm, NAN, late) != CLAB_EINVAL)
        return CLAB_EWRONG;
    CLAB_TRY(clab_comm_split(comm, rank, 0, &alone));
    CLAB_TRY(clab_monitored_barrier(alone, 1, one));
    clab_comm_destroy(alone);
    return one[0] == 0 ? CLAB_OK : CLAB_EWRONG;
}

static void test_it_may_be_used_beside_collectives(void **state)
{
    run_all(RANKS, just_act, use_it_much, "30s", 0);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(told->values[rank], CLAB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_straggler_is_named_with_its_lateness, forget),
        cmocka_unit_test_setup(test_rank_0_may_be_the_straggler, forget),
        cmocka_unit_test_setup(test_who_does_not_come_is_named, forget),
        cmocka_unit_test_setup(test_rank_0_may_not_come, forget),
        cmocka_unit_test_setup(test_who_comes_at_the_deadline_is_in_time_or_late_at_every_rank, forget),
        cmocka_unit_test_setup(test_it_may_be_used_beside_collectives, forget),
    };
    return cmocka_run_group_tests(tests, share_all, NULL);
}
