// SPDX-License-Identifier: MIT
// The launcher: checks the request, makes the job's memory file, and waits for the supervisor (run.h).
//
// - The file is one sparse memfd that ranks inherit. It has no name, so nothing is left of it, however the job ends.
// - Each rank is in a process group of its own. So a signal that the terminal sends to its foreground group (Ctrl-C)
//   reaches the launcher alone, and ranks get it once, as they do a signal that a user sends to the launcher.
// - Ctrl-Z (SIGTSTP) stops the ranks and the launcher, and SIGCONT wakes both. The supervisor does not stop, so it still
//   sees deaths. After SIGSTOP and SIGCONT for all processes, as of `scontrol suspend`, none of ours stops again.

#include "core/job/job.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/variables.h"
#include "core/job/pages/memory.h"
#include "core/job/launchers/mpirun.h"
#include "core/job/launch/run.h"

void run_signals(sigset_t *set_p)
{
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigemptyset(set_p);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(set_p, passed_on[i]);
}

bool run_ends_programs(int signo)
{
    return signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT;
}

// ---- checks before a process is started ----------------------------------------------------------------------

static bool is_runnable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool is_on_path(const char *program)
{
    const char *dir = getenv("PATH");
    for (dir = dir ? dir : "/bin:/usr/bin"; *dir;) {
        const size_t length = strcspn(dir, ":");
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%s", length ? (int)length : 1, length ? dir : ".", program);
        if (is_runnable(path))
            return true;
        dir += length + (dir[length] == ':');
    }
    return false;
}

static int check_program(const char *program)
{
    if (strchr(program, '/') ? is_runnable(program) : is_on_path(program))
        return CLAB_OK;
    if (strchr(program, '/') && access(program, F_OK) == 0)
        clab_error("'%s' is not an executable file", program);
    else if (strchr(program, '/'))
        clab_error("there is no program '%s'", program);
    else
        clab_error("there is no program '%s' on the PATH; one in this directory is called ./%s", program, program);
    return CLAB_ENOENT;
}

static int check(const struct clab_launch *launch, struct run *run)
{
    double timeout;
    if (launch->nranks < 1 || launch->nranks > CLAB_MAX_RANKS) {
        clab_error("-n %d: a job has 1 to %d ranks", launch->nranks, CLAB_MAX_RANKS);
        return CLAB_EINVAL;
    }
    const char *backend = launch->backend ? launch->backend : clab_variable_text(CLAB_VARIABLE_BACKEND);
    run->backend = backend ? backend : clab_backend_usual(launch->nnodes);
    if (!clab_backend_find(run->backend) || clab_timeout_read(&timeout) != CLAB_OK)
        return CLAB_EINVAL;
    return launch->program ? check_program(launch->program[0]) : CLAB_OK;
}

// ---- the job's memory ----------------------------------------------------------------------------------------

// If the caller has closed standard streams, the next files to be opened would get their numbers, and ranks would write
// to them.
static void fill_standard_streams(void)
{
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO)
        ;
    if (fd > STDERR_FILENO)
        close(fd);
}

static int make_memory(struct run *run)
{
    const bool inherited = !run->nodes.client; // with several nodes, ranks use the store
    return clab_memory_make(run->nlocal, clab_machine_cores(NULL), inherited, &run->memory_fd, &run->control);
}

// ---- what a killed supervisor leaves -------------------------------------------------------------------------

// The caller is a subreaper while the job runs: it adopts the children of a killed supervisor and ends them. It spares
// the children that it had before.
struct subreaper {
    pid_t *children;
    int count, was_subreaper;
};

static void become_subreaper(struct subreaper *subreaper)
{
    *subreaper = (struct subreaper){0};
    children_list(&subreaper->children, &subreaper->count);
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper->was_subreaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void end_inherited(struct subreaper *subreaper, bool supervisor_was_killed)
{
    if (supervisor_was_killed)
        children_end(subreaper->children, subreaper->count);
    prctl(PR_SET_CHILD_SUBREAPER, subreaper->was_subreaper);
    free(subreaper->children);
}

// ---- waiting -------------------------------------------------------------------------------------------------

static void signals_awaited(sigset_t *set_p)
{
    run_signals(set_p);
    sigaddset(set_p, SIGCHLD);
}

// A signalfd: readable while one of them is pending, which only `read` would take.  -1: failed, logged
static int signals_open(void)
{
    sigset_t signals;
    signals_awaited(&signals);
    const int fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (fd < 0)
        clab_error("can not wait for signals: %m");
    return fd;
}

static bool is_pending(int signo)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signo) == 1;
}

// SIGTSTP is pending: forward it, then let the system stop us. A SIGCONT that comes before we stop removes the pending
// SIGTSTP, so we go on; a later one wakes us. So no SIGCONT is lost.
static void stop_with_ranks(pid_t supervisor)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(supervisor, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

// SIGCONT, too: a stopped supervisor would not act on the signal.
static void pass_on(pid_t supervisor, int signo)
{
    kill(supervisor, signo);
    if (run_ends_programs(signo))
        kill(supervisor, SIGCONT);
}

// The next signal that is not SIGTSTP, which stays pending; 0: none has come.
static int take_signal(int fd)
{
    sigset_t signals;
    signals_awaited(&signals);
    sigdelset(&signals, SIGTSTP);
    poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1);
    const int signo = sigtimedwait(&signals, NULL, &(struct timespec){0});
    return signo > 0 ? signo : 0;
}

// Wait for the supervisor, and forward signals to it. Its status, as of waitpid. If a signal that ends programs comes
// after the supervisor has ended, raise it again: the caller gets it when it has its mask back.
//   signals: a signalfd
static int wait_for(pid_t supervisor, int signals)
{
    for (;;) {
        int status;
        const int signo = take_signal(signals);
        if (waitpid(supervisor, &status, WNOHANG) == supervisor) {
            if (run_ends_programs(signo))
                raise(signo);
            return status;
        }
        if (signo && signo != SIGCHLD)
            pass_on(supervisor, signo);
        if (is_pending(SIGTSTP))
            stop_with_ranks(supervisor);
    }
}

static int fork_supervisor(struct run *run, int lifeline[2], pid_t *pid_p)
{
    if (pipe2(lifeline, O_CLOEXEC) != 0) {
        clab_error("can not make a pipe: %m");
        return CLAB_ESYS;
    }
    fflush(NULL); // else both processes would write what is buffered
    *pid_p = fork();
    if (*pid_p < 0) {
        clab_error("can not start the job: %m");
        close(lifeline[0]);
        close(lifeline[1]);
        return CLAB_ESYS;
    }
    close(lifeline[*pid_p == 0]);
    run->lifeline = lifeline[0];
    return CLAB_OK;
}

// Whether a line can be written there soon. Without a reader we would wait for ever, since signals are blocked.
static bool is_read(int fd)
{
    return poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 1000) > 0;
}

static int run_job(struct run *run, int *rank_p, int *status_p)
{
    struct subreaper subreaper;
    int lifeline[2];
    pid_t supervisor;
    const int signals = signals_open();
    if (signals < 0)
        return CLAB_ESYS;
    become_subreaper(&subreaper); // before there is a process to adopt
    const int err = fork_supervisor(run, lifeline, &supervisor);
    if (err != CLAB_OK) {
        end_inherited(&subreaper, false);
        close(signals);
        return err;
    }
    if (supervisor == 0) {
        close(signals);
        free(subreaper.children); // a fork of a subreaper is none
        nodes_forget_store(&run->nodes);
        *rank_p = supervise(run);
        close(lifeline[0]);
        return CLAB_OK;
    }
    nodes_forget_connection(&run->nodes);
    const int status = wait_for(supervisor, signals);
    end_inherited(&subreaper, WIFSIGNALED(status));
    close(signals);
    close(lifeline[1]);
    if (WIFSIGNALED(status) && is_read(STDERR_FILENO))
        clab_error("the supervisor of the job (pid %d) was killed by signal %d", (int)supervisor, WTERMSIG(status));
    *status_p = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    *rank_p = -1;
    return CLAB_OK;
}

static void take_signals(struct run *run)
{
    sigset_t signals;
    signals_awaited(&signals);
    const struct sigaction usual = {.sa_handler = SIG_DFL}; // an ignored SIGCHLD would hide how children ended
    sigaction(SIGCHLD, &usual, &run->caller_on_child);
    sigprocmask(SIG_BLOCK, &signals, &run->caller_mask);
}

static void give_signals_back(const struct run *run)
{
    sigprocmask(SIG_SETMASK, &run->caller_mask, NULL);
    sigaction(SIGCHLD, &run->caller_on_child, NULL);
}

// Which ranks are ours.
static int find_place(struct run *run)
{
    const struct clab_launch *launch = run->launch;
    CLAB_TRY(nodes_meet(launch, run->backend, &run->nodes));
    const int nnodes = run->nodes.client ? launch->nnodes : 1, node = run->nodes.client ? launch->node : 0;
    run->first = store_first_rank(launch->nranks, nnodes, node);
    run->nlocal = store_first_rank(launch->nranks, nnodes, node + 1) - run->first;
    return CLAB_OK;
}

static void leave_place(struct run *run)
{
    nodes_forget_connection(&run->nodes);
    nodes_end(&run->nodes);
}

// One rank alone needs no mpirun.
static bool needs_mpirun(const struct run *run)
{
    return clab_backend_find(run->backend)->launcher && run->launch->nranks > 1;
}

static int become_mpirun(const struct run *run)
{
    const struct clab_launch *launch = run->launch;
    if (launch->nnodes <= 1)
        return clab_mpirun_become(clab_backend_find(run->backend), launch->nranks, launch->program);
    clab_error("--nodes: ranks of backend %s are started by its own mpirun: name the hosts to that", run->backend);
    return CLAB_EINVAL;
}

int clab_launch_ranks(const struct clab_launch *launch, int *rank_p, int *status_p)
{
    struct run run = {.launch = launch};
    CLAB_TRY(check(launch, &run));
    if (needs_mpirun(&run))
        return become_mpirun(&run);
    fill_standard_streams();
    CLAB_TRY(find_place(&run));
    int err = make_memory(&run);
    if (err != CLAB_OK) {
        leave_place(&run);
        return err;
    }
    take_signals(&run);
    int rank = -1;
    err = run_job(&run, &rank, status_p);
    clab_memory_unmap(run.control); // the file stays open in a rank: it is CLAB_JOB_FD
    if (rank >= 0) {
        *rank_p = rank;
        return CLAB_OK;
    }
    leave_place(&run);
    give_signals_back(&run);
    close(run.memory_fd);
    if (err == CLAB_OK)
        *rank_p = -1;
    return err;
}
