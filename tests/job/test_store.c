// SPDX-License-Identifier: MIT
// The store as a process: its members meet, and hear of each other. Runs late.

#include "tests/fixtures/store_fixture.h"

// ---- exchange ------------------------------------------------------------------------------------------------

static size_t size_of(int round)
{
    return round % 20 == 19 ? 3 * STORE_BLOB_BYTES - (size_t)round : (size_t)round * 2654435761u % 300;
}

static int check_rounds(struct worker *worker, struct store_client *client)
{
    const int nranks = worker->store->ticket.job.nranks;
    unsigned char *mine = malloc(4 * STORE_BLOB_BYTES), *all = malloc((size_t)nranks * 4 * STORE_BLOB_BYTES);
    int err = CLAB_OK;
    for (int round = 0; round < worker->rounds && !err; round++) {
        const size_t bytes = size_of(round);
        memset(all, 0xee, (size_t)nranks * bytes);
        for (size_t i = 0; i < bytes; i++)
            mine[i] = (unsigned char)(worker->member * 31 + round * 7 + (int)i);
        err = pass_fence(client, NULL, 0, (uint64_t)round, mine, bytes, all);
        for (int r = 0; r < nranks && !err; r++)
            for (size_t i = 0; i < bytes && !err; i++)
                err =
                    all[(size_t)r * bytes + i] == (unsigned char)(r * 31 + round * 7 + (int)i) ? CLAB_OK : CLAB_EWRONG;
    }
    free(mine);
    free(all);
    return err;
}

static void test_exchange_gives_every_rank_every_blob(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, MAX_MEMBERS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct worker workers[MAX_MEMBERS];
        struct test_store store = open_store(sizes[i], 60);
        run_workers(&store, 0, 100, check_rounds, workers);
        assert_all(workers, 0, sizes[i], CLAB_OK);
        assert_true(ends(&store));
    }
}

// Pairs of a tournament, each in an order of its own.
static int fence_in_pairs(struct worker *worker, struct store_client *client)
{
    const int nranks = worker->store->ticket.job.nranks;
    int err = CLAB_OK;
    for (int round = 0; round < worker->rounds && !err; round++) {
        const int peer = worker->member ^ (1 + round % (nranks - 1));
        const int low = peer < worker->member ? peer : worker->member, high = peer ^ worker->member ^ low;
        const int pair[2] = {round % 2 ? low : high, round % 2 ? high : low};
        int all[2] = {-1, -1};
        err = pass_fence(client, pair, 2, (uint64_t)(round * MAX_MEMBERS + low), &worker->member, sizeof(int), all);
        if (!err && (all[0] != pair[0] || all[1] != pair[1]))
            err = CLAB_EWRONG;
    }
    return err;
}

static void test_pairs_fence_beside_each_other(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(MAX_MEMBERS, 60);
    run_workers(&store, 0, 200, fence_in_pairs, workers);
    assert_all(workers, 0, MAX_MEMBERS, CLAB_OK);
    assert_true(ends(&store));
}

static int fence_with_one_too_large(struct worker *worker, struct store_client *client)
{
    char mine[8] = "", all[8 * MAX_MEMBERS];
    return pass_fence(client, NULL, 0, 1, mine, worker->member == 2 ? 8 : 4, all);
}

static void test_sizes_that_differ_are_a_mismatch_for_all(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(5, 10);
    const struct capture err = capture_begin(STDERR_FILENO);
    run_workers(&store, 0, 1, fence_with_one_too_large, workers);
    const char *text = capture_end(err);
    assert_all(workers, 0, 5, CLAB_EMISMATCH);
    // Member 2 posts after others, or before them.
    const char *rank = strstr(text, "this rank gives 8 bytes, rank ");
    assert_true(rank ? strstr(rank, " gives 4") && atoi(rank + 30) != 2
                     : strstr(text, "this rank gives 4 bytes, rank 2 gives 8") != NULL);
    assert_true(ends(&store));
}

// The last member is there, but does not come to the fence.
static int fence_but_for_one(struct worker *worker, struct store_client *client)
{
    int all[MAX_MEMBERS];
    if (worker->member == worker->store->ticket.job.nranks - 1) {
        usleep((useconds_t)(worker->rounds * 1000));
        return CLAB_OK;
    }
    return pass_fence(client, NULL, 0, 1, &worker->member, sizeof(int), all);
}

static _Atomic int answered; // members that a fence has answered

// The last member, until all others have their answers: a busy machine gives them late.
static void await_answers(const struct worker *worker)
{
    for (const double start = clab_now(); answered < worker->store->ticket.job.nranks - 1; usleep(1000))
        if (clab_now() - start > TIME_LIMIT)
            return;
}

static int fence_until_others_have_answers(struct worker *worker, struct store_client *client)
{
    int all[MAX_MEMBERS], err = CLAB_OK;
    if (worker->member == worker->store->ticket.job.nranks - 1) {
        await_answers(worker);
    } else {
        err = pass_fence(client, NULL, 0, 1, &worker->member, sizeof(int), all);
        answered++;
    }
    return err;
}

static void test_who_leaves_before_a_fence_ends_it_for_all(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(4, 30);
    const struct capture err = capture_begin(STDERR_FILENO);
    run_workers(&store, 0, 100, fence_but_for_one, workers);
    assert_one_line_with(capture_end(err), "rendezvous: rank 3 has ended");
    assert_all(workers, 0, 3, CLAB_EPEER);
    for (int m = 0; m < 3; m++)
        assert_true(workers[m].seconds < 10);
    assert_true(ends(&store));
}

static void test_who_does_not_come_is_named_once(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(4, 0.3);
    const struct capture err = capture_begin(STDERR_FILENO);
    answered = 0;
    run_workers(&store, 0, 1, fence_until_others_have_answers, workers);
    assert_one_line_with(capture_end(err), "rendezvous: rank 3 of 4 did not arrive within 0.3 s");
    assert_all(workers, 0, 3, CLAB_ETIMEOUT);
    for (int m = 0; m < 3; m++)
        assert_true(workers[m].seconds >= 0.3 && workers[m].seconds < 5);
    assert_true(ends(&store));
}

// The last comes too late, and finds that it has been.
static int fence_partly(struct worker *worker, struct store_client *client)
{
    const int nranks = worker->store->ticket.job.nranks;
    int all[MAX_MEMBERS];
    memset(all, -1, sizeof all);
    const bool is_late = worker->member == nranks - 1;
    if (is_late)
        await_answers(worker);
    const struct clab_fence fence = {.key = 1, .quiet = true};
    const int err =
        store_client_exchange(client, fence, &worker->member, sizeof(int), all, (struct exchange_progress){0});
    answered++;
    for (int m = 0; m < nranks; m++)
        if (all[m] != (is_late == (m == nranks - 1) ? m : -1))
            return CLAB_EWRONG;
    return err;
}

static void test_what_has_come_by_the_deadline_is_given(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(5, 0.3);
    const struct capture err = capture_begin(STDERR_FILENO);
    answered = 0;
    run_workers(&store, 0, 1, fence_partly, workers);
    assert_string_equal(capture_end(err), "");
    assert_all(workers, 0, 5, CLAB_ETIMEOUT);
    assert_true(ends(&store));
}

static int call_off(void *until, bool *busy_p)
{
    *busy_p = true;
    return clab_now() < *(double *)until ? CLAB_OK : CLAB_EPOISONED;
}

static int fence_until_called_off(struct worker *worker, struct store_client *client)
{
    int all[MAX_MEMBERS];
    double until = clab_now() + 0.1;
    if (worker->member == 0)
        usleep(300000);
    const struct exchange_progress progress = {worker->member == 1 ? call_off : NULL, &until};
    return store_client_exchange(client, (struct clab_fence){.key = 1}, &worker->member, sizeof(int), all, progress);
}

static void test_a_fence_can_be_called_off(void **state)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(4, 10);
    run_workers(&store, 0, 1, fence_until_called_off, workers);
    assert_all(workers, 0, 4, CLAB_EPOISONED);
    for (int m = 0; m < 4; m++)
        assert_true(workers[m].seconds < 5);
    assert_true(ends(&store));
}

static int count_up(void *count, bool *busy_p)
{
    ++*(int *)count;
    *busy_p = true;
    return CLAB_OK;
}

static void test_a_wait_does_what_there_is_to_do_meanwhile(void **state)
{
    int all[2], count = 0, mine = 0;
    struct test_store store = open_store(2, 0.3);
    struct store_client *client = join(&store, 0);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int result = store_client_exchange(client, (struct clab_fence){.key = 1}, &mine, sizeof mine, all,
                                             (struct exchange_progress){count_up, &count});
    capture_end(err);
    assert_int_equal(result, CLAB_ETIMEOUT);
    assert_in_range(count, 5, 400); // naps of 1 ms, more where others have the cores, but no spinning
    store_client_leave(client);
    assert_true(ends(&store));
}

static int hear_a_while_later(void *client, bool *busy_p)
{
    struct clab_notice notice;
    usleep(20000); // by now all have come
    while (store_client_next_notice(client, &notice))
        ;
    *busy_p = false;
    return CLAB_OK;
}

// Notices and answers come over the same connection: who hears reads both, and must not sleep then.
static void test_an_answer_that_meanwhile_reads_ends_the_wait(void **state)
{
    struct test_store store = open_store(1, 3);
    struct store_client *client = join(&store, 0);
    const struct exchange_progress progress = {hear_a_while_later, client};
    const double start = clab_now();
    int mine = 7, all = 0;
    assert_int_equal(store_client_exchange(client, (struct clab_fence){.key = 1}, &mine, sizeof mine, &all, progress),
                     CLAB_OK);
    assert_int_equal(all, 7);
    assert_true(clab_now() - start < 2);
    store_client_leave(client);
    assert_true(ends(&store));
}

// ---- notices and presence ------------------------------------------------------------------------------------

static void await_notice(struct store_client *client, struct clab_notice *notice_p)
{
    for (const double start = clab_now(); !store_client_next_notice(client, notice_p); usleep(200))
        if (clab_now() - start > TIME_LIMIT)
            fail_msg("no notice within %g s", TIME_LIMIT);
}

static void test_all_receive_notices_and_departures(void **state)
{
    struct test_store store = open_store(3, 10);
    struct store_client *clients[3] = {join(&store, 0), join(&store, 1), join(&store, 2)};
    const struct clab_notice sent = {CLAB_NOTICE_REVOKED, 1, 2, CLAB_ETIMEOUT, UINT64_C(0xfedcba9876543210)};
    store_client_notify(clients[1], &sent);
    for (int rank = 0; rank < 3; rank++) {
        struct clab_notice received;
        await_notice(clients[rank], &received);
        assert_int_equal(received.kind, CLAB_NOTICE_REVOKED);
        assert_true(received.reporter == 1 && received.culprit == 2 && received.err == CLAB_ETIMEOUT &&
                    received.comm == sent.comm);
    }
    store_client_leave(clients[1]);
    store_client_forget(clients[2]); // as when its process is killed
    for (int i = 0; i < 2; i++) {
        struct clab_notice received;
        await_notice(clients[0], &received);
        assert_int_equal(received.kind, i ? CLAB_NOTICE_LOST : CLAB_NOTICE_LEFT);
        assert_int_equal(received.culprit, 1 + i);
    }
    assert_int_equal(store_client_presence(clients[0], 1), CLAB_LEFT);
    assert_int_equal(store_client_presence(clients[0], 2), CLAB_LOST);
    store_client_leave(clients[0]);
    assert_true(ends(&store));
}

// Seconds for which this thread had a core.
static double computed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_a_look_without_news_is_cheap(void **state)
{
    enum { LOOKS = 1000000 };
    struct clab_notice received;
    struct test_store store = open_store(1, 10);
    struct store_client *client = join(&store, 0);
    const double start = computed();
    for (int i = 0; i < LOOKS; i++)
        assert_false(store_client_next_notice(client, &received));
    assert_true((computed() - start) / LOOKS < 1e-6);
    store_client_leave(client);
    assert_true(ends(&store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_gives_every_rank_every_blob),
        cmocka_unit_test(test_pairs_fence_beside_each_other),
        cmocka_unit_test(test_sizes_that_differ_are_a_mismatch_for_all),
        cmocka_unit_test(test_who_leaves_before_a_fence_ends_it_for_all),
        cmocka_unit_test(test_who_does_not_come_is_named_once),
        cmocka_unit_test(test_what_has_come_by_the_deadline_is_given),
        cmocka_unit_test(test_a_fence_can_be_called_off),
        cmocka_unit_test(test_a_wait_does_what_there_is_to_do_meanwhile),
        cmocka_unit_test(test_an_answer_that_meanwhile_reads_ends_the_wait),
        cmocka_unit_test(test_all_receive_notices_and_departures),
        cmocka_unit_test(test_a_look_without_news_is_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
