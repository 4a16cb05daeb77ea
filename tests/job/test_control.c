// SPDX-License-Identifier: MIT
// The control pages among threads, one a slot, so that a thread sanitizer sees every access. Runs late.

#include "tests/fixtures/capture.h"

#include "core/job/pages/control.h"

#include <pthread.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/err.h"

enum { MAX_SLOTS = 16, CORES = 2 };

static struct clab_control *control_new(int nranks)
{
    const size_t bytes = clab_control_bytes(nranks);
    struct clab_control *control = aligned_alloc(4096, bytes);
    assert_non_null(control);
    memset(control, 0, bytes);
    clab_control_init(control, nranks, CORES, 0);
    assert_true(clab_control_is_valid(control, nranks));
    assert_false(clab_control_is_valid(control, nranks + 1));
    return control;
}

struct worker {
    struct clab_control *control;
    int rank;
    double timeout, seconds; // allowed, and taken
    int err;                 // the first that exchange returned
    int rounds;
    size_t bytes; // that rank 0 gives where others give half
};

// Let `body` run at all slots but the `absent` first.
static void run_workers(int nranks, int absent, struct worker workers[], struct worker model, void *(*body)(void *))
{
    pthread_t threads[MAX_SLOTS];
    for (int rank = absent; rank < nranks; rank++) {
        workers[rank] = model;
        workers[rank].rank = rank;
        assert_int_equal(pthread_create(&threads[rank], NULL, body, &workers[rank]), 0);
    }
    for (int rank = absent; rank < nranks; rank++)
        pthread_join(threads[rank], NULL);
}

// Let `body` do 1000 rounds at all slots, or 50 where others have the cores and these take a quarter of a second.
static void run_rounds(int nranks, void *(*body)(void *))
{
    double seconds = 0;
    for (int rounds = 50; rounds <= 1000 && seconds < 0.25; rounds *= 20) {
        const double start = clab_now();
        struct clab_control *control = control_new(nranks);
        struct worker workers[MAX_SLOTS];
        run_workers(nranks, 0, workers, (struct worker){.control = control, .timeout = 60, .rounds = rounds}, body);
        for (int rank = 0; rank < nranks; rank++)
            assert_int_equal(workers[rank].err, CLAB_OK);
        free(control);
        seconds = clab_now() - start;
    }
}

// ---- what exchange returns -----------------------------------------------------------------------------------

// Bytes given in a round: mostly few, sometimes several times what one round of the pages takes; the same at all ranks.
static size_t size_of(int round)
{
    const size_t scattered = (size_t)round * 2654435761U % 4096;
    return round % 50 == 49 ? scattered * 4 : scattered % 200;
}

static unsigned char byte_of(int rank, int round, size_t i)
{
    return (unsigned char)(rank * 31 + round * 7 + (int)i);
}

static struct clab_fence all_at(uint64_t key)
{
    return (struct clab_fence){.key = key};
}

static int check_round(struct clab_rank_slot *slot, int round, unsigned char *mine, unsigned char *all)
{
    const size_t bytes = size_of(round);
    for (size_t i = 0; i < bytes; i++)
        mine[i] = byte_of(slot->rank, round, i);
    CLAB_TRY(clab_slot_exchange(slot, all_at((uint64_t)round), mine, bytes, all));
    for (int rank = 0; rank < (int)slot->control->nranks; rank++)
        for (size_t i = 0; i < bytes; i++)
            if (all[(size_t)rank * bytes + i] != byte_of(rank, round, i))
                return CLAB_EWRONG;
    return CLAB_OK;
}

static void *rounds(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot;
    unsigned char *mine = malloc(4 * 4096), *all = malloc((size_t)MAX_SLOTS * 4 * 4096);
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    for (int round = 0; round < worker->rounds && worker->err == CLAB_OK; round++)
        worker->err = check_round(&slot, round, mine, all);
    clab_slot_leave(&slot);
    free(all);
    free(mine);
    return NULL;
}

static void test_exchange_gives_every_rank_every_blob(void **state)
{
    for (int nranks = 1; nranks <= MAX_SLOTS; nranks++)
        run_rounds(nranks, rounds);
}

// Any ranks may meet, in any order of fences, while others meet elsewhere.
static void *pairs(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot;
    const int nranks = (int)worker->control->nranks;
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    for (int round = 0; round < worker->rounds && worker->err == CLAB_OK; round++) {
        int peer = worker->rank ^ (1 + round % (nranks - 1)), all[2] = {-1, -1}; // a tournament
        int pair[2] = {peer < worker->rank ? peer : worker->rank, peer < worker->rank ? worker->rank : peer};
        struct clab_fence fence = {.ranks = pair, .n = 2, .key = (uint64_t)round * MAX_SLOTS + (uint64_t)pair[0]};
        worker->err = clab_slot_exchange(&slot, fence, &worker->rank, sizeof worker->rank, all);
        if (worker->err == CLAB_OK && (all[0] != pair[0] || all[1] != pair[1]))
            worker->err = CLAB_EWRONG;
    }
    clab_slot_leave(&slot);
    return NULL;
}

static void test_pairs_fence_beside_each_other(void **state)
{
    run_rounds(MAX_SLOTS, pairs);
}

// ---- the board -----------------------------------------------------------------------------------------------

static void *notify_many(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < worker->rounds; i++)
        clab_control_notify(worker->control, &(struct clab_notice){.kind = CLAB_NOTICE_REVOKED,
                                                                   .reporter = worker->rank,
                                                                   .culprit = -1,
                                                                   .err = i & 127,
                                                                   .comm = (uint64_t)i});
    return NULL;
}

static void test_notices_arrive_once_whole_and_in_order(void **state)
{
    enum { REPORTERS = 4, NOTICES = CLAB_BOARD_NOTICES / REPORTERS };
    struct clab_control *control = control_new(REPORTERS);
    struct worker workers[REPORTERS];
    struct clab_notice notice;
    struct clab_read_cursor cursor = {0};
    uint64_t next[REPORTERS] = {0}, count = 0;
    run_workers(REPORTERS, 0, workers, (struct worker){.control = control, .rounds = NOTICES}, notify_many);
    for (; clab_control_next_notice(control, &cursor, &notice); count++) {
        assert_int_equal(notice.kind, CLAB_NOTICE_REVOKED);
        assert_int_equal(notice.culprit, -1);
        assert_int_equal(notice.comm, next[notice.reporter]++);
        assert_int_equal(notice.err, notice.comm & 127);
    }
    assert_int_equal(count, REPORTERS * NOTICES);
    // Who falls behind misses the oldest, and hears the rest.
    run_workers(REPORTERS, 0, workers, (struct worker){.control = control, .rounds = 10 * NOTICES}, notify_many);
    for (count = 0; clab_control_next_notice(control, &cursor, &notice); count++)
        assert_int_equal(notice.err, notice.comm & 127);
    assert_int_equal(count, CLAB_BOARD_NOTICES);
    free(control);
}

static void test_a_writer_that_dies_delays_readers_for_a_second_at_most(void **state)
{
    struct clab_control *control = control_new(2);
    const struct clab_notice lost = {.kind = CLAB_NOTICE_LOST, .culprit = 1};
    struct clab_notice notice;
    struct clab_read_cursor cursor = {0};
    clab_control_notify(control, &lost);
    atomic_fetch_add(&control->posted, 1); // as far as it came
    clab_control_notify(control, &lost);
    assert_true(clab_control_next_notice(control, &cursor, &notice));
    const double start = clab_now();
    while (!clab_control_next_notice(control, &cursor, &notice) && clab_now() - start < 3)
        usleep(1000);
    assert_true(clab_now() - start < 2);
    assert_int_equal(notice.culprit, 1);
    assert_false(clab_control_next_notice(control, &cursor, &notice));
    free(control);
}

// ---- how it fails --------------------------------------------------------------------------------------------

// A slot that is not left: its owner is as good as dead.
static void forget_slot(struct clab_rank_slot *slot, int rank)
{
    for (int i = 0; i < 2 && slot->rank == rank; i++)
        free(slot->last[i].ranks);
}

static void *one_word(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot = {.rank = -1};
    int mine = worker->rank, all[MAX_SLOTS];
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    const double start = clab_now();
    if (worker->err == CLAB_OK)
        worker->err = clab_slot_exchange(&slot, all_at(1), &mine, sizeof mine, all);
    worker->seconds = clab_now() - start;
    forget_slot(&slot, worker->rank);
    return NULL;
}

static void *own_size(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot = {.rank = -1};
    char *mine = calloc(1, worker->bytes), *all = calloc(MAX_SLOTS, worker->bytes);
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    if (worker->err == CLAB_OK)
        worker->err = clab_slot_exchange(&slot, all_at(1), mine, worker->bytes / (worker->rank == 0 ? 1 : 2), all);
    free(all);
    free(mine);
    forget_slot(&slot, worker->rank);
    return NULL;
}

// What is logged while `body` runs.
static char *logged(int nranks, int absent, struct worker workers[], struct worker model, void *(*body)(void *))
{
    static char text[4096];
    FILE *file = tmpfile();
    const int stderr_copy = dup(STDERR_FILENO);
    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    run_workers(nranks, absent, workers, model, body);
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void test_timeout_is_kept_and_names_who_is_missing(void **state)
{
    struct clab_control *control = control_new(5);
    struct worker workers[5];
    const char *text = logged(5, 2, workers, (struct worker){.control = control, .timeout = 1}, one_word);
    assert_non_null(strstr(text, "ranks 0, 1 of 5"));
    assert_int_equal(lines(text), 1);
    for (int rank = 2; rank < 5; rank++) {
        assert_int_equal(workers[rank].err, CLAB_ETIMEOUT);
        assert_true(workers[rank].seconds > 0.9 && workers[rank].seconds < 10);
    }
    // Who comes late fails at once, in the same way: the others have not met it.
    workers[0] = (struct worker){.control = control, .timeout = 60};
    one_word(&workers[0]);
    assert_int_equal(workers[0].err, CLAB_ETIMEOUT);
    assert_true(workers[0].seconds < 10);
    free(control);
}

static void test_many_missing_ranks_are_counted(void **state)
{
    struct clab_control *control = control_new(16);
    struct worker workers[16];
    const char *text = logged(16, 12, workers, (struct worker){.control = control, .timeout = 1}, one_word);
    assert_non_null(strstr(text, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 4 more of 16"));
    free(control);
}

// Rank 0 does not come, to two fences; nothing is said of it.
static void *partly(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot = {.rank = -1};
    int mine = worker->rank, all[MAX_SLOTS];
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    for (uint64_t key = 1; key <= 4; key++) {
        struct clab_fence fence = {.key = key, .quiet = true};
        memset(all, -1, sizeof all);
        if (clab_slot_exchange(&slot, fence, &mine, sizeof mine, all) != CLAB_ETIMEOUT)
            worker->err = CLAB_EWRONG;
        for (int rank = 0; rank < (int)slot.control->nranks; rank++)
            if (all[rank] != (rank == 0 ? -1 : rank))
                worker->err = CLAB_EWRONG;
    }
    forget_slot(&slot, worker->rank);
    return NULL;
}

static void test_what_has_come_by_the_deadline_is_given(void **state)
{
    struct clab_control *control = control_new(4);
    struct worker workers[4], model = {.control = control, .timeout = 0.5};
    const double start = clab_now();
    assert_string_equal(logged(4, 1, workers, model, partly), "");
    assert_true(clab_now() - start < 4 * 0.5 + 5); // nobody waits for rank 0 to read what was posted
    for (int rank = 1; rank < 4; rank++)
        assert_int_equal(workers[rank].err, CLAB_OK);
    free(control);
}

// Rank 1 hears of something else, a while after it has begun to wait.
static int call_off(void *of, bool *busy_p)
{
    const double *until = of;
    *busy_p = true;
    return clab_now() < *until ? CLAB_OK : CLAB_EPOISONED;
}

static void *called_off(void *argument)
{
    struct worker *worker = argument;
    struct clab_rank_slot slot;
    double until;
    int mine = worker->rank, all[MAX_SLOTS];
    worker->err = clab_slot_take(worker->control, worker->rank, worker->timeout, &slot);
    if (worker->rank == 1) {
        slot.progress.meanwhile = call_off;
        slot.progress.of = &until;
    }
    const double start = clab_now();
    until = start + 0.1;
    if (worker->err == CLAB_OK)
        worker->err = clab_slot_exchange(&slot, all_at(1), &mine, sizeof mine, all);
    worker->seconds = clab_now() - start;
    forget_slot(&slot, worker->rank);
    return NULL;
}

// Ranks 2 and 3 do not wait for rank 1, from which they have heard; they wait for rank 0, for longer than rank 1 does.
static void test_a_fence_can_be_called_off(void **state)
{
    struct clab_control *control = control_new(4);
    struct worker workers[4];
    run_workers(4, 1, workers, (struct worker){.control = control, .timeout = 2}, called_off);
    assert_int_equal(workers[1].err, CLAB_EPOISONED);
    assert_true(workers[1].seconds >= 0.05 && workers[1].seconds < 1.9);
    for (int rank = 2; rank < 4; rank++)
        assert_int_equal(workers[rank].err, CLAB_ETIMEOUT);
    // Who comes now finds that it has been.
    workers[0] = (struct worker){.control = control, .timeout = 60};
    one_word(&workers[0]);
    assert_int_equal(workers[0].err, CLAB_EPOISONED);
    free(control);
}

static void *mark_first_ended(void *argument)
{
    struct clab_control *control = argument;
    usleep(100 * 1000); // so that the others sleep
    clab_control_mark_ended(control, 0, true);
    return NULL;
}

static void test_death_wakes_sleepers(void **state)
{
    struct clab_control *control = control_new(4);
    struct worker workers[4];
    pthread_t killer;
    assert_int_equal(clab_control_presence(control, 0), CLAB_EXPECTED);
    assert_int_equal(pthread_create(&killer, NULL, mark_first_ended, control), 0);
    const char *text = logged(4, 1, workers, (struct worker){.control = control, .timeout = 60}, one_word);
    pthread_join(killer, NULL);
    assert_non_null(strstr(text, "rank 0 has ended"));
    assert_int_equal(lines(text), 1);
    assert_int_equal(clab_control_presence(control, 0), CLAB_LOST);
    for (int rank = 1; rank < 4; rank++) {
        assert_int_equal(workers[rank].err, CLAB_EPEER);
        assert_true(workers[rank].seconds < 10);
    }
    free(control);
}

static void test_sizes_that_differ_are_refused_at_every_rank(void **state)
{
    static const size_t sizes[] = {2, 8192}; // of the second, what goes first is of the same size
    for (int i = 0; i < 2; i++) {
        struct clab_control *control = control_new(3);
        struct worker workers[3], model = {.control = control, .timeout = 60, .bytes = sizes[i]};
        assert_int_equal(lines(logged(3, 0, workers, model, own_size)), 1);
        for (int rank = 0; rank < 3; rank++)
            assert_int_equal(workers[rank].err, CLAB_EMISMATCH);
        free(control);
    }
}

// ---- slots ---------------------------------------------------------------------------------------------------

static void test_leaving_is_no_death_and_ending_without_it_is(void **state)
{
    struct clab_control *control = control_new(2);
    struct clab_rank_slot slot;
    assert_int_equal(clab_slot_take(control, 0, 1, &slot), CLAB_OK);
    clab_slot_leave(&slot);
    assert_false(clab_control_is_used(control));
    clab_control_mark_ended(control, 0, false);
    assert_int_equal(clab_control_presence(control, 0), CLAB_LEFT);
    assert_int_equal(clab_slot_take(control, 1, 1, &slot), CLAB_OK);
    assert_true(clab_control_is_used(control));
    clab_control_mark_ended(control, 1, false); // with status 0, but in the midst of the job
    assert_int_equal(clab_control_presence(control, 1), CLAB_LOST);
    free(control);
}

static void test_a_slot_is_taken_once(void **state)
{
    struct clab_control *control = control_new(2);
    struct clab_rank_slot slot, untouched = {.rank = 77};
    assert_int_equal(clab_slot_take(control, 1, 1, &slot), CLAB_OK);
    assert_int_equal(clab_slot_take(control, 1, 1, &untouched), CLAB_EINVAL); // each of these is logged
    assert_int_equal(clab_slot_take(control, 2, 1, &untouched), CLAB_EINVAL);
    assert_int_equal(clab_slot_take(control, -1, 1, &untouched), CLAB_EINVAL);
    assert_int_equal(untouched.rank, 77);
    clab_slot_leave(&slot);
    assert_int_equal(clab_slot_take(control, 1, 1, &slot), CLAB_EINVAL);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_gives_every_rank_every_blob),
        cmocka_unit_test(test_pairs_fence_beside_each_other),
        cmocka_unit_test(test_notices_arrive_once_whole_and_in_order),
        cmocka_unit_test(test_a_writer_that_dies_delays_readers_for_a_second_at_most),
        cmocka_unit_test(test_timeout_is_kept_and_names_who_is_missing),
        cmocka_unit_test(test_many_missing_ranks_are_counted),
        cmocka_unit_test(test_what_has_come_by_the_deadline_is_given),
        cmocka_unit_test(test_a_fence_can_be_called_off),
        cmocka_unit_test(test_death_wakes_sleepers),
        cmocka_unit_test(test_sizes_that_differ_are_refused_at_every_rank),
        cmocka_unit_test(test_leaving_is_no_death_and_ending_without_it_is),
        cmocka_unit_test(test_a_slot_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
