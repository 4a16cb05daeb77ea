// SPDX-License-Identifier: MIT
// Runs a student's program for a check, and reads what it leaves (check_inside.h).
//
// - What it prints is thrown away. Of what it complains the first 256 KiB go to a file, by a process of their own, so that
//   endless complaints fill no disk; after 4 MiB that process ends, and writing more ends the program. What the library has counted comes through another file, whose name the program does
//   not print: so no line that a program writes can pass for a report.
// - Waits end after CLAB_TIMEOUT, and the program after a deadline. Its processor time is
//   limited, too, so that an endless loop costs nobody more than this case.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/course/check_inside.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/variables.h"

// For a program whose ranks share two busy cores, and for one some of whose ranks did not even join in that time.
static const struct patience {
    double seconds;   // the whole run
    const char *wait; // CLAB_TIMEOUT
} usual = {15, "5s"}, more = {60, "30s"};
enum { CPU_SECONDS = 60 };

struct files {
    char counts[PATH_MAX + 16], rows[PATH_MAX + 16], complaints[PATH_MAX + 16];
};

static void name_files(const struct check *c, struct files *f)
{
    snprintf(f->counts, sizeof f->counts, "%s/counts.csv", c->folder);
    snprintf(f->rows, sizeof f->rows, "%s/rows", c->folder);
    snprintf(f->complaints, sizeof f->complaints, "%s/complaints", c->folder);
    unlink(f->rows);
    unlink(f->counts);
}

// ---- complaints ----------------------------------------------------------------------------------------------

enum { COMPLAINTS = 256 << 10, MOST_COMPLAINTS = 4 << 20 }; // bytes that are kept, and read
enum { ENDLESS = 2 };                                       // the exit status of who has read so many

static void keep_first(int from, const char *path)
{
    char buffer[4096];
    const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;
    for (size_t total = 0; (n = read(from, buffer, sizeof buffer)) > 0;) {
        if (total < COMPLAINTS && write(to, buffer, (size_t)n) < 0)
            _exit(1);
        total += (size_t)n;
        if (total >= MOST_COMPLAINTS)
            _exit(ENDLESS);
    }
    _exit(to < 0);
}

// Start the process that reads them.  out: *pipe_p, where they are written; its *pid_p ends when all have closed that
static int start_reader(const struct files *f, int *pipe_p, pid_t *pid_p)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return CLAB_ESYS;
    *pid_p = child_fork();
    if (*pid_p == 0) {
        close(ends[1]);
        keep_first(ends[0], f->complaints);
    }
    close(ends[0]);
    *pipe_p = ends[1];
    return *pid_p < 0 ? CLAB_ESYS : CLAB_OK;
}

// ---- the program ---------------------------------------------------------------------------------------------

static void limit(void)
{
    const struct rlimit seconds = {CPU_SECONDS, CPU_SECONDS}, core = {0, 0};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &core);
}

static void become_program(const struct check *c, const struct files *f, int complaints, char *const argv[])
{
    char backends[PATH_MAX + 16] = "", *build; // a program elsewhere does not find this build's plugins
    if (kit_build(&build) == CLAB_OK)
        snprintf(backends, sizeof backends, "%s/backends", build);
    for (int v = CLAB_VARIABLE_NONE + 1; v < CLAB_VARIABLES_COUNT; v++)
        unsetenv(clab_variable_name((enum clab_variable)v));
    child_set_environment((const struct child_variable[]){{"CLAB_COUNTS", f->counts, false},
                                                          {"CLAB_BACKENDS", backends, false},
                                                          {"CLAB_RESULTS", f->rows, false},
                                                          {"CLAB_NETS", c->nets, false},
                                                          {"CLAB_TIMEOUT", c->is_patient ? more.wait : usual.wait, false},
                                                          {"CLAB_POISON", "1", false},
                                                          {0}});
    setpgid(0, 0); // so that all that it starts can be ended with it
    limit();
    if (freopen("/dev/null", "r", stdin) && freopen("/dev/null", "w", stdout) && dup2(complaints, STDERR_FILENO) >= 0)
        execv(argv[0], argv);
    _exit(127);
}

// Start it, and wait until it has ended and all that it complained of is in the file.
//   out: *status_p, of waitpid; *stopped_p, why it was stopped, or NULL
static int run_to_end(const struct check *c, const struct files *f, char *const argv[], int *status_p,
                      const char **stopped_p)
{
    int complaints, ended = 0;
    bool is_late = false, is_held; // by a process that the program left behind
    pid_t reader, pid;
    CLAB_TRY(start_reader(f, &complaints, &reader));
    pid = child_fork();
    if (pid == 0)
        become_program(c, f, complaints, argv);
    close(complaints);
    const int err = pid < 0 ? CLAB_ESYS : child_wait_until(pid, (c->is_patient ? more : usual).seconds, status_p, &is_late);
    if (pid > 0)
        kill(-pid, SIGKILL); // what it has left behind
    CLAB_TRY(child_wait_until(reader, 1, &ended, &is_held));
    *stopped_p = WIFEXITED(ended) && WEXITSTATUS(ended) == ENDLESS
                     ? "the program wrote more than 4 MiB of messages, and was stopped\n"
                 : is_late ? "the program did not end, and was stopped\n"
                           : NULL;
    return err;
}

// ---- what it leaves ------------------------------------------------------------------------------------------

static int read_rows(const struct files *f, struct check_run *run)
{
    FILE *file = fopen(f->rows, "re");
    if (!file)
        return CLAB_OK; // it reported nothing
    const int err = lab_rows_read(file, "the rows of the program", LAB_AFTER, run->ranks, &run->reports);
    fclose(file);
    return err;
}

// A rank that has not closed its job has no row.
static int missing_rank(const struct check_run *run)
{
    for (int rank = 0; rank < run->ranks; rank++)
        if (check_total(run, rank).communicators == 0 && check_total(run, rank).seconds == 0)
            return rank;
    return -1;
}

static int read_counts(const struct files *f, struct check_run *run, enum check_failure *failure_p, char *facts)
{
    if (access(f->counts, F_OK) == 0)
        CLAB_TRY(clab_counts_read(f->counts, &run->rows, &run->nrows));
    const int missing = missing_rank(run);
    if (missing < 0)
        return CLAB_OK;
    *failure_p = CHECK_CRASHES;
    snprintf(facts, 2 * CHECK_LINE,
             "rank %d ended without clab_job_close, so what it did is not known. Each rank calls clab_job_close at the "
             "end of main.\n",
             missing);
    return CLAB_OK;
}

int check_start(struct check *c, struct check_run *run, char *const argv[], enum check_failure *failure_p,
                char facts[2 * CHECK_LINE])
{
    struct files f;
    int status = 0;
    const char *stopped = NULL;
    name_files(c, &f);
    CLAB_TRY(run_to_end(c, &f, argv, &status, &stopped));
    if (child_ended_by())
        return CLAB_EPEER;
    *failure_p = CHECK_FAILURES;
    if (stopped || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        *failure_p = check_why(f.complaints, status, stopped, facts);
        return CLAB_OK;
    }
    CLAB_TRY(read_rows(&f, run));
    return read_counts(&f, run, failure_p, facts);
}
