// SPDX-License-Identifier: MIT
// What the parts of the launcher share. Three generations of processes make a run:
//
//   launcher      called clab_launch_ranks (or is `commlab run`). Forwards signals, and waits. (launch.c)
//   supervisor    its child: starts ranks, forwards signals to them, decides when the job ends. (watch.c)
//   ranks         the supervisor's children, each the leader of a process group of its own. (ranks.c)
//
// Two processes watch, so nothing is left if either is killed with SIGKILL. If the launcher is killed, the supervisor
// reads the end of file on `lifeline` and ends all. If the supervisor is killed, the launcher adopts the processes that
// it leaves and ends them. Ranks die with the supervisor (PR_SET_PDEATHSIG).
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/job/pages/control.h"
#include "core/job/job.h"
#include "core/job/launch/nodes.h"

struct forwarder;

struct run {
    const struct clab_launch *launch;
    const char *backend;
    struct nodes nodes;
    int first, nlocal;            // ranks of this node
    struct clab_control *control; // of this node's ranks; those of a job of several nodes use the store
    int memory_fd;
    int lifeline;                     // the supervisor's read end; the launcher holds the write end
    sigset_t caller_mask;             // as it was before; ranks get it back
    struct sigaction caller_on_child; // likewise, for SIGCHLD
};

// Signals that the launcher forwards. It blocks them while it waits; those that the caller ignores stay ignored.
void run_signals(sigset_t *set_p);
// Whether the signal ends programs.
bool run_ends_programs(int signo);

// ---- ranks.c: starting a rank ---------------------------------------------------------------------------------

// Fork rank `rank`. In the parent *pid_p is its process. In the rank, a copy of the caller returns with *pid_p = 0 and
// a program never returns. `out` and `err` replace stdout and stderr unless -1.
//   errors: CLAB_ESYS
int rank_start(const struct run *run, int rank, int out, int err, pid_t *pid_p);

// ---- watch.c: the supervisor ---------------------------------------------------------------------------------

// Start all ranks and wait for their end. Returns only in a forked copy of the caller, with its rank; the supervisor
// exits.
int supervise(struct run *run);

// ---- reap.c --------------------------------------------------------------------------------------------------

// Children of this process, among them adopted orphans.  out: *pids_p, for the caller to free; *count_p
//   errors: CLAB_ENOMEM, CLAB_ESYS (/proc can not be read)
int children_list(pid_t **pids_p, int *count_p);
// Send SIGTERM to all children, and wait until none is left, at most so long. A daemon that a library has started then
// removes its files; Open MPI starts one for a process without mpirun.
void children_ask_to_end(double seconds);
// Kill and reap all children but the `spared`, and the children that these leave, until there are none.
void children_end(const pid_t *spared, int count);
