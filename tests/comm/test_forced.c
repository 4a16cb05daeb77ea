// SPDX-License-Identifier: MIT
// An algorithm that somebody names is run with the groups and lanes of where its ranks are, as bench plans it.

#include "tests/fixtures/comm_fixture.h"

#include "core/comm/comm.h"

static const char *const names[] = {"leaders", "hierarchical"};
enum { NAMES = sizeof names / sizeof *names };

static int cores; // that the job knows of

// Ranks a node of the schedule that it runs by.  CLAB_EINVAL: it sums wrongly
static int sum_by(struct clab_comm *comm, const char *name, int *group_p)
{
    struct clab_work *work;
    const int n = clab_comm_ranks(comm);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(clab_comm_rank(comm) + i);
    CLAB_TRY(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, name, 0));
    CLAB_TRY(clab_allreduce_start(comm, in, out, COUNT, CLAB_F32, CLAB_SUM, &work));
    *group_p = work->problem.group;
    CLAB_TRY(clab_work_wait(work));
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (float)(n * i + n * (n - 1) / 2))
            return CLAB_EINVAL;
    return CLAB_OK;
}

// told->values[rank]: the groups of both, 100 times the first.
static int sum_on_cores(int rank)
{
    struct clab_comm *comm;
    int groups[NAMES];
    CLAB_TRY(join(&comm));
    job->bootstrap->job_cores = cores;
    for (int i = 0; i < NAMES; i++)
        CLAB_TRY(sum_by(comm, names[i], &groups[i]));
    told->values[rank] = 100 * groups[0] + groups[1];
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

static void test_a_named_algorithm_groups_ranks_by_core(void **state)
{
    static const struct {
        int nranks, cores, group; // 4 ranks on 2 cores have the algorithm's own, ceil(sqrt(nranks)); others do not
    } cases[] = {{4, 2, 2}, {4, 1, 4}, {8, 2, 4}, {6, 4, 0}, {4, 4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forget(state);
        cores = cases[i].cores;
        assert_int_equal(run_job(ranks(cases[i].nranks), sum_on_cores), 0);
        for (int rank = 0; rank < cases[i].nranks; rank++)
            assert_int_equal(told->values[rank], 101 * cases[i].group);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_named_algorithm_groups_ranks_by_core)};
    return cmocka_run_group_tests(tests, share_told, NULL);
}
