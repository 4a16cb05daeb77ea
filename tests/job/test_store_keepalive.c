// SPDX-License-Identifier: MIT
// When a host counts as lost: after how many looks, and on what a connection shows. Waits long.

#include "core/job/store/keepalive.h"

#include "tests/fixtures/capture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/job/store/socket.h"

static void test_a_host_that_answers_in_time_is_looked_at_when_the_next_answer_is_due(void **state)
{
    struct store_keepalive keepalive = {0};
    assert_int_equal(store_keepalive_judge(&keepalive, 100, -0.7), STORE_ALIVE);
    assert_true(keepalive.next > 100.69 && keepalive.next < 100.71);
    assert_int_equal(store_keepalive_judge(&keepalive, 101, -1e-6), STORE_ALIVE);
    assert_true(keepalive.next >= 101.04 && keepalive.next <= 101.06); // no spinning
}

// The other host is asked three times; without any answer it is lost within a second of when one was due.
static void test_a_host_is_lost_a_second_after_an_answer_was_due(void **state)
{
    struct store_keepalive keepalive = {0};
    double now = 100;
    int needs_heartbeat = 0;
    enum store_liveness sign;
    while ((sign = store_keepalive_judge(&keepalive, now, now - 100)) != STORE_SILENT && now < 110) {
        needs_heartbeat += sign == STORE_PROBE;
        assert_true(keepalive.next > now);
        now = keepalive.next;
    }
    assert_int_equal(needs_heartbeat, 3);
    assert_true(now - 100 > 0.85 && now - 100 <= 1.01);
}

static void test_one_answer_is_enough(void **state)
{
    struct store_keepalive keepalive = {0};
    for (int i = 0; i < 100; i++)
        assert_int_not_equal(store_keepalive_judge(&keepalive, i, i % 18 == 17 ? -0.01 : 0.9), STORE_SILENT);
}

// A machine that slept for a minute finds no answer of that minute.
static void test_who_did_not_look_asks_before_it_judges(void **state)
{
    struct store_keepalive keepalive = {0};
    assert_int_equal(store_keepalive_judge(&keepalive, 100, -1), STORE_ALIVE);
    assert_int_equal(store_keepalive_judge(&keepalive, 160, 59), STORE_PROBE);
    assert_int_equal(store_keepalive_judge(&keepalive, 160.05, -1), STORE_ALIVE);
}

static void connect_pair(int fds[2])
{
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    store_socket_watch(fds[0]);
    assert_int_equal(connect(fds[0], (struct sockaddr *)&address, bytes), 0);
    fds[1] = accept(listener, NULL, NULL);
    assert_true(fds[1] >= 0);
    close(listener);
}

// Nobody reads or writes at the other end, as where a rank computes: its kernel answers.
static void test_a_peer_that_is_silent_for_long_is_alive(void **state)
{
    int fds[2];
    struct store_keepalive keepalive = {0};
    connect_pair(fds);
    for (int i = 0; i < 25; i++, usleep(100000))
        assert_int_not_equal(store_keepalive_check(&keepalive, fds[0]), STORE_SILENT);
    assert_true(keepalive.misses <= 1);
    close(fds[0]), close(fds[1]);
}

// Its kernel is asked ever more rarely then.
static void test_a_peer_that_takes_nothing_any_more_is_alive(void **state)
{
    static char bytes[1 << 16];
    int fds[2];
    struct store_keepalive keepalive = {0};
    connect_pair(fds);
    while (send(fds[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    for (int i = 0; i < 35; i++, usleep(100000))
        assert_int_not_equal(store_keepalive_check(&keepalive, fds[0]), STORE_SILENT);
    close(fds[0]), close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_that_answers_in_time_is_looked_at_when_the_next_answer_is_due),
        cmocka_unit_test(test_a_host_is_lost_a_second_after_an_answer_was_due),
        cmocka_unit_test(test_one_answer_is_enough),
        cmocka_unit_test(test_who_did_not_look_asks_before_it_judges),
        cmocka_unit_test(test_a_peer_that_is_silent_for_long_is_alive),
        cmocka_unit_test(test_a_peer_that_takes_nothing_any_more_is_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
