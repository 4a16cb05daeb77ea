// SPDX-License-Identifier: MIT
// The store as a process, with members and with those who would not be: who joins, who meets, what is heard, what ends.
// Runs alone.

#include "job/store_client.h"

#include "capture.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "job/store_socket.h"

enum { MAX_MEMBERS = 16 };
#define PATIENCE 10.0

// ---- a store, and its members as threads ---------------------------------------------------------------------

struct party {
    struct store_ticket ticket; // but for the member
    int lifeline;
};

static struct party open_party(int nranks, double timeout)
{
    int listener;
    struct party party = {.ticket = {.host = "127.0.0.1", .job = {.nranks = nranks, .token = "a test's token."}}};
    party.ticket.timeout = timeout;
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &listener, &party.ticket.port), CLAB_OK);
    assert_int_equal(store_start(&party.ticket.job, listener, &party.lifeline), CLAB_OK);
    close(listener);
    return party;
}

static int try_to_join(const struct party *party, int member, struct store_client **client_p)
{
    struct store_ticket ticket = party->ticket;
    ticket.member = member;
    return store_client_join(&ticket, client_p);
}

static struct store_client *join(const struct party *party, int member)
{
    struct store_client *client = NULL;
    assert_int_equal(try_to_join(party, member, &client), CLAB_OK);
    return client;
}

// Whether the store ends by itself now that nobody needs it.
static bool ends(struct party *party)
{
    char byte;
    shutdown(party->lifeline, SHUT_WR);
    const bool has_ended = poll(&(struct pollfd){party->lifeline, POLLIN, 0}, 1, (int)(PATIENCE * 1e3)) == 1 &&
                           read(party->lifeline, &byte, 1) == 0;
    close(party->lifeline);
    return has_ended;
}

struct player {
    const struct party *party;
    int member, rounds;
    int err;
    double seconds; // that it took
    int (*play)(struct player *, struct store_client *);
};

static void *run_player(void *argument)
{
    struct player *player = argument;
    struct store_client *client;
    const double start = clab_now();
    player->err = try_to_join(player->party, player->member, &client);
    if (player->err == CLAB_OK) {
        player->err = player->play(player, client);
        store_client_leave(client);
    }
    player->seconds = clab_now() - start;
    return NULL;
}

// All members from `first` on play.
static void play(const struct party *party, int first, int rounds, int (*how)(struct player *, struct store_client *),
                 struct player players[MAX_MEMBERS])
{
    pthread_t threads[MAX_MEMBERS];
    const int nranks = party->ticket.job.nranks;
    for (int m = nranks - 1; m >= first; m--) {
        players[m] = (struct player){.party = party, .member = m, .rounds = rounds, .play = how};
        assert_int_equal(pthread_create(&threads[m], NULL, run_player, &players[m]), 0);
    }
    for (int m = first; m < nranks; m++)
        pthread_join(threads[m], NULL);
}

static int meet(struct store_client *client, const int *ranks, int n, uint64_t key, const void *mine, size_t bytes,
                void *all)
{
    const struct clab_meeting meeting = {.ranks = ranks, .n = n, .key = key};
    return store_client_exchange(client, meeting, mine, bytes, all, (struct store_pastime){0});
}

// ---- exchange ------------------------------------------------------------------------------------------------

static size_t size_of(int round)
{
    return round % 20 == 19 ? 3 * STORE_BLOB_BYTES - (size_t)round : (size_t)round * 2654435761u % 300;
}

static int check_rounds(struct player *player, struct store_client *client)
{
    const int nranks = player->party->ticket.job.nranks;
    unsigned char *mine = malloc(4 * STORE_BLOB_BYTES), *all = malloc((size_t)nranks * 4 * STORE_BLOB_BYTES);
    int err = CLAB_OK;
    for (int round = 0; round < player->rounds && !err; round++) {
        const size_t bytes = size_of(round);
        memset(all, 0xee, (size_t)nranks * bytes);
        for (size_t i = 0; i < bytes; i++)
            mine[i] = (unsigned char)(player->member * 31 + round * 7 + (int)i);
        err = meet(client, NULL, 0, (uint64_t)round, mine, bytes, all);
        for (int r = 0; r < nranks && !err; r++)
            for (size_t i = 0; i < bytes && !err; i++)
                err =
                    all[(size_t)r * bytes + i] == (unsigned char)(r * 31 + round * 7 + (int)i) ? CLAB_OK : CLAB_EWRONG;
    }
    free(mine);
    free(all);
    return err;
}

static void assert_all(const struct player players[], int first, int n, int err)
{
    for (int m = first; m < n; m++)
        assert_int_equal(players[m].err, err);
}

static void test_exchange_gives_every_rank_every_blob(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 7, MAX_MEMBERS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct player players[MAX_MEMBERS];
        struct party party = open_party(sizes[i], 60);
        play(&party, 0, 100, check_rounds, players);
        assert_all(players, 0, sizes[i], CLAB_OK);
        assert_true(ends(&party));
    }
}

// Pairs of a tournament, each in an order of its own.
static int meet_in_pairs(struct player *player, struct store_client *client)
{
    const int nranks = player->party->ticket.job.nranks;
    int err = CLAB_OK;
    for (int round = 0; round < player->rounds && !err; round++) {
        const int peer = player->member ^ (1 + round % (nranks - 1));
        const int low = peer < player->member ? peer : player->member, high = peer ^ player->member ^ low;
        const int pair[2] = {round % 2 ? low : high, round % 2 ? high : low};
        int all[2] = {-1, -1};
        err = meet(client, pair, 2, (uint64_t)(round * MAX_MEMBERS + low), &player->member, sizeof(int), all);
        if (!err && (all[0] != pair[0] || all[1] != pair[1]))
            err = CLAB_EWRONG;
    }
    return err;
}

static void test_pairs_meet_beside_each_other(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(MAX_MEMBERS, 60);
    play(&party, 0, 200, meet_in_pairs, players);
    assert_all(players, 0, MAX_MEMBERS, CLAB_OK);
    assert_true(ends(&party));
}

static int meet_with_one_too_large(struct player *player, struct store_client *client)
{
    char mine[8] = "", all[8 * MAX_MEMBERS];
    return meet(client, NULL, 0, 1, mine, player->member == 2 ? 8 : 4, all);
}

static void test_sizes_that_differ_are_a_mismatch_for_all(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(5, 10);
    const struct capture err = capture_begin(STDERR_FILENO);
    play(&party, 0, 1, meet_with_one_too_large, players);
    const char *text = capture_end(err);
    assert_all(players, 0, 5, CLAB_EMISMATCH);
    assert_true(strstr(text, "gives 4 bytes, another 8") || strstr(text, "gives 8 bytes, another 4"));
    assert_true(ends(&party));
}

// The last member is there, but does not come to the meeting.
static int meet_but_for_one(struct player *player, struct store_client *client)
{
    int all[MAX_MEMBERS];
    if (player->member == player->party->ticket.job.nranks - 1) {
        usleep((useconds_t)(player->rounds * 1000));
        return CLAB_OK;
    }
    return meet(client, NULL, 0, 1, &player->member, sizeof(int), all);
}

static void test_who_leaves_before_a_meeting_ends_it_for_all(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(4, 30);
    const struct capture err = capture_begin(STDERR_FILENO);
    play(&party, 0, 100, meet_but_for_one, players);
    assert_one_line_with(capture_end(err), "rendezvous: rank 3 has ended");
    assert_all(players, 0, 3, CLAB_EPEER);
    for (int m = 0; m < 3; m++)
        assert_true(players[m].seconds < 2);
    assert_true(ends(&party));
}

static void test_who_does_not_come_is_named_once(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(4, 0.3);
    const struct capture err = capture_begin(STDERR_FILENO);
    play(&party, 0, 1000, meet_but_for_one, players);
    assert_one_line_with(capture_end(err), "rendezvous: rank 3 of 4 did not arrive within 0.3 s");
    assert_all(players, 0, 3, CLAB_ETIMEOUT);
    for (int m = 0; m < 3; m++)
        assert_true(players[m].seconds >= 0.3 && players[m].seconds < 0.9);
    assert_true(ends(&party));
}

// The last comes too late, and finds that it has been.
static int meet_partly(struct player *player, struct store_client *client)
{
    const int nranks = player->party->ticket.job.nranks;
    int all[MAX_MEMBERS];
    memset(all, -1, sizeof all);
    const bool is_late = player->member == nranks - 1;
    usleep(is_late ? 600000 : 0);
    const struct clab_meeting meeting = {.key = 1, .quiet = true};
    const int err =
        store_client_exchange(client, meeting, &player->member, sizeof(int), all, (struct store_pastime){0});
    for (int m = 0; m < nranks; m++)
        if (all[m] != (is_late == (m == nranks - 1) ? m : -1))
            return CLAB_EWRONG;
    return err;
}

static void test_what_has_come_by_the_deadline_is_given(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(5, 0.3);
    const struct capture err = capture_begin(STDERR_FILENO);
    play(&party, 0, 1, meet_partly, players);
    assert_string_equal(capture_end(err), "");
    assert_all(players, 0, 5, CLAB_ETIMEOUT);
    assert_true(ends(&party));
}

static int call_off(void *until, bool *busy_p)
{
    *busy_p = true;
    return clab_now() < *(double *)until ? CLAB_OK : CLAB_EPOISONED;
}

static int meet_until_called_off(struct player *player, struct store_client *client)
{
    int all[MAX_MEMBERS];
    double until = clab_now() + 0.1;
    if (player->member == 0)
        usleep(300000);
    const struct store_pastime pastime = {player->member == 1 ? call_off : NULL, &until};
    return store_client_exchange(client, (struct clab_meeting){.key = 1}, &player->member, sizeof(int), all, pastime);
}

static void test_a_meeting_can_be_called_off(void **state)
{
    (void)state;
    struct player players[MAX_MEMBERS];
    struct party party = open_party(4, 10);
    play(&party, 0, 1, meet_until_called_off, players);
    assert_all(players, 0, 4, CLAB_EPOISONED);
    for (int m = 0; m < 4; m++)
        assert_true(players[m].seconds < 2);
    assert_true(ends(&party));
}

static int count_up(void *count, bool *busy_p)
{
    ++*(int *)count;
    *busy_p = true;
    return CLAB_OK;
}

static void test_a_wait_does_what_there_is_to_do_meanwhile(void **state)
{
    (void)state;
    int all[2], count = 0, mine = 0;
    struct party party = open_party(2, 0.3);
    struct store_client *client = join(&party, 0);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int result = store_client_exchange(client, (struct clab_meeting){.key = 1}, &mine, sizeof mine, all,
                                             (struct store_pastime){count_up, &count});
    capture_end(err);
    assert_int_equal(result, CLAB_ETIMEOUT);
    assert_in_range(count, 30, 400); // naps of 1 ms at most, but no spinning
    store_client_leave(client);
    assert_true(ends(&party));
}

static int hear_a_while_later(void *client, bool *busy_p)
{
    struct clab_notice notice;
    usleep(20000); // by now all have come
    while (store_client_hear(client, &notice))
        ;
    *busy_p = false;
    return CLAB_OK;
}

// Notices and answers come over the same connection: who hears reads both, and must not sleep then.
static void test_an_answer_that_is_heard_meanwhile_ends_the_wait(void **state)
{
    (void)state;
    struct party party = open_party(1, 3);
    struct store_client *client = join(&party, 0);
    const struct store_pastime pastime = {hear_a_while_later, client};
    const double start = clab_now();
    int mine = 7, all = 0;
    assert_int_equal(
        store_client_exchange(client, (struct clab_meeting){.key = 1}, &mine, sizeof mine, &all, pastime), CLAB_OK);
    assert_int_equal(all, 7);
    assert_true(clab_now() - start < 2);
    store_client_leave(client);
    assert_true(ends(&party));
}

// ---- notices and presence ------------------------------------------------------------------------------------

static void await_notice(struct store_client *client, struct clab_notice *notice_p)
{
    for (const double start = clab_now(); !store_client_hear(client, notice_p); usleep(200))
        if (clab_now() - start > PATIENCE)
            fail_msg("no notice within %g s", PATIENCE);
}

static void test_all_hear_what_is_told_and_who_is_gone(void **state)
{
    (void)state;
    struct party party = open_party(3, 10);
    struct store_client *clients[3] = {join(&party, 0), join(&party, 1), join(&party, 2)};
    const struct clab_notice told = {CLAB_NOTICE_REVOKED, 1, 2, CLAB_ETIMEOUT, UINT64_C(0xfedcba9876543210)};
    store_client_tell(clients[1], &told);
    for (int rank = 0; rank < 3; rank++) {
        struct clab_notice heard;
        await_notice(clients[rank], &heard);
        assert_int_equal(heard.kind, CLAB_NOTICE_REVOKED);
        assert_true(heard.teller == 1 && heard.culprit == 2 && heard.err == CLAB_ETIMEOUT && heard.comm == told.comm);
    }
    store_client_leave(clients[1]);
    store_client_forget(clients[2]); // as when its process is killed
    for (int i = 0; i < 2; i++) {
        struct clab_notice heard;
        await_notice(clients[0], &heard);
        assert_int_equal(heard.kind, i ? CLAB_NOTICE_LOST : CLAB_NOTICE_LEFT);
        assert_int_equal(heard.culprit, 1 + i);
    }
    assert_int_equal(store_client_presence(clients[0], 1), CLAB_LEFT);
    assert_int_equal(store_client_presence(clients[0], 2), CLAB_LOST);
    store_client_leave(clients[0]);
    assert_true(ends(&party));
}

static void test_a_look_without_news_is_cheap(void **state)
{
    (void)state;
    enum { LOOKS = 1000000 };
    struct clab_notice heard;
    struct party party = open_party(1, 10);
    struct store_client *client = join(&party, 0);
    const double start = clab_now();
    for (int i = 0; i < LOOKS; i++)
        assert_false(store_client_hear(client, &heard));
    assert_true((clab_now() - start) / LOOKS < 1e-6);
    store_client_leave(client);
    assert_true(ends(&party));
}

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

static void test_who_is_refused_is_told_what_to_do(void **state)
{
    (void)state;
    struct party party = open_party(2, 10);
    struct store_client *client = join(&party, 1);
    struct store_ticket ticket = party.ticket;
    ticket.member = 1;
    assert_refused(&ticket, CLAB_EINVAL, "rank 1 has joined the job");
    ticket.member = 0;
    ticket.job.nranks = 3;
    assert_refused(&ticket, CLAB_EINVAL, "has 2 ranks, not 3");
    ticket.job.nranks = 2;
    ticket.job.token[3] ^= 8;
    assert_refused(&ticket, CLAB_EINVAL, "let CLAB_TOKEN, or else ~/.config/commlab/token, be the same");
    store_client_leave(client);
    assert_true(ends(&party));
}

static void test_a_job_that_is_not_there_is_waited_for_until_the_timeout(void **state)
{
    (void)state;
    struct party party = open_party(1, 0.3);
    assert_true(ends(&party));
    const double start = clab_now();
    assert_refused(&party.ticket, CLAB_ETIMEOUT, "no job answers at 127.0.0.1:");
    assert_true(clab_now() - start < 1);
}

static void test_another_service_at_the_port_is_told_apart(void **state)
{
    (void)state;
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
    assert_refused(&ticket, CLAB_EINVAL, "is no job of commlab: choose another port");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_a_port_in_use_is_named_with_the_remedy(void **state)
{
    (void)state;
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

// ---- strangers -----------------------------------------------------------------------------------------------

static int dial(const struct party *party)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)party->ticket.port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

typedef void stranger_fn(const struct party *party);

static void say_nothing(const struct party *party)
{
    enum { CONNECTIONS = 400 };
    for (int i = 0; i < CONNECTIONS; i++)
        dial(party);
    pause();
}

static void speak_slowly(const struct party *party)
{
    static const unsigned char hello[] = {'C', 'L', STORE_VERSION, STORE_JOIN, 28, 0, 0, 0};
    int fds[100];
    for (int i = 0; i < 100; i++)
        fds[i] = dial(party);
    for (int n = 0; n < 36; n++, usleep(50000))
        for (int i = 0; i < 100; i++)
            (void)!send(fds[i], hello + n % 8, 1, MSG_NOSIGNAL);
    pause();
}

static void talk_nonsense(const struct party *party)
{
    for (unsigned round = 0;; round++) {
        unsigned char nonsense[4096];
        for (size_t i = 0; i < sizeof nonsense; i++)
            nonsense[i] = (unsigned char)rand();
        if (round % 2)
            memcpy(nonsense, (unsigned char[]){'C', 'L', STORE_VERSION, (unsigned char)(round % 16)}, 4);
        const int fd = dial(party);
        (void)!send(fd, nonsense, sizeof nonsense, MSG_NOSIGNAL);
        close(fd);
    }
}

static void scan_ports(const struct party *party)
{
    for (;;)
        close(dial(party));
}

static void guess_tokens(const struct party *party)
{
    for (struct store_message join = {.kind = STORE_JOIN, .nranks = (uint32_t)party->ticket.job.nranks};;) {
        unsigned char bytes[STORE_FIXED_BYTES];
        join.token[rand() % CLAB_TOKEN_BYTES]++;
        const int fd = dial(party);
        (void)!send(fd, bytes, store_message_write(&join, bytes), MSG_NOSIGNAL);
        (void)!recv(fd, bytes, sizeof bytes, 0);
        close(fd);
    }
}

static int join_and_meet(struct player *player, struct store_client *client)
{
    int all[MAX_MEMBERS];
    CLAB_TRY(meet(client, NULL, 0, 1, &player->member, sizeof(int), all));
    for (int m = 0; m < player->party->ticket.job.nranks; m++)
        if (all[m] != m)
            return CLAB_EWRONG;
    return CLAB_OK;
}

static void assert_members_meet_among(stranger_fn *strangers[], int n)
{
    struct player players[MAX_MEMBERS];
    struct party party = open_party(8, 20);
    pid_t pids[8];
    for (int i = 0; i < n; i++)
        if ((pids[i] = fork()) == 0) {
            strangers[i](&party);
            _exit(0);
        }
    usleep(300000); // for them to get going
    play(&party, 0, 1, join_and_meet, players);
    for (int i = 0; i < n; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_all(players, 0, 8, CLAB_OK);
    for (int m = 0; m < 8; m++)
        if (players[m].seconds > 5)
            fail_msg("rank %d took %g s to join among strangers", m, players[m].seconds);
    assert_true(ends(&party));
}

static void test_members_join_in_time_whoever_else_connects(void **state)
{
    (void)state;
    stranger_fn *all[] = {say_nothing, speak_slowly, talk_nonsense, scan_ports, guess_tokens};
    for (int i = 0; i < 5; i++)
        assert_members_meet_among(&all[i], 1);
    assert_members_meet_among(all, 5);
}

static void test_a_stranger_is_hung_up_on(void **state)
{
    (void)state;
    char byte;
    struct party party = open_party(2, 10);
    const int silent = dial(&party), garbled = dial(&party);
    const double start = clab_now();
    assert_int_equal(send(garbled, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
    assert_true(recv(garbled, &byte, 1, 0) <= 0);
    assert_true(clab_now() - start < 1);
    assert_true(recv(silent, &byte, 1, 0) <= 0);
    assert_true(clab_now() - start < 7);
    close(silent), close(garbled);
    assert_true(ends(&party));
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
    (void)state;
    int all[3], mine = 0;
    struct clab_notice heard;
    struct party party = open_party(3, 10);
    struct store_client *client = join(&party, 0);
    const pid_t pid = find_store(party.ticket.port);
    if (pid < 0) {
        print_message("skip: there is no ss that tells who listens\n");
        store_client_leave(client);
        assert_true(ends(&party));
        skip();
    }
    const struct capture err = capture_begin(STDERR_FILENO);
    kill(pid, SIGKILL);
    const double start = clab_now();
    const int result = meet(client, NULL, 0, 1, &mine, sizeof mine, all);
    const double seconds = clab_now() - start;
    const char *text = capture_end(err);
    assert_int_equal(result, CLAB_EPEER);
    assert_true(seconds < 1);
    assert_one_line_with(text, "the connection to the job's store at 127.0.0.1:");
    for (int rank = 1; rank < 3; rank++) {
        assert_true(store_client_hear(client, &heard));
        assert_true(heard.kind == CLAB_NOTICE_LOST && heard.culprit == rank);
        assert_int_equal(store_client_presence(client, rank), CLAB_LOST);
    }
    assert_int_equal(meet(client, NULL, 0, 2, &mine, sizeof mine, all), CLAB_EPEER);
    store_client_leave(client);
    assert_true(ends(&party));
}

static void test_a_store_that_nobody_joins_ends_with_its_starter(void **state)
{
    (void)state;
    struct party party = open_party(3, 10);
    assert_true(ends(&party));
}

static void test_a_store_outlives_its_starter_but_not_its_members(void **state)
{
    (void)state;
    struct party party = open_party(2, 10);
    struct store_client *client = join(&party, 1);
    shutdown(party.lifeline, SHUT_WR);
    assert_int_equal(poll(&(struct pollfd){party.lifeline, POLLIN, 0}, 1, 300), 0);
    store_client_forget(client);
    assert_true(ends(&party));
}

// What the store has open is its own.
static void test_a_store_holds_nothing_open(void **state)
{
    (void)state;
    int pipe_ends[2];
    char byte;
    assert_int_equal(pipe(pipe_ends), 0);
    struct party party = open_party(2, 10);
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 0);
    close(pipe_ends[0]);
    assert_true(ends(&party));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exchange_gives_every_rank_every_blob),
        cmocka_unit_test(test_pairs_meet_beside_each_other),
        cmocka_unit_test(test_sizes_that_differ_are_a_mismatch_for_all),
        cmocka_unit_test(test_who_leaves_before_a_meeting_ends_it_for_all),
        cmocka_unit_test(test_who_does_not_come_is_named_once),
        cmocka_unit_test(test_what_has_come_by_the_deadline_is_given),
        cmocka_unit_test(test_a_meeting_can_be_called_off),
        cmocka_unit_test(test_a_wait_does_what_there_is_to_do_meanwhile),
        cmocka_unit_test(test_an_answer_that_is_heard_meanwhile_ends_the_wait),
        cmocka_unit_test(test_all_hear_what_is_told_and_who_is_gone),
        cmocka_unit_test(test_a_look_without_news_is_cheap),
        cmocka_unit_test(test_who_is_refused_is_told_what_to_do),
        cmocka_unit_test(test_a_job_that_is_not_there_is_waited_for_until_the_timeout),
        cmocka_unit_test(test_another_service_at_the_port_is_told_apart),
        cmocka_unit_test(test_a_port_in_use_is_named_with_the_remedy),
        cmocka_unit_test(test_members_join_in_time_whoever_else_connects),
        cmocka_unit_test(test_a_stranger_is_hung_up_on),
        cmocka_unit_test(test_the_stores_own_end_is_one_of_all_others),
        cmocka_unit_test(test_a_store_that_nobody_joins_ends_with_its_starter),
        cmocka_unit_test(test_a_store_outlives_its_starter_but_not_its_members),
        cmocka_unit_test(test_a_store_holds_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
