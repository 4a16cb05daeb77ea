// SPDX-License-Identifier: MIT
// What the parts of the launcher share. Three generations of processes make a run:
//
//   launcher      called clab_launch_ranks (or is `commlab run`). Passes signals on, and waits. (launch.c)
//   supervisor    its child: starts ranks, passes signals on to them, decides when the job ends. (watch.c)
//   ranks         the supervisor's children, each the head of a process group of its own. (ranks.c)
//
// Two processes watch, so that either may be killed with SIGKILL and nothing is left: the supervisor notices the
// launcher's end by the end of file on `lifeline`, and ends all; the launcher adopts what a killed supervisor leaves
// behind, and ends it. Ranks die with the supervisor (PR_SET_PDEATHSIG).
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/job/control.h"
#include "core/job/job.h"
#include "core/job/launch/nodes.h"

struct forwarder;

struct run {
    const struct clab_launch *launch;
    const char *backend;
    struct nodes nodes;
    int first, nlocal;            // ranks of this node
    struct clab_control *control; // of this node's ranks; those of several nodes do not use it
    int memory_fd;
    int lifeline;                     // read end, the supervisor's; the launcher holds the write end
    sigset_t caller_mask;             // as it was: ranks get it back
    struct sigaction caller_on_child; // likewise, for SIGCHLD
};

// Signals that the launcher passes on. All of them are blocked while it waits; those that the caller ignores stay so.
void run_signals(sigset_t *set_p);
// Whether it is one of those that end programs.
bool run_ends_programs(int signo);

// ---- ranks.c: a rank is born ---------------------------------------------------------------------------------

// Fork rank `rank`. In the parent *pid_p is its process. In the rank, a copy of the caller returns with *pid_p = 0 and
// a program never returns. `out` and `err` replace stdout and stderr unless -1.
//   errors: CLAB_ESYS
int rank_start(const struct run *run, int rank, int out, int err, pid_t *pid_p);

// ---- watch.c: the supervisor ---------------------------------------------------------------------------------

// Start all ranks and see them end. Returns in copies of the caller only, with their rank; the supervisor exits.
int supervise(struct run *run);

// ---- reap.c --------------------------------------------------------------------------------------------------

// Children of this process, among them adopted orphans.  out: *pids_p, for the caller to free; *count_p
//   errors: CLAB_ENOMEM, CLAB_ESYS (/proc can not be read)
int children_list(pid_t **pids_p, int *count_p);
// The parent, of what /proc/PID/stat says (proc(5)), or -1.
pid_t process_parent(const char *stat);
// Tell all children to end (SIGTERM), and wait for up to so long until none is left: a daemon that a library has
// started removes its files then, as Open MPI's does for a process that no mpirun started.
void children_ask_to_end(double seconds);
// Kill and wait for all children but the `spared`, and whatever they leave behind, until there are none.
void children_end(const pid_t *spared, int count);
