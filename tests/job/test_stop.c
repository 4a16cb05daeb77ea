// SPDX-License-Identifier: MIT
// Jobs that are stopped and go on: by Ctrl-Z in a shell, by SIGTSTP, and by SIGSTOP to all or some of their processes,
// as batch systems suspend a job.

#include "tests/fixtures/job_fixture.h"

#include <poll.h>
#include <pty.h>

enum { TIMES = 30 };

// A rank that ends when told, and whose supervisor is the first process that was told.
static int end_when_told(int rank)
{
    if (rank == 0)
        tell_pid(getppid());
    while (told->npids == 0)
        usleep(1000);
    tell_pid(getpid());
    told->ready++;
    while (!told->values[0]) {
        told->signals[rank]++; // it runs
        usleep(1000);
    }
    return 0;
}

static void signal_all(pid_t job, int signo)
{
    kill(job, signo);
    for (int i = 0; i < told->npids; i++)
        kill(told->pids[i], signo);
}

static void await_state(pid_t pid, const char *states)
{
    for (const double start = clab_now(); !strchr(states, process_state(pid)); usleep(1000))
        if (clab_now() - start > TIME_LIMIT)
            fail_msg("process %d is in state %c, not one of %s", (int)pid, process_state(pid), states);
}

// A job that hangs fails the test, and is ended.
static void assert_ends(pid_t job, int status)
{
    for (const double start = clab_now(); !is_gone(job); usleep(1000))
        if (clab_now() - start > TIME_LIMIT) {
            const char state = process_state(job), supervisor = process_state(told->pids[0]);
            kill(job, SIGKILL);
            fail_msg("the job hangs: the launcher is in state %c, the supervisor in %c", state, supervisor);
        }
    assert_int_equal(end_status(job), status);
    assert_all_end();
}

static void assert_runs(int rank)
{
    await(&told->signals[rank], told->signals[rank] + 2);
}

static pid_t start(int nranks)
{
    forget(NULL);
    const pid_t job = start_job(ranks(nranks), end_when_told);
    await(&told->ready, nranks);
    return job;
}

static void end(pid_t job)
{
    told->values[0] = 1;
    assert_ends(job, 0);
}

// ---- signals -------------------------------------------------------------------------------------------------

// Now and then the supervisor's stop is seen after it goes on.
static void test_who_suspends_all_processes_and_wakes_them_hangs_nothing(void **state)
{
    const int stop = (int)(intptr_t)*state;
    for (int i = 0; i < TIMES; i++) {
        const pid_t job = start(2);
        signal_all(job, stop);
        usleep((unsigned)i % 3 * 1000);
        signal_all(job, SIGCONT);
        assert_runs(0);
        assert_runs(1);
        end(job);
    }
}

// Whichever of the two the launcher sees, and when, the last one counts.
static void test_a_stop_that_is_taken_back_at_once_stops_nothing(void **state)
{
    const pid_t job = start(2);
    for (int i = 0; i < 10 * TIMES; i++) {
        kill(job, SIGTSTP);
        if (i % 2)
            usleep((unsigned)i % 20 * 10);
        kill(job, SIGCONT);
        if (i % 10 == 0) {
            assert_runs(0);
            assert_runs(1);
            await_state(job, "RS");
        }
    }
    end(job);
}

static void test_an_interrupt_wakes_a_supervisor_that_was_stopped(void **state)
{
    const pid_t job = start(2);
    kill(told->pids[0], SIGSTOP);
    await_state(told->pids[0], "T");
    kill(job, SIGTERM);
    assert_ends(job, 128 + SIGTERM);
}

static void test_a_stopped_supervisor_notices_that_the_launcher_was_killed(void **state)
{
    const pid_t job = start(2);
    kill(told->pids[0], SIGSTOP);
    await_state(told->pids[0], "T");
    kill(job, SIGKILL);
    assert_ends(job, 128 + SIGKILL);
}

// The supervisor watches on while the job is stopped.
static void test_nothing_is_left_of_a_stopped_job_whose_launcher_was_killed(void **state)
{
    const pid_t job = start(2);
    kill(job, SIGTSTP);
    await_state(job, "T");
    await_state(told->pids[1], "T");
    kill(job, SIGKILL);
    assert_ends(job, 128 + SIGKILL);
}

// ---- a shell -------------------------------------------------------------------------------------------------

static void type(int terminal, const char *text)
{
    assert_int_equal(write(terminal, text, strlen(text)), strlen(text));
}

static char shown[1 << 16]; // by the terminal so far

static void read_terminal(int terminal)
{
    static size_t bytes;
    struct pollfd fd = {terminal, POLLIN, 0};
    const ssize_t more = poll(&fd, 1, 50) > 0 ? read(terminal, shown + bytes, sizeof shown - 1 - bytes) : 0;
    bytes += more > 0 ? (size_t)more : 0;
}

static void await_text(int terminal, const char *wanted)
{
    for (const double start = clab_now(); !strstr(shown, wanted); read_terminal(terminal))
        if (clab_now() - start > TIME_LIMIT)
            fail_msg("no \"%s\" in \"%s\"", wanted, shown);
}

// The processes of ranks, of "rank RANK is PID." on the terminal.
static pid_t await_rank(int terminal, int rank)
{
    char words[32];
    int pid = 0;
    const char *at;
    snprintf(words, sizeof words, "rank %d is ", rank);
    await_text(terminal, words);
    while (!strchr(at = strstr(shown, words), '.'))
        read_terminal(terminal);
    assert_int_equal(sscanf(at + strlen(words), "%d", &pid), 1);
    return pid;
}

static pid_t open_shell(int *terminal_p)
{
    const pid_t shell = forkpty(terminal_p, NULL, NULL, NULL);
    assert_true(shell >= 0);
    if (shell == 0) {
        unsetenv("CMOCKA_MESSAGE_OUTPUT");
        execlp("bash", "bash", "--norc", "--noprofile", "-i", (char *)NULL);
        _exit(127);
    }
    return shell;
}

static void test_ctrl_z_stops_the_whole_job_and_fg_continues_it(void **state)
{
    const char *build = getenv("CLAB_BUILD");
    char command[512];
    int terminal;
    const pid_t shell = open_shell(&terminal);
    snprintf(command, sizeof command, "%s/commlab run -n 2 -- sh -c 'echo rank $RANK is $$.; exec sleep 60'\n",
             build ? build : "build");
    type(terminal, command);
    const pid_t ranks[] = {await_rank(terminal, 0), await_rank(terminal, 1)};
    type(terminal, "\032"); // Ctrl-Z
    await_text(terminal, "Stopped");
    for (int rank = 0; rank < 2; rank++)
        await_state(ranks[rank], "T");
    type(terminal, "fg\n");
    for (int rank = 0; rank < 2; rank++)
        await_state(ranks[rank], "RS");
    type(terminal, "\003"); // Ctrl-C
    for (int rank = 0; rank < 2; rank++)
        await_state(ranks[rank], "-");
    type(terminal, "echo the status is $?\n");
    await_text(terminal, "the status is 130");
    close(terminal);
    kill(shell, SIGKILL);
    end_status(shell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test_of(test_who_suspends_all_processes_and_wakes_them_hangs_nothing, SIGSTOP),
        fresh_test_of(test_who_suspends_all_processes_and_wakes_them_hangs_nothing, SIGTSTP),
        fresh_test(test_a_stop_that_is_taken_back_at_once_stops_nothing),
        fresh_test(test_an_interrupt_wakes_a_supervisor_that_was_stopped),
        fresh_test(test_a_stopped_supervisor_notices_that_the_launcher_was_killed),
        fresh_test(test_nothing_is_left_of_a_stopped_job_whose_launcher_was_killed),
        fresh_test(test_ctrl_z_stops_the_whole_job_and_fg_continues_it),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
