// SPDX-License-Identifier: MIT
// The job: the processes of a run, how they were started, and how they find each other.
//
// - launch/ starts ranks and watches them. The first failure ends the job, and no process survives it. The launchers of
//   several nodes do this together (nodes.c).
// - Ranks that our launcher started on one host find each other in shared memory pages (pages/control.h). All other
//   ranks use a store (store/store.h); their launcher's environment variables say where it is (launchers/launcher.h).
// - There are two ways because the pages are much faster for few ranks. On two cores, a communicator of 2, 8 and 64
//   ranks takes 5.5 us, 0.19 ms and 54 ms over pages, but 253 us, 0.98 ms and 42 ms over a store behind a Unix socket;
//   a look for notices takes 5 ns, not 80.
// - bootstrap.h joins a job in either way. clab_job_open attaches a backend, and makes a struct clab_job (core/comm).
// - Ranks inherit one sparse memory file from the launcher: the control pages first, then the backend's part (struct
//   clab_bootstrap). It has no name, so nothing is left of it when ranks are killed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/transport/backend.h"

#define CLAB_TIMEOUT_DEFAULT 30.0 // seconds that a wait may last
#define CLAB_GRACE_DEFAULT   2.0  // seconds that survivors of a failure have

struct clab_launch {
    int nranks;          // on all nodes
    int nnodes, node;    // launchers, one per node, and the number of this one; nnodes 0: one
    const char *master;  // "HOST:PORT", where node 0's launcher waits for the others; NULL: any, with one node only
    const char *backend; // name; NULL: CLAB_BACKEND, or that of clab_backend_usual
    bool pin;            // one core per rank, or equal blocks of ranks per core (clab_machine_pin)
    bool prefix;         // "[rank] " before each line of output
    bool keep_going;     // a failed rank does not end the others
    double grace;        // seconds between SIGTERM and SIGKILL of the surviving ranks
    double unread;       // seconds that output may wait for a reader after all ranks have ended; 0: no limit
    const struct clab_flight_reader *flights; // reads what the ranks did last; NULL: nobody does
    char **program; // execvp'd; NULL: ranks return from clab_launch_ranks as copies of the caller
};

// Start the ranks and wait for them. Call it before you start threads.
//   out: in the parent, *rank_p is -1 and *status_p the exit status to end with: 0, the first failing rank's status, or
//        128 + its signal; the line that names it has been logged. In a rank started without a program, *rank_p >= 0.
//   errors: CLAB_EINVAL, CLAB_ENOENT (program), CLAB_ESYS; of several nodes CLAB_ETIMEOUT (not all came), CLAB_EPEER
// - With several nodes, each launcher starts its part of the ranks. A failure on any ends all, and all launchers end
//   with the status of the first.
// - Each rank leads a process group of its own. The launcher forwards SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
//   SIGUSR2, SIGTSTP and SIGCONT once to the group of every rank, unless the caller ignores them. A second signal that
//   ends programs ends the job: SIGTERM, then after `grace` SIGKILL.
// - Rank 0 reads the caller's standard input unless that is a terminal; the others read nothing.
// - A slow reader of our output delays only ranks that write. After all ranks have ended, the rest of the output waits
//   for the reader. It is lost if nobody reads for `unread` seconds, or for 1 s after a signal that ends the job; one
//   line on stderr says so.
// - When the last rank has ended, the supervisor kills the processes that ranks left behind. If all ranks ended with
//   status 0, it sends SIGTERM first and waits for 1 s.
// - With a backend whose library starts ranks itself (mpi), this process becomes that library's launcher: the call does
//   not return, and signals and statuses are that launcher's. One rank alone is started by us.
int clab_launch_ranks(const struct clab_launch *launch, int *rank_p, int *status_p);

// What clab_job_open will do.
struct clab_launch_plan {
    bool joins; // the job that the environment describes; false: it launches one
    int nranks; // of that job
};
//   asked: the ranks of -n; 0: not given
//   errors: CLAB_EINVAL (the running job has another number), CLAB_EPARSE (of the environment)
int clab_job_plan(int asked, struct clab_launch_plan *plan_p);

// Join the job that the environment describes (launcher.h).
//   errors: CLAB_ENOENT (there is none), CLAB_EPARSE, CLAB_ESYS, CLAB_EINVAL (joined already, or refused), CLAB_EPEER,
//   CLAB_ETIMEOUT, CLAB_EUNSUPPORTED, CLAB_ENOMEM
int clab_bootstrap_open(struct clab_bootstrap **boot_p);
void clab_bootstrap_close(struct clab_bootstrap *boot);

// Seconds that any wait of this job may last: CLAB_TIMEOUT, or the default.
//   errors: CLAB_EPARSE
int clab_timeout_read(double *seconds_p);
// The same of any text: what CLAB_TIMEOUT may be.  errors: CLAB_EPARSE, not logged
#define CLAB_TIMEOUT_RANGE "a duration above 0 and up to 2592000s (30 days), such as 30s or 500ms"
int clab_timeout_parse(const char *text, double *seconds_p);

// Cores that the ranks of this job may use, also where this one is pinned to one of them (CLAB_CORES); outside a job,
// those that this process may use.
int clab_cores(void);
