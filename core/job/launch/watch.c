// SPDX-License-Identifier: MIT
// The supervisor: starts the ranks, and sees them end.
//
// - It sleeps in poll(2) until a signal, an end of the launcher, output, or the next step of an ending. It never waits
//   for the reader of our output: a thread does (outlet.h). When all ranks have ended, it waits for that thread.
// - The first failure decides the job's status, is named once, and ends the job in steps: survivors that have joined
//   learn of the death and get a moment to report it, then SIGTERM, then after the grace SIGKILL.
// - A rank whose operation has failed may have ended of a peer whose end is seen after its own: a library hears of a
//   broken connection before we do, and who have ended meanwhile are seen in no order. Until the moment for reports is
//   over, a rank that ends otherwise is to blame instead. (Of several nodes, the store waits: core/job/store/job_status.h.)
// - A rank that ended by SIGPIPE where nobody reads our output any more, as after `| head`, is no failure to tell of:
//   its survivors are ended at once, and its status is the job's, as it is of a pipeline's other programs.
// - Signals to the launcher reach each rank's process group once. A second of those that end programs ends the job.
// - Of several nodes, each supervisor tells the store how its ranks have ended, and stays until that has said that the
//   job is over, which ends its ranks and decides the status.

#include "core/job/launch/run.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/flight/dump.h"
#include "core/job/launch/forward.h"

#define TIDYING   1.0 // seconds for what ranks that ended well have left running
#define NOTICE    1.0 // seconds for survivors to report CLAB_EPEER by themselves, where cores are busy, too
#define LONG_WAIT 1.0 // after which who interrupts a job may want to know for what it waits
#define HURRY     1.0 // seconds that a reader of output is waited for when somebody wants the job to end

enum { OF_SIGNALS, OF_LIFELINE, OF_STORE, OF_FORWARDER }; // entries of watch.fds

enum phase { PHASE_RUN, PHASE_NOTICE, PHASE_TERM, PHASE_KILL };

// Whose failure decides the job's status.
struct blame {
    int i; // local rank; -1: none has failed
    pid_t pid;
    int status;   // as of waitpid
    bool is_open; // another one may be to blame: nothing is said yet
};

struct watch {
    const struct run *run;
    pid_t *pids; // (nlocal); 0: not running
    int running;
    bool is_over; // the other nodes have ended, too, or are not waited for
    int status;   // of the job; 0 until a rank fails
    struct blame blame;
    int end_signal;          // the signal by which the launcher was told to end, or 0
    bool cut_short;          // a rank was killed in the midst of an operation
    bool unread;             // the job ends since nobody reads its output any more
    bool is_alone;           // the launcher has ended
    unsigned long oom_kills; // at the start
    enum phase phase;
    double next; // clab_now() of the next phase
    int signals; // signalfd
    struct forwarder *forwarder;
    struct pollfd *fds; // (OF_FORWARDER + FORWARDER_FDS(nlocal))
};

static void signal_ranks(const struct watch *watch, int signo)
{
    for (int i = 0; i < watch->run->nlocal; i++)
        if (watch->pids[i])
            kill(-watch->pids[i], signo);
}

// ---- blame ---------------------------------------------------------------------------------------------------

// What the signal that has killed a rank does not say.
static const char *hint(const struct watch *watch, int signo)
{
    if (signo == SIGKILL && clab_machine_oom_kills() > watch->oom_kills)
        return ": the system has ended a process for lack of memory; take smaller sizes, or fewer ranks";
    return signo == SIGBUS ? ": maybe no memory was left for the pages that ranks share" : "";
}

static void log_end(const struct watch *watch, const struct blame *end)
{
    const int rank = watch->run->first + end->i, signo = WTERMSIG(end->status);
    if (WIFSIGNALED(end->status))
        clab_error("rank %d (pid %d) was killed by signal %d (%s)%s", rank, (int)end->pid, signo, strsignal(signo),
                   hint(watch, signo));
    else
        clab_error("rank %d (pid %d) exited with status %d", rank, (int)end->pid, WEXITSTATUS(end->status));
}

// Nobody else is to blame. Who did what it was told, or has said why it could not go on, is not named.
static void settle_blame(struct watch *watch)
{
    const struct blame *blame = &watch->blame;
    const bool was_signalled = WIFSIGNALED(blame->status) && WTERMSIG(blame->status) == watch->end_signal;
    if (blame->is_open && !was_signalled && !clab_control_has_refused(watch->run->control, blame->i))
        log_end(watch, blame);
    watch->blame.is_open = false;
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The local rank `i` has failed. With keep_going nobody waits for another to do so.
static void put_blame(struct watch *watch, int i, pid_t pid, int status)
{
    struct clab_flight *flight = clab_flight_at(clab_control_flights(watch->run->control), i);
    const bool may_be_anothers = !watch->run->launch->keep_going && clab_flight_has_failed(flight);
    if (watch->blame.i >= 0 && may_be_anothers)
        return;
    watch->blame = (struct blame){.i = i, .pid = pid, .status = status, .is_open = true};
    watch->status = code_of(status);
    if (!may_be_anothers)
        settle_blame(watch);
}

// ---- ending --------------------------------------------------------------------------------------------------

static void enter(struct watch *watch, enum phase phase)
{
    const double grace = watch->run->launch->grace;
    if (phase <= watch->phase)
        return;
    if (phase > PHASE_NOTICE)
        settle_blame(watch); // who ends from now on is ended
    watch->phase = phase;
    switch (phase) {
    case PHASE_NOTICE: watch->next = clab_now() + (grace < NOTICE ? grace : NOTICE); break;
    case PHASE_TERM:
        watch->next = clab_now() + grace;
        signal_ranks(watch, SIGTERM);
        signal_ranks(watch, SIGCONT); // a stopped process would not act on it
        break;
    default: watch->next = INFINITY; signal_ranks(watch, SIGKILL);
    }
}

// Only who has joined can hear of a death. Of several nodes, the store knows who has.
static void end_job(struct watch *watch)
{
    const bool hear = watch->run->nodes.client || clab_control_is_used(watch->run->control);
    enter(watch, hear ? PHASE_NOTICE : PHASE_TERM);
}

// Nobody is left to hear of a status. The other nodes hear of a lost node, not of ranks that were killed for it.
static void follow_launcher(struct watch *watch)
{
    watch->is_alone = true;
    watch->status = 1;
    watch->is_over = true;
    enter(watch, PHASE_KILL);
}

// Whether the local rank `i`, which was killed, was in the midst of an operation. Who interrupts a job means that; but
// not when it has waited for long.
static bool was_in_an_operation(const struct watch *watch, int i)
{
    const double shortest = watch->end_signal ? LONG_WAIT : 0;
    if (watch->unread)
        return false;
    return clab_flight_has_waited(clab_flight_at(clab_control_flights(watch->run->control), i), shortest);
}

// Whether who ended so has written what nobody reads any more. A SIGPIPE of a socket of its own is not that.
static bool is_left_unread(const struct watch *watch, int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && forwarder_is_left(watch->forwarder);
}

// The local rank `i` has ended so: all do, before they hear of it and blame it.
static void end_unread(struct watch *watch, int i, pid_t pid, int status)
{
    watch->unread = true;
    watch->blame = (struct blame){.i = i, .pid = pid, .status = status};
    watch->status = code_of(status);
    enter(watch, PHASE_TERM);
}

// The local rank `i` has ended with `status`, as of waitpid.
static void note_end(struct watch *watch, int i, int status)
{
    struct store_client *store = watch->run->nodes.client;
    const int rank = watch->run->first + i;
    const pid_t pid = watch->pids[i];
    const bool is_first = watch->status == 0, may_blame = is_first || watch->blame.is_open;
    const bool unread = may_blame && !watch->run->launch->keep_going && is_left_unread(watch, status);
    watch->cut_short |= WIFSIGNALED(status) && was_in_an_operation(watch, i);
    watch->pids[i] = 0;
    watch->running--;
    if (!watch->is_over)
        store_client_say_ended(store, rank, watch->run->launch->keep_going ? 0 : code_of(status));
    if (!watch->is_over && watch->running == 0)
        store_client_say_done(store);
    if (unread)
        end_unread(watch, i, pid, status);
    else if (clab_control_mark_ended(watch->run->control, i, status != 0) && status == 0)
        clab_warn("rank %d (pid %d) has ended without clab_job_close: who waits for it will fail", rank, (int)pid);
    if (status == 0 || unread || !may_blame)
        return;
    put_blame(watch, i, pid, status);
    if (is_first && !watch->run->launch->keep_going)
        end_job(watch);
}

static void reap(struct watch *watch)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < watch->run->nlocal; i++)
            if (watch->pids[i] == pid)
                note_end(watch, i, status);
}

// ---- the other nodes -----------------------------------------------------------------------------------------

static void log_other(const struct store_end *end)
{
    if (end->rank >= 0)
        clab_error("rank %d of node %d has failed with status %d", end->rank, end->node, end->status);
    else if (end->node >= 0)
        clab_error("node %d is lost: its launcher has ended, or its host does not answer", end->node);
}

// Ours that has failed first is named already, but the one that made it fail may have been seen after it.
static bool is_named(const struct watch *watch, const struct store_end *end)
{
    const bool is_blamed = watch->blame.i >= 0 && end->rank == watch->run->first + watch->blame.i;
    return end->node == watch->run->launch->node &&
           (is_blamed || (watch->end_signal && end->status == 128 + watch->end_signal));
}

// The job is over for all nodes, with the status of the first that has failed.
static void hear_end(struct watch *watch)
{
    struct store_end end;
    if (watch->is_over || !watch->run->nodes.client || !store_client_look(watch->run->nodes.client, &end))
        return;
    watch->is_over = true;
    if (end.status == 0)
        return;
    if (!is_named(watch, &end))
        log_other(&end);
    watch->status = end.status;
    end_job(watch);
}

// ---- signals -------------------------------------------------------------------------------------------------

static void pass_on(struct watch *watch, int signo)
{
    const bool ends = run_ends_programs(signo);
    if (ends && watch->end_signal)
        enter(watch, PHASE_TERM);
    else
        signal_ranks(watch, signo);
    if (ends && !watch->end_signal)
        watch->end_signal = signo;
    if (ends && watch->running == 0) { // and wait for the other nodes no longer
        watch->status = watch->status ? watch->status : 128 + signo;
        watch->is_over = true;
    }
}

// Who has ended gets no signal: one that comes when all have is ours.
static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    reap(watch);
    while (read(watch->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            pass_on(watch, (int)info.ssi_signo);
    reap(watch); // who has ended since, whose SIGCHLD may have been read
}

// ---- life ----------------------------------------------------------------------------------------------------

static int wait_ms(const struct watch *watch)
{
    const struct store_client *store = watch->is_over ? NULL : watch->run->nodes.client;
    const double left = (store ? fmin(watch->next, store_client_next(store)) : watch->next) - clab_now();
    if (isinf(left))
        return -1;
    return left <= 0 ? 0 : (int)ceil(left * 1e3);
}

static int store_fd(const struct watch *watch)
{
    return watch->run->nodes.client ? store_client_fd(watch->run->nodes.client) : -1;
}

// Until a signal, the launcher's end, a message of the store, one of the forwarder's (n) entries, or the next phase.
static int await(struct watch *watch, int n)
{
    watch->fds[OF_SIGNALS] = (struct pollfd){watch->signals, POLLIN, 0};
    watch->fds[OF_LIFELINE] = (struct pollfd){watch->is_alone ? -1 : watch->run->lifeline, POLLIN, 0};
    watch->fds[OF_STORE] = (struct pollfd){watch->is_over ? -1 : store_fd(watch), POLLIN, 0};
    return poll(watch->fds, OF_FORWARDER + (nfds_t)n, wait_ms(watch));
}

static void step(struct watch *watch)
{
    if (await(watch, forwarder_fds(watch->forwarder, watch->fds + OF_FORWARDER)) < 0)
        return;
    forwarder_pass(watch->forwarder, watch->fds + OF_FORWARDER);
    take_signals(watch);
    hear_end(watch);
    if (watch->fds[OF_LIFELINE].revents)
        follow_launcher(watch);
    else if (clab_now() >= watch->next)
        enter(watch, watch->phase + 1);
}

// ---- output that is left -------------------------------------------------------------------------------------

// How far the reader is.
struct reading {
    size_t bytes;
    double since; // when it was seen to read last
};

static double patience(const struct watch *watch)
{
    const double asked = watch->run->launch->unread;
    return watch->end_signal || watch->is_alone ? HURRY
           : asked > 0                          ? asked
                                                : INFINITY; // a pager may stand still for hours
}

// Wait for one of the forwarder's (n) entries. False: nobody has read for too long.
static bool await_reader(struct watch *watch, int n, struct reading *reading)
{
    const size_t bytes = forwarder_written(watch->forwarder);
    if (reading->since == 0 || bytes != reading->bytes)
        *reading = (struct reading){bytes, clab_now()};
    watch->next = reading->since + patience(watch);
    if (clab_now() >= watch->next)
        return false;
    if (await(watch, n) < 0)
        return true;
    take_signals(watch);
    watch->is_alone |= watch->fds[OF_LIFELINE].revents != 0;
    return true;
}

// All ranks have ended: write what they have left, while signals are still heard.
static void write_what_is_left(struct watch *watch)
{
    struct pollfd *fds = watch->fds + OF_FORWARDER;
    struct reading reading = {0};
    char seconds[CLAB_TEXT];
    int n;
    while ((n = forwarder_finish(watch->forwarder, fds)) > 0 && await_reader(watch, n, &reading))
        ;
    if (n > 0)
        clab_warn("nobody has read the output of ranks for %s: up to %zu bytes of it are lost",
                  clab_seconds_text(patience(watch), seconds), forwarder_waiting(watch->forwarder));
    reading = (struct reading){0};
    while ((n = forwarder_finish_log(watch->forwarder, fds)) > 0 && await_reader(watch, n, &reading))
        ;
}

// ---- start and end -------------------------------------------------------------------------------------------

// One rank.  *pid_p as in rank_start
static int start(struct watch *watch, int rank, pid_t *pid_p)
{
    int out, err;
    CLAB_TRY(forwarder_add(watch->forwarder, rank, &out, &err));
    const int result = rank_start(watch->run, rank, out, err, pid_p);
    if (out >= 0) {
        close(out);
        close(err);
    }
    return result;
}

static void give_up_start(struct watch *watch)
{
    watch->status = 1;
    watch->is_over = true;
    enter(watch, PHASE_KILL);
}

// In a copy of the caller: its rank. In the supervisor: -1.
static int start_all(struct watch *watch)
{
    for (int i = 0; i < watch->run->nlocal; i++) {
        pid_t pid;
        if (start(watch, watch->run->first + i, &pid) != CLAB_OK) {
            give_up_start(watch);
            break;
        }
        if (pid == 0)
            return watch->run->first + i;
        watch->pids[i] = pid;
        watch->running++;
    }
    if (forwarder_start(watch->forwarder) != CLAB_OK)
        give_up_start(watch);
    return -1;
}

static void watch_close(struct watch *watch)
{
    if (watch->signals >= 0)
        close(watch->signals);
    forwarder_destroy(watch->forwarder);
    free(watch->fds);
    free(watch->pids);
}

static int watch_open(const struct run *run, struct watch *watch_p)
{
    const size_t nlocal = (size_t)run->nlocal;
    sigset_t signals;
    run_signals(&signals);
    sigaddset(&signals, SIGCHLD);
    *watch_p = (struct watch){
        .run = run,
        .blame = {.i = -1},
        .next = INFINITY,
        .oom_kills = clab_machine_oom_kills(),
        .is_over = !run->nodes.client,
        .pids = calloc(nlocal, sizeof *watch_p->pids),
        .fds = calloc(OF_FORWARDER + FORWARDER_FDS(nlocal), sizeof *watch_p->fds),
        .forwarder = forwarder_create(run->first, run->nlocal, run->launch->prefix),
        .signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC),
    };
    if (watch_p->pids && watch_p->fds && watch_p->forwarder && watch_p->signals >= 0)
        return CLAB_OK;
    clab_error("can not watch over %zu ranks: %m", nlocal);
    watch_close(watch_p);
    return CLAB_ESYS;
}

// A process group of its own, so that signals of the terminal reach ranks by the launcher alone; and SIGTTOU ignored,
// since a terminal that is set to `tostop` would else stop us and our ranks, who are in its background.
static void leave_group(void)
{
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
}

static enum clab_presence presence(void *of, int rank)
{
    const struct run *run = of;
    return clab_control_presence(run->control, rank - run->first);
}

// All have ended, and maybe no rank could say what they were doing.
static void report_flight(struct run *run)
{
    int *ranks = malloc((size_t)run->nlocal * sizeof *ranks);
    for (int i = 0; ranks && i < run->nlocal; i++)
        ranks[i] = run->first + i;
    if (ranks)
        clab_flight_report_last(&(struct clab_flight_host){.flights = clab_control_flights(run->control),
                                                           .ranks = ranks,
                                                           .n = run->nlocal,
                                                           .presence = presence,
                                                           .of = run});
    free(ranks);
}

int supervise(struct run *run)
{
    struct watch watch;
    leave_group();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGCONT); // if somebody has stopped us, the launcher's end wakes us
    if (watch_open(run, &watch) != CLAB_OK)
        _exit(1);
    const int rank = start_all(&watch);
    if (rank >= 0) {
        watch_close(&watch);
        return rank;
    }
    signal(SIGPIPE, SIG_IGN); // the forwarder hears of it from write(2)
    while (watch.running > 0 || !watch.is_over)
        step(&watch);
    settle_blame(&watch);
    if (watch.status == 0)
        children_ask_to_end(TIDYING);
    children_end(NULL, 0);
    if (watch.cut_short)
        report_flight(run);
    write_what_is_left(&watch);
    take_signals(&watch); // those that have come meanwhile
    _exit(watch.status);
}
