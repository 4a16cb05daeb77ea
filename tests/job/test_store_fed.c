// SPDX-License-Identifier: MIT
// The store without sockets, fed with bytes.

#include "tests/fixtures/store_any.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/job/store/proof.h"
#include "core/job/store/job_status.h"
#include "tests/fixtures/needs.h"

static const unsigned char token[CLAB_TOKEN_BYTES] = "0123456789abcde",
                           wrong_token[CLAB_TOKEN_BYTES] = "0123456789abcdx";

// ---- members -------------------------------------------------------------------------------------------------

static struct store *store_new(int nranks, int nnodes)
{
    needs_sodium();
    struct store_job job = {.nranks = nranks, .nnodes = nnodes};
    memcpy(job.token, token, sizeof job.token);
    struct store *store = store_create(&job);
    assert_non_null(store);
    return store;
}

static int say(struct store_connection *connection, const struct store_message *m)
{
    const size_t n = write_whole(m);
    for (size_t i = 0; i < n; i++) { // as slowly as can be
        const int err = store_receive(connection, bytes + i, 1);
        if (err)
            return err;
    }
    return CLAB_OK;
}

// The next message to a connection; its kind is 0 if there is none.
static struct store_message answer_to(struct store_connection *connection)
{
    static unsigned char out[1 << 20];
    static struct store_connection *reader;
    static size_t n, taken;
    struct store_message m = {0};
    const unsigned char *more;
    if (reader != connection)
        n = taken = 0;
    reader = connection;
    for (size_t part; (part = store_output(connection, &more)) > 0; n += part) {
        memcpy(out + n, more, part);
        store_sent(connection, part);
    }
    size_t size;
    assert_int_equal(store_message_read(out + taken, n - taken, &m, &size), CLAB_OK);
    taken = size <= n - taken ? taken + size : taken;
    if (taken == n)
        n = taken = 0;
    return m;
}

static struct store_message joining(int member, int nranks, int nnodes)
{
    struct store_message m = {
        .kind = STORE_JOIN, .member = member, .nranks = (uint32_t)nranks, .nnodes = (uint32_t)nnodes};
    return m;
}

// An unauthenticated peer that has said hello, and has been challenged.
static struct store_connection *greeted(struct store *store, struct store_contact *contact_p)
{
    struct store_connection *connection = store_accept(store, "192.0.2.7");
    const struct store_message hello = any(STORE_HELLO);
    assert_int_equal(say(connection, &hello), CLAB_OK);
    const struct store_message challenge = answer_to(connection);
    assert_int_equal(challenge.kind, STORE_CHALLENGE);
    assert_false(store_has_joined(connection) || store_is_over(connection));
    *contact_p = store_contact_of(&hello, &challenge);
    return connection;
}

// Said by who knows `by`; the store's answer.
static struct store_message answer_to_join(struct store_connection *connection, struct store_contact contact,
                                           struct store_message join, const unsigned char *by)
{
    store_prove(by, &contact, &join, NULL, join.proof);
    assert_int_equal(say(connection, &join), CLAB_OK);
    const struct store_message answer = answer_to(connection);
    const bool is_proved = store_is_proved(token, &contact, &join, &answer);
    assert_true(is_proved == (answer.kind == STORE_WELCOME || answer.refusal != STORE_WRONG_TOKEN));
    return answer;
}

static struct store_connection *join(struct store *store, int member, int nranks, int nnodes)
{
    struct store_contact contact;
    struct store_connection *connection = greeted(store, &contact);
    const struct store_message answer = answer_to_join(connection, contact, joining(member, nranks, nnodes), token);
    assert_int_equal(answer.kind, STORE_WELCOME);
    assert_true(store_has_joined(connection));
    return connection;
}

static void assert_refused_by(struct store *store, const unsigned char *by, struct store_message m,
                              enum store_refusal refusal, int number)
{
    struct store_contact contact;
    struct store_connection *connection = greeted(store, &contact);
    const struct store_message answer = answer_to_join(connection, contact, m, by);
    assert_int_equal(answer.kind, STORE_REFUSED);
    assert_int_equal(answer.refusal, refusal);
    assert_int_equal(answer.number, number);
    assert_true(store_is_over(connection) && !store_has_joined(connection));
    store_disconnect(connection, false);
}

static void assert_join_refused(struct store *store, struct store_message m, enum store_refusal refusal, int number)
{
    assert_refused_by(store, token, m, refusal, number);
}

static void assert_token_refused(struct store *store, struct store_message m)
{
    assert_refused_by(store, wrong_token, m, STORE_WRONG_TOKEN, 0);
}

static void test_a_refused_member_receives_the_reason(void **state)
{
    struct store *store = store_new(3, 2);
    assert_token_refused(store, joining(1, 3, 0));
    assert_token_refused(store, joining(5, 4, 1)); // and is told nothing else
    assert_join_refused(store, joining(1, 4, 0), STORE_OTHER_RANKS, 3);
    assert_join_refused(store, joining(4, 3, 1), STORE_OTHER_NODES, 2);
    assert_join_refused(store, joining(5, 3, 2), STORE_NO_SUCH_MEMBER, 0);
    struct store_connection *connection = join(store, 1, 3, 0);
    assert_join_refused(store, joining(1, 3, 0), STORE_TAKEN, 0);
    store_disconnect(connection, false);
    assert_join_refused(store, joining(1, 3, 0), STORE_TAKEN, 0);
    store_destroy(store);
}

// To the first launcher alone, and at most a few lines.
static void test_refusals_are_sent_to_the_first_node(void **state)
{
    struct store *store = store_new(2, 2);
    struct store_connection *rank = join(store, 0, 2, 0), *first = join(store, 2, 2, 2), *second = join(store, 3, 2, 2);
    const struct store_message m = joining(1, 2, 0);
    const unsigned char *at;
    for (int i = 0; i < 100; i++)
        assert_token_refused(store, m);
    const struct store_message received = answer_to(first);
    assert_int_equal(received.kind, STORE_TURNED_AWAY);
    assert_int_equal(received.refusal, STORE_WRONG_TOKEN);
    assert_int_equal(received.number, 99);
    assert_string_equal(received.address, "192.0.2.7");
    assert_token_refused(store, m);
    assert_int_equal(store_output(first, &at), 0); // not yet
    assert_int_equal(store_output(second, &at), 0);
    assert_int_equal(store_output(rank, &at), 0);
    store_disconnect(rank, false), store_disconnect(first, false), store_disconnect(second, false);
    store_destroy(store);
}

static void test_refusals_are_sent_ever_more_rarely(void **state)
{
    struct store_refusals refusals = {0};
    struct store_message m;
    int said = 0;
    for (int second = 0; second < 24 * 3600; second++) {
        store_refusals_add(&refusals, STORE_WRONG_TOKEN, "192.0.2.7");
        said += store_refusals_take(&refusals, 1e6 + second, &m);
    }
    assert_in_range(said, 3, 9);
}

// Neither before the challenge, nor instead of the answer to it.
static void test_unauthenticated_peers_may_send_only_hello_and_join(void **state)
{
    struct store_contact contact;
    struct store *store = store_new(2, 1);
    for (enum store_kind kind = STORE_CHALLENGE; kind < STORE_KINDS; kind++) {
        struct store_connection *connection = store_accept(store, "192.0.2.7");
        const struct store_message m = any(kind);
        assert_int_equal(say(connection, &m), CLAB_EPARSE);
        store_disconnect(connection, false);
    }
    for (enum store_kind kind = STORE_HELLO; kind < STORE_KINDS; kind++) {
        struct store_connection *connection = greeted(store, &contact);
        const struct store_message m = any(kind);
        if (kind != STORE_JOIN)
            assert_int_equal(say(connection, &m), CLAB_EPARSE);
        store_disconnect(connection, false);
    }
    store_destroy(store);
}

// The challenge is another one for each connection, and the job's id for each store.
static void test_no_two_challenges_are_alike(void **state)
{
    struct store *store = store_new(2, 1), *other = store_new(2, 1);
    struct store_contact first, second, third;
    store_disconnect(greeted(store, &first), false);
    store_disconnect(greeted(store, &second), false);
    store_disconnect(greeted(other, &third), false);
    assert_memory_equal(first.job, second.job, sizeof first.job);
    assert_memory_not_equal(first.job, third.job, sizeof first.job);
    assert_memory_not_equal(first.of_store, second.of_store, sizeof first.of_store);
    store_destroy(store), store_destroy(other);
}

static void test_another_version_is_named(void **state)
{
    struct store *store = store_new(2, 0);
    struct store_connection *connection = store_accept(store, "192.0.2.7");
    static const unsigned char hello[] = {'C', 'L', STORE_VERSION + 1, STORE_JOIN, 200, 0, 0, 0};
    assert_int_equal(store_receive(connection, hello, sizeof hello), CLAB_OK);
    const struct store_message answer = answer_to(connection);
    assert_int_equal(answer.kind, STORE_REFUSED);
    assert_int_equal(answer.refusal, STORE_OTHER_VERSION);
    store_disconnect(connection, false);
    store_destroy(store);
}

static void assert_gone(struct store_connection *connection, int rank, enum clab_notice_kind kind)
{
    const struct store_message m = answer_to(connection);
    assert_int_equal(m.kind, STORE_GONE);
    assert_int_equal(m.notice.culprit, rank);
    assert_int_equal(m.notice.kind, kind);
}

static void test_all_receive_departures_and_notices_in_one_order(void **state)
{
    struct store *store = store_new(4, 0);
    struct store_connection *connections[4];
    for (int rank = 0; rank < 4; rank++)
        connections[rank] = join(store, rank, 4, 0);
    const struct store_message sent = any(STORE_NOTICE), leave = {.kind = STORE_LEAVE};
    store_disconnect(connections[1], false);
    assert_int_equal(say(connections[0], &sent), CLAB_OK);
    assert_int_equal(say(connections[3], &leave), CLAB_OK);
    assert_true(store_is_over(connections[3]));
    store_disconnect(connections[3], false);
    for (int rank = 0; rank < 4; rank += 2) {
        assert_gone(connections[rank], 1, CLAB_NOTICE_LOST);
        assert_int_equal(answer_to(connections[rank]).kind, STORE_NOTICE);
        assert_gone(connections[rank], 3, CLAB_NOTICE_LEFT);
        assert_int_equal(answer_to(connections[rank]).kind, 0);
    }
    store_disconnect(connections[0], false);
    store_disconnect(connections[2], false);
    store_destroy(store);
}

static void test_a_late_member_is_welcomed_before_it_receives_notices(void **state)
{
    struct store *store = store_new(3, 0);
    store_disconnect(join(store, 2, 3, 0), false);
    struct store_connection *late = join(store, 1, 3, 0); // whose first answer is the welcome
    assert_gone(late, 2, CLAB_NOTICE_LOST);
    store_disconnect(late, false);
    store_destroy(store);
}

static void test_who_does_not_listen_is_cut_off(void **state)
{
    struct store *store = store_new(2, 0);
    struct store_connection *slow = join(store, 0, 2, 0), *reporter = join(store, 1, 2, 0);
    const struct store_message sent = any(STORE_NOTICE);
    for (int i = 0; i < STORE_NOTICES; i++) {
        assert_false(store_is_over(slow));
        assert_int_equal(say(reporter, &sent), CLAB_OK);
        while (answer_to(reporter).kind)
            ;
    }
    assert_true(store_is_over(slow));
    assert_false(store_is_over(reporter));
    store_disconnect(slow, false);
    store_disconnect(reporter, false);
    store_destroy(store);
}

static void test_a_slow_member_receives_nothing_out_of_order(void **state)
{
    struct store *store = store_new(2, 0);
    struct store_connection *slow = join(store, 0, 2, 0), *reporter = join(store, 1, 2, 0);
    struct store_message sent = any(STORE_NOTICE), received;
    for (int i = 1; i <= STORE_NOTICES + STORE_NOTICES / 2; i++) { // half of them over those that were first
        sent.notice.comm = (uint64_t)i;
        assert_int_equal(say(reporter, &sent), CLAB_OK);
        while (answer_to(reporter).kind)
            ;
    }
    for (uint64_t last = 0; (received = answer_to(slow)).kind; last = received.notice.comm)
        assert_true(received.notice.comm == last + 1);
    store_disconnect(slow, false);
    store_disconnect(reporter, false);
    store_destroy(store);
}

static struct store_message post(uint64_t key, const void *text)
{
    return (struct store_message){
        .kind = STORE_POST, .key = key, .whole = 2, .bytes = 2, .tail = text, .tail_bytes = 2};
}

static void test_a_member_posts_once_at_a_time(void **state)
{
    struct store *store = store_new(2, 0);
    struct store_connection *connection = join(store, 0, 2, 0);
    const struct store_message first = post(1, "aa"), second = post(2, "bb");
    assert_int_equal(say(connection, &first), CLAB_OK);
    assert_int_equal(say(connection, &second), CLAB_EPARSE);
    store_disconnect(connection, false);
    store_destroy(store);
}

static void test_what_was_posted_stays_when_its_member_is_lost(void **state)
{
    struct store *store = store_new(2, 0);
    struct store_connection *early = join(store, 0, 2, 0), *late = join(store, 1, 2, 0);
    const struct store_message first = post(1, "aa"), second = post(1, "bb"), third = post(2, "cc");
    assert_int_equal(say(early, &first), CLAB_OK);
    store_disconnect(early, false);
    assert_int_equal(say(late, &second), CLAB_OK);
    assert_gone(late, 0, CLAB_NOTICE_LOST);
    struct store_message answer = answer_to(late);
    assert_int_equal(answer.kind, STORE_GATHERED);
    assert_int_equal(answer.err, CLAB_OK);
    assert_memory_equal(answer.tail, "aabb", 4);
    assert_int_equal(say(late, &third), CLAB_OK);
    answer = answer_to(late);
    assert_int_equal(answer.err, CLAB_EPEER);
    assert_int_equal(answer.culprit, 0);
    assert_true(answer.says);
    store_disconnect(late, false);
    store_destroy(store);
}

// ---- nodes ---------------------------------------------------------------------------------------------------

static void assert_end(struct store_connection *node, int of_node, int rank, int status)
{
    struct store_message m;
    while ((m = answer_to(node)).kind && m.kind != STORE_END)
        ;
    assert_int_equal(m.kind, STORE_END);
    assert_int_equal(m.node, of_node);
    assert_int_equal(m.member, rank);
    assert_int_equal(m.status, status);
}

static void test_the_first_rank_that_fails_ends_the_job_of_all_nodes(void **state)
{
    struct store *store = store_new(5, 2); // ranks 0 to 2, and 3 and 4
    struct store_connection *nodes[] = {join(store, 5, 5, 2), join(store, 6, 5, 2)};
    const struct store_message others = {.kind = STORE_ENDED, .member = 2, .status = 1},
                               own = {.kind = STORE_ENDED, .member = 3, .status = 7},
                               again = {.kind = STORE_ENDED, .member = 4, .status = 9};
    assert_false(store_has_ended(store));
    assert_int_equal(say(nodes[1], &own), CLAB_OK);
    assert_int_equal(say(nodes[1], &again), CLAB_OK);
    assert_true(store_has_ended(store));
    assert_end(nodes[0], 1, 3, 7);
    assert_end(nodes[1], 1, 3, 7);
    assert_int_equal(say(nodes[1], &others), CLAB_EPARSE); // not its rank
    store_disconnect(nodes[0], false);
    store_disconnect(nodes[1], false);
    store_destroy(store);
}

// Rank 3's connection has ended, and rank 0 fails of that before the launcher of rank 3 has seen how it has ended.
static void assert_held_until(const struct store_message *word, int of_node, int rank, int status)
{
    struct store *store = store_new(4, 2); // ranks 0 and 1, and 2 and 3
    struct store_connection *nodes[] = {join(store, 4, 4, 2), join(store, 5, 4, 2)};
    const struct store_message failed = {.kind = STORE_ENDED, .member = 0, .status = 1},
                               failed_too = {.kind = STORE_ENDED, .member = 2, .status = 2};
    store_disconnect(join(store, 3, 4, 0), false);
    const double start = clab_now();
    assert_int_equal(say(nodes[0], &failed), CLAB_OK);
    assert_int_equal(say(nodes[1], &failed_too), CLAB_OK);
    assert_false(store_has_ended(store));
    assert_true(store_next(store) >= start + JOB_STATUS_PATIENCE &&
                store_next(store) <= clab_now() + JOB_STATUS_PATIENCE);
    assert_int_equal(say(nodes[1], word), CLAB_OK);
    assert_true(store_has_ended(store));
    assert_true(isinf(store_next(store)));
    assert_end(nodes[0], of_node, rank, status);
    assert_end(nodes[1], of_node, rank, status);
    store_disconnect(nodes[0], false);
    store_disconnect(nodes[1], false);
    store_destroy(store);
}

static void test_who_is_lost_decides_the_status_before_those_that_fail_of_it(void **state)
{
    assert_held_until(&(struct store_message){.kind = STORE_ENDED, .member = 3, .status = 137}, 1, 3, 137);
    assert_held_until(&(struct store_message){.kind = STORE_ENDED, .member = 3, .status = 0}, 0, 0, 1);
}

static void test_who_is_lost_and_lives_is_not_waited_for_long(void **state)
{
    struct store_job_status job_status;
    store_job_status_init(&job_status);
    store_job_status_await(&job_status, 3);
    store_job_status_report(&job_status, 0, 0, 7, 100);
    store_job_status_report(&job_status, 0, 1, 8, 100 + JOB_STATUS_PATIENCE / 2);
    store_job_status_poll(&job_status, 100 + 0.99 * JOB_STATUS_PATIENCE);
    assert_false(job_status.is_decided);
    store_job_status_poll(&job_status, 100 + JOB_STATUS_PATIENCE);
    assert_true(job_status.is_decided);
    assert_int_equal(job_status.end.member, 0);
    assert_int_equal(job_status.end.status, 7);
}

static void test_a_job_ends_well_when_all_nodes_are_done(void **state)
{
    struct store *store = store_new(2, 2);
    struct store_connection *nodes[] = {join(store, 2, 2, 2), join(store, 3, 2, 2)};
    const struct store_message done = {.kind = STORE_DONE};
    assert_int_equal(say(nodes[1], &done), CLAB_OK);
    assert_false(store_has_ended(store));
    assert_int_equal(say(nodes[0], &done), CLAB_OK);
    assert_end(nodes[0], -1, -1, 0);
    assert_end(nodes[1], -1, -1, 0);
    store_disconnect(nodes[0], false);
    store_disconnect(nodes[1], false);
    store_destroy(store);
}

static void assert_node_1_is_lost(bool by_its_launcher)
{
    struct store *store = store_new(4, 2);
    struct store_connection *nodes[] = {join(store, 4, 4, 2), join(store, 5, 4, 2)}, *survivor = join(store, 0, 4, 0),
                            *lost = join(store, 2, 4, 0);
    store_disconnect(by_its_launcher ? nodes[1] : lost, !by_its_launcher);
    assert_true(store_is_over(by_its_launcher ? lost : nodes[1]));
    assert_gone(survivor, 2, CLAB_NOTICE_LOST);
    assert_gone(survivor, 3, CLAB_NOTICE_LOST);
    assert_end(nodes[0], 1, -1, 1);
    store_disconnect(by_its_launcher ? lost : nodes[1], false);
    store_disconnect(nodes[0], false);
    store_disconnect(survivor, false);
    store_destroy(store);
}

static void test_all_ranks_of_a_lost_node_are_lost_at_once(void **state)
{
    assert_node_1_is_lost(true);
    assert_node_1_is_lost(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_member_receives_the_reason),
        cmocka_unit_test(test_refusals_are_sent_to_the_first_node),
        cmocka_unit_test(test_refusals_are_sent_ever_more_rarely),
        cmocka_unit_test(test_unauthenticated_peers_may_send_only_hello_and_join),
        cmocka_unit_test(test_no_two_challenges_are_alike),
        cmocka_unit_test(test_another_version_is_named),
        cmocka_unit_test(test_all_receive_departures_and_notices_in_one_order),
        cmocka_unit_test(test_a_late_member_is_welcomed_before_it_receives_notices),
        cmocka_unit_test(test_who_does_not_listen_is_cut_off),
        cmocka_unit_test(test_a_slow_member_receives_nothing_out_of_order),
        cmocka_unit_test(test_a_member_posts_once_at_a_time),
        cmocka_unit_test(test_what_was_posted_stays_when_its_member_is_lost),
        cmocka_unit_test(test_the_first_rank_that_fails_ends_the_job_of_all_nodes),
        cmocka_unit_test(test_who_is_lost_decides_the_status_before_those_that_fail_of_it),
        cmocka_unit_test(test_who_is_lost_and_lives_is_not_waited_for_long),
        cmocka_unit_test(test_a_job_ends_well_when_all_nodes_are_done),
        cmocka_unit_test(test_all_ranks_of_a_lost_node_are_lost_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
