// SPDX-License-Identifier: MIT
// Which ranks of this host are still there (siblings.h).

#include "core/job/launchers/siblings.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/process.h"

enum { GENERATIONS = 16 };

// This process's one launcher, as it has one environment.
static struct {
    const char *variable; // of the launcher, with the rank; NULL: nobody is waited for
    int rank, nranks;
    bool all_are_here;
    bool is_daemon;             // by its name
    pid_t daemon;               // the parent of all ranks of this host; 0: not known
    pid_t pids[CLAB_MAX_RANKS]; // 0: not seen; -1: seen, and gone
    double absent_since, next;
    struct sigaction before; // of SIGTERM
} watch;

static volatile sig_atomic_t terminated;

static void note_end(int signo)
{
    (void)signo;
    terminated = 1;
}

// ---- processes -------------------------------------------------------------------------------------------------

// The rank in the environment that a process was started with; -1: it has none, or may not be read.
static int read_rank(pid_t pid)
{
    const int rank = clab_process_variable(pid, watch.variable);
    return rank < CLAB_MAX_RANKS ? rank : -1;
}

// Our first ancestor that is not this rank's, such as a shell around this program; 0: it is not to be seen.
static pid_t find_daemon(void)
{
    struct clab_process p;
    pid_t pid = getpid();
    for (int i = 0; i < GENERATIONS && clab_process_read(pid, &p) && p.parent > 1; i++) {
        if (read_rank(p.parent) != watch.rank) {
            watch.pids[watch.rank] = pid;
            return p.parent;
        }
        pid = p.parent;
    }
    return 0;
}

// Whether a process is called as the daemons of Slurm, hydra and Open MPI are.
static bool is_daemon_by_name(pid_t pid)
{
    static const char *const names[] = {"slurmstepd", "hydra_pmi_proxy", "mpirun", "orterun",
                                        "orted",      "prterun",         "prted"};
    struct clab_process p;
    const bool is_seen = clab_process_read(pid, &p);
    for (size_t i = 0; is_seen && i < sizeof names / sizeof *names; i++)
        if (strcmp(p.name, names[i]) == 0)
            return true;
    return false;
}

// ---- looking ---------------------------------------------------------------------------------------------------

static bool is_running_child(const struct clab_process *p)
{
    return p->parent == watch.daemon && !clab_process_has_ended(p);
}

static bool is_there(pid_t pid)
{
    struct clab_process p;
    return clab_process_read(pid, &p) && is_running_child(&p);
}

// Find the daemon's children that are not known yet. Whether each of them is a rank: one that is about to become a rank
// has the daemon's environment until then.
static bool find_children(void)
{
    struct clab_process *all;
    bool are_ranks = true;
    int n;
    if (clab_process_list(&all, &n) != CLAB_OK)
        return false;
    for (int i = 0; i < n; i++) {
        if (!is_running_child(&all[i]))
            continue;
        const int rank = read_rank(all[i].pid);
        if (rank < 0 || rank >= watch.nranks)
            are_ranks = false;
        else if (watch.pids[rank] == 0)
            watch.pids[rank] = all[i].pid;
    }
    free(all);
    return are_ranks;
}

static int lowest_with(bool (*has)(pid_t))
{
    for (int rank = 0; rank < watch.nranks; rank++)
        if (has(watch.pids[rank]))
            return rank;
    return -1;
}

static bool is_unseen(pid_t pid)
{
    return pid == 0;
}

static bool is_gone(pid_t pid)
{
    return pid < 0;
}

static bool is_alive(pid_t pid)
{
    return pid > 0;
}

// Whether ranks that are not to be seen are not there.
static bool is_sure(void)
{
    int seen = 0;
    for (int rank = 0; rank < watch.nranks; rank++)
        seen += watch.pids[rank] != 0;
    return seen > 1 || watch.is_daemon;
}

// A rank that has ended; -1: none is known to. After a signal to end there is no time for a second look.
static int find_ended(void)
{
    const double now = clab_now(), grace = terminated ? 0 : SIBLINGS_GRACE;
    for (int rank = 0; rank < watch.nranks; rank++)
        if (watch.pids[rank] > 0 && rank != watch.rank && !is_there(watch.pids[rank]))
            watch.pids[rank] = -1;
    if (lowest_with(is_gone) >= 0 || !watch.all_are_here || lowest_with(is_unseen) < 0)
        return lowest_with(is_gone);
    if (!find_children() || lowest_with(is_unseen) < 0 || !is_sure())
        watch.absent_since = INFINITY;
    else
        watch.absent_since = fmin(watch.absent_since, now);
    return now - watch.absent_since >= grace ? lowest_with(is_unseen) : -1;
}

// ---- what others call ------------------------------------------------------------------------------------------

void siblings_begin(const struct clab_launched *launched)
{
    memset(&watch, 0, sizeof watch);
    if (launched->is_by_hand || launched->is_running || launched->nranks < 2 || launched->nranks > CLAB_MAX_RANKS)
        return;
    watch.variable = launched->rank_variable;
    watch.rank = launched->rank;
    watch.nranks = launched->nranks;
    watch.all_are_here = launched->local_ranks == launched->nranks;
    watch.absent_since = INFINITY;
    watch.next = clab_now() + SIBLINGS_FIRST;
    const struct sigaction action = {.sa_handler = note_end, .sa_flags = SA_RESETHAND}; // waits end with EINTR
    terminated = 0;
    sigaction(SIGTERM, &action, &watch.before);
}

void siblings_end(void)
{
    if (!watch.variable)
        return;
    watch.variable = NULL;
    sigaction(SIGTERM, &watch.before, NULL);
    if (terminated)
        raise(SIGTERM);
}

double siblings_next(void)
{
    return watch.variable ? watch.next : INFINITY;
}

// The lowest rank that is left logs it. All stay until it has looked, too.
static int report(int ended)
{
    if (lowest_with(is_alive) == watch.rank)
        clab_error(
            "rank %d of %d has ended before it joined the job: see what it has printed, or run its command alone",
            ended, watch.nranks);
    usleep((useconds_t)(1e6 * (SIBLINGS_PAUSE + 0.1)));
    siblings_end(); // after a signal to end, this process ends here
    return CLAB_EPEER;
}

int siblings_check(void)
{
    if (!watch.variable || (clab_now() < watch.next && !terminated))
        return CLAB_OK;
    if (!watch.daemon) {
        if (!(watch.daemon = find_daemon())) {
            siblings_end();
            return CLAB_OK;
        }
        watch.is_daemon = is_daemon_by_name(watch.daemon);
        find_children();
    }
    const int ended = find_ended();
    watch.next = clab_now() + SIBLINGS_PAUSE;
    if (ended >= 0)
        return report(ended);
    if (terminated)
        siblings_end();
    return CLAB_OK;
}
