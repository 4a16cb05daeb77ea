// SPDX-License-Identifier: MIT
// The job: the processes of a run, how they were started, and how they find each other.
//
// - launch.c, watch.c and ranks.c start ranks and watch over them: the first failure ends the job, no process is left;
//   nodes.c lets the launchers of several nodes do so together.
// - Ranks of one host that our launcher has started meet (exchange) and hear of each other in a small shared memory
//   (control.h); all others over a store (store.h), which they find by what their launcher says (launcher.h).
// - bootstrap.h joins a job by either, open.c makes it a struct clab_job with a backend.
// - The launcher passes one sparse memory file by inheritance, so that nothing is left when ranks are killed: the
//   control pages first, the backend's part behind them (struct clab_bootstrap).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/transport/backend.h"

#define CLAB_TIMEOUT_DEFAULT 30.0 // seconds that a wait may last
#define CLAB_GRACE_DEFAULT   2.0  // seconds that survivors of a failure have

struct clab_comm;
struct clab_flight;
struct clab_progress;

enum { CLAB_RUMOURS = 16 }; // notices of communicators that this rank has not made yet

// This process's membership, as clab_job_open makes it.
struct clab_job {
    struct clab_bootstrap *bootstrap;
    const struct clab_backend *backend;
    struct clab_domain *domain; // the backend's attachment
    const char *backend_name;   // also where a network is emulated over it
    int rank, ranks;
    struct clab_comm *comms; // that are open: a wait on one makes progress on all
    unsigned created;        // communicators of all ranks, ever
    struct clab_notice rumours[CLAB_RUMOURS];
    unsigned nrumours;              // ever
    struct clab_flight *flight;     // this rank's recorder
    struct clab_tape *tape;         // of CLAB_TRACE, or NULL
    struct clab_progress *progress; // the thread that makes progress, while there is one (comm/progress.h)
    const char *progress_name, *progress_why;
};

struct clab_launch {
    int nranks;          // on all nodes
    int nnodes, node;    // launchers, each on a node of its own, and which of them this is; nnodes 0: one
    const char *master;  // "HOST:PORT", where node 0's launcher waits for the others; NULL, with one node: anywhere
    const char *backend; // name; NULL: CLAB_BACKEND, or that of clab_backend_usual
    bool pin;            // one core a rank, or equal blocks of them a core (clab_machine_pin)
    bool prefix;         // "[rank] " before each line of output
    bool keep_going;     // who survives a failed rank is left to go on, or to end by itself
    double grace;        // seconds between SIGTERM and SIGKILL of the surviving ranks
    double unread;       // seconds that output may wait for a reader when all ranks have ended; 0: as long as it takes
    char **program;      // execvp'd; NULL: ranks return from clab_launch_ranks as copies of the caller
};

// Start the ranks and wait for them. To be called before the caller starts threads.
//   out: in the parent, *rank_p is -1 and *status_p the exit status to end with: 0, the first failing rank's status, or
//        128 + its signal; the line that names it has been logged. In a rank started without a program, *rank_p >= 0.
//   errors: CLAB_EINVAL, CLAB_ENOENT (program), CLAB_ESYS; of several nodes CLAB_ETIMEOUT (not all came), CLAB_EPEER
// - With several nodes, each launcher starts its part of the ranks. A failure on any ends all, and all launchers end
//   with the status of the first.
// - Each rank leads a process group of its own. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and
//   SIGCONT that the caller gets, from the terminal or from a process, reach every rank's group once, unless the
//   caller ignores them. A second one of those that end programs ends the job: SIGTERM, after the grace SIGKILL.
// - Rank 0 reads the caller's standard input unless that is a terminal; the others read nothing.
// - A slow reader of our output holds up ranks that write, and nothing else. When all ranks have ended, the rest waits
//   for the reader, as the output of any program does. It is lost if nobody reads for `unread` seconds, or for 1 s
//   after a signal that ends the job; one line on stderr says so.
// - Whatever ranks have started and left behind is killed when the last rank has ended; if all ended well, it is told
//   to end first, by SIGTERM, and has a second to do so.
// - With a backend whose library starts ranks itself (mpi), this process becomes that library's launcher: it does not
//   return, and what is said above of signals and ends is the launcher's to keep. One rank alone is started as others
//   are.
int clab_launch_ranks(const struct clab_launch *launch, int *rank_p, int *status_p);

// What clab_job_open will do, when -n asks for so many ranks (0: not given).
struct clab_launch_plan {
    bool joins; // a job that is there; else it launches one
    int nranks; // of it
};
//   errors: CLAB_EINVAL (the job that is there has another number), CLAB_EPARSE (what the environment says)
int clab_job_plan(int asked, struct clab_launch_plan *plan_p);

// Join the job that the environment describes (launcher.h).
//   errors: CLAB_ENOENT (there is none), CLAB_EPARSE, CLAB_ESYS, CLAB_EINVAL (joined already, or refused), CLAB_EPEER,
//   CLAB_ETIMEOUT, CLAB_EUNSUPPORTED, CLAB_ENOMEM
int clab_bootstrap_open(struct clab_bootstrap **boot_p);
void clab_bootstrap_close(struct clab_bootstrap *boot);
// The same by a rank that can not go on and has said why: a launcher of this host adds no line of its own about its
// end.
void clab_bootstrap_refuse(struct clab_bootstrap *boot);

// The backend of a job that has named none: shared memory within a host, ofi among several.
const char *clab_backend_usual(int nnodes);

// This rank's clock in virtual time; NULL on backends whose time is the wall's.
struct clab_clock *clab_clock_of(const struct clab_job *job);
// From now on, clab_seconds is of this job; NULL: of none.
void clab_clock_follow(const struct clab_job *job);

// Seconds that any wait of this job may last: CLAB_TIMEOUT, or the default.
//   errors: CLAB_EPARSE
int clab_timeout_read(double *seconds_p);
// The same of any text: what CLAB_TIMEOUT may be.  errors: CLAB_EPARSE, not logged
#define CLAB_TIMEOUT_RANGE "a duration above 0 and up to 2592000s (30 days), such as 30s or 500ms"
int clab_timeout_parse(const char *text, double *seconds_p);

// Cores that the ranks of this job may use, also where this one is pinned to one of them (CLAB_CORES); outside a job,
// those that this process may use.
int clab_cores(void);
