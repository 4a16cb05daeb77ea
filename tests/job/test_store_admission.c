// SPDX-License-Identifier: MIT
// The store as a process: who may join, who is turned away, and what ends it. Runs late and long.

#include "tests/fixtures/store_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/wait.h>

// ---- who may not join ----------------------------------------------------------------------------------------

static void assert_refused(const struct store_ticket *ticket, int err, const char *words)
{
    struct store_client *client = NULL;
    const struct capture log = capture_begin(STDERR_FILENO);
    const int result = store_client_join(ticket, &client);
    const char *text = capture_end(log);
    assert_int_equal(result, err);
    assert_null(client);
    assert_one_line_with(text, words);
}

static void test_a_refusal_names_the_remedy(void **state)
{
    struct test_store store = open_store(2, 10);
    struct store_client *client = join(&store, 1);
    struct store_ticket ticket = store.ticket;
    ticket.member = 1;
    assert_refused(&ticket, CLAB_EINVAL, "rank 1 has joined the job");
    ticket.member = 0;
    ticket.job.nranks = 3;
    assert_refused(&ticket, CLAB_EINVAL, "has 2 ranks, not 3");
    ticket.job.nranks = 2;
    ticket.job.token[3] ^= 8;
    assert_refused(&ticket, CLAB_EINVAL, "let CLAB_TOKEN, or else ~/.config/commlab/token, be the same");
    store_client_leave(client);
    assert_true(ends(&store));
}

static void test_a_job_that_is_not_there_is_waited_for_until_the_timeout(void **state)
{
    struct store_ticket ticket = {.host = "127.0.0.1", .job = {.nranks = 1}, .timeout = 0.3};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int held = socket(AF_INET, SOCK_STREAM, 0); // a port that nobody else can have, and at which nobody listens
    assert_int_equal(bind(held, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(held, (struct sockaddr *)&address, &bytes), 0);
    ticket.port = ntohs(address.sin_port);
    const double start = clab_now();
    assert_refused(&ticket, CLAB_ETIMEOUT, "no job answers at 127.0.0.1:");
    assert_true(clab_now() - start < 5);
    close(held);
}

static void test_another_service_at_the_port_is_recognized(void **state)
{
    int listener;
    struct store_ticket ticket = {.host = "127.0.0.1", .job = {.nranks = 1}, .timeout = 5};
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &listener, &ticket.port), CLAB_OK);
    const pid_t pid = fork();
    if (pid == 0) {
        poll(&(struct pollfd){listener, POLLIN, 0}, 1, -1);
        const int fd = accept(listener, NULL, NULL);
        _exit(write(fd, "SSH-2.0-OpenSSH_9.2\r\n", 21) != 21 || read(fd, &listener, 4) < 0 || pause());
    }
    close(listener);
    assert_refused(&ticket, CLAB_EINVAL, "is not a commlab job: choose another port");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

// A list's empty words name nobody, nor change what was found out of those that it names.
static void test_a_host_without_a_name_is_none(void **state)
{
    int listener, port, fd = -1;
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &listener, &port), CLAB_OK);
    assert_int_equal(store_connect("", port, 5, &fd), CLAB_ENOENT);
    assert_int_equal(store_connect(",", port, 5, &fd), CLAB_ENOENT);
    assert_int_equal(fd, -1);
    assert_int_equal(store_connect(",127.0.0.1", port, 5, &fd), CLAB_OK);
    close(fd);
    close(listener);
    errno = 0;
    assert_int_equal(store_connect("127.0.0.1,,", port, 5, &fd), CLAB_ESYS);
    assert_int_equal(errno, ECONNREFUSED);
}

static void test_a_port_in_use_is_named_with_the_remedy(void **state)
{
    int listener, port, second = -1;
    assert_int_equal(store_listen("127.0.0.1", 0, "--master", &listener, &port), CLAB_OK);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int result = store_listen("127.0.0.1", port, "--master", &second, &port);
    const char *text = capture_end(log);
    assert_int_equal(result, CLAB_ESYS);
    assert_one_line_with(text, "of 127.0.0.1 is in use");
    assert_text_has(text, "choose another with --master");
    close(listener);
}

// ---- unauthenticated peers -----------------------------------------------------------------------------------

static int dial(const struct test_store *store)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)store->ticket.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

typedef void peer_fn(const struct test_store *store);

static void say_nothing(const struct test_store *store)
{
    enum { CONNECTIONS = 400 };
    for (int i = 0; i < CONNECTIONS; i++)
        dial(store);
    pause();
}

static void speak_slowly(const struct test_store *store)
{
    static const unsigned char hello[] = {'C', 'L', STORE_VERSION, STORE_HELLO, STORE_NONCE_BYTES, 0, 0, 0};
    int fds[100];
    for (int i = 0; i < 100; i++)
        fds[i] = dial(store);
    for (int n = 0; n < 36; n++, usleep(50000))
        for (int i = 0; i < 100; i++)
            (void)!send(fds[i], hello + n % 8, 1, MSG_NOSIGNAL);
    pause();
}

static void talk_nonsense(const struct test_store *store)
{
    for (unsigned round = 0;; round++) {
        unsigned char nonsense[4096];
        for (size_t i = 0; i < sizeof nonsense; i++)
            nonsense[i] = (unsigned char)rand();
        if (round % 2)
            memcpy(nonsense, (unsigned char[]){'C', 'L', STORE_VERSION, (unsigned char)(round % STORE_KINDS)}, 4);
        const int fd = dial(store);
        (void)!send(fd, nonsense, sizeof nonsense, MSG_NOSIGNAL);
        close(fd);
    }
}

static void scan_ports(const struct test_store *store)
{
    for (;;)
        close(dial(store));
}

static void say_and_hear(int fd, const struct store_message *m)
{
    unsigned char bytes[STORE_FIXED_BYTES];
    (void)!send(fd, bytes, store_message_write(m, bytes), MSG_NOSIGNAL);
    (void)!recv(fd, bytes, sizeof bytes, 0);
}

static void guess_tokens(const struct test_store *store)
{
    const struct store_message hello = {.kind = STORE_HELLO};
    for (struct store_message join = {.kind = STORE_JOIN, .nranks = (uint32_t)store->ticket.job.nranks};;) {
        join.proof[rand() % STORE_PROOF_BYTES]++;
        const int fd = dial(store);
        say_and_hear(fd, &hello);
        say_and_hear(fd, &join);
        close(fd);
    }
}

// They have been challenged, and hold their places.
static void say_hello_only(const struct test_store *store)
{
    const struct store_message hello = {.kind = STORE_HELLO};
    for (int i = 0; i < 400; i++)
        say_and_hear(dial(store), &hello);
    pause();
}

static int join_and_fence(struct worker *worker, struct store_client *client)
{
    int all[MAX_MEMBERS];
    CLAB_TRY(pass_fence(client, NULL, 0, 1, &worker->member, sizeof(int), all));
    for (int m = 0; m < worker->store->ticket.job.nranks; m++)
        if (all[m] != m)
            return CLAB_EWRONG;
    return CLAB_OK;
}

static void assert_members_fence_among(peer_fn *peers[], int n)
{
    struct worker workers[MAX_MEMBERS];
    struct test_store store = open_store(8, 20);
    pid_t pids[8];
    for (int i = 0; i < n; i++)
        if ((pids[i] = fork()) == 0) {
            peers[i](&store);
            _exit(0);
        }
    usleep(300000); // for them to get going
    run_workers(&store, 0, 1, join_and_fence, workers);
    for (int i = 0; i < n; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_all(workers, 0, 8, CLAB_OK);
    for (int m = 0; m < 8; m++)
        if (workers[m].seconds > 10)
            fail_msg("rank %d took %g s to join among unauthenticated peers", m, workers[m].seconds);
    assert_true(ends(&store));
}

static void test_members_join_in_time_whoever_else_connects(void **state)
{
    peer_fn *all[] = {say_nothing, speak_slowly, talk_nonsense, scan_ports, guess_tokens, say_hello_only};
    for (int i = 0; i < 6; i++)
        assert_members_fence_among(&all[i], 1);
    assert_members_fence_among(all, 6);
}

static void test_an_unauthenticated_peer_is_closed_after_a_while(void **state)
{
    char byte;
    struct test_store store = open_store(2, 10);
    const int silent = dial(&store), garbled = dial(&store), stalled = dial(&store);
    const double start = clab_now();
    say_and_hear(stalled, &(struct store_message){.kind = STORE_HELLO});
    assert_int_equal(send(garbled, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
    assert_true(recv(garbled, &byte, 1, 0) <= 0);
    assert_true(clab_now() - start < 1);
    assert_true(recv(silent, &byte, 1, 0) <= 0);
    assert_true(clab_now() - start < 7);
    assert_true(recv(stalled, &byte, 1, 0) <= 0); // the challenge has been received, and no answer given
    assert_true(clab_now() - start < 7);
    close(silent), close(garbled), close(stalled);
    assert_true(ends(&store));
}

// ---- ends ----------------------------------------------------------------------------------------------------

// The process that listens at a port of this machine, by what it has open; -1: none.
static pid_t find_store(int port)
{
    char line[256], command[128], pid_text[32] = "";
    snprintf(command, sizeof command, "ss -ltnpH sport = :%d 2>/dev/null", port);
    FILE *ss = popen(command, "r");
    if (!ss)
        return -1;
    const char *at = fgets(line, sizeof line, ss) ? strstr(line, "pid=") : NULL;
    if (at)
        snprintf(pid_text, sizeof pid_text, "%d", atoi(at + 4));
    pclose(ss);
    return *pid_text ? atoi(pid_text) : -1;
}

static void test_the_stores_own_end_is_one_of_all_others(void **state)
{
    int all[3], mine = 0;
    struct clab_notice received;
    struct test_store store = open_store(3, 10);
    struct store_client *client = join(&store, 0);
    const pid_t pid = find_store(store.ticket.port);
    if (pid < 0) {
        print_message("skip: there is no ss that tells who listens\n");
        store_client_leave(client);
        assert_true(ends(&store));
        skip();
    }
    const struct capture err = capture_begin(STDERR_FILENO);
    kill(pid, SIGKILL);
    const double start = clab_now();
    const int result = pass_fence(client, NULL, 0, 1, &mine, sizeof mine, all);
    const double seconds = clab_now() - start;
    const char *text = capture_end(err);
    assert_int_equal(result, CLAB_EPEER);
    assert_true(seconds < 5);
    assert_one_line_with(text, "the connection to the job's store at 127.0.0.1:");
    for (int rank = 1; rank < 3; rank++) {
        assert_true(store_client_next_notice(client, &received));
        assert_true(received.kind == CLAB_NOTICE_LOST && received.culprit == rank);
        assert_int_equal(store_client_presence(client, rank), CLAB_LOST);
    }
    assert_int_equal(pass_fence(client, NULL, 0, 2, &mine, sizeof mine, all), CLAB_EPEER);
    store_client_leave(client);
    assert_true(ends(&store));
}

static void test_a_store_that_nobody_joins_ends_with_its_starter(void **state)
{
    struct test_store store = open_store(3, 10);
    assert_true(ends(&store));
}

static void test_a_store_outlives_its_starter_but_not_its_members(void **state)
{
    struct test_store store = open_store(2, 10);
    struct store_client *client = join(&store, 1);
    shutdown(store.lifeline, SHUT_WR);
    assert_int_equal(poll(&(struct pollfd){store.lifeline, POLLIN, 0}, 1, 300), 0);
    store_client_forget(client);
    assert_true(ends(&store));
}

// What the store has open is its own.
static void test_a_store_holds_nothing_open(void **state)
{
    int pipe_ends[2];
    char byte;
    assert_int_equal(pipe(pipe_ends), 0);
    struct test_store store = open_store(2, 10);
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 0);
    close(pipe_ends[0]);
    assert_true(ends(&store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_names_the_remedy),
        cmocka_unit_test(test_a_job_that_is_not_there_is_waited_for_until_the_timeout),
        cmocka_unit_test(test_another_service_at_the_port_is_recognized),
        cmocka_unit_test(test_a_host_without_a_name_is_none),
        cmocka_unit_test(test_a_port_in_use_is_named_with_the_remedy),
        cmocka_unit_test(test_members_join_in_time_whoever_else_connects),
        cmocka_unit_test(test_an_unauthenticated_peer_is_closed_after_a_while),
        cmocka_unit_test(test_the_stores_own_end_is_one_of_all_others),
        cmocka_unit_test(test_a_store_that_nobody_joins_ends_with_its_starter),
        cmocka_unit_test(test_a_store_outlives_its_starter_but_not_its_members),
        cmocka_unit_test(test_a_store_holds_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
