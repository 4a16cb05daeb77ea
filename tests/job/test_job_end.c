// SPDX-License-Identifier: MIT
// How jobs end from outside: signals, and processes killed so that they can not clean up.

#include "tests/fixtures/job_fixture.h"

#include <dirent.h>
#include <limits.h>

#include "core/clab.h"

// ---- bodies --------------------------------------------------------------------------------------------------

static int told_rank;

static void count_signal(int signo)
{
    told->signals[told_rank]++;
}

static int count_signals(int rank)
{
    told_rank = rank;
    signal(SIGUSR1, count_signal);
    signal(SIGCONT, count_signal);
    return wait_for_ever(rank);
}

// A child in a session of its own, and its child, which loses its parent.
static void leave_grandchildren(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            wait_for_ever(0);
        wait_for_ever(0);
    }
}

static int leave_and_return(int rank)
{
    const int before = told->ready;
    leave_grandchildren();
    while (told->ready < before + 2)
        usleep(1000);
    return rank;
}

static int tell_supervisor_and_wait(int rank)
{
    tell_pid(getppid());
    return wait_for_ever(rank);
}

static int leave_and_wait(int rank)
{
    tell_pid(getppid()); // the supervisor
    leave_grandchildren();
    return wait_for_ever(rank);
}

static int kill_supervisor(int rank)
{
    kill(getppid(), SIGKILL);
    return wait_for_ever(rank);
}

// All are in the job and have met. Rank 2 then does nothing, and the others wait for it until they fail.
static int wait_for_rank_2(int rank)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    struct clab_job *job;
    struct clab_comm *comm;
    if (rank == 2)
        tell_pid(getppid()); // the supervisor, the first
    if (clab_job_open(&argc, argv, &job) || clab_comm_create(job, &comm) || clab_barrier(comm))
        return 99;
    told->values[rank] = getpid();
    told->ready++;
    return rank == 2 ? wait_for_ever(rank) : clab_barrier(comm) != CLAB_OK;
}

// Rank 0 is stopped before it looks at the argument that is wrong.
static int read_a_wrong_argument(int rank)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    struct clab_job *job;
    if (clab_job_open(&argc, argv, &job))
        return 99;
    if (rank == 0)
        raise(SIGSTOP);
    clab_must_size(job, "x", 4, "give BYTES");
    return 98;
}

static int end_when_told(int rank)
{
    tell_pid(getppid());
    tell_pid(getpid());
    told->ready++;
    while (!told->values[rank])
        usleep(1000);
    return 0;
}

static void stop_parent(int signo)
{
    kill(getppid(), SIGSTOP);
    told->values[1] = 1;
}

// What it leaves behind stops the supervisor, which has become its parent, when that tells it to end.
static int leave_who_stops_the_supervisor(int rank)
{
    tell_pid(getppid());
    if (fork() == 0) {
        signal(SIGTERM, stop_parent);
        return wait_for_ever(rank);
    }
    while (told->ready < 1)
        usleep(1000);
    return 0;
}

// ---- signals -------------------------------------------------------------------------------------------------

static void assert_signals(int nranks, int expected)
{
    for (int rank = 0; rank < nranks; rank++)
        await(&told->signals[rank], expected);
    usleep(50 * 1000); // time for one too many
    for (int rank = 0; rank < nranks; rank++)
        assert_int_equal(told->signals[rank], expected);
}

static void test_signals_reach_every_rank_once(void **state)
{
    const pid_t job = start_job(ranks(3), count_signals);
    await(&told->ready, 3);
    kill(job, SIGUSR1);
    assert_signals(3, 1);
    kill(-job, SIGUSR1); // to its whole group, as a shell does
    assert_signals(3, 2);
    kill(job, SIGTERM);
    assert_int_equal(end_status(job), 128 + SIGTERM);
    assert_all_end();
}

static void test_interruption_ends_the_job_without_a_word(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(3), wait_for_ever);
    await(&told->ready, 3);
    kill(job, SIGINT);
    const int status = end_status(job);
    assert_string_equal(capture_end(err), "");
    assert_int_equal(status, 128 + SIGINT);
    assert_all_end();
}

static int ignore_interrupts(int rank)
{
    signal(SIGINT, SIG_IGN);
    return wait_for_ever(rank);
}

static void test_second_interruption_ends_who_ignored_the_first(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(2), ignore_interrupts);
    await(&told->ready, 2);
    kill(job, SIGINT);
    usleep(50 * 1000);
    for (int i = 0; i < 2; i++)
        assert_false(is_gone(told->pids[i]));
    // On a busy machine the second may come before the first is seen. One too many would end the launcher itself.
    for (int i = 0; i < 10 && !is_gone(told->pids[1]); i++) {
        kill(job, SIGINT);
        for (int j = 0; j < 1000 && !is_gone(told->pids[1]); j++)
            usleep(1000);
    }
    const int status = end_status(job);
    capture_end(err);
    assert_int_equal(status, 128 + SIGTERM);
    assert_all_end();
}

static void await_state(pid_t pid, const char *states)
{
    for (const double start = clab_now(); !strchr(states, process_state(pid)); usleep(1000))
        if (clab_now() - start > TIME_LIMIT)
            fail_msg("process %d is in state %c, not one of %s", (int)pid, process_state(pid), states);
}

static void test_stop_and_continue(void **state)
{
    const pid_t job = start_job(ranks(2), count_signals);
    await(&told->ready, 2);
    kill(job, SIGTSTP);
    await_state(told->pids[0], "T");
    await_state(told->pids[1], "T");
    await_state(job, "T");
    kill(job, SIGCONT);
    await_state(told->pids[0], "RS");
    await_state(told->pids[1], "RS");
    await(&told->signals[0], 1);
    await(&told->signals[1], 1);
    kill(job, SIGTERM);
    assert_int_equal(end_status(job), 128 + SIGTERM);
    assert_all_end();
}

// The supervisor, stopped, does not see its rank end, and then has both to see to.
static void test_a_signal_just_after_the_last_rank_has_ended_counts(void **state)
{
    const pid_t job = start_job(ranks(1), end_when_told);
    await(&told->ready, 1);
    const pid_t supervisor = told->pids[0];
    kill(supervisor, SIGSTOP);
    await_state(supervisor, "T");
    told->values[0] = 1;
    await_state(told->pids[1], "Z");
    kill(supervisor, SIGTERM); // as the launcher would
    kill(job, SIGCONT);
    kill(supervisor, SIGCONT);
    assert_int_equal(end_status(job), 128 + SIGTERM);
    assert_all_end();
}

static void test_a_signal_while_leftover_processes_end_counts(void **state)
{
    const pid_t job = start_job(ranks(1), leave_who_stops_the_supervisor);
    await(&told->values[1], 1);
    await_state(told->pids[0], "T");
    kill(told->pids[0], SIGTERM); // as the launcher would
    kill(job, SIGCONT);
    kill(told->pids[0], SIGCONT);
    assert_int_equal(end_status(job), 128 + SIGTERM);
    assert_all_end();
}

// ---- who is to blame -----------------------------------------------------------------------------------------

// Rank 2 is killed, and the others have failed of that and ended, when the supervisor looks.
static void test_who_fails_of_a_death_is_not_named_for_it(void **state)
{
    setenv("CLAB_TIMEOUT", "200ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(3), wait_for_rank_2);
    await(&told->ready, 4);
    kill(told->pids[0], SIGSTOP);
    await_state(told->pids[0], "T");
    kill(told->values[2], SIGKILL);
    for (int rank = 0; rank < 3; rank++)
        await_state(told->values[rank], "Z");
    kill(job, SIGCONT);
    const int status = end_status(job);
    const char *text = capture_end(err);
    unsetenv("CLAB_TIMEOUT");
    assert_int_equal(occurrences(text, "rank 2 (pid"), 1);
    assert_int_equal(occurrences(text, "(pid"), 1);
    assert_int_equal(status, 128 + SIGKILL);
}

// Rank 2 ends after those that have failed of it.
static void test_who_ends_later_but_not_of_others_is_named(void **state)
{
    setenv("CLAB_TIMEOUT", "200ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(3), wait_for_rank_2);
    await(&told->ready, 4);
    for (int rank = 0; rank < 2; rank++)
        for (const double start = clab_now(); !is_gone(told->values[rank]); usleep(1000))
            if (clab_now() - start > TIME_LIMIT)
                fail_msg("rank %d has not ended", rank);
    kill(told->values[2], SIGSEGV);
    const int status = end_status(job);
    const char *text = capture_end(err);
    unsetenv("CLAB_TIMEOUT");
    assert_int_equal(occurrences(text, "rank 2 (pid"), 1);
    assert_int_equal(occurrences(text, "(pid"), 1);
    assert_int_equal(status, 128 + SIGSEGV);
}

static void test_a_wrong_argument_is_named_once_also_where_rank_0_is_late(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(3), read_a_wrong_argument);
    const char *text = capture_end(err);
    assert_int_equal(occurrences(text, "'x': give BYTES\n"), 1);
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_int_equal(status, 2);
}

// ---- nothing is left -----------------------------------------------------------------------------------------

static char files_before[1 << 16]; // in /dev/shm: "/NAME/NAME/"

static void note_dev_shm(void)
{
    size_t n = 1;
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    strcpy(files_before, "/");
    for (struct dirent *file; (file = readdir(dir)) && n + NAME_MAX + 2 < sizeof files_before;)
        n += (size_t)sprintf(files_before + n, "%s/", file->d_name);
    closedir(dir);
}

static void assert_goes(const char *path)
{
    for (const double start = clab_now(); access(path, F_OK) == 0; usleep(1000))
        if (clab_now() - start > 3 * TIME_LIMIT)
            fail_msg("%s is left", path);
}

// Files of other programs that run beside the test go, too, some seconds later; one of a killed job would stay.
static void assert_all_that_is_new_goes(void)
{
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    for (struct dirent *file; (file = readdir(dir));) {
        char name[NAME_MAX + 3], path[NAME_MAX + 16];
        snprintf(name, sizeof name, "/%s/", file->d_name);
        snprintf(path, sizeof path, "/dev/shm/%s", file->d_name);
        if (!strstr(files_before, name))
            assert_goes(path);
    }
    closedir(dir);
}

static void test_what_ranks_leave_behind_is_ended(void **state)
{
    assert_int_equal(run_job(ranks(1), leave_and_return), 0);
    assert_int_equal(told->npids, 2);
    for (int i = 0; i < told->npids; i++)
        assert_true(is_gone(told->pids[i])); // by now, not soon
}

static void test_nothing_is_left_of_a_killed_launcher(void **state)
{
    note_dev_shm();
    const pid_t job = start_job(ranks(2), leave_and_wait);
    await(&told->ready, 2 * 3);
    kill(job, SIGKILL);
    assert_int_equal(end_status(job), 128 + SIGKILL);
    assert_all_end();
    assert_all_that_is_new_goes();
}

static void test_nothing_is_left_of_a_killed_supervisor(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(2), leave_and_wait);
    await(&told->ready, 2 * 3);
    kill(told->pids[0], SIGKILL);
    const int status = end_status(job);
    assert_int_equal(occurrences(capture_end(err), "the supervisor of the job"), 1);
    assert_int_equal(status, 128 + SIGKILL);
    for (int i = 0; i < told->npids; i++)
        assert_true(is_gone(told->pids[i]));
}

static void test_ranks_end_even_when_nobody_is_left_to_end_them(void **state)
{
    const pid_t job = start_job(ranks(2), tell_supervisor_and_wait);
    await(&told->ready, 2);
    const pid_t supervisor = told->pids[0];
    kill(supervisor, SIGSTOP); // so that it does not notice the launcher's end
    kill(job, SIGKILL);
    assert_int_equal(end_status(job), 128 + SIGKILL);
    kill(supervisor, SIGKILL);
    assert_all_end();
}

static void test_nothing_is_left_of_killed_ranks(void **state)
{
    note_dev_shm();
    const struct capture err = capture_begin(STDERR_FILENO);
    const pid_t job = start_job(ranks(3), wait_for_ever);
    await(&told->ready, 3);
    for (int i = 0; i < 3; i++)
        kill(told->pids[i], SIGKILL);
    const int status = end_status(job);
    assert_int_equal(occurrences(capture_end(err), "\n"), 1);
    assert_int_equal(status, 128 + SIGKILL);
    assert_all_end();
    assert_all_that_is_new_goes();
}

static void test_own_children_of_the_caller_are_spared(void **state)
{
    const pid_t own = fork();
    if (own == 0)
        wait_for_ever(0);
    await(&told->ready, 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(ranks(1), kill_supervisor);
    capture_end(err);
    assert_int_equal(status, 128 + SIGKILL);
    assert_false(is_gone(own));
    kill(own, SIGKILL);
    assert_int_equal(end_status(own), 128 + SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_signals_reach_every_rank_once),
        fresh_test(test_interruption_ends_the_job_without_a_word),
        fresh_test(test_second_interruption_ends_who_ignored_the_first),
        fresh_test(test_stop_and_continue),
        fresh_test(test_a_signal_just_after_the_last_rank_has_ended_counts),
        fresh_test(test_a_signal_while_leftover_processes_end_counts),
        fresh_test(test_who_fails_of_a_death_is_not_named_for_it),
        fresh_test(test_who_ends_later_but_not_of_others_is_named),
        fresh_test(test_a_wrong_argument_is_named_once_also_where_rank_0_is_late),
        fresh_test(test_what_ranks_leave_behind_is_ended),
        fresh_test(test_nothing_is_left_of_a_killed_launcher),
        fresh_test(test_nothing_is_left_of_a_killed_supervisor),
        fresh_test(test_ranks_end_even_when_nobody_is_left_to_end_them),
        fresh_test(test_nothing_is_left_of_killed_ranks),
        fresh_test(test_own_children_of_the_caller_are_spared),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
