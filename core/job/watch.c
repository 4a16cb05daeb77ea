// SPDX-License-Identifier: MIT
// The supervisor: starts the ranks, and sees them end.
//
// - It sleeps in poll(2) until a signal, an end of the launcher, output, or the next step of an ending.
// - The first failure decides the job's status, is named once, and ends the job in steps: survivors that have joined
//   learn of the death and get a moment to report it, then SIGTERM, then after the grace SIGKILL.
// - Signals to the launcher reach each rank's process group once. A second of those that end programs ends the job.

#include "job/run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define NOTICE 0.25 // seconds for survivors to report CLAB_EPEER by themselves

enum phase { PHASE_RUN, PHASE_NOTICE, PHASE_TERM, PHASE_KILL };

struct watch {
    const struct run *run;
    pid_t *pids; // (nranks); 0: not running
    int running;
    int status;  // of the job; 0 until a rank fails
    int told;    // the signal by which the launcher was told to end, or 0
    enum phase phase;
    double next; // clab_now() of the next phase
    int signals; // signalfd
};

static void signal_ranks(const struct watch *watch, int signo)
{
    for (int rank = 0; rank < watch->run->launch->nranks; rank++)
        if (watch->pids[rank])
            kill(-watch->pids[rank], signo);
}

// ---- ending --------------------------------------------------------------------------------------------------

static void enter(struct watch *watch, enum phase phase)
{
    const double grace = watch->run->launch->grace;
    if (phase <= watch->phase)
        return;
    watch->phase = phase;
    switch (phase) {
    case PHASE_NOTICE:
        watch->next = clab_now() + (grace < NOTICE ? grace : NOTICE);
        break;
    case PHASE_TERM:
        watch->next = clab_now() + grace;
        signal_ranks(watch, SIGTERM);
        signal_ranks(watch, SIGCONT); // a stopped process would not act on it
        break;
    default:
        watch->next = INFINITY;
        signal_ranks(watch, SIGKILL);
    }
}

// Only who has joined can hear of a death.
static void end_job(struct watch *watch)
{
    enter(watch, clab_control_is_used(watch->run->control) ? PHASE_NOTICE : PHASE_TERM);
}

static void log_end(int rank, pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        clab_error("rank %d (pid %d) was killed by signal %d (%s)", rank, (int)pid, WTERMSIG(status),
                   strsignal(WTERMSIG(status)));
    else
        clab_error("rank %d (pid %d) exited with status %d", rank, (int)pid, WEXITSTATUS(status));
}

static void note_end(struct watch *watch, int rank, int status)
{
    const pid_t pid = watch->pids[rank];
    watch->pids[rank] = 0;
    watch->running--;
    clab_control_mark_ended(watch->run->control, rank, status != 0);
    if (status == 0 || watch->status != 0)
        return;
    watch->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != watch->told)
        log_end(rank, pid, status);
    end_job(watch);
}

static void reap(struct watch *watch)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int rank = 0; rank < watch->run->launch->nranks; rank++)
            if (watch->pids[rank] == pid)
                note_end(watch, rank, status);
}

// ---- signals -------------------------------------------------------------------------------------------------

static bool ends_programs(int signo)
{
    return signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT;
}

static void pass_on(struct watch *watch, int signo)
{
    if (ends_programs(signo) && watch->told) {
        enter(watch, PHASE_TERM);
        return;
    }
    if (ends_programs(signo))
        watch->told = signo;
    signal_ranks(watch, signo);
    if (signo == SIGTSTP)
        kill(getpid(), SIGSTOP); // and so will the launcher; SIGCONT reaches ranks as any signal does
}

static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            pass_on(watch, (int)info.ssi_signo);
    reap(watch);
}

// ---- life ----------------------------------------------------------------------------------------------------

static int wait_ms(const struct watch *watch)
{
    const double left = watch->next - clab_now();
    if (isinf(left))
        return -1;
    return left <= 0 ? 0 : (int)ceil(left * 1e3);
}

static void step(struct watch *watch)
{
    struct pollfd fds[] = {{watch->signals, POLLIN, 0}, {watch->run->lifeline, POLLIN, 0}};
    poll(fds, 2, wait_ms(watch));
    take_signals(watch);
    if (fds[1].revents)
        enter(watch, PHASE_KILL);
    else if (clab_now() >= watch->next)
        enter(watch, watch->phase + 1);
}

static int start_all(struct watch *watch)
{
    for (int rank = 0; rank < watch->run->launch->nranks; rank++) {
        pid_t pid;
        if (rank_start(watch->run, rank, -1, -1, &pid) != CLAB_OK) {
            watch->status = 1;
            enter(watch, PHASE_KILL);
            break;
        }
        if (pid == 0)
            return rank;
        watch->pids[rank] = pid;
        watch->running++;
    }
    return -1;
}

int supervise(struct run *run)
{
    sigset_t signals;
    struct watch watch = {.run = run, .next = INFINITY};
    run_signals(&signals);
    sigaddset(&signals, SIGCHLD);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    watch.pids = calloc((size_t)run->launch->nranks, sizeof *watch.pids);
    watch.signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (!watch.pids || watch.signals < 0) {
        clab_error("can not watch over ranks: %m");
        _exit(1);
    }
    const int rank = start_all(&watch);
    if (rank >= 0) {
        close(watch.signals);
        free(watch.pids);
        return rank;
    }
    while (watch.running > 0)
        step(&watch);
    children_end(NULL, 0);
    _exit(watch.status);
}
