// SPDX-License-Identifier: MIT
// What a listener, a thief of recorded messages and a false store get from a job's handshake: nothing. Who listens is a
// proxy between members and the store.

#include "tests/fixtures/store_fixture.h"

#include <ctype.h>
#include <fcntl.h>
#include <netinet/in.h>

#include "core/job/store/proof.h"
#include "tests/fixtures/needs.h"

enum { RECORD_BYTES = 1 << 16, STALL_MS = 2000 };

// ---- a listener ----------------------------------------------------------------------------------------------

struct record {
    unsigned char bytes[RECORD_BYTES];
    size_t n;
};

struct proxy {
    int listener, port, store_port;
    bool withholds;                  // STORE_JOIN does not get through
    struct record said[2], received; // by members (one each, in the order of their coming), by the store
    int nmembers;
    pthread_t thread;
};

static void keep(struct record *record, const unsigned char *bytes, size_t n)
{
    assert_true(record->n + n <= RECORD_BYTES);
    memcpy(record->bytes + record->n, bytes, n);
    record->n += n;
}

static int dial(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

// False: that is the end.
static bool pass(int from, int to, struct record *record, bool withholds)
{
    unsigned char bytes[8192];
    const ssize_t n = recv(from, bytes, sizeof bytes, 0);
    if (n <= 0)
        return false;
    keep(record, bytes, (size_t)n);
    if (withholds && n > 3 && bytes[3] == STORE_JOIN)
        return false;
    return send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

// One member at a time.
static void *run_proxy(void *argument)
{
    struct proxy *proxy = argument;
    for (int member; (member = accept(proxy->listener, NULL, NULL)) >= 0;) {
        const int upstream = dial(proxy->store_port);
        struct record *said = &proxy->said[proxy->withholds ? 0 : proxy->nmembers++ % 2];
        struct pollfd fds[] = {{member, POLLIN, 0}, {upstream, POLLIN, 0}};
        bool is_open = true;
        said->n = 0;
        while (is_open && poll(fds, 2, -1) > 0) {
            if (fds[0].revents)
                is_open = pass(member, upstream, said, proxy->withholds);
            if (is_open && fds[1].revents)
                is_open = pass(upstream, member, &proxy->received, false);
        }
        close(member), close(upstream);
    }
    return NULL;
}

static void open_proxy(struct proxy *proxy, const struct test_store *store, bool withholds)
{
    memset(proxy, 0, sizeof *proxy);
    proxy->withholds = withholds;
    proxy->store_port = store->ticket.port;
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &proxy->listener, &proxy->port), CLAB_OK);
    const int flags = fcntl(proxy->listener, F_GETFL);
    fcntl(proxy->listener, F_SETFL, flags & ~O_NONBLOCK);
    assert_int_equal(pthread_create(&proxy->thread, NULL, run_proxy, proxy), 0);
}

static void close_proxy(struct proxy *proxy)
{
    shutdown(proxy->listener, SHUT_RDWR);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
}

// ---- what was recorded, said once more -----------------------------------------------------------------------

// Message by message, each after the answer to the one before; the kind of the last answer, 0: hung up on.
static int replay(int port, const struct record *record)
{
    const int fd = dial(port);
    unsigned char answer[8192] = {0};
    ssize_t received = 0;
    for (size_t at = 0, bytes; at < record->n; at += bytes) {
        struct store_message m;
        assert_int_equal(store_message_read(record->bytes + at, record->n - at, &m, &bytes), CLAB_OK);
        assert_true(at + bytes <= record->n);
        if (m.kind > STORE_JOIN)
            break; // it should not have come so far
        assert_int_equal(send(fd, record->bytes + at, bytes, MSG_NOSIGNAL), bytes);
        assert_int_equal(poll(&(struct pollfd){fd, POLLIN, 0}, 1, STALL_MS), 1);
        received = recv(fd, answer, sizeof answer, 0);
    }
    close(fd);
    return received > 3 ? answer[3] : 0;
}

static int visit(int port, const struct test_store *store, int member)
{
    struct store_client *client;
    struct test_store seen = *store;
    seen.ticket.port = port;
    CLAB_TRY(try_to_join(&seen, member, &client));
    store_client_leave(client);
    return CLAB_OK;
}

// A member's JOIN is caught before it reaches the store, so that its place is still free.
static void test_a_caught_join_opens_no_door_of_the_same_job(void **state)
{
    static struct proxy proxy;
    struct test_store store = open_store(2, 0.5);
    open_proxy(&proxy, &store, true);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = visit(proxy.port, &store, 1);
    capture_end(log);
    close_proxy(&proxy);
    assert_int_equal(err, CLAB_ETIMEOUT);
    assert_int_equal(replay(store.ticket.port, &proxy.said[0]), STORE_REFUSED);
    assert_int_equal(visit(store.ticket.port, &store, 1), CLAB_OK);
    assert_true(ends(&store));
}

static void test_a_recorded_join_opens_no_door_of_the_next_job(void **state)
{
    static struct proxy proxy;
    struct test_store store = open_store(2, 10);
    open_proxy(&proxy, &store, false);
    assert_int_equal(visit(proxy.port, &store, 1), CLAB_OK);
    close_proxy(&proxy);
    assert_true(ends(&store));
    struct test_store next = open_store(2, 10); // by the same token
    for (int i = 0; i < 100; i++)
        assert_int_equal(replay(next.ticket.port, &proxy.said[0]), STORE_REFUSED);
    assert_int_equal(visit(next.ticket.port, &next, 1), CLAB_OK);
    assert_true(ends(&next));
}

// ---- a thief beside a running job ----------------------------------------------------------------------------

enum { MEMBERS = 4, ROUNDS = 300, REPLAYS = 100 };

struct thief {
    int port;
    const struct record *record;
    int let_in; // times
};

static int fence_often(struct worker *worker, struct store_client *client)
{
    int all[MAX_MEMBERS], mine;
    for (int round = 0; round < worker->rounds; round++) {
        mine = 1000 * round + worker->member;
        CLAB_TRY(pass_fence(client, NULL, 0, (uint64_t)round + 1, &mine, sizeof mine, all));
        for (int m = 0; m < MEMBERS; m++)
            if (all[m] != 1000 * round + m)
                return CLAB_EWRONG;
    }
    return CLAB_OK;
}

static void *run_thief(void *argument)
{
    struct thief *thief = argument;
    for (int i = 0; i < REPLAYS; i++)
        thief->let_in += replay(thief->port, thief->record) != STORE_REFUSED;
    return NULL;
}

// Joins of each rank were recorded in the job before, which had the same token.
static void test_a_running_job_is_not_harmed_by_recorded_joins(void **state)
{
    static struct proxy proxy;
    struct worker workers[MAX_MEMBERS];
    struct thief thieves[2];
    pthread_t threads[2];
    struct test_store before = open_store(MEMBERS, 10);
    open_proxy(&proxy, &before, false);
    for (int member = 0; member < 2; member++)
        assert_int_equal(visit(proxy.port, &before, member), CLAB_OK);
    close_proxy(&proxy);
    assert_true(ends(&before));
    struct test_store store = open_store(MEMBERS, 10);
    for (int i = 0; i < 2; i++) {
        thieves[i] = (struct thief){.port = store.ticket.port, .record = &proxy.said[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_thief, &thieves[i]), 0);
    }
    const struct capture log = capture_begin(STDERR_FILENO); // rank 0 says who was refused
    run_workers(&store, 0, ROUNDS, fence_often, workers);
    const char *text = capture_end(log);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_all(workers, 0, MEMBERS, CLAB_OK);
    assert_int_equal(thieves[0].let_in + thieves[1].let_in, 0);
    assert_text_has(text, "from 127.0.0.1 was refused: its token is another");
    assert_true(ends(&store));
}

// ---- what can be read ----------------------------------------------------------------------------------------

static void assert_nowhere(const struct record *record, const void *what, size_t n)
{
    assert_true(record->n > n);
    assert_null(memmem(record->bytes, record->n, what, n));
}

static void test_the_token_is_nowhere_in_what_is_said(void **state)
{
    static struct proxy proxy;
    struct test_store store = open_store(2, 10);
    const unsigned char *token = store.ticket.job.token;
    char hex[2 * CLAB_TOKEN_BYTES + 1], upper[sizeof hex];
    launcher_hex(token, CLAB_TOKEN_BYTES, hex);
    for (size_t i = 0; i < sizeof hex; i++)
        upper[i] = (char)toupper(hex[i]);
    open_proxy(&proxy, &store, false);
    for (int member = 0; member < 2; member++)
        assert_int_equal(visit(proxy.port, &store, member), CLAB_OK);
    close_proxy(&proxy);
    const struct record *all[] = {&proxy.said[0], &proxy.said[1], &proxy.received};
    for (int i = 0; i < 3; i++) {
        assert_nowhere(all[i], token, CLAB_TOKEN_BYTES);
        assert_nowhere(all[i], hex, 2 * CLAB_TOKEN_BYTES);
        assert_nowhere(all[i], upper, 2 * CLAB_TOKEN_BYTES);
        for (int part = 0; part + 4 <= CLAB_TOKEN_BYTES; part++) // nor four bytes of it in a row
            assert_nowhere(all[i], token + part, 4);
    }
    assert_true(ends(&store));
}

// ---- false stores --------------------------------------------------------------------------------------------

struct fake {
    int listener, port;
    // What it answers to a message.
    struct store_message (*answer)(const struct store_message *received);
    pthread_t thread;
    struct record received;
};

static void *run_fake(void *argument)
{
    struct fake *fake = argument;
    for (int fd; (fd = accept(fake->listener, NULL, NULL)) >= 0; close(fd)) {
        unsigned char bytes[8192];
        for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;) {
            struct store_message received = {0};
            size_t size;
            keep(&fake->received, bytes, (size_t)n);
            assert_int_equal(store_message_read(bytes, (size_t)n, &received, &size), CLAB_OK);
            const struct store_message answer = fake->answer(&received);
            if (answer.kind)
                (void)!send(fd, bytes, store_message_write(&answer, bytes), MSG_NOSIGNAL);
        }
    }
    return NULL;
}

static void assert_seen_through(struct store_message (*answer)(const struct store_message *), int err,
                                const char *words)
{
    struct fake fake = {.answer = answer};
    struct test_store store = {
        .ticket = {.host = "127.0.0.1", .timeout = 1, .job = {.nranks = 2, .token = "a test's token."}}};
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &fake.listener, &store.ticket.port), CLAB_OK);
    fcntl(fake.listener, F_SETFL, fcntl(fake.listener, F_GETFL) & ~O_NONBLOCK);
    assert_int_equal(pthread_create(&fake.thread, NULL, run_fake, &fake), 0);
    struct store_client *client = NULL;
    const double start = clab_now();
    const struct capture log = capture_begin(STDERR_FILENO);
    const int result = try_to_join(&store, 1, &client);
    const char *text = capture_end(log);
    if (client)
        store_client_forget(client);
    shutdown(fake.listener, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    close(fake.listener);
    assert_int_equal(result, err);
    assert_one_line_with(text, words);
    assert_true(clab_now() - start < 3);
    assert_nowhere(&fake.received, store.ticket.job.token, CLAB_TOKEN_BYTES);
}

static struct store_message welcome_at_once(const struct store_message *received)
{
    return (struct store_message){.kind = STORE_WELCOME};
}

static struct store_message any_challenge(const struct store_message *received)
{
    return (struct store_message){.kind = received->kind == STORE_HELLO ? STORE_CHALLENGE : STORE_KINDS};
}

static struct store_message challenge_only(const struct store_message *received)
{
    return received->kind == STORE_HELLO ? any_challenge(received) : (struct store_message){0};
}

static struct store_message welcome_without_proof(const struct store_message *received)
{
    return received->kind == STORE_HELLO ? any_challenge(received) : (struct store_message){.kind = STORE_WELCOME};
}

static struct store_message welcome_by_its_own_proof(const struct store_message *received)
{
    struct store_message welcome = welcome_without_proof(received);
    if (received->kind == STORE_JOIN)
        memcpy(welcome.proof, received->proof, sizeof welcome.proof);
    return welcome;
}

static struct store_message welcome_by_another_token(const struct store_message *received)
{
    static struct store_message hello;
    struct store_message answer = welcome_without_proof(received);
    if (received->kind == STORE_HELLO)
        hello = *received;
    if (received->kind == STORE_JOIN) {
        const struct store_message challenge = any_challenge(&hello);
        const struct store_contact contact = store_contact_of(&hello, &challenge);
        store_prove((const unsigned char *)"another's token", &contact, received, &answer, answer.proof);
    }
    return answer;
}

static struct store_message refuse_without_proof(const struct store_message *received)
{
    const struct store_message refused = {.kind = STORE_REFUSED, .refusal = STORE_OTHER_RANKS, .number = 7};
    return received->kind == STORE_HELLO ? any_challenge(received) : refused;
}

static struct store_message refuse_the_token(const struct store_message *received)
{
    const struct store_message refused = {.kind = STORE_REFUSED, .refusal = STORE_WRONG_TOKEN};
    return received->kind == STORE_HELLO ? any_challenge(received) : refused;
}

static struct store_message refuse_at_once(const struct store_message *received)
{
    return (struct store_message){.kind = STORE_REFUSED, .refusal = STORE_TAKEN};
}

static void test_a_false_store_is_seen_through(void **state)
{
    needs_sodium();
    assert_seen_through(welcome_at_once, CLAB_EINVAL, "is not a commlab job: choose another port");
    assert_seen_through(refuse_at_once, CLAB_EINVAL, "is not a commlab job: choose another port");
    assert_seen_through(welcome_without_proof, CLAB_EINVAL, "is not the job's store: it does not know the token");
    assert_seen_through(welcome_by_its_own_proof, CLAB_EINVAL, "is not the job's store: it does not know the token");
    assert_seen_through(welcome_by_another_token, CLAB_EINVAL, "is not the job's store: it does not know the token");
    assert_seen_through(refuse_without_proof, CLAB_EINVAL, "is not the job's store: it does not know the token");
    assert_seen_through(refuse_the_token, CLAB_EINVAL, "refuses our token: let CLAB_TOKEN, or else");
}

static void test_a_store_that_stalls_is_left_in_time(void **state)
{
    needs_sodium();
    assert_seen_through(challenge_only, CLAB_ETIMEOUT, "no job answers at 127.0.0.1:");
}

// As version 2 did: its members said the token first, and its store received it.
static void test_both_sides_recognize_the_previous_version(void **state)
{
    static const unsigned char join[36] = {'C', 'L', 2, 1, 28};
    unsigned char answer[STORE_FIXED_BYTES];
    struct test_store store = open_store(2, 10);
    const int fd = dial(store.ticket.port);
    assert_int_equal(send(fd, join, sizeof join, MSG_NOSIGNAL), sizeof join);
    assert_true(recv(fd, answer, sizeof answer, 0) > STORE_HEADER_BYTES);
    assert_true(answer[2] == STORE_VERSION && answer[3] == STORE_REFUSED && answer[8] == STORE_OTHER_VERSION);
    close(fd);
    assert_true(ends(&store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_caught_join_opens_no_door_of_the_same_job),
        cmocka_unit_test(test_a_recorded_join_opens_no_door_of_the_next_job),
        cmocka_unit_test(test_a_running_job_is_not_harmed_by_recorded_joins),
        cmocka_unit_test(test_the_token_is_nowhere_in_what_is_said),
        cmocka_unit_test(test_a_false_store_is_seen_through),
        cmocka_unit_test(test_a_store_that_stalls_is_left_in_time),
        cmocka_unit_test(test_both_sides_recognize_the_previous_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
