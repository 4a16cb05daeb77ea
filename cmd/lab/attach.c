// SPDX-License-Identifier: MIT
// Whether a plugin's backend works here: a job of one rank tries it before any lab runs.
// So a machine without a GPU says so in one line, and not in one line per program and rank.

#include "cmd/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "cmd/kit/child.h"
#include "core/clab.h"
#include "core/comm/job.h"
#include "core/transport/plugin.h"

// Times of a double for tests are no results.
static int refuse_fakes(const struct clab_job *job)
{
    char text[256];
    bool is_fake;
    job->backend->describe(job->domain, text, sizeof text, &is_fake);
    if (!is_fake)
        return CLAB_OK;
    clab_error("--backend %s: %s: this is no measurement, and nothing is run: unset LD_LIBRARY_PATH",
               clab_job_backend(job), text);
    return CLAB_EUNSUPPORTED;
}

// Leave the answer in `answer`, a page that our parent shares: this process becomes the job's launcher, and its copy
// the rank. Libraries that start ranks themselves (mpi) are left to the programs.
static void ask(const char *backend, int *answer)
{
    const struct clab_job_options alone = {.nranks = 1, .backend = backend};
    const struct clab_backend *found = clab_backend_find(backend);
    struct clab_job *job;
    *answer = found ? CLAB_OK : CLAB_EUNSUPPORTED;
    if (!found || found->launcher)
        return;
    clab_variable_set(CLAB_VARIABLE_EMULATE, ""); // the programs refuse it if it is wrong
    *answer = CLAB_EPEER;                         // unless the rank says more
    int err = clab_job_open_with(&alone, &job);
    if (!err) {
        err = refuse_fakes(job);
        clab_job_close(job);
    }
    *answer = err;
}

int lab_attach(const char *backend)
{
    if (!clab_plugin_exists(backend))
        return CLAB_OK;
    int status, *answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == MAP_FAILED)
        return CLAB_ENOMEM;
    const pid_t pid = child_fork();
    if (pid == 0) {
        ask(backend, answer);
        _exit(EXIT_SUCCESS);
    }
    int err = pid < 0 ? CLAB_ESYS : child_wait(pid, &status);
    if (!err)
        err = *answer;
    munmap(answer, sizeof *answer);
    return err;
}
