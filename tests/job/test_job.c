// SPDX-License-Identifier: MIT
// Jobs of real processes: how they start, what their ranks are told, and with which status they end.

#include "tests/fixtures/job_fixture.h"

#include <sched.h>

#include "core/clab.h"

// ---- bodies --------------------------------------------------------------------------------------------------

static int fail_at_2_with_3(int rank)
{
    if (rank == 2)
        return 3;
    return wait_for_ever(rank);
}

static int crash_at_1(int rank)
{
    if (rank == 1)
        raise(SIGSEGV);
    return wait_for_ever(rank);
}

static int pass_fence(struct clab_bootstrap *boot, uint64_t key, const int *mine, int all[])
{
    return boot->exchange(boot, (struct clab_fence){.key = key}, mine, sizeof *mine, all);
}

// Rank 1 dies once all have met; the others meet until they learn of it.
static int lose_rank_1(int rank)
{
    struct clab_bootstrap *boot;
    struct clab_notice notice = {.culprit = -1};
    int all[8], err;
    if (clab_bootstrap_open(&boot) != CLAB_OK || pass_fence(boot, 1, &rank, all) != CLAB_OK)
        return 9;
    if (rank == 1)
        raise(SIGKILL);
    const double start = clab_now();
    for (uint64_t key = 2; (err = pass_fence(boot, key, &rank, all)) == CLAB_OK; key++)
        ;
    boot->next_notice(boot, &notice);
    told->seconds[rank] = clab_now() - start;
    told->values[rank] = err * 10 + notice.culprit;
    return 1;
}

static int be_late_at_2(int rank)
{
    struct clab_bootstrap *boot;
    int all[8];
    if (clab_bootstrap_open(&boot) != CLAB_OK)
        return 9;
    if (rank == 2)
        wait_for_ever(rank);
    told->values[rank] = pass_fence(boot, 1, &rank, all);
    return 1;
}

static int tell_place(int rank)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            told->values[rank] = cpu + 1000 * CPU_COUNT(&set);
    told->cores[rank] = clab_cores();
    return 0;
}

static int tell_environment(int rank)
{
    told->values[rank] = atoi(getenv("RANK")) == rank && atoi(getenv("LOCAL_RANK")) == rank &&
                         atoi(getenv("WORLD_SIZE")) == 3 && atoi(getenv("LOCAL_WORLD_SIZE")) == 3 &&
                         !strcmp(getenv("CLAB_BACKEND"), "shm");
    return 0;
}

static int count_input(int rank)
{
    char text[64];
    told->values[rank] = (int)read(STDIN_FILENO, text, sizeof text);
    return 0;
}

static int ignore_the_end(int rank)
{
    signal(SIGTERM, SIG_IGN);
    told->ready++;
    while (rank == 0 && told->ready < 2)
        usleep(1000);
    if (rank == 0)
        return 5;
    return wait_for_ever(rank);
}

// ---- status --------------------------------------------------------------------------------------------------

static int succeed(int rank)
{
    told->values[rank] = 1;
    return 0;
}

static void test_status_is_0_when_all_succeed(void **state)
{
    assert_int_equal(run_job(ranks(5), succeed), 0);
    for (int rank = 0; rank < 5; rank++)
        assert_int_equal(told->values[rank], 1);
}

static void test_status_is_that_of_the_rank_that_fails(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(run_job(ranks(4), fail_at_2_with_3), 3);
    const char *text = capture_end(err);
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_non_null(strstr(text, "rank 2 (pid "));
    assert_non_null(strstr(text, ") exited with status 3\n"));
    assert_all_end();
}

static void test_status_of_a_crash_is_128_and_its_signal(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(run_job(ranks(3), crash_at_1), 128 + SIGSEGV);
    const char *text = capture_end(err);
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_non_null(strstr(text, ") was killed by signal 11 (Segmentation fault)\n"));
    assert_all_end();
}

static void test_survivors_learn_of_a_death(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(run_job(ranks(4), lose_rank_1), 128 + SIGKILL);
    assert_int_equal(occurrences(capture_end(err), "was killed by signal 9 (Killed)\n"), 1);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(told->values[rank], rank == 1 ? 0 : CLAB_EPEER * 10 + 1);
        assert_true(told->seconds[rank] < 1);
    }
}

static void test_who_does_not_come_is_named(void **state)
{
    setenv("CLAB_TIMEOUT", "300ms", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(run_job(ranks(3), be_late_at_2), 1);
    assert_int_equal(occurrences(capture_end(err), "rank 2 of 3 did not arrive within 0.3 s"), 1);
    unsetenv("CLAB_TIMEOUT");
    assert_int_equal(told->values[0], CLAB_ETIMEOUT);
    assert_int_equal(told->values[1], CLAB_ETIMEOUT);
}

static void test_who_ignores_sigterm_is_killed_after_the_grace(void **state)
{
    const double start = clab_now();
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(run_job((struct clab_launch){.nranks = 2, .grace = 0.3}, ignore_the_end), 5);
    capture_end(err);
    assert_true(clab_now() - start >= 0.3 && clab_now() - start < 3);
    assert_all_end();
}

// ---- start ---------------------------------------------------------------------------------------------------

static void test_ranks_know_who_they_are(void **state)
{
    assert_int_equal(run_job(ranks(3), tell_environment), 0);
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(told->values[rank], 1);
    assert_null(getenv("RANK"));
}

static void test_ranks_are_pinned_when_there_are_cores(void **state)
{
    const int cores = clab_cores();
    struct clab_launch launch = ranks(cores < MAX_TOLD ? cores : 2);
    launch.pin = true;
    assert_int_equal(run_job(launch, tell_place), 0);
    for (int rank = 0; rank < launch.nranks; rank++) {
        assert_int_equal(told->values[rank] / 1000, 1);
        assert_int_equal(told->cores[rank], cores);
        for (int other = 0; other < rank; other++)
            assert_int_not_equal(told->values[rank], told->values[other]);
    }
    launch.nranks = cores + 1;
    assert_int_equal(run_job(launch, tell_place), 0);
    assert_int_equal(told->values[0] / 1000, cores);
}

static void test_rank_0_reads_our_input_and_others_none(void **state)
{
    int ends[2];
    const int original = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    dup2(ends[0], STDIN_FILENO);
    assert_int_equal(run_job(ranks(3), count_input), 0);
    dup2(original, STDIN_FILENO);
    close(ends[0]), close(ends[1]), close(original);
    assert_int_equal(told->values[0], 5);
    assert_int_equal(told->values[1], 0);
    assert_int_equal(told->values[2], 0);
}

static void assert_refused(struct clab_launch launch, int err, const char *text)
{
    int rank = 77, status = 77;
    const struct capture log = capture_begin(STDERR_FILENO);
    const int result = clab_launch_ranks(&launch, &rank, &status);
    const char *line = capture_end(log);
    assert_int_equal(result, err);
    assert_non_null(strstr(line, text));
    assert_int_equal(occurrences(line, "\n"), 1);
    assert_int_equal(rank, 77);
    assert_int_equal(status, 77);
}

static void test_bad_requests_are_refused_before_anything_starts(void **state)
{
    struct clab_launch launch = ranks(2);
    assert_refused(ranks(0), CLAB_EINVAL, "-n 0");
    assert_refused(ranks(-1), CLAB_EINVAL, "-n -1");
    assert_refused(ranks(CLAB_MAX_RANKS + 1), CLAB_EINVAL, "-n 1025");
    launch.program = (char *[]){"no-such-program", NULL};
    assert_refused(launch, CLAB_ENOENT, "no program 'no-such-program'");
    launch.program = (char *[]){"/etc/passwd", NULL};
    assert_refused(launch, CLAB_ENOENT, "'/etc/passwd' is not an executable file");
    launch.program = (char *[]){"/tmp", NULL};
    assert_refused(launch, CLAB_ENOENT, "'/tmp' is not an executable file");
    launch = ranks(2);
    launch.backend = "no-such-backend";
    assert_refused(launch, CLAB_EINVAL, "no-such-backend");
    setenv("CLAB_TIMEOUT", "soon", 1);
    assert_refused(ranks(2), CLAB_EINVAL, "CLAB_TIMEOUT is 'soon'");
    setenv("CLAB_TIMEOUT", "0s", 1);
    assert_refused(ranks(2), CLAB_EINVAL, "CLAB_TIMEOUT is '0s'");
    unsetenv("CLAB_TIMEOUT");
}

// ---- clab_job_open -------------------------------------------------------------------------------------------

// Open a job with the command line `argv` in a process of its own, the launcher; ranks run `body`.
static int open_job(char *argv[], int (*body)(struct clab_job *, int argc, char **argv))
{
    int argc = 0;
    while (argv[argc])
        argc++;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        struct clab_job *job;
        if (clab_job_open(&argc, argv, &job) != CLAB_OK)
            _exit(100);
        const int status = body(job, argc, argv);
        clab_job_close(job);
        exit(status);
    }
    return end_status(pid);
}

static int tell_job(struct clab_job *job, int argc, char **argv)
{
    static const char *const left[] = {"program", "-x", "3", "file", "--", "-n", "7"};
    const int rank = clab_job_rank(job);
    told->values[rank] = clab_job_ranks(job);
    if (strcmp(clab_job_backend(job), "shm") != 0 || argc != 7 || argv[argc])
        return 1;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], left[i]) != 0)
            return 1;
    return 0;
}

static void test_open_takes_its_options_and_leaves_the_others(void **state)
{
    char *apart[] = {"program", "-x", "-n", "3", "3", "--backend", "shm", "file", "--", "-n", "7", NULL};
    char *joined[] = {"program", "-n3", "-x", "3", "--backend=shm", "file", "--", "-n", "7", NULL};
    char *none[] = {"program", "-x", "3", "file", "--", "-n", "7", NULL};
    assert_int_equal(open_job(apart, tell_job), 0);
    assert_int_equal(told->values[2], 3);
    assert_int_equal(open_job(joined, tell_job), 0);
    assert_int_equal(open_job(none, tell_job), 0);
    assert_int_equal(told->values[1], 2);
}

static int do_nothing(struct clab_job *job, int argc, char **argv)
{
    told->ready++;
    return 0;
}

static void assert_open_fails(char *argv[], const char *text)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = open_job(argv, do_nothing);
    const char *line = capture_end(err);
    assert_int_equal(status, 100);
    assert_int_equal(told->ready, 0);
    assert_int_equal(occurrences(line, "\n"), 1);
    assert_non_null(strstr(line, text));
}

static void test_open_refuses_bad_options_in_one_line(void **state)
{
    assert_open_fails((char *[]){"program", "-n", "0", NULL}, "-n '0'");
    assert_open_fails((char *[]){"program", "-n", "two", NULL}, "-n 'two'");
    assert_open_fails((char *[]){"program", "-n", NULL}, "program: -n needs a value: N; `program --help`");
    assert_open_fails((char *[]){"program", "-n", "1025", NULL}, "-n '1025'");
    assert_open_fails((char *[]){"program", "--backend", "pigeon", NULL}, "pigeon");
    assert_open_fails((char *[]){"program", "8", "--bakend", "shm", NULL},
                      "program: there is no flag --bakend (did you mean '--backend'?); `program --help` lists them");
    assert_open_fails((char *[]){"program", "--nn", "2", NULL}, "program: there is no flag --nn");
}

static int open_again(struct clab_job *job, int argc, char **argv)
{
    struct clab_job *second = NULL;
    return clab_job_open(&argc, argv, &second) == CLAB_EINVAL && !second ? 0 : 1;
}

static void test_a_rank_joins_once(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = open_job((char *[]){"program", NULL}, open_again);
    assert_int_equal(occurrences(capture_end(err), "has joined this job already"), 2);
    assert_int_equal(status, 0);
}

static int end_without_close(struct clab_job *job, int argc, char **argv)
{
    _exit(0);
}

static void test_a_rank_that_does_not_close_is_warned_of(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = open_job((char *[]){"program", NULL}, end_without_close);
    assert_int_equal(occurrences(capture_end(err), "without clab_job_close"), 2);
    assert_int_equal(status, 0);
}

// What they can not join they do not launch, either: each would be a job of its own.
static void test_processes_of_other_launchers_do_not_become_jobs(void **state)
{
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    assert_open_fails((char *[]){"program", NULL}, "set MASTER_ADDR and MASTER_PORT");
    assert_open_fails((char *[]){"program", "-n", "3", NULL}, "-n 3, but the job that this rank belongs to has 4");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

static void test_a_process_that_is_alone_with_its_launcher_may_launch_a_job(void **state)
{
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    assert_int_equal(open_job((char *[]){"program", NULL}, do_nothing), 0);
    assert_int_equal(told->ready, 1);
    assert_int_equal(open_job((char *[]){"program", "-n", "3", NULL}, do_nothing), 0);
    assert_int_equal(told->ready, 1 + 3);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

static void say_goodbye(void)
{
    told->ready++;
}

static void test_launcher_repeats_neither_output_nor_exit_handlers(void **state)
{
    const struct capture out = capture_begin(STDOUT_FILENO);
    const pid_t pid = fork();
    if (pid == 0) {
        struct clab_job *job;
        int argc = 3;
        atexit(say_goodbye);
        printf("once\n"); // in a buffer, since stdout is a file
        if (clab_job_open(&argc, (char *[]){"program", "-n", "3", NULL}, &job) == CLAB_OK)
            clab_job_close(job);
        exit(0);
    }
    const int status = end_status(pid);
    assert_string_equal(capture_end(out), "once\n");
    assert_int_equal(status, 0);
    assert_int_equal(told->ready, 3); // each rank's exit handler, and not the launcher's
}

static int status_with_a_usual_backend(void)
{
    const struct clab_job_options options = {.usual_backend = "pigeon"};
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        struct clab_job *job;
        if (clab_job_open_with(&options, &job) != CLAB_OK)
            _exit(100);
        clab_job_close(job);
        _exit(0);
    }
    return end_status(pid);
}

static void test_a_programs_usual_backend_counts_where_nothing_else_is_said(void **state)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int alone = status_with_a_usual_backend();
    const char *line = capture_end(err);
    assert_int_equal(alone, 100);
    assert_non_null(strstr(line, "pigeon"));
    setenv("CLAB_BACKEND", "shm", 1);
    const int told_another = status_with_a_usual_backend();
    unsetenv("CLAB_BACKEND");
    assert_int_equal(told_another, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_status_is_0_when_all_succeed),
        fresh_test(test_status_is_that_of_the_rank_that_fails),
        fresh_test(test_status_of_a_crash_is_128_and_its_signal),
        fresh_test(test_survivors_learn_of_a_death),
        fresh_test(test_who_does_not_come_is_named),
        fresh_test(test_who_ignores_sigterm_is_killed_after_the_grace),
        fresh_test(test_ranks_know_who_they_are),
        fresh_test(test_ranks_are_pinned_when_there_are_cores),
        fresh_test(test_rank_0_reads_our_input_and_others_none),
        fresh_test(test_bad_requests_are_refused_before_anything_starts),
        fresh_test(test_open_takes_its_options_and_leaves_the_others),
        fresh_test(test_open_refuses_bad_options_in_one_line),
        fresh_test(test_a_programs_usual_backend_counts_where_nothing_else_is_said),
        fresh_test(test_a_rank_joins_once),
        fresh_test(test_a_rank_that_does_not_close_is_warned_of),
        fresh_test(test_processes_of_other_launchers_do_not_become_jobs),
        fresh_test(test_a_process_that_is_alone_with_its_launcher_may_launch_a_job),
        fresh_test(test_launcher_repeats_neither_output_nor_exit_handlers),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
