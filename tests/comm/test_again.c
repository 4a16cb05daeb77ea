// SPDX-License-Identifier: MIT
// A call that equals the last of its collective is not checked and chosen again (collectives.c). So calls that differ in
// one argument follow each other here, and each must get its own result: twice, first new, then as the last one.

#include "tests/fixtures/comm_fixture.h"

#include <stdint.h>

enum { NRANKS = 3 };

static int32_t mine[8], theirs[8];

// 1: `what` does not have `wanted` in all of `n` elements of `got`, or has written beyond them.
static int is_wrong(const char *what, const int32_t *got, int n, int32_t wanted)
{
    for (int i = 0; i < 8; i++)
        if (got[i] != (i < n ? wanted : -1)) {
            fprintf(stderr, "WRONG: %s: element %d is %d\n", what, i, got[i]);
            return 1;
        }
    return 0;
}

static void poison(int32_t *memory)
{
    for (int i = 0; i < 8; i++)
        memory[i] = -1;
}

static void fill(int32_t *memory, int32_t value)
{
    for (int i = 0; i < 8; i++)
        memory[i] = value;
}

#define CHECK(GOT, N, WANTED, CALL) \
    ((CALL) ? (fprintf(stderr, "WRONG: %s fails\n", #CALL), 1) : is_wrong(#CALL, GOT, N, WANTED))

static int sum_and_others(struct clab_comm *comm, int rank)
{
    static int32_t a[8], b[8];
    int wrong = 0;
    fill(mine, rank + 1);
    fill(theirs, 10 * (rank + 1));
    poison(a), poison(b);
    wrong += CHECK(a, 2, 6, clab_allreduce(comm, mine, a, 2, CLAB_I32, CLAB_SUM));
    poison(a);
    wrong += CHECK(a, 2, 3, clab_allreduce(comm, mine, a, 2, CLAB_I32, CLAB_MAX));    // another operation
    wrong += CHECK(a, 4, 3, clab_allreduce(comm, mine, a, 4, CLAB_I32, CLAB_MAX));    // another count
    wrong += CHECK(a, 4, 30, clab_allreduce(comm, theirs, a, 4, CLAB_I32, CLAB_MAX)); // another input
    wrong += CHECK(b, 4, 30, clab_allreduce(comm, theirs, b, 4, CLAB_I32, CLAB_MAX)); // another output
    poison(b);
    wrong += CHECK(b, 1, 30, clab_allreduce(comm, theirs, b, 4, CLAB_U8, CLAB_MAX)); // another type
    return wrong;
}

static int roots(struct clab_comm *comm, int rank)
{
    static int32_t a[8];
    int wrong = 0;
    for (int root = 0; root < NRANKS; root++) {
        poison(a);
        if (rank == root)
            for (int i = 0; i < 3; i++)
                a[i] = 7 + root;
        wrong += CHECK(a, 3, 7 + root, clab_broadcast(comm, a, a, 3, CLAB_I32, root)); // another root
    }
    return wrong;
}

// Each is the last of its collective, but not the last of all.
static int in_turns(struct clab_comm *comm, int rank)
{
    static int32_t a[8], b[8];
    int wrong = 0;
    fill(mine, rank + 1);
    for (int i = 0; i < 3; i++) {
        poison(a);
        poison(b);
        b[0] = b[1] = rank == 1 ? 5 + i : -1;
        wrong += CHECK(a, 4, 6, clab_allreduce(comm, mine, a, 4, CLAB_I32, CLAB_SUM));
        wrong += CHECK(b, 2, 5 + i, clab_broadcast(comm, b, b, 2, CLAB_I32, 1));
    }
    return wrong;
}

// Another algorithm is chosen while a work is under way: the same call takes the new one afterwards.
static int choices(struct clab_comm *comm, int rank)
{
    static int32_t a[8];
    struct clab_work *work;
    int wrong = 0;
    fill(mine, rank + 1);
    poison(a);
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "doubling", 1));
    CLAB_TRY(clab_allreduce_start(comm, mine, a, 4, CLAB_I32, CLAB_SUM, &work));
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1));
    CLAB_TRY(clab_work_wait(work));
    wrong += CHECK(a, 4, 6, clab_allreduce(comm, mine, a, 4, CLAB_I32, CLAB_SUM));
    if (strcmp(clab_comm_traffic(comm).algorithm, "ring") != 0) {
        fprintf(stderr, "WRONG: %s runs after ring has been chosen\n", clab_comm_traffic(comm).algorithm);
        wrong++;
    }
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "auto", 0));
    return wrong;
}

static int repeat(int rank)
{
    struct clab_comm *comm;
    int wrong = 0;
    if (join(&comm))
        return NOT_JOINED;
    for (int times = 0; times < 2; times++)
        wrong += sum_and_others(comm, rank) + roots(comm, rank) + in_turns(comm, rank) + choices(comm, rank);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return wrong;
}

static void test_calls_that_differ_in_one_argument(void **state)
{
    run_all(NRANKS, repeat, NULL, "20s", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_that_differ_in_one_argument)};
    return cmocka_run_group_tests(tests, share_told, NULL);
}
