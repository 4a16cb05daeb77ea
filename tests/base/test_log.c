// SPDX-License-Identifier: MIT
// Log lines: which levels are written, how they are signed, and that a message is one line whatever it quotes.

#include "tests/fixtures/capture.h"

#include <errno.h>
#include <sys/wait.h>

#include "core/base/log.h"

// What `body` writes to stderr in a process of its own where CLAB_LOG is `level` (NULL: not set). The level is read
// once.
static const char *logged(const char *level, void (*body)(void))
{
    const struct capture log = capture_begin(STDERR_FILENO);
    const pid_t pid = fork();
    if (pid == 0) {
        if (level)
            setenv("CLAB_LOG", level, 1);
        else
            unsetenv("CLAB_LOG");
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return capture_end(log);
}

static void say_all(void)
{
    clab_error("e %d", 1);
    clab_warn("w");
    clab_info("i");
    clab_debug("d");
}

static void test_the_level_chooses_the_lines(void **state)
{
    static const char *const lines = "commlab: error: e 1\ncommlab: warn: w\ncommlab: info: i\ncommlab: debug: d\n";
    static const struct {
        const char *level, *last;
    } cases[] = {{"error", "commlab: warn"}, {"warn", "commlab: info"}, {NULL, "commlab: info"},
                 {"loud", "commlab: info"},  {"", "commlab: info"},     {"info", "commlab: debug"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = logged(cases[i].level, say_all);
        assert_int_equal(strlen(text), strstr(lines, cases[i].last) - lines);
        assert_memory_equal(text, lines, strlen(text));
    }
    assert_string_equal(logged("debug", say_all), lines);
}

static void say_as_rank(void)
{
    clab_log_set_rank(3);
    clab_error("peer 1 is gone");
    clab_log_set_rank(-1);
    clab_error("nobody");
}

static void test_lines_are_signed_with_the_rank(void **state)
{
    assert_string_equal(logged(NULL, say_as_rank), "commlab: error: rank 3: peer 1 is gone\ncommlab: error: nobody\n");
}

static void quote_lines(void)
{
    clab_error("no algorithm `%s`", "ri\nng\r\n");
}

static void test_a_message_is_one_line_whatever_it_quotes(void **state)
{
    assert_string_equal(logged(NULL, quote_lines), "commlab: error: no algorithm `ri ng  `\n");
}

// As two ranks that share what they have said, and then go on.
static void say_what_both_find(void)
{
    struct clab_log_said said = {{0}};
    for (int rank = 0; rank < 2; rank++) {
        clab_log_set_rank(rank);
        clab_log_share(&said);
        clab_error("no network '%s'", "moon");
        clab_error("rank %d of %d", rank, 2);
        clab_warn("slow");
        clab_log_share(NULL);
        clab_error("over");
    }
}

static void test_an_error_that_all_share_is_said_once(void **state)
{
    assert_string_equal(logged(NULL, say_what_both_find), "commlab: error: rank 0: no network 'moon'\n"
                                                          "commlab: error: rank 0: rank 0 of 2\n"
                                                          "commlab: warn: rank 0: slow\n"
                                                          "commlab: error: rank 0: over\n"
                                                          "commlab: error: rank 1: rank 1 of 2\n"
                                                          "commlab: warn: rank 1: slow\n"
                                                          "commlab: error: rank 1: over\n");
}

static void say_many_lines(void)
{
    struct clab_log_said said = {{0}};
    clab_log_share(&said);
    for (int i = 0; i < 2 * 10; i++)
        clab_error("line %d", i % 10);
    clab_log_share(NULL);
}

// More than are remembered: those are said twice, and none is lost.
static void test_of_many_errors_that_all_share_none_is_lost(void **state)
{
    const char *text = logged(NULL, say_many_lines);
    int lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    assert_int_equal(lines, 10 + 2);
}

static void say_long(void)
{
    static char text[10000];
    memset(text, 'x', sizeof text - 1);
    clab_error("%s", text);
    clab_error("next");
}

static void test_a_long_message_is_cut_and_the_next_is_whole(void **state)
{
    const char *text = logged(NULL, say_long), *end = strchr(text, '\n');
    assert_int_equal(end + 1 - text, 4095); // fits PIPE_BUF
    assert_string_equal(end + 1, "commlab: error: next\n");
}

static void say_errno(void)
{
    errno = ENOENT;
    clab_debug("not shown");
    clab_error("net.conf: %m");
    _exit(errno == ENOENT ? 0 : 1);
}

static void test_errno_is_told_and_kept(void **state)
{
    assert_string_equal(logged(NULL, say_errno), "commlab: error: net.conf: No such file or directory\n");
}

static void say_held(void)
{
    struct clab_log_held outer, inner;
    clab_log_hold(&outer);
    clab_log_hold(&inner);
    clab_error("first\nof two");
    clab_error("second");
    clab_warn("a warning");
    clab_log_release(&inner);
    clab_error("again: %s", inner.text);
    clab_log_release(&outer);
    clab_error("out: %s", outer.text);
}

static void test_a_held_error_is_said_by_who_held_it(void **state)
{
    assert_string_equal(logged(NULL, say_held), "commlab: warn: a warning\ncommlab: error: out: again: first of two\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_level_chooses_the_lines),
        cmocka_unit_test(test_lines_are_signed_with_the_rank),
        cmocka_unit_test(test_a_message_is_one_line_whatever_it_quotes),
        cmocka_unit_test(test_an_error_that_all_share_is_said_once),
        cmocka_unit_test(test_of_many_errors_that_all_share_none_is_lost),
        cmocka_unit_test(test_a_long_message_is_cut_and_the_next_is_whole),
        cmocka_unit_test(test_errno_is_told_and_kept),
        cmocka_unit_test(test_a_held_error_is_said_by_who_held_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
