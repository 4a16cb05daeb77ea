// SPDX-License-Identifier: MIT
// netmon's rates are held to a job over the loopback: rank 0 sends known bytes to rank 1 for some seconds, and then half
// as fast, and notes when it has sent how many. In a network namespace, which nobody else uses.
// Only in a full run: 2 cases. Runs alone, since rates of another second than the job's would differ from its own.

#include "tests/fixtures/own_network.h"

#include "core/clab.h"

enum { RANKS = 2, CHUNK = 64 << 10, SLOW_CHUNKS = 1000, FAST_CHUNKS = 2000, CHUNKS = FAST_CHUNKS + SLOW_CHUNKS, ROWS = 200 };
static const double slow = 2e-3, fast = 1e-3; // s per chunk
static double interval; // of the samples
static bool is_closed;  // by the job, as soon as it has sent all; else it waits until netmon has seen that

// When rank 0 had sent how many bytes, in s of the clock that netmon writes.
struct moment {
    double at, bytes;
};

static struct {
    _Atomic int ready, may_begin, is_over;
    int n; // of the line
    struct moment line[CHUNKS + 1];
    _Atomic int done;
} * shared;

static double wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wait_for(_Atomic int *flag, int value)
{
    for (const double until = clab_now() + 3 * TIME_LIMIT; *flag < value && clab_now() < until;)
        usleep(1000);
}

// ---- the job -------------------------------------------------------------------------------------------------

static void note(const struct clab_job *job)
{
    shared->line[shared->n++] = (struct moment){wall(), (double)clab_job_counts(job).bytes_sent};
}

static void send_all(struct clab_job *job, struct clab_comm *comm, float *data)
{
    double due = clab_now();
    note(job);
    for (int i = 0; i < CHUNKS; i++) {
        due += i < FAST_CHUNKS ? fast : slow;
        while (clab_now() < due)
            usleep(100);
        if (clab_send(comm, data, CHUNK / sizeof *data, CLAB_F32, 1))
            _exit(2);
        note(job);
    }
}

static void receive_all(struct clab_comm *comm, float *data)
{
    for (int i = 0; i < CHUNKS; i++)
        if (clab_recv(comm, data, CHUNK / sizeof *data, CLAB_F32, 0))
            _exit(3);
}

// Connections stay as long as netmon looks at them.
static void be_a_rank(void)
{
    char name[] = "netmon", n[] = "-n", two[] = "2", flag[] = "--backend", ofi[] = "ofi";
    char *argv[] = {name, n, two, flag, ofi, NULL};
    int argc = 5;
    struct clab_job *job;
    struct clab_comm *comm;
    float *data = calloc(1, CHUNK);
    if (!data || clab_job_open(&argc, argv, &job) || clab_comm_create(job, &comm) || clab_barrier(comm))
        _exit(1);
    shared->ready++;
    wait_for(&shared->may_begin, 1);
    if (clab_job_rank(job) == 0)
        send_all(job, comm, data);
    else
        receive_all(comm, data);
    shared->done++;
    if (!is_closed)
        wait_for(&shared->is_over, 1);
    free(data);
    clab_comm_destroy(comm);
    _exit(clab_job_close(job));
}

static pid_t start_ranks(void)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_a_rank();
    }
    wait_for(&shared->ready, RANKS);
    return pid;
}

// ---- netmon --------------------------------------------------------------------------------------------------

struct monitor {
    pid_t pid;
    char path[64]; // of its output
};

static struct monitor monitor(const char *what, const char *value)
{
    char program[4096], every[32];
    struct monitor m = {.path = "/tmp/netmon-rates-XXXXXX"};
    const int fd = mkstemp(m.path);
    snprintf(program, sizeof program, "%s/commlab", getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build");
    snprintf(every, sizeof every, "%gs", interval);
    fflush(NULL);
    m.pid = fork();
    if (m.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fd, STDOUT_FILENO);
        execl(program, "commlab", "netmon", "--csv", "--interval", every, what, value, (char *)NULL);
        _exit(127);
    }
    close(fd);
    return m;
}

// Its rows that begin behind the time with `key`, such as "0,1," for rank 0 and its peer 1: the time, and the number in
// `column` from 0.
static int read_rows(const struct monitor *m, const char *key, int column, struct moment rows[ROWS])
{
    char line[512];
    int n = 0;
    FILE *file = fopen(m->path, "r");
    while (file && n < ROWS && fgets(line, sizeof line, file)) {
        char *rest, *at = line;
        const double when = strtod(line, &rest);
        if (*rest != ',' || strncmp(rest + 1, key, strlen(key)) || !strchr(line, '\n'))
            continue;
        for (int c = 0; c < column && at; c++)
            at = strchr(at + 1, ',');
        if (at)
            rows[n++] = (struct moment){when, strtod(at + 1, NULL)};
    }
    if (file)
        fclose(file);
    return n;
}

static void wait_for_row_after(const struct monitor *m, const char *key, double when)
{
    struct moment rows[ROWS];
    for (const double until = clab_now() + 3 * TIME_LIMIT; clab_now() < until; usleep(20000)) {
        const int n = read_rows(m, key, 1, rows);
        if (n && rows[n - 1].at > when)
            return;
    }
}

// ---- comparing -----------------------------------------------------------------------------------------------

static bool is_near(double got, double expected)
{
    if (got > 0.95 * expected && got < 1.05 * expected)
        return true;
    fprintf(stderr, "got %.4g, expected %.4g within 5 %%\n", got, expected);
    return false;
}

// What the job had sent by then.
static double sent_by(double when)
{
    const struct moment *line = shared->line;
    int i = 0;
    while (i < shared->n && line[i].at < when)
        i++;
    if (i == 0 || i == shared->n)
        return line[i == 0 ? 0 : shared->n - 1].bytes;
    const double part = (when - line[i - 1].at) / (line[i].at - line[i - 1].at);
    return line[i - 1].bytes + part * (line[i].bytes - line[i - 1].bytes);
}

// Mbit/s per row: in all the job's bytes; at most what the job has sent in that interval.
static bool are_rates(const struct moment rows[], int n)
{
    const double all = shared->line[shared->n - 1].bytes - shared->line[0].bytes;
    double sum = 0;
    int most = 1;
    for (int i = 1; i < n; i++) {
        sum += rows[i].bytes * 1e6 / 8 * (rows[i].at - rows[i - 1].at);
        most = rows[i].bytes > rows[most].bytes ? i : most;
    }
    if (n < 3) {
        fprintf(stderr, "only %d rows\n", n);
        return false;
    }
    const double from = rows[most - 1].at, to = rows[most].at;
    return is_near(sum, all) && is_near(rows[most].bytes * 1e6 / 8, (sent_by(to) - sent_by(from)) / (to - from)) &&
           rows[most].bytes * 1e6 / 8 > 1.5 * CHUNK / slow; // it is of the fast part
}

// ---- the test ------------------------------------------------------------------------------------------------

enum { NO_JOB = 1, WRONG_TX, WRONG_RX, WRONG_LO_TX, WRONG_LO_RX };

static int compare(const struct monitor *pairs, const struct monitor *lo)
{
    struct moment rows[ROWS];
    if (!are_rates(rows, read_rows(pairs, "0,1,", 3, rows)))
        return WRONG_TX;
    if (!are_rates(rows, read_rows(pairs, "1,0,", 4, rows)))
        return WRONG_RX;
    if (!are_rates(rows, read_rows(lo, "", 2, rows)))
        return WRONG_LO_TX;
    return are_rates(rows, read_rows(lo, "", 1, rows)) ? 0 : WRONG_LO_RX;
}

static int measure(void)
{
    char job[16];
    const pid_t pid = start_ranks();
    if (shared->ready != RANKS)
        return NO_JOB;
    snprintf(job, sizeof job, "%d", (int)pid);
    const struct monitor pairs = monitor("--job", job), lo = monitor("-i", "lo");
    wait_for_row_after(&pairs, "0,1,", 0);
    wait_for_row_after(&lo, "", 0);
    shared->may_begin = 1;
    wait_for(&shared->done, RANKS);
    if (!is_closed)
        wait_for_row_after(&pairs, "0,1,", wall());
    wait_for_row_after(&lo, "", wall());
    shared->is_over = 1;
    kill(lo.pid, SIGTERM);
    int status = -1, job_status = -1;
    waitpid(pid, &job_status, 0);
    waitpid(pairs.pid, &status, 0);
    waitpid(lo.pid, NULL, 0);
    const int wrong = job_status || status || shared->done != RANKS ? NO_JOB : compare(&pairs, &lo);
    unlink(pairs.path);
    unlink(lo.path);
    return wrong;
}

static void check_rates(void)
{
    if (!clab_backend_find("ofi")) {
        puts("skip: this build has no ofi");
        skip();
    }
    memset((void *)shared, 0, sizeof *shared);
    assert_in_own_network(measure);
}

static void test_rates_are_those_of_the_job(void **state)
{
    interval = 0.5;
    is_closed = false;
    check_rates();
}

// As jobs do. In the second since the last sample it has sent a third of all.
static void test_rates_last_until_the_job_closes_its_connections(void **state)
{
    interval = 1.5;
    is_closed = true;
    check_rates();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates_are_those_of_the_job),
                                       cmocka_unit_test(test_rates_last_until_the_job_closes_its_connections)};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
