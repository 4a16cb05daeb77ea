// SPDX-License-Identifier: MIT
// How ranks share a text by PMI-1, with a launcher that the test plays: well, and badly in every way.

#include "tests/fixtures/capture.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/job/launchers/launcher.h"

static void test_values_are_found_in_lines(void **state)
{
    char value[16];
    const char *line = "cmd=get_result rc=0 xvalue=no value=abc=d \n";
    assert_true(launcher_pmi_value(line, "cmd", value, sizeof value));
    assert_string_equal(value, "get_result");
    assert_true(launcher_pmi_value(line, "value", value, sizeof value));
    assert_string_equal(value, "abc=d");
    assert_true(launcher_pmi_value("a= b=1", "a", value, sizeof value));
    assert_string_equal(value, "");
    assert_false(launcher_pmi_value(line, "valu", value, sizeof value));
    assert_false(launcher_pmi_value(line, "value", value, 5)); // no room for the 0
    assert_false(launcher_pmi_value("", "value", value, sizeof value));
    assert_false(launcher_pmi_value("value", "value", value, sizeof value));
}

// What the launcher of the test is asked, and answers; NULL: it hangs up; "": it says nothing.
struct turn {
    const char *question, *answer;
};

#define GREETING                                                                                \
    {"cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init rc=0 pmi_version=1\n"}, \
        {"cmd=get_maxes\n", "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n"},  \
    {                                                                                           \
        "cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=7.0\n"                             \
    }
#define PUT_0 "cmd=put kvsname=7.0 key=commlab-store-0 value=6120623a31\n"
#define GET_0 "cmd=get kvsname=7.0 key=commlab-store-0\n"
#define FOUND "cmd=get_result rc=0 value=6120623a31\n"
#define GOODBYE                                \
    {                                          \
        "cmd=finalize\n", "cmd=finalize_ack\n" \
    }
static const char text_0[] = "a b:1", text_1[] = "c";

// A rank that shares `times` texts; its exit status is the first error.
static pid_t start_rank(int rank, int times, double timeout, int fd)
{
    char number[16];
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    crash_as_others_do();
    snprintf(number, sizeof number, "%d", fd);
    setenv("PMI_FD", number, 1);
    for (int i = 0; i < times; i++) {
        char text[CLAB_SHARED_BYTES] = "poison";
        if (rank == 0)
            strcpy(text, i ? text_1 : text_0);
        const int err = launcher_share_pmi(rank, timeout, text);
        if (err != CLAB_OK)
            exit(err);
        if (strcmp(text, i ? text_1 : text_0) != 0)
            exit(99);
    }
    exit(0);
}

// Play the launcher, one turn a line.
static void answer_all(const struct turn *turns, size_t n, int fd)
{
    for (size_t i = 0; i < n; i++) {
        char question[2048] = "";
        for (size_t at = 0; at < sizeof question - 1 && (at == 0 || question[at - 1] != '\n'); at++)
            if (read(fd, question + at, 1) != 1)
                fail_msg("the rank hung up before it asked '%s'", turns[i].question);
        assert_string_equal(question, turns[i].question);
        if (!turns[i].answer)
            break;
        assert_int_equal(write(fd, turns[i].answer, strlen(turns[i].answer)), strlen(turns[i].answer));
    }
}

static double patience = 10; // s in which a launcher answers: a busy machine gives it the core late

// A rank among these turns of its launcher.  Its exit status; what it logs is in *logged_p.
static int run_turns(const struct turn *turns, size_t n, int rank, int times, const char **logged_p)
{
    int pair[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    const struct timeval timeout = {.tv_sec = 10};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t pid = start_rank(rank, times, patience, pair[1]);
    close(pair[1]);
    answer_all(turns, n, pair[0]);
    if (!turns[n - 1].answer)
        shutdown(pair[0], SHUT_RDWR);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *logged_p = capture_end(err);
    close(pair[0]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
#define RUN_TURNS(turns, rank, times, logged_p) run_turns(turns, sizeof turns / sizeof *turns, rank, times, logged_p)

static void test_rank_0_puts_and_gets_its_text(void **state)
{
    static const struct turn turns[] = {GREETING,
                                        {PUT_0, "cmd=put_result rc=0 msg=success\n"},
                                        {"cmd=barrier_in\n", "cmd=barrier_out\n"},
                                        {GET_0, FOUND},
                                        GOODBYE};
    const char *logged;
    assert_int_equal(RUN_TURNS(turns, 0, 1, &logged), 0);
    assert_string_equal(logged, "");
}

static void test_other_ranks_get_each_text_once_and_say_goodbye_at_exit(void **state)
{
    static const struct turn turns[] = {
        GREETING,
        {"cmd=barrier_in\n", "cmd=barrier_out rc=0\n"},
        {GET_0, FOUND},
        {"cmd=barrier_in\n", "cmd=barrier_out\n"},
        {"cmd=get kvsname=7.0 key=commlab-store-1\n", "cmd=get_result value=63 rc=0\n"},
        GOODBYE,
    };
    const char *logged;
    assert_int_equal(RUN_TURNS(turns, 1, 2, &logged), 0);
    assert_string_equal(logged, "");
}

// Each replaces one answer of a share by rank 1, and ends it with an error and one line.
static void test_bad_launchers_are_seen_through(void **state)
{
    static char endless[4096], many_digits[1100];
    memset(endless, 'x', sizeof endless - 1);
    memcpy(many_digits, "cmd=get_result rc=0 value=", 26);
    memset(many_digits + 26, '6', 1040);
    strcpy(many_digits + 26 + 1040, "\n");
    const struct {
        size_t turn;
        const char *answer, *words;
        int err;
    } faults[] = {
        {0, NULL, "closed", CLAB_ESYS},
        {0, "", "not answered over PMI_FD within 1 s (CLAB_TIMEOUT), not response_to_init", CLAB_ETIMEOUT},
        {0, "cmd=response_to_init rc=-1\n", "answers 'cmd=response_to_init rc=-1'", CLAB_ESYS},
        {0, "garbage\n", "answers 'garbage' over PMI_FD, not response_to_init", CLAB_ESYS},
        {0, endless, "invalid message", CLAB_ESYS},
        {1, "cmd=maxes vallen_max=many\n", "vallen_max", CLAB_ESYS},
        {2, "cmd=my_kvsname\n", "kvsname", CLAB_ESYS},
        {3, "", "not answered over PMI_FD within 1 s (CLAB_TIMEOUT), not barrier_out", CLAB_ETIMEOUT},
        {3, "cmd=barrier_out", "not answered over PMI_FD within 1 s (CLAB_TIMEOUT), not barrier_out", CLAB_ETIMEOUT},
        {3, NULL, "closed", CLAB_ESYS},
        {4, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n", "not get_result", CLAB_ESYS},
        {4, "cmd=get_result rc=0 value=unknown\n", "not what rank 0 has put", CLAB_ESYS},
        {4, many_digits, "not value", CLAB_ESYS},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct turn turns[] = {GREETING, {"cmd=barrier_in\n", "cmd=barrier_out\n"}, {GET_0, FOUND}};
        const char *logged;
        turns[faults[i].turn].answer = faults[i].answer;
        const double start = clab_now();
        patience = faults[i].err == CLAB_ETIMEOUT ? 1 : 10;
        assert_int_equal(run_turns(turns, faults[i].turn + 1, 1, 1, &logged), faults[i].err);
        assert_one_line_with(logged, faults[i].words);
        assert_true(clab_now() - start < 5);
    }
}

static void test_a_descriptor_that_is_not_the_launchers_is_refused(void **state)
{
    const struct {
        const char *fd, *words;
        int err;
    } cases[] = {{"", "PMI_FD is ''", CLAB_ESYS}, {"x", "PMI_FD is 'x'", CLAB_ESYS}, {"987", "not open", CLAB_ESYS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLAB_SHARED_BYTES] = "";
        setenv("PMI_FD", cases[i].fd, 1);
        const struct capture err = capture_begin(STDERR_FILENO);
        const int status = launcher_share_pmi(1, 0.1, text);
        assert_one_line_with(capture_end(err), cases[i].words);
        assert_int_equal(status, cases[i].err);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_found_in_lines),
        cmocka_unit_test(test_rank_0_puts_and_gets_its_text),
        cmocka_unit_test(test_other_ranks_get_each_text_once_and_say_goodbye_at_exit),
        cmocka_unit_test(test_bad_launchers_are_seen_through),
        cmocka_unit_test(test_a_descriptor_that_is_not_the_launchers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
