// SPDX-License-Identifier: MIT
// Jobs whose output nobody reads: signals, deaths and deadlines count all the same, and the job ends. Waits long.
// - The reader has a pipe, or a terminal, and does not read it while the test looks on.

#include "tests/fixtures/job_fixture.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>

enum { OUT = 1, ERR = 2 }; // which of our streams go to the reader; the others to /dev/null

static struct {
    int from, to;
} reader;

static int open_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    reader.from = ends[0];
    reader.to = ends[1];
    return 0;
}

static int open_terminal(void)
{
    assert_int_equal(openpty(&reader.from, &reader.to, NULL, NULL, NULL), 0);
    return 0;
}

static int close_reader(void **state)
{
    close(reader.from);
    close(reader.to);
    return 0;
}

static struct clab_launch prefixed(int nranks)
{
    return (struct clab_launch){.nranks = nranks, .grace = 2, .prefix = true};
}

// A job whose `streams` go to the reader.
static pid_t start_unread(struct clab_launch launch, body_fn body, int streams)
{
    forget(NULL);
    fflush(NULL);
    const pid_t job = fork();
    assert_true(job >= 0);
    if (job > 0)
        return job;
    const int null = open("/dev/null", O_WRONLY);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(streams & OUT ? reader.to : null, STDOUT_FILENO);
    dup2(streams & ERR ? reader.to : null, STDERR_FILENO);
    close(null);
    close(reader.from);
    _exit(run_job(launch, body));
}

// The supervisor is the first process that is told.
static void tell_processes(int rank)
{
    if (rank == 0)
        tell_pid(getppid());
    while (told->npids == 0)
        usleep(1000);
    told->values[rank] = getpid();
    tell_pid(getpid());
}

enum { LINE_BYTES = 10000 }; // more than a pipe takes whole

// Until nobody takes any more.
static int write_to(int stream, int rank)
{
    char line[LINE_BYTES];
    memset(line, 'a' + rank, sizeof line);
    line[sizeof line - 1] = '\n';
    signal(SIGPIPE, SIG_DFL);
    tell_processes(rank);
    told->ready++;
    while (write(stream, line, sizeof line) > 0)
        told->signals[rank]++;
    return 1;
}

static int write_for_ever(int rank)
{
    return write_to(STDOUT_FILENO, rank);
}

static int complain_for_ever(int rank)
{
    return write_to(STDERR_FILENO, rank);
}

// Whether the ranks write no more, since all pipes on the way are full.
static void await_full(int nranks)
{
    await(&told->ready, nranks);
    int before = -1, now = 0;
    for (const double start = clab_now(); before != now && clab_now() - start < TIME_LIMIT; usleep(100 * 1000)) {
        before = now;
        now = 0;
        for (int rank = 0; rank < nranks; rank++)
            now += told->signals[rank];
    }
    assert_int_equal(before, now);
}

static void assert_ends_within(pid_t job, double seconds, int status)
{
    for (const double start = clab_now(); !is_gone(job); usleep(1000))
        if (clab_now() - start > seconds) {
            kill(job, SIGKILL);
            kill(told->pids[0], SIGKILL);
            fail_msg("the job has not ended within %g s", seconds);
        }
    assert_int_equal(end_status(job), status);
    assert_all_end();
}

// ---- what counts all the same --------------------------------------------------------------------------------

static void check_a_death(int streams)
{
    struct clab_launch launch = prefixed(2);
    launch.unread = 0.3;
    const pid_t job = start_unread(launch, write_for_ever, streams);
    await_full(2);
    kill(told->values[1], SIGKILL);
    assert_ends_within(job, 10, 128 + SIGKILL);
}

static void test_a_death_counts(void **state)
{
    check_a_death(OUT);
}

static void test_a_death_counts_where_its_line_is_not_read_either(void **state)
{
    check_a_death(OUT | ERR);
}

// Nothing passes through us but the line about the death.
static void test_a_death_counts_without_prefixes(void **state)
{
    struct clab_launch launch = ranks(2);
    launch.unread = 0.3;
    const pid_t job = start_unread(launch, write_for_ever, OUT | ERR);
    await_full(2);
    kill(told->values[1], SIGKILL);
    assert_ends_within(job, 10, 128 + SIGKILL);
}

static void test_interrupts_count(void **state)
{
    const pid_t job = start_unread(prefixed(2), write_for_ever, OUT | ERR);
    await_full(2);
    kill(job, SIGINT);
    assert_ends_within(job, 10, 128 + SIGINT);
}

static void test_the_launchers_death_counts(void **state)
{
    const pid_t job = start_unread(prefixed(2), write_for_ever, OUT);
    await_full(2);
    kill(job, SIGKILL);
    assert_ends_within(job, 10, 128 + SIGKILL);
}

static void test_the_supervisors_death_counts(void **state)
{
    const pid_t job = start_unread(prefixed(2), write_for_ever, OUT | ERR);
    await_full(2);
    kill(told->pids[0], SIGKILL);
    assert_ends_within(job, 10, 128 + SIGKILL);
}

// ---- what is not lost, and what is ---------------------------------------------------------------------------

enum { LINES = 20000 };

static int write_numbers(int rank)
{
    FILE *file = rank == 0 ? stdout : stderr;
    for (int i = 0; i < LINES; i++)
        fprintf(file, "line %d\n", i);
    return fflush(file) != 0;
}

// Much more than pipes hold.
static void test_a_late_reader_gets_all_in_order(void **state)
{
    int next[2] = {0};
    const pid_t job = start_unread(prefixed(2), write_numbers, OUT | ERR);
    close(reader.to);
    usleep(500 * 1000);
    FILE *file = fdopen(reader.from, "r");
    for (int rank, number; fscanf(file, "[%d] line %d\n", &rank, &number) == 2;)
        assert_int_equal(next[rank]++, number);
    assert_int_equal(next[0], LINES);
    assert_int_equal(next[1], LINES);
    fclose(file);
    assert_int_equal(end_status(job), 0);
    open_pipe(); // to be closed
}

// Lines of a rank are of its letter; the last that a killed rank has written may be cut.
static void check_line(const char *line, int *logged)
{
    const size_t length = strlen(line);
    const char letter[] = {line[0] == '[' ? (char)('a' + line[1] - '0') : '\0', '\0'};
    if (line[0] != '[')
        *logged += strstr(line, "commlab: error: rank 1 (pid ") == line;
    else if (strspn(line + 4, letter) != length - 5 || length > LINE_BYTES + 4 || line[length - 1] != '\n')
        fail_msg("a line begins with '%.20s' and ends with '%s'", line, line + (length > 100 ? length - 100 : 0));
}

static void test_what_we_log_is_not_mixed_into_lines(void **state)
{
    char line[2 * LINE_BYTES];
    int logged = 0;
    const pid_t job = start_unread(prefixed(2), complain_for_ever, OUT | ERR);
    await_full(2);
    kill(told->values[1], SIGKILL);
    close(reader.to);
    usleep(100 * 1000);
    FILE *file = fdopen(reader.from, "r");
    while (fgets(line, sizeof line, file))
        check_line(line, &logged);
    fclose(file);
    assert_int_equal(logged, 1);
    assert_ends_within(job, 10, 128 + SIGKILL);
    open_pipe(); // to be closed
}

enum { MUCH = 150000 }; // more than the reader's pipe holds, less than all pipes on the way

static int write_much_and_end(int rank)
{
    static char text[MUCH];
    memset(text, 'x', sizeof text);
    tell_processes(rank);
    return write(STDOUT_FILENO, text, sizeof text) < 0;
}

static void test_what_is_lost_is_said(void **state)
{
    struct clab_launch launch = prefixed(1);
    launch.unread = 0.3;
    const struct capture err = capture_begin(STDERR_FILENO);
    const int was = dup(STDOUT_FILENO);
    dup2(reader.to, STDOUT_FILENO);
    const double start = clab_now();
    const int status = run_job(launch, write_much_and_end);
    dup2(was, STDOUT_FILENO);
    close(was);
    const char *text = capture_end(err);
    assert_int_equal(status, 0);
    assert_true(clab_now() - start >= 0.3 && clab_now() - start < TIME_LIMIT);
    // Cut into three lines, each with "[0] " and an end.
    int bytes, lost;
    assert_int_equal(ioctl(reader.from, FIONREAD, &bytes), 0);
    const char *at = strstr(text, "nobody has read the output of ranks for 300 ms: up to ");
    if (!at || sscanf(at + strlen("nobody has read the output of ranks for 300 ms: up to "), "%d", &lost) != 1)
        fail_msg("it says: %s", text);
    assert_true(lost + bytes >= MUCH && lost <= MUCH + 3 * 5);
}

// ---- what others share ---------------------------------------------------------------------------------------

static void test_the_reader_s_file_is_left_as_it_is(void **state)
{
    const int flags = fcntl(reader.to, F_GETFL);
    const pid_t job = start_unread(prefixed(2), write_for_ever, OUT | ERR);
    await_full(2);
    assert_int_equal(fcntl(reader.to, F_GETFL), flags);
    assert_int_equal(flags & O_NONBLOCK, 0);
    kill(job, SIGTERM);
    assert_ends_within(job, 10, 128 + SIGTERM);
}

static int of_a_pipe(void **state)
{
    return open_pipe() || forget(state);
}

static int of_a_terminal(void **state)
{
    return open_terminal() || forget(state);
}

#define test_at(name, kind)                             \
    {                                                   \
#name "/" #kind, name, kind, close_reader, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_at(test_a_death_counts, of_a_pipe),
        test_at(test_a_death_counts, of_a_terminal),
        test_at(test_a_death_counts_where_its_line_is_not_read_either, of_a_pipe),
        test_at(test_a_death_counts_without_prefixes, of_a_pipe),
        test_at(test_interrupts_count, of_a_pipe),
        test_at(test_interrupts_count, of_a_terminal),
        test_at(test_the_launchers_death_counts, of_a_pipe),
        test_at(test_the_supervisors_death_counts, of_a_pipe),
        test_at(test_a_late_reader_gets_all_in_order, of_a_pipe),
        test_at(test_what_we_log_is_not_mixed_into_lines, of_a_pipe),
        test_at(test_what_is_lost_is_said, of_a_pipe),
        test_at(test_the_reader_s_file_is_left_as_it_is, of_a_pipe),
        test_at(test_the_reader_s_file_is_left_as_it_is, of_a_terminal),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
