// SPDX-License-Identifier: MIT
// Try each backend: in a child, one rank opens a job on it and makes a communicator (doctor.h).

#include "cmd/doctor/doctor.h"

#include <string.h>

#include "core/transport/backend.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "core/clab.h"
#include "core/job/job.h"

enum { MOST_BACKENDS = 24, NAME_BYTES = 32 };
static const double patience = 30; // s; an MPI takes one, CUDA more with many GPUs

static int attach(const char *name)
{
    struct clab_job *job;
    struct clab_comm *comm;
    float one = 1, sum = 0;
    const struct clab_job_options alone = {.nranks = 1, .backend = name};
    CLAB_TRY(clab_job_open_with(&alone, &job));
    int err = clab_comm_create(job, &comm);
    if (!err) {
        err = clab_allreduce(comm, &one, &sum, 1, CLAB_F32, CLAB_SUM);
        clab_comm_destroy(comm);
    }
    clab_job_close(job);
    return err ? err : sum == 1 ? CLAB_OK : CLAB_EWRONG;
}

static void ask_backend(struct doctor *doctor, const void *of)
{
    const char *name = of;
    struct clab_log_held held;
    char said[sizeof held.text];
    clab_log_hold(&held);
    const struct clab_backend *backend = clab_backend_find(name);
    int err = backend ? CLAB_OK : CLAB_EUNSUPPORTED;
    if (backend && !backend->time->is_exact)
        err = attach(name); // from here on this is the rank: its launcher is the process that was asked
    snprintf(said, sizeof said, "%s", held.text);
    clab_log_release(&held);
    if (err) {
        // The usual backend must work on every machine; others may be missing.
        const bool needed = !strcmp(name, clab_backend_usual(1));
        doctor_add(doctor, needed ? DOCTOR_BROKEN : DOCTOR_MISSING, name, "%s", *said ? said : clab_strerror(err));
    } else {
        doctor_add(doctor, DOCTOR_OK, name, "%s%s", backend->title,
                   backend->time->is_exact ? "; needs --net NAME (./commlab nets)" : "; a rank can attach");
    }
}

// All on one line.
static void sum_up(struct doctor *doctor)
{
    char works[256], lacks[256];
    struct clab_text ok = clab_text_begin(works, sizeof works), not = clab_text_begin(lacks, sizeof lacks);
    for (int i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        struct clab_text *text = finding->level == DOCTOR_OK ? &ok : &not;
        if (finding->section == doctor->section)
            clab_text_add(text, "%s%s", text->used ? ", " : "", finding->topic);
    }
    doctor_add(doctor, DOCTOR_OK, "backends", "%s work%s%s", works, not.used ? "; not here: " : "", lacks);
    doctor_mark_fact(doctor);
}

void doctor_backends(struct doctor *doctor)
{
    char names[MOST_BACKENDS][NAME_BYTES];
    int n = 0;
    doctor->section = "Backends";
    for (; n < MOST_BACKENDS && clab_backend_name(n); n++)
        snprintf(names[n], sizeof names[n], "%s", clab_backend_name(n));
    struct clab_launch_plan plan;
    if (clab_job_plan(0, &plan) != CLAB_OK || plan.joins) {
        doctor_add(doctor, DOCTOR_WARNING, "", "this process is a rank of a job, so no backend was tried");
        doctor_advise(doctor, "run ./commlab doctor by itself, outside mpirun, srun and commlab run");
        return;
    }
    for (int i = 0; i < n; i++)
        doctor_ask(doctor, names[i], patience, ask_backend, names[i]);
    sum_up(doctor);
}
