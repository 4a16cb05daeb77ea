// SPDX-License-Identifier: MIT
// Ranks' output with prefixes: whole, long and last lines, both streams, many writers, and a reader that leaves.

#include "tests/fixtures/job_fixture.h"

#include "core/job/launch/forward.h"

static struct clab_launch prefixed(int nranks)
{
    return (struct clab_launch){.nranks = nranks, .grace = 2, .prefix = true};
}

// What a job with prefixes writes to `stream`.
static const char *output_of(int nranks, int stream, body_fn body, int expected_status)
{
    const struct capture output = capture_begin(stream);
    const int status = run_job(prefixed(nranks), body);
    const char *text = capture_end(output);
    assert_int_equal(status, expected_status);
    return text;
}

static int write_text(const char *text)
{
    return write(STDOUT_FILENO, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : 1;
}

static int write_in_pieces(int rank)
{
    return write_text("one") || write_text(" line\ntwo\n\nla") || write_text("st");
}

static void test_each_line_gets_a_prefix_and_the_last_its_end(void **state)
{
    assert_string_equal(output_of(1, STDOUT_FILENO, write_in_pieces, 0), "[0] one line\n[0] two\n[0] \n[0] last\n");
}

static int complain(int rank)
{
    fprintf(stderr, "complaint %d\n", rank);
    return 0;
}

static void test_stderr_is_prefixed_too(void **state)
{
    const char *text = output_of(2, STDERR_FILENO, complain, 0);
    assert_int_equal(occurrences(text, "[0] complaint 0\n"), 1);
    assert_int_equal(occurrences(text, "[1] complaint 1\n"), 1);
}

enum { LINES = 2000 };

static int write_many(int rank)
{
    char line[200];
    for (int i = 0; i < LINES; i++) {
        memset(line, 'a' + rank, sizeof line);
        line[50 + i % 100] = '\n';
        if (write(STDOUT_FILENO, line, 51 + (size_t)i % 100) < 0)
            return 1;
    }
    return 0;
}

static void test_lines_of_ranks_do_not_mix(void **state)
{
    int lines[4] = {0};
    const char *text = output_of(4, STDOUT_FILENO, write_many, 0);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const int rank = line[1] - '0';
        const size_t length = (size_t)(strchr(line, '\n') - line);
        assert_true(rank >= 0 && rank < 4 && line[0] == '[' && line[2] == ']' && line[3] == ' ');
        const char letter[] = {(char)('a' + rank), '\0'};
        assert_int_equal(strspn(line + 4, letter), length - 4);
        assert_int_equal(length - 4, 50 + lines[rank]++ % 100);
    }
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(lines[rank], LINES);
}

static int write_long(int rank)
{
    static char text[FORWARDER_LINE_BYTES + 10];
    memset(text, 'x', sizeof text);
    return write(STDOUT_FILENO, text, sizeof text) == sizeof text ? 0 : 1;
}

static void test_a_long_line_is_cut(void **state)
{
    const char *text = output_of(1, STDOUT_FILENO, write_long, 0);
    assert_int_equal(strlen(text), FORWARDER_LINE_BYTES + 5 + 10 + 5); // and twice "[0] " and an end
    assert_memory_equal(text + 4 + FORWARDER_LINE_BYTES, "\n[0] xxxxxxxxxx\n", 16);
}

static int write_and_crash(int rank)
{
    write_text("last words");
    raise(SIGKILL);
    return 0;
}

static void test_last_words_of_a_crash_get_out(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const char *text = output_of(1, STDOUT_FILENO, write_and_crash, 128 + SIGKILL);
    assert_string_equal(text, "[0] last words\n");
    capture_end(err);
}

static int write_for_ever(int rank)
{
    signal(SIGPIPE, SIG_DFL);
    while (write_text("y\n") == 0)
        ;
    return 1;
}

static void test_ranks_notice_when_nobody_reads(void **state)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t job = fork();
    if (job == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]), close(ends[1]);
        freopen("/dev/null", "w", stderr);
        _exit(run_job(prefixed(1), write_for_ever));
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    assert_int_equal(end_status(job), 128 + SIGPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_each_line_gets_a_prefix_and_the_last_its_end),
        fresh_test(test_stderr_is_prefixed_too),
        fresh_test(test_lines_of_ranks_do_not_mix),
        fresh_test(test_a_long_line_is_cut),
        fresh_test(test_last_words_of_a_crash_get_out),
        fresh_test(test_ranks_notice_when_nobody_reads),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
