// SPDX-License-Identifier: MIT
// Random signals to the launcher, the supervisor and the ranks of jobs whose output nobody reads: each job ends when it
// is told to, and leaves no process, no file in /dev/shm, no socket and no temporary folder. Runs late.
//
// - CLAB_TEST_TRIALS jobs (5 unless told), one after the other. The first is drawn from CLAB_TEST_SEED, the next from
//   the number after it, so that any of them can be repeated alone. A job that fails is described with its number.
// - A job has 1 to 4 ranks, which sum and write; on its pages or on a store; with prefixes or without. It gets 1 to 6
//   of STOP, CONT, KILL, TERM, INT and HUP, within 180 ms: some before the pipe is full, some after.
// - Then whoever was stopped is woken, and the launcher gets SIGTERM once a second until it ends, as from a person.

#include "tests/fixtures/job_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>

#include "core/base/mix.h"
#include "core/clab.h"
#include "core/job/launch/run.h"

#ifdef HAVE_SODIUM
enum { HAS_STORE = 1 };
#else
enum { HAS_STORE = 0 }; // ranks could not prove to it who they are
#endif

enum { MAX_RANKS = 4, MAX_SIGNALS = 6, LAUNCHER = -2, SUPERVISOR = -1 };
static const double bound = 15; // s after the first SIGTERM: grace of 2 s, output of 2 s, and a busy machine

struct event {
    int target; // LAUNCHER, SUPERVISOR, or a rank
    int signo;
    unsigned after_us;
};

struct trial {
    uint32_t seed;
    int nranks, nevents;
    bool prefix, by_store, writes_errors;
    struct event events[MAX_SIGNALS];
};

static char temporary[] = "/tmp/commlab-signals-XXXXXX";

// ---- drawing -------------------------------------------------------------------------------------------------

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = clab_mix(*state, n);
    return (uint32_t)(*state >> 32) % n;
}

static struct trial draw_trial(uint32_t seed)
{
    static const int signals[] = {SIGSTOP, SIGCONT, SIGKILL, SIGTERM, SIGINT, SIGHUP};
    uint64_t state = seed;
    struct trial t = {.seed = seed};
    t.nranks = 1 + (int)draw(&state, MAX_RANKS);
    t.prefix = draw(&state, 2);
    t.by_store = draw(&state, 4) == 0 && HAS_STORE;
    t.writes_errors = draw(&state, 2);
    t.nevents = 1 + (int)draw(&state, MAX_SIGNALS);
    for (int i = 0; i < t.nevents; i++)
        t.events[i] = (struct event){.target = LAUNCHER + (int)draw(&state, (uint32_t)t.nranks + 2),
                                     .signo = signals[draw(&state, 6)],
                                     .after_us = draw(&state, 30000)};
    return t;
}

static const char *describe(const struct trial *t)
{
    static char text[1024];
    int used =
        snprintf(text, sizeof text, "seed %u: %d ranks%s%s%s:", t->seed, t->nranks, t->prefix ? ", prefixes" : "",
                 t->by_store ? ", a store" : "", t->writes_errors ? ", errors unread too" : "");
    for (int i = 0; i < t->nevents; i++) {
        const struct event *e = &t->events[i];
        char whom[16] = "launcher";
        if (e->target != LAUNCHER)
            snprintf(whom, sizeof whom, e->target == SUPERVISOR ? "supervisor" : "rank %d", e->target);
        used += snprintf(text + used, sizeof text - (size_t)used, " +%.1f ms SIG%s to %s", 1e-3 * e->after_us,
                         sigabbrev_np(e->signo), whom);
    }
    return text;
}

// ---- the job -------------------------------------------------------------------------------------------------

static struct trial now; // which the job's ranks find in their copy

static void tell_place(int rank)
{
    told->values[rank] = getpid();
    if (rank == 0)
        told->pids[0] = getppid();
    told->ready++;
}

// Sum and write, until there is an end.
static int sum_and_write(int rank)
{
    char name[] = "test", *argv[] = {name, NULL};
    int argc = 1;
    struct clab_job *job;
    struct clab_comm *comm;
    float in[64] = {0}, out[64];
    tell_place(rank);
    if (now.by_store)
        unsetenv("CLAB_JOB_FD"); // as ranks that were started by hand: rank 0 starts the store
    if (clab_job_open(&argc, argv, &job) || clab_comm_create(job, &comm))
        return 3;
    while (clab_allreduce(comm, in, out, 64, CLAB_F32, CLAB_SUM) == CLAB_OK)
        printf("%d: %080d\n", rank, rank);
    return 4;
}

// Our streams go to a pipe that nobody reads.
static pid_t start_trial(const struct trial *t, int to)
{
    now = *t;
    forget(NULL);
    fflush(NULL);
    const pid_t job = fork();
    assert_true(job >= 0);
    if (job > 0)
        return job;
    const int null = open("/dev/null", O_WRONLY);
    setpgid(0, 0);
    dup2(to, STDOUT_FILENO);
    dup2(t->writes_errors ? to : null, STDERR_FILENO);
    setenv("CLAB_TIMEOUT", "5s", 1);
    _exit(run_job((struct clab_launch){.nranks = t->nranks, .grace = 2, .prefix = t->prefix}, sum_and_write));
}

static pid_t process_of(pid_t job, int target)
{
    return target == LAUNCHER ? job : target == SUPERVISOR ? told->pids[0] : told->values[target];
}

// One that has ended is left alone.
static void send(pid_t job, int target, int signo)
{
    const pid_t pid = process_of(job, target);
    if (pid > 0 && !is_gone(pid))
        kill(pid, signo);
}

// ---- what is left --------------------------------------------------------------------------------------------

// Whether there is any descendant: this process is a subreaper. Those that have ended are gone then.
static bool has_processes(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return waitpid(-1, NULL, WNOHANG) == 0;
}

static int entries_with(const char *folder, const char *part)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL;
    if (dir)
        closedir(dir);
    return count;
}

static int lines_with(const char *path, const char *part)
{
    char line[512];
    int count = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, part) != NULL;
    if (file)
        fclose(file);
    return count;
}

struct left {
    int segments, sockets, temporaries;
};

static struct left count_left(void)
{
    return (struct left){.segments = entries_with("/dev/shm", "clab"),
                         .sockets = lines_with("/proc/net/unix", "clab"),
                         .temporaries = entries_with(temporary, "")};
}

static bool is_more(struct left a, struct left b)
{
    return a.segments > b.segments || a.sockets > b.sockets || a.temporaries > b.temporaries;
}

// ---- a trial -------------------------------------------------------------------------------------------------

static void end_all(pid_t job)
{
    pid_t *pids;
    int count;
    kill(job, SIGKILL);
    while (has_processes() && children_list(&pids, &count) == CLAB_OK) {
        for (int i = 0; i < count; i++)
            kill(pids[i], SIGKILL);
        free(pids);
        usleep(1000);
    }
}

// As one who wants the job to end would: wake all, tell the launcher, and tell it again.  Seconds; -1: it hangs
static double end_trial(const struct trial *t, pid_t job)
{
    const double start = clab_now();
    double next = start;
    for (int target = LAUNCHER; target < t->nranks; target++)
        send(job, target, SIGCONT);
    while (has_processes()) {
        if (clab_now() - start > bound)
            return -1;
        if (clab_now() >= next) {
            send(job, LAUNCHER, SIGTERM);
            next += 1;
        }
        usleep(1000);
    }
    return clab_now() - start;
}

static void send_all(const struct trial *t, pid_t job)
{
    for (int i = 0; i < t->nevents; i++) {
        usleep(t->events[i].after_us);
        send(job, t->events[i].target, t->events[i].signo);
    }
}

static double run_trial(const struct trial *t)
{
    const struct left before = count_left();
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t job = start_trial(t, ends[1]);
    close(ends[1]);
    for (const double start = clab_now(); told->ready < t->nranks && clab_now() - start < TIME_LIMIT;)
        usleep(1000);
    const bool has_started = told->ready == t->nranks;
    if (has_started)
        send_all(t, job);
    const double seconds = end_trial(t, job);
    char states[MAX_RANKS + 3] = {process_state(job), process_state(told->pids[0])};
    for (int rank = 0; rank < t->nranks; rank++)
        states[2 + rank] = process_state(told->values[rank]);
    end_all(job);
    close(ends[0]);
    if (!has_started)
        fail_msg("%s: %d ranks have started within %g s", describe(t), told->ready, TIME_LIMIT);
    if (seconds < 0)
        fail_msg("%s: still there after %g s (launcher, supervisor, ranks: %s)", describe(t), bound, states);
    const struct left left = count_left();
    if (is_more(left, before))
        fail_msg("%s: left %d segments, %d sockets, %d temporary files", describe(t), left.segments - before.segments,
                 left.sockets - before.sockets, left.temporaries - before.temporaries);
    return seconds;
}

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_random_signals_hang_nothing_and_leave_nothing(void **state)
{
    uint32_t seed;
    double longest = 0;
    int sent = 0;
    assert_int_equal(getrandom(&seed, sizeof seed, 0), sizeof seed);
    seed = number_of("CLAB_TEST_SEED", seed % 1000000);
    const unsigned trials = number_of("CLAB_TEST_TRIALS", 5);
    printf("# CLAB_TEST_SEED=%u CLAB_TEST_TRIALS=%u\n", seed, trials);
    for (unsigned i = 0; i < trials; i++) {
        const struct trial t = draw_trial(seed + i);
        const double seconds = run_trial(&t);
        printf("# %s: ended within %.2f s\n", describe(&t), seconds);
        longest = seconds > longest ? seconds : longest;
        sent += t.nevents;
    }
    printf("# %u jobs, %d signals: no hang, nothing left; the longest end took %.2f s\n", trials, sent, longest);
}

static int set_up(void **state)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return share_told(state) || !mkdtemp(temporary) || setenv("TMPDIR", temporary, 1);
}

static int tear_down(void **state)
{
    return rmdir(temporary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_signals_hang_nothing_and_leave_nothing)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
