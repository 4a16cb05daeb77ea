// SPDX-License-Identifier: MIT
// The latency between the cores that a lab's programs run on: a small job of two ranks probes it, between their runs.
//
// - A hypervisor moves a virtual machine's CPUs, and a profile may describe two placements (cmd/probe/placement.h,
//   sim/net/net.h). The prediction must be for the placement that is measured.
// - The probe's launcher is a child of ours, and its ranks are copies of that. Rank 0 leaves its result in a page that
//   all share.

#include "cmd/lab/lab.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/err.h"
#include "cmd/kit/child.h"
#include "core/flight/dump.h"
#include "core/job/job.h"
#include "cmd/probe/placement.h"

// What a rank does.  errors: the library's
static int take_part(double *seconds)
{
    static char name[] = "commlab lab", *arguments[] = {name, NULL};
    struct clab_job *job;
    struct clab_comm *comm;
    double latency = 0;
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, arguments, &job));
    CLAB_TRY(clab_comm_create(job, &comm));
    CLAB_TRY(probe_latency(comm, &latency));
    if (clab_job_rank(job) == 0)
        *seconds = latency;
    clab_comm_destroy(comm);
    clab_job_close(job);
    return CLAB_OK;
}

// Become the job's launcher, or one of its ranks.
static _Noreturn void measure(const char *backend, double *shared)
{
    const struct clab_launch launch = {
        .nranks = 2, .backend = backend, .pin = true, .grace = CLAB_GRACE_DEFAULT, .flights = &clab_flight_reader};
    int rank, status;
    if (clab_launch_ranks(&launch, &rank, &status) != CLAB_OK)
        _exit(EXIT_FAILURE);
    if (rank >= 0)
        status = take_part(shared) == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    _exit(status);
}

int lab_latency_probe(const char *backend, enum lab_program program, int ranks, struct lab_results *results)
{
    const struct lab_series key = {.program = program, .ranks = ranks, .quantity = "latency", .unit = "s"};
    double *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return CLAB_ENOMEM;
    const pid_t pid = child_fork();
    if (pid == 0)
        measure(backend, shared);
    int status, err = pid < 0 ? CLAB_ESYS : child_wait(pid, &status);
    if (!err && status != 0)
        err = child_ended_by() ? CLAB_EPEER : CLAB_EWRONG; // the rank has said why
    if (!err)
        err = lab_results_add(results, &key, *shared);
    munmap(shared, sizeof *shared);
    return err;
}

double lab_latency(const struct lab_results *results, enum lab_program program, int ranks)
{
    const struct lab_series *series = lab_results_find(results, program, ranks, "latency");
    return series ? lab_series_median(series) : 0;
}
