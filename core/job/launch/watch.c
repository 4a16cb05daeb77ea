// SPDX-License-Identifier: MIT
// The supervisor: starts the ranks, and waits for their end.
//
// - It sleeps in poll(2) until a signal, the launcher's end, output, or the next phase of the job's end. A thread waits
//   for the reader of our output (outlet.h); the supervisor waits for that thread only after all ranks have ended.
// - The first failure decides the job's status. The supervisor logs it once and ends the job in phases: survivors that
//   have joined read a notice of the death and have a moment to report it; then SIGTERM; after the grace, SIGKILL.
// - A rank whose operation has failed may have failed because of a peer whose end we see later: its library may see the
//   broken connection before we do, and we see processes that ended at about the same time in any order. So until the
//   moment for reports is over, a rank that ends for another reason gets the blame. (With several nodes the store waits:
//   core/job/store/job_status.h.)
// - If nobody reads our output any more, as after `| head`, a rank may end by SIGPIPE. That is logged as no failure: the
//   supervisor ends the others at once, and the rank's status is the job's, as in a pipeline.
// - Signals to the launcher reach each rank's process group once. A second signal that ends programs ends the job.
// - With several nodes, each supervisor reports to the store how its ranks have ended. It stays until the store sends
//   the end of the job, with the status.

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
#include "core/base/machine/machine.h"
#include "core/base/units.h"
#include "core/job/launch/forward.h"

#define TIDYING   1.0 // seconds that processes left by ranks have after SIGTERM, if all ranks ended with 0
#define NOTICE    1.0 // seconds for survivors to report CLAB_EPEER, also on busy cores
#define LONG_WAIT 1.0 // s of a wait after which an interrupted job reports what it waited for
#define HURRY     1.0 // seconds to wait for a reader of output after a signal to end the job

enum { OF_SIGNALS, OF_LIFELINE, OF_STORE, OF_FORWARDER }; // entries of watch.fds

enum phase { PHASE_RUN, PHASE_NOTICE, PHASE_TERM, PHASE_KILL };

// Whose failure decides the job's status.
struct blame {
    int i; // local rank; -1: none has failed
    pid_t pid;
    int status;   // as of waitpid
    bool is_open; // another rank may be to blame: nothing is logged yet
};

struct watch {
    const struct run *run;
    pid_t *pids; // (nlocal); 0: not running
    int running;
    bool is_over; // the other nodes have ended, too, or we do not wait for them
    int status;   // of the job; 0 until a rank fails
    struct blame blame;
    int end_signal;          // the first signal to end that the launcher got, or 0
    bool cut_short;          // a rank was killed in an operation
    bool unread;             // the job ends because nobody reads its output any more
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

// A likely reason for the signal that has killed a rank, or "".
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

// No other rank gets the blame any more: log it, unless the rank ended by a forwarded signal or has logged why itself.
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

// The local rank `i` has failed. With keep_going the blame is settled at once.
static void put_blame(struct watch *watch, int i, pid_t pid, int status)
{
    const struct clab_launch *launch = watch->run->launch;
    const bool may_be_anothers = !launch->keep_going && launch->flights &&
                                 launch->flights->has_failed(clab_control_flights(watch->run->control), i);
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
        settle_blame(watch); // ranks that end from now on do so because of us
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

// Only ranks that have joined read notices. With several nodes only the store knows which have.
static void end_job(struct watch *watch)
{
    const bool have_joined = watch->run->nodes.client || clab_control_is_used(watch->run->control);
    enter(watch, have_joined ? PHASE_NOTICE : PHASE_TERM);
}

// Nobody waits for a status. The other nodes see a lost node, not its killed ranks.
static void follow_launcher(struct watch *watch)
{
    watch->is_alone = true;
    watch->status = 1;
    watch->is_over = true;
    enter(watch, PHASE_KILL);
}

// Whether the local rank `i` was killed in an operation. After a signal of the user, only a long wait counts.
static bool was_in_an_operation(const struct watch *watch, int i)
{
    const double shortest = watch->end_signal ? LONG_WAIT : 0;
    const struct clab_flight_reader *flights = watch->run->launch->flights;
    return !watch->unread && flights && flights->has_waited(clab_control_flights(watch->run->control), i, shortest);
}

// Whether a rank with this status wrote output that nobody reads any more. SIGPIPE may also be of its own socket.
static bool is_left_unread(const struct watch *watch, int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && forwarder_is_left(watch->forwarder);
}

// The local rank `i` has ended that way: end the others before they read a notice and log it.
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
        clab_warn("rank %d (pid %d) has ended without clab_job_close: ranks that wait for it will fail", rank,
                  (int)pid);
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

// Whether we have already logged this rank. The rank that we blamed may have failed because of another one.
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
    if (ends && watch->running == 0) { // do not wait for the other nodes any longer
        watch->status = watch->status ? watch->status : 128 + signo;
        watch->is_over = true;
    }
}

// Reap first: a signal that comes after the last rank has ended is for us.
static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    reap(watch);
    while (read(watch->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            pass_on(watch, (int)info.ssi_signo);
    reap(watch); // ranks that have ended since: their SIGCHLD may have been read
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

// Wait for a signal, the launcher's end, a message of the store, one of the forwarder's (n) entries, or the next phase.
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

// The progress of the reader.
struct reading {
    size_t bytes;
    double since; // when it last read something
};

static double patience(const struct watch *watch)
{
    const double asked = watch->run->launch->unread;
    return watch->end_signal || watch->is_alone ? HURRY : asked > 0 ? asked : INFINITY; // a pager may wait for hours
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

// All ranks have ended: write the rest of their output, and still take signals.
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

// In a forked copy of the caller: its rank. In the supervisor: -1.
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
    clab_error("can not watch %zu ranks: %m", nlocal);
    watch_close(watch_p);
    return CLAB_ESYS;
}

// Lead a process group of our own, so that signals of the terminal reach ranks only through the launcher. Ignore
// SIGTTOU: a terminal set to `tostop` would stop us and our ranks, which are in its background.
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

// After all ranks have ended: report the operation of each from its flight recorder. Maybe none could report it.
static void report_flight(struct run *run)
{
    int *ranks = malloc((size_t)run->nlocal * sizeof *ranks);
    for (int i = 0; ranks && i < run->nlocal; i++)
        ranks[i] = run->first + i;
    if (ranks)
        run->launch->flights->report_last(&(struct clab_flight_host){.flights = clab_control_flights(run->control),
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
    prctl(PR_SET_PDEATHSIG, SIGCONT); // the launcher's end wakes us if we are stopped
    if (watch_open(run, &watch) != CLAB_OK)
        _exit(1);
    const int rank = start_all(&watch);
    if (rank >= 0) {
        watch_close(&watch);
        return rank;
    }
    signal(SIGPIPE, SIG_IGN); // the forwarder sees EPIPE
    while (watch.running > 0 || !watch.is_over)
        step(&watch);
    settle_blame(&watch);
    if (watch.status == 0)
        children_ask_to_end(TIDYING);
    children_end(NULL, 0);
    if (watch.cut_short && run->launch->flights)
        report_flight(run);
    write_what_is_left(&watch);
    take_signals(&watch); // that have come meanwhile
    _exit(watch.status);
}
