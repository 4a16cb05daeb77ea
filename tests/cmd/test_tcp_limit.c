// SPDX-License-Identifier: MIT
// The limit that plain TCP sets is measured between the first two of any number of ranks, and told where there is none.

#include "tests/fixtures/job_fixture.h"

#include <math.h>

#include "core/clab.h"
#include "cmd/probe/tcp_limit.h"

static int measure(const char *address, struct tcp_limit *limit_p, int *rank_p)
{
    char name[] = "tcp_limit", *argv[] = {name, NULL};
    int argc = 1;
    struct clab_job *job;
    struct clab_comm *comm;
    CLAB_TRY(clab_job_open(&argc, argv, &job));
    CLAB_TRY(clab_comm_create(job, &comm));
    const int err = tcp_limit_measure(job, comm, address, 1 << 20, limit_p);
    *rank_p = clab_comm_rank(comm);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return err;
}

static int measure_here(int rank)
{
    struct tcp_limit limit;
    if (measure("127.0.0.1", &limit, &rank))
        return 1;
    const bool fast = limit.rate > 1e6 && limit.rate < 1e12, near = limit.trip > 1e-7 && limit.trip < 1;
    return rank == 0 && !(fast && near && limit.call && limit.congestion[0]) ? 2 : 0;
}

static int measure_nowhere(int rank)
{
    struct tcp_limit limit;
    if (measure("203.0.113.1", &limit, &rank)) // of no host (RFC 5737)
        return 1;
    return isnan(limit.rate) && isnan(limit.trip) ? 0 : 2;
}

static int measure_alone(int rank)
{
    struct tcp_limit limit;
    return measure("127.0.0.1", &limit, &rank) == CLAB_EINVAL ? 0 : 1;
}

static void test_the_limit_of_tcp_is_measured_between_the_first_two(void **state)
{
    assert_int_equal(run_job(ranks(2), measure_here), 0);
    assert_int_equal(run_job(ranks(3), measure_here), 0);
}

static void test_ranks_that_can_not_connect_have_no_limit(void **state)
{
    assert_int_equal(run_job(ranks(2), measure_nowhere), 0);
}

static void test_one_rank_alone_has_no_limit(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(1), measure_alone);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    assert_one_line_with(text, "the limit of TCP needs two ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_limit_of_tcp_is_measured_between_the_first_two),
        cmocka_unit_test(test_ranks_that_can_not_connect_have_no_limit),
        cmocka_unit_test(test_one_rank_alone_has_no_limit),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
