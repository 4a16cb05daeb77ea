// SPDX-License-Identifier: MIT
// How far apart the cores are that a lab's programs run on: a small job of our own, of two ranks, between theirs.
//
// - A virtual machine's host moves its cores about, and a profile may describe both placements (line.h, sim/net.h):
//   what is predicted must be for the one that is measured.
// - The ranks are copies of this process; rank 0 leaves its figure in a page that they share with us.

#include "lab.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "child.h"
#include "job/job.h"
#include "line.h"

// A rank's part.  errors: the library's
static int take_part(double *seconds)
{
    static char name[] = "commlab lab", *arguments[] = {name, NULL};
    struct clab_job *job;
    struct clab_comm *comm;
    double line = 0;
    int argc = 1;
    CLAB_TRY(clab_job_open(&argc, arguments, &job));
    CLAB_TRY(clab_comm_create(job, &comm));
    CLAB_TRY(line_measure(comm, &line));
    if (clab_job_rank(job) == 0)
        *seconds = line;
    clab_comm_destroy(comm);
    clab_job_close(job);
    return CLAB_OK;
}

static int measure(const char *backend, double *shared)
{
    const struct clab_launch launch = {.nranks = 2, .backend = backend, .pin = true, .grace = CLAB_GRACE_DEFAULT};
    int rank, status;
    CLAB_TRY(clab_launch_ranks(&launch, &rank, &status));
    if (rank >= 0) {
        const int ended_by = child_unwatch(); // a rank has nothing to tidy up
        if (ended_by)
            raise(ended_by);
        _exit(take_part(shared) == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    child_note(status);
    return status == 0 ? CLAB_OK : CLAB_EWRONG; // the rank has said why
}

int lab_line_measure(const char *backend, enum lab_program program, int ranks, struct lab_results *results)
{
    const struct lab_series key = {.program = program, .ranks = ranks, .quantity = "line", .unit = "s"};
    double *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return CLAB_ENOMEM;
    int err = measure(backend, shared);
    if (!err)
        err = lab_results_add(results, &key, *shared);
    munmap(shared, sizeof *shared);
    return err;
}

double lab_line(const struct lab_results *results, enum lab_program program, int ranks)
{
    const struct lab_series *series = lab_results_find(results, program, ranks, "line");
    return series ? lab_series_median(series) : 0;
}
