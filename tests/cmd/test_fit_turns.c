// SPDX-License-Identifier: MIT
// What the probes of `commlab fit` work on: no zeros, which are moved faster than other data, and no values that are
// slow to add, however many turns there were. And a rank that waits keeps its core.

#include "tests/fixtures/working_job.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fit/session.h"

enum { BYTES = 64 << 10, TURNS = 300 }; // more than it takes until doubled floats are infinite

// Whether all floats of the buffer are above 0 and, with `finite`, numbers.
static bool are_ordinary(const char *buffer, bool finite)
{
    for (size_t at = 0; at < BYTES; at += sizeof(float)) {
        float value;
        memcpy(&value, buffer + at, sizeof value);
        if (!(value > 0) || (finite ? !isnormal(value) : !isnormal(value) && !isinf(value)))
            return false;
    }
    return true;
}

static int look_at_buffers(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    struct fit_ranks ranks;
    int status = 0;
    if (fit_ranks_open(comm, job, BYTES, &ranks))
        return 1;
    if (!are_ordinary(ranks.x, true) || !are_ordinary(ranks.y, true) || !are_ordinary(ranks.z, true))
        status = 2;
    for (int i = 0; i < TURNS && !status; i++) {
        fit_turn_exchange_summed(&ranks, BYTES);
        fit_turn_exchange_home(&ranks, BYTES);
        fit_turn_laned(&ranks, BYTES);
        fit_turn_answer(&ranks, 8);
        fit_turn_all_lanes(&ranks, BYTES / CLAB_FIT_LANES);
        fit_turn_exchange_add(&ranks, BYTES);
        fit_turn_exchange_fresh_add(&ranks, BYTES);
        fit_turn_round_trip_fresh_add(&ranks, BYTES);
        status = ranks.err ? 3 : 0;
    }
    if (!status && (!are_ordinary(ranks.x, true) || !are_ordinary(ranks.y, false) || !are_ordinary(ranks.z, false)))
        status = 4;
    fit_ranks_close(&ranks, job);
    return status;
}

// Every byte of rank 0's message is in rank 1's buffer, which held NaN before.
static int pass_one(struct clab_comm *comm, int rank)
{
    struct clab_job *job = clab_comm_job(comm);
    struct fit_ranks ranks;
    int status = 0;
    if (fit_ranks_open(comm, job, BYTES, &ranks))
        return 1;
    memset(ranks.y, 0xff, BYTES);
    fit_turn_one_way(&ranks, BYTES);
    if (ranks.err || are_ordinary(ranks.y, true) != (rank == 1))
        status = 2;
    fit_meet(&ranks);
    fit_ranks_close(&ranks, job);
    return status;
}

// Of round trips beside ten samples three are fast, one is quicker still, and one sample was interrupted.
static void test_the_pace_is_the_fastest_that_a_quarter_has(void **state)
{
    static const double lines[] = {7.5, 6.2, 7.4, 6.1, 0, 7.6, 5, 6.3, 7.5, 7.4};
    struct clab_sample samples[10];
    struct clab_placement_sample all_probed[10] = {{0}};
    const struct fit_record record = {.ntasks = 5, .nrounds = 2, .samples = samples, .all_probed = all_probed};
    struct fit_pace pace;
    for (int i = 0; i < 10; i++) {
        samples[i] = (struct clab_sample){.seconds = i == 1 ? 0 : 1}; // the second was not timed
        all_probed[i].line = lines[i];
    }
    assert_int_equal(fit_pace_find(&record, &pace), CLAB_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fit_pace_has(&pace, &record, i), i == 3 || i == 7);
}

// How a rank waits: how often it was idle, and how patient the backend thought it.
static struct {
    const struct clab_backend *backend;
    unsigned calls, most_fruitless;
} waits;

static bool count_idle(struct clab_endpoint *endpoint, unsigned fruitless)
{
    waits.calls++;
    waits.most_fruitless = fruitless > waits.most_fruitless ? fruitless : waits.most_fruitless;
    return waits.backend->idle(endpoint, fruitless);
}

// Rank 1 waits for a message that rank 0 sends late.
static int wait_for_one(struct clab_comm *comm, int rank)
{
    enum { LATE = 5000, LOOKS = 100 }; // us; for each look that a backend usually counts
    struct clab_job *job = clab_comm_job(comm);
    struct fit_ranks ranks;
    int status = 0;
    if (fit_ranks_open(comm, job, BYTES, &ranks))
        return 1;
    struct clab_backend counting = *comm->backend;
    waits.backend = comm->backend;
    counting.idle = count_idle;
    comm->backend = &counting;
    if (rank == 0)
        usleep(LATE);
    fit_turn_one_way(&ranks, BYTES);
    comm->backend = waits.backend;
    if (ranks.err || (rank == 1 && waits.most_fruitless > waits.calls / LOOKS))
        status = 2;
    fit_meet(&ranks);
    fit_ranks_close(&ranks, job);
    return status;
}

static void test_a_rank_that_waits_keeps_its_core(void **state)
{
    assert_int_equal(run_work(2, wait_for_one), 0);
}

static void test_a_message_is_as_long_as_it_says(void **state)
{
    assert_int_equal(run_work(2, pass_one), 0);
}

static void test_probes_work_on_no_zeros_and_no_slow_values(void **state)
{
    assert_int_equal(run_work(2, look_at_buffers), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_pace_is_the_fastest_that_a_quarter_has),
        cmocka_unit_test(test_a_rank_that_waits_keeps_its_core),
        cmocka_unit_test(test_a_message_is_as_long_as_it_says),
        cmocka_unit_test(test_probes_work_on_no_zeros_and_no_slow_values),
    };
    return cmocka_run_group_tests(tests, share_told, forget);
}
